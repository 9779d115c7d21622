/* container.c - which containers the path of a cgroup goes through; see sb/container.h.
 *
 * A path is looked at component by component. What a component has to look like is a row of a table; pods are
 * remembered on the way. Sources: the runtimes' public documentation and what their users show of
 * /proc/PID/cgroup; systemd drivers make "PREFIX-ID.scope", cgroupfs drivers "PARENT/ID" or "PREFIX-ID", and
 * a runtime that takes systemd's notation for a cgroupfs path makes "SLICE:PREFIX:ID".
 */
#include <sb/container.h>

#include <fnmatch.h>
#include <string.h>

enum { ID_LENGTH = 64, UID_LENGTH = 36, STATIC_UID_LENGTH = 32 };

static const char *const kind_name[sb_container_kinds] = {
        [sb_container_none] = "none",
        [sb_container_docker] = "docker",
        [sb_container_containerd] = "containerd",
        [sb_container_crio] = "cri-o",
        [sb_container_podman] = "podman",
        [sb_container_nspawn] = "nspawn",
        [sb_container_lxc] = "lxc",
        [sb_container_pod] = "pod",
        [sb_container_oci] = "oci",
        [sb_container_namespace] = "namespace",
};

const char *sb_container_kind_name(enum sb_container_kind kind)
{
	return (unsigned int)kind < sb_container_kinds ? kind_name[kind] : "unknown";
}

static const char *const class_name[sb_pod_classes] = {
        [sb_pod_none] = "",
        [sb_pod_guaranteed] = "guaranteed",
        [sb_pod_burstable] = "burstable",
        [sb_pod_besteffort] = "besteffort",
};

const char *sb_pod_class_name(enum sb_pod_class pod_class)
{
	return (unsigned int)pod_class < sb_pod_classes ? class_name[pod_class] : "";
}

/* ---- Parts of paths --------------------------------------------------------------------------- */

struct part {
	const char *text;
	size_t size;
};

static int is(struct part part, const char *text)
{
	return part.size == strlen(text) && !memcmp(part.text, text, part.size);
}

/* Takes @prefix away; whether it was there. */
static int take_prefix(struct part *part, const char *prefix)
{
	const size_t size = strlen(prefix);

	if (part->size < size || memcmp(part->text, prefix, size) != 0)
		return 0;
	part->text += size;
	part->size -= size;
	return 1;
}

static int take_suffix(struct part *part, const char *suffix)
{
	const size_t size = strlen(suffix);

	if (part->size < size || memcmp(part->text + part->size - size, suffix, size) != 0)
		return 0;
	part->size -= size;
	return 1;
}

/* Takes away all up to and with the last @text in it. */
static int take_behind(struct part *part, const char *text)
{
	const size_t size = strlen(text);

	for (size_t at = part->size; at >= size; --at)
		if (!memcmp(part->text + at - size, text, size)) {
			part->text += at;
			part->size -= at;
			return 1;
		}
	return 0;
}

static int is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static int is_id(struct part part)
{
	if (part.size != ID_LENGTH)
		return 0;
	for (size_t i = 0; i < part.size; ++i)
		if (!is_hex(part.text[i]))
			return 0;
	return 1;
}

static int digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* The text of @part with what systemd writes as \xNN in names of units. */
static void unescape(char *to, size_t room, struct part part)
{
	size_t at = 0;

	for (size_t i = 0; i < part.size && at + 1 < room; ++i) {
		const char *c = part.text + i;

		to[at++] = *c;
		if (part.size - i < 4 || c[0] != '\\' || c[1] != 'x' || !is_hex(c[2]) || !is_hex(c[3]))
			continue;
		to[at - 1] = (char)(digit(c[2]) << 4 | digit(c[3]));
		i += 3;
	}
	to[at] = '\0';
}

/* ---- Pods ------------------------------------------------------------------------------------- */

/* A pod's UID: 8-4-4-4-12 digits, with underscores where a dash would mean something to systemd; or the 32
 * digits of what a static pod was made from. */
static int is_uid(struct part part)
{
	for (size_t i = 0; i < part.size; ++i) {
		const int at_dash = part.size == UID_LENGTH && (i == 8 || i == 13 || i == 18 || i == 23);

		if (at_dash ? part.text[i] != '-' && part.text[i] != '_' : !is_hex(part.text[i]))
			return 0;
	}
	return part.size == UID_LENGTH || part.size == STATIC_UID_LENGTH;
}

static void set_pod(struct sb_container_path *found, struct part part)
{
	for (size_t i = 0; i < part.size; ++i)
		found->pod[i] = part.text[i] == '_' ? '-' : part.text[i];
	found->pod[part.size] = '\0';
}

/* "kubepods-burstable-podUID.slice", also with another prefix; "burstable/podUID", "kubepods/podUID". */
static int take_kubernetes_pod(struct part part, struct part parent, struct sb_container_path *found)
{
	static const struct {
		const char *inside, *parent;
		enum sb_pod_class pod_class;
	} classes[] = {
	        {"kubepods-burstable-pod", "burstable", sb_pod_burstable},
	        {"kubepods-besteffort-pod", "besteffort", sb_pod_besteffort},
	        {"kubepods-pod", "kubepods", sb_pod_guaranteed},
	};
	const int is_slice = take_suffix(&part, ".slice");

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); ++i) {
		struct part uid = part;
		const int fits = is_slice ? take_behind(&uid, classes[i].inside)
		                          : is(parent, classes[i].parent) && take_prefix(&uid, "pod");

		if (!fits || !is_uid(uid))
			continue;
		set_pod(found, uid);
		found->pod_class = classes[i].pod_class;
		return 1;
	}
	return 0;
}

/* "machine-libpod_pod_ID.slice", "user-libpod_pod_ID.slice", "libpod_parent/ID". */
static int take_podman_pod(struct part part, struct part parent, struct sb_container_path *found)
{
	const int fits = take_suffix(&part, ".slice") ? take_behind(&part, "libpod_pod_")
	                                              : is(parent, "libpod_parent");

	if (!fits || !is_id(part))
		return 0;
	set_pod(found, part);
	found->pod_class = sb_pod_none;
	return 1;
}

static int take_pod(struct part part, struct part parent, struct sb_container_path *found)
{
	return take_kubernetes_pod(part, parent, found) || take_podman_pod(part, parent, found);
}

/* ---- Containers ------------------------------------------------------------------------------- */

enum shape {
	tagged,   /* WORD-ID.scope, WORD-ID, SLICE:WORD:ID; the ID has 64 digits */
	child_id, /* WORD/ID; NULL: anything/ID */
	child,    /* WORD/NAME */
	prefixed, /* WORDNAME */
	scope,    /* WORDNAME.scope; systemd's escapes are undone */
	service,  /* WORDNAME.service; the same */
};

struct rule {
	enum shape shape;
	const char *word;
	enum sb_container_kind kind;
};

/* The first one that fits counts. */
static const struct rule rules[] = {
        {tagged, "docker", sb_container_docker},
        {tagged, "cri-containerd", sb_container_containerd},
        {tagged, "nerdctl", sb_container_containerd},
        {tagged, "crio", sb_container_crio},
        {tagged, "libpod", sb_container_podman},
        {tagged, "libpod-payload", sb_container_podman},
        {scope, "machine-", sb_container_nspawn},
        {service, "systemd-nspawn@", sb_container_nspawn},
        {prefixed, "lxc.payload.", sb_container_lxc},
        {child, "lxc.payload", sb_container_lxc},
        {child, "lxc", sb_container_lxc},
        {child_id, "docker", sb_container_docker},
        {child_id, "default", sb_container_containerd}, /* namespaces of containerd */
        {child_id, "k8s.io", sb_container_containerd},
        {child_id, NULL, sb_container_oci},
};

/* Takes away what stands before and behind the id or name. */
static int fits(const struct rule *rule, struct part *part, struct part parent)
{
	switch (rule->shape) {
	case tagged:
		if (!take_prefix(part, rule->word) || (!take_prefix(part, "-") && !take_prefix(part, ":")))
			return 0;
		take_suffix(part, ".scope");
		return is_id(*part);
	case child_id:
		return (!rule->word || is(parent, rule->word)) && is_id(*part);
	case child:
		return is(parent, rule->word);
	case prefixed:
		return take_prefix(part, rule->word) && part->size;
	default:
		return take_prefix(part, rule->word) &&
		       take_suffix(part, rule->shape == scope ? ".scope" : ".service") && part->size;
	}
}

/* Machines that are no containers of nspawn: libvirt registers "qemu-NUMBER-NAME", which is a virtual
 * machine, and "lxc-NUMBER-NAME". Whether it is a container. */
static int judge_machine(struct sb_container_path *found)
{
	const char *name = found->id;
	size_t digits;

	if (!strncmp(name, "qemu-", 5))
		return 0;
	digits = strncmp(name, "lxc-", 4) != 0 ? 0 : strspn(name + 4, "0123456789");
	if (digits && name[4 + digits] == '-' && name[5 + digits]) {
		found->kind = sb_container_lxc;
		memmove(found->id, name + 5 + digits, strlen(name + 5 + digits) + 1);
	}
	return 1;
}

static int take_container(struct part part, struct part parent, struct part below,
                          struct sb_container_path *found)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); ++i) {
		struct part id = part;

		if (!fits(&rules[i], &id, parent))
			continue;
		found->kind = rules[i].kind;
		if (found->kind == sb_container_oci && found->pod_class != sb_pod_none)
			found->kind = sb_container_pod;
		if (rules[i].shape != scope && rules[i].shape != service) {
			memcpy(found->id, id.text, id.size);
			found->id[id.size] = '\0';
			return 1;
		}
		unescape(found->id, sizeof(found->id), id);
		/* Beside the payload nspawn itself runs. */
		return !is(below, "supervisor") && judge_machine(found);
	}
	return 0;
}

/* The component of @path that begins at @at, behind slashes. A slice ends at a colon, too. */
static struct part part_at(const char *path, size_t at)
{
	struct part part = {path + at, 0};

	while (*part.text == '/' || *part.text == ':')
		part.text += 1;
	while (part.text[part.size] && part.text[part.size] != '/') {
		struct part slice = part;

		if (part.text[part.size] == ':' && take_suffix(&slice, ".slice"))
			break;
		part.size += 1;
	}
	return part;
}

int sb_container_path(const char *path, size_t from, struct sb_container_path *found)
{
	struct part parent = {path, 0}, part = part_at(path, 0);

	memset(found, 0, sizeof(*found));
	while (part.size) {
		const size_t end = (size_t)(part.text + part.size - path);
		const struct part below = part_at(path, end);

		if (!take_pod(part, parent, found) && part.size <= SB_CONTAINER_ID_MAX &&
		    take_container(part, parent, below, found)) {
			found->end = end;
			if (end > from)
				return 1;
			memset(found, 0, sizeof(*found));
		}
		parent = part;
		part = below;
	}
	return 0;
}

/* ---- Patterns --------------------------------------------------------------------------------- */

static int is_abbreviation(const char *id, const char *pattern)
{
	const size_t size = strlen(pattern);

	return size && strspn(id, "0123456789abcdef") == ID_LENGTH && !id[ID_LENGTH] &&
	       !strncmp(id, pattern, size);
}

static int matches(const struct sb_container *container, const char *pattern)
{
	if (strpbrk(pattern, "*?["))
		return !fnmatch(pattern, container->id, 0) ||
		       (*container->pod && !fnmatch(pattern, container->pod, 0));
	return !strcmp(container->id, pattern) || is_abbreviation(container->id, pattern) ||
	       (*pattern && !strcmp(container->pod, pattern));
}

int sb_container_matches(const struct sb_container *container, const char *pattern)
{
	for (; container; container = container->outer)
		if (matches(container, pattern))
			return 1;
	return 0;
}
