/* resolver.c - opening a resolver, asking it, and what it remembers; see sb/binary.h. */
#include "binary/resolver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binary/bundle_index.h"
#include "binary/debuginfod.h"
#include "binary/file_fit.h"

/* ---- Opening ---------------------------------------------------------------------------------- */

static int add_root(struct sb_resolver *resolver, const struct sb_root *given, struct sb_error *err)
{
	const int status = root_init(&resolver->root[resolver->nroots], given, err);

	resolver->nroots += status == 0;
	resolver->has_scopes |= given->container != NULL;
	return status;
}

static int has_root(const struct sb_resolver *resolver, const char *container)
{
	for (size_t i = 0; i < resolver->nroots; ++i)
		if (resolver->root[i].container && strcmp(resolver->root[i].container, container) == 0)
			return 1;
	return 0;
}

/* A container of the bundle has files of its own there; a root that was given comes before that. */
static int add_bundle_scopes(struct sb_resolver *resolver, struct sb_error *err)
{
	const char *container;
	int status = 0;

	for (size_t i = 0; status == 0 && (container = bundle_container(resolver->bundle, i)); ++i) {
		const struct sb_root nothing = {.container = container};

		status = has_root(resolver, container) ? 0 : add_root(resolver, &nothing, err);
	}
	return status;
}

static int add_roots(struct sb_resolver *resolver, const struct sb_resolver_options *options,
                     struct sb_error *err)
{
	static const char *const slash[] = {"/"};
	static const struct sb_root host = {.layer = slash, .nlayers = 1};
	int status = 0;

	resolver->root =
	        calloc(options->nroots + bundle_ncontainers(resolver->bundle) + 1, sizeof(*resolver->root));
	if (!resolver->root)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	for (size_t i = 0; i < options->nroots && status == 0; ++i)
		status = add_root(resolver, &options->root[i], err);
	if (status == 0)
		status = add_bundle_scopes(resolver, err);
	if (status == 0 && !options->no_host_root) {
		status = add_root(resolver, &host, err);
		resolver->host = 1;
	}
	return status;
}

static int add_build_id_dir(struct sb_resolver *resolver, const char *path, struct sb_error *err)
{
	const int status = build_id_dir_init(&resolver->build_id_dir[resolver->nbuild_id_dirs], path, err);

	resolver->nbuild_id_dirs += status == 0;
	return status;
}

/* Those of this machine, if there are any. */
static void add_host_build_id_dirs(struct sb_resolver *resolver)
{
	const char *home = getenv("HOME");
	char *path;

	if (home && home[0] == '/' && asprintf(&path, "%s/.debug", home) >= 0) {
		add_build_id_dir(resolver, path, NULL);
		free(path);
	}
	add_build_id_dir(resolver, "/usr/lib/debug", NULL);
}

static int add_build_id_dirs(struct sb_resolver *resolver, const struct sb_resolver_options *options,
                             struct sb_error *err)
{
	int status = 0;

	resolver->build_id_dir = calloc(options->nbuild_id_dirs + 3, sizeof(*resolver->build_id_dir));
	if (!resolver->build_id_dir)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	if (options->bundle)
		status = add_build_id_dir(resolver, options->bundle, err);
	for (size_t i = 0; i < options->nbuild_id_dirs && status == 0; ++i)
		status = add_build_id_dir(resolver, options->build_id_dir[i], err);
	if (status == 0 && !options->no_host_root)
		add_host_build_id_dirs(resolver);
	return status;
}

static int open_all(struct sb_resolver *resolver, const struct sb_resolver_options *options,
                    struct sb_error *err)
{
	int status = 0;

	if (options->bundle)
		status = bundle_index_open(&resolver->bundle, options->bundle, err);
	if (status == 0)
		status = add_roots(resolver, options, err);
	if (status == 0)
		status = add_build_id_dirs(resolver, options, err);
	if (status == 0 && options->debuginfod)
		status = debuginfod_open(&resolver->debuginfod, err);
	return status;
}

static struct sb_resolver *new_resolver(void)
{
	struct sb_resolver *resolver = calloc(1, sizeof(*resolver));

	if (!resolver)
		return NULL;
	resolver->recorded.until = UINT64_MAX;
	if (pthread_mutex_init(&resolver->lock, NULL)) {
		free(resolver);
		return NULL;
	}
	return resolver;
}

int sb_resolver_open(struct sb_resolver **result, const struct sb_resolver_options *options,
                     struct sb_error *err)
{
	struct sb_resolver_options given = {0};
	struct sb_resolver *resolver;
	int status;

	if (!result || !options || options->size < sizeof(options->size))
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_resolver_open: no options");
	memcpy(&given, options, options->size < sizeof(given) ? options->size : sizeof(given));
	if ((given.nroots && !given.root) || (given.nbuild_id_dirs && !given.build_id_dir))
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_resolver_open: no roots");
	resolver = new_resolver();
	if (!resolver)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	status = open_all(resolver, &given, err);
	if (status < 0) {
		sb_resolver_free(resolver);
		return status;
	}
	*result = resolver;
	return 0;
}

int sb_resolver_new(struct sb_resolver **result, const char *const *path, size_t npaths, int no_host_root,
                    struct sb_error *err)
{
	struct sb_resolver_options options = {
	        .size = sizeof(options), .nroots = npaths, .no_host_root = no_host_root};
	struct sb_root *root;
	int status;

	if (npaths && !path)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_resolver_new: no roots");
	root = calloc(npaths + 1, sizeof(*root));
	if (!root)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	for (size_t i = 0; i < npaths; ++i)
		root[i] = (struct sb_root){.layer = &path[i], .nlayers = 1};
	options.root = root;
	status = sb_resolver_open(result, &options, err);
	free(root);
	return status;
}

void sb_resolver_free(struct sb_resolver *resolver)
{
	if (!resolver)
		return;
	answer_table_fini(&resolver->answers);
	for (size_t i = 0; i < resolver->nroots; ++i)
		root_fini(&resolver->root[i]);
	free(resolver->root);
	for (size_t i = 0; i < resolver->nbuild_id_dirs; ++i)
		build_id_dir_fini(&resolver->build_id_dir[i]);
	free(resolver->build_id_dir);
	bundle_index_close(resolver->bundle);
	debuginfod_close(resolver->debuginfod);
	vdso_free(&resolver->vdso);
	pthread_mutex_destroy(&resolver->lock);
	free(resolver);
}

void resolver_recorded_on(struct sb_resolver *resolver, const char *release)
{
	pthread_mutex_lock(&resolver->lock);
	snprintf(resolver->vdso.recorded_on, sizeof(resolver->vdso.recorded_on), "%s",
	         release ? release : "");
	pthread_mutex_unlock(&resolver->lock);
}

void resolver_recorded_until(struct sb_resolver *resolver, uint64_t time)
{
	pthread_mutex_lock(&resolver->lock);
	resolver->recorded = (struct recorded){.until = time};
	pthread_mutex_unlock(&resolver->lock);
}

void resolver_recorded_from_to(struct sb_resolver *resolver, uint64_t first, uint64_t last)
{
	pthread_mutex_lock(&resolver->lock);
	resolver->recorded.first = first;
	resolver->recorded.last = last;
	pthread_mutex_unlock(&resolver->lock);
}

/* ---- Asking ------------------------------------------------------------------------------------ */

uint32_t sb_resolver_scope(const struct sb_resolver *resolver, const struct sb_container *container)
{
	if (!resolver || !container)
		return 0;
	for (size_t i = 0; i < resolver->nroots; ++i)
		if (resolver->root[i].container &&
		    sb_container_matches(container, resolver->root[i].container))
			return (uint32_t)i + 1;
	return 0;
}

uint32_t sb_map_scope(const struct sb_resolver *resolver, const struct sb_system *system,
                      const struct sb_map *map)
{
	const struct sb_membership *membership;

	if (!resolver || !resolver->has_scopes || !system)
		return 0;
	membership = sb_system_membership(system, map->pid, map->pid, map->time);
	return membership ? sb_resolver_scope(resolver, membership->container) : 0;
}

/* When @map had been made at the latest. */
static uint64_t made_until(const struct recorded *recorded, const struct sb_map *map)
{
	const uint64_t then = map->time > recorded->first ? map->time : recorded->first;

	return done_until(recorded->until, then < recorded->last ? recorded->last - then : 0);
}

/* @until: when the recorded file was written last at the latest, if it is what ran. */
static struct answer *find_or_make(struct sb_resolver *resolver, uint32_t scope, const struct sb_map *map,
                                   int was_written, uint64_t until)
{
	struct answer *answer = answer_find(&resolver->answers, scope, map, was_written);

	if (answer)
		return answer;
	answer = answer_add(&resolver->answers, scope, map, was_written);
	if (answer) {
		answer->recorded_until = until;
		resolve(resolver, answer);
	}
	return answer;
}

/* What is there now is what those ran who mapped it after it was written to, and not what others ran. */
static struct answer *find_answer(struct sb_resolver *resolver, uint32_t scope, const struct sb_map *map)
{
	const struct recorded *recorded = &resolver->recorded;
	struct answer *answer = find_or_make(resolver, scope, map, 0, recorded->until);

	if (!answer || answer->binary.missing || !answer->written ||
	    answer->written <= made_until(recorded, map))
		return answer;
	answer->is_for_some = 1;
	return find_or_make(resolver, scope, map, 1, answer->written - 1);
}

int sb_resolver_find_in(struct sb_resolver *resolver, uint32_t scope, const struct sb_map *map,
                        const struct sb_binary **binary, struct sb_error *err)
{
	struct answer *answer;

	if (!resolver || !map || !map->filename || !binary ||
	    (scope && (scope > resolver->nroots || !resolver->root[scope - 1].container)))
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_resolver_find: no mapping");
	pthread_mutex_lock(&resolver->lock);
	answer = find_answer(resolver, scope, map);
	pthread_mutex_unlock(&resolver->lock);
	if (!answer)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	*binary = &answer->binary;
	return 0;
}

int sb_resolver_find(struct sb_resolver *resolver, const struct sb_map *map, const struct sb_binary **binary,
                     struct sb_error *err)
{
	return sb_resolver_find_in(resolver, 0, map, binary, err);
}

int sb_resolver_find_debug(struct sb_resolver *resolver, const struct sb_binary *binary, const char **path,
                           struct sb_error *err)
{
	struct answer *answer = (struct answer *)(uintptr_t)binary; /* which it is the first member of */

	if (!resolver || !binary || !path)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_resolver_find_debug: no binary");
	pthread_mutex_lock(&resolver->lock);
	if (!answer->debug_known && (!binary->missing || answer->map.build_id_size))
		resolve_debug(resolver, answer);
	answer->debug_known = 1;
	*path = answer->debug;
	pthread_mutex_unlock(&resolver->lock);
	return 0;
}

/* ---- Doubts ------------------------------------------------------------------------------------ */

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Fills in at most @count texts; how many there are. */
static size_t collect_doubts(const struct answer_table *table, const char **text, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < table->nslots; ++i) {
		for (const struct answer *answer = table->slot[i]; answer; answer = answer->next) {
			if (answer->binary.missing || !answer->binary.detail[0])
				continue;
			if (n < count)
				text[n] = answer->binary.detail;
			n += 1;
		}
	}
	return n;
}

int sb_resolver_doubts(struct sb_resolver *resolver, int (*callback)(void *context, const char *text),
                       void *context)
{
	const char **text;
	size_t count;
	int status = 0;

	pthread_mutex_lock(&resolver->lock);
	count = collect_doubts(&resolver->answers, NULL, 0);
	text = calloc(count + 1, sizeof(*text));
	if (text)
		collect_doubts(&resolver->answers, text, count);
	pthread_mutex_unlock(&resolver->lock);
	if (!text)
		return -sbe_nomem;
	qsort(text, count, sizeof(*text), compare_texts);
	for (size_t i = 0; i < count && status == 0; ++i)
		if (!i || strcmp(text[i], text[i - 1]) != 0)
			status = callback(context, text[i]);
	free(text);
	return status;
}
