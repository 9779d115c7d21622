/* test_container.c - which containers paths of cgroups tell of. The paths are those that the runtimes'
 * documentation and their users show, with other digits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sb/container.h>

#define A    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define B    "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID  "2fc932ce-fdcc-454b-97bd-aadfdeb4c340"
#define UID_ "2fc932ce_fdcc_454b_97bd_aadfdeb4c340"
#define HASH "36b6d6be73b1065af369b3985edafa09"

/* All containers of @path, from the outside to the inside: "kind id[ pod[ class]] @end", with commas. */
static const char *containers_of(const char *path)
{
	static char text[8192];
	struct sb_container_path found;
	char *at = text;

	*text = '\0';
	for (size_t from = 0; sb_container_path(path, from, &found); from = found.end) {
		assert_true(found.end > from && found.end <= strlen(path));
		at += sprintf(at, "%s%s %s", at == text ? "" : ", ", sb_container_kind_name(found.kind),
		              found.id);
		if (found.pod[0])
			at += sprintf(at, " %s", found.pod);
		if (found.pod_class != sb_pod_none)
			at += sprintf(at, " %s", sb_pod_class_name(found.pod_class));
	}
	return text;
}

struct example {
	const char *path, *expected;
};

static void check(const struct example *example, size_t count)
{
	for (size_t i = 0; i < count; ++i) {
		if (strcmp(containers_of(example[i].path), example[i].expected) != 0)
			print_error("%s\n", example[i].path);
		assert_string_equal(containers_of(example[i].path), example[i].expected);
	}
}

#define CHECK(examples) check(examples, sizeof(examples) / sizeof((examples)[0]))

static void docker(void **state)
{
	static const struct example examples[] = {
	        {"/docker/" A, "docker " A},
	        {"/system.slice/docker-" A ".scope", "docker " A},
	        {"/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" A ".scope", "docker " A},
	        {"/ecstasks.slice/ecstasks-2fc932cefdcc454b97bdaadfdeb4c340.slice/docker-" A ".scope",
	         "docker " A},
	        {"/system.slice/docker-" A ".scope/init.scope", "docker " A},
	        {"/docker/" A "/system.slice/nginx.service", "docker " A},
	        {"/system.slice:docker:" A, "docker " A},
	        {"../../docker/" A, "docker " A},
	};

	(void)state;
	CHECK(examples);
}

static void kubernetes(void **state)
{
	static const struct example examples[] = {
	        {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	         ".slice/cri-containerd-" A ".scope",
	         "containerd " A " " UID " burstable"},
	        {"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice/crio-" A
	         ".scope",
	         "cri-o " A " " UID " besteffort"},
	        {"/kubepods.slice/kubepods-pod" UID_ ".slice/docker-" A ".scope",
	         "docker " A " " UID " guaranteed"},
	        {"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" A ".scope/container",
	         "cri-o " A " " UID " guaranteed"},
	        {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" HASH
	         ".slice/cri-containerd-" A ".scope",
	         "containerd " A " " HASH " burstable"},
	        {"/kubepods/besteffort/pod" UID "/" A, "pod " A " " UID " besteffort"},
	        {"/kubepods/burstable/pod" UID "/" A, "pod " A " " UID " burstable"},
	        {"/kubepods/pod" UID "/" A, "pod " A " " UID " guaranteed"},
	        {"/kubepods/burstable/pod" UID "/crio-" A, "cri-o " A " " UID " burstable"},
	        {"/system.slice/containerd.service/kubepods-burstable-pod" HASH ".slice:cri-containerd:" A,
	         "containerd " A " " HASH " burstable"},
	        {"/kubepods-besteffort-pod" UID_ ".slice:cri-containerd:" A,
	         "containerd " A " " UID " besteffort"},
	        {"/system.slice/k3s.service/kubepods/besteffort/pod" UID "/" A,
	         "pod " A " " UID " besteffort"},
	        /* without the kubelet: crictl */
	        {"/system.slice/system-getty.slice/cri-containerd-" A ".scope", "containerd " A},
	        {"/k8s.io/" A, "containerd " A},
	        /* nodes that are containers: kind, minikube */
	        {"/docker/" B "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"
	         "kubelet-kubepods-burstable-pod" UID_ ".slice/cri-containerd-" A ".scope",
	         "docker " B ", containerd " A " " UID " burstable"},
	        {"/docker/" B "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
	         ".slice/crio-" A ".scope",
	         "docker " B ", cri-o " A " " UID " besteffort"},
	        {"/docker/" B "/kubelet/kubepods/pod" UID "/" A,
	         "docker " B ", pod " A " " UID " guaranteed"},
	};

	(void)state;
	CHECK(examples);
}

static void podman(void **state)
{
	static const struct example examples[] = {
	        {"/machine.slice/libpod-" A ".scope", "podman " A},
	        {"/machine.slice/libpod-" A ".scope/container", "podman " A},
	        {"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" A ".scope/container",
	         "podman " A},
	        {"/machine.slice/machine-libpod_pod_" B ".slice/libpod-" A ".scope/container",
	         "podman " A " " B},
	        {"/user.slice/user-1000.slice/user@1000.service/user.slice/user-libpod_pod_" B
	         ".slice/libpod-" A ".scope/container",
	         "podman " A " " B},
	        {"/libpod_parent/libpod-" A, "podman " A},
	        {"/libpod_parent/" B "/libpod-" A, "podman " A " " B},
	        {"/srv.slice/container-homeassistant.service/libpod-payload-" A, "podman " A},
	};

	(void)state;
	CHECK(examples);
}

static void nspawn(void **state)
{
	static const struct example examples[] = {
	        {"/machine.slice/machine-fedora.scope", "nspawn fedora"},
	        {"/machine.slice/machine-fedora.scope/payload", "nspawn fedora"},
	        {"/machine.slice/machine-fedora.scope/payload/system.slice/sshd.service", "nspawn fedora"},
	        {"/machine.slice/machine-TEST\\x2d13\\x2dNSPAWN.machinectl\\x2dbind.7ye.scope",
	         "nspawn TEST-13-NSPAWN.machinectl-bind.7ye"},
	        {"/machine.slice/systemd-nspawn@web.service/payload/init.scope", "nspawn web"},
	        {"/machine.slice/machine-lxc\\x2d4242\\x2dweb\\x2d1.scope", "lxc web-1"},
	        {"/machine.slice/machine-lxc\\x2d1.scope", "nspawn lxc-1"},
	        {"/machine.slice/machine-a\\x.scope", "nspawn a\\x"},
	        {"/machine.slice/machine-fedora.scope/payload/system.slice/docker-" A ".scope",
	         "nspawn fedora, docker " A},
	};

	(void)state;
	CHECK(examples);
}

static void lxc(void **state)
{
	static const struct example examples[] = {
	        {"/lxc/web", "lxc web"},
	        {"/lxc/101/ns/system.slice/ssh.service", "lxc 101"},
	        {"/lxc.payload/example/init.scope", "lxc example"},
	        {"/lxc.payload.example", "lxc example"},
	        {"/lxc.payload.user-1000_web/system.slice", "lxc user-1000_web"},
	        {"/user.slice/user-1000.slice/user@1000.service/lxc.payload.web/init.scope", "lxc web"},
	        {"/lxc.payload.web/docker/" A, "lxc web, docker " A},
	        {"/lxc.payload.outer/lxc.payload.inner", "lxc outer, lxc inner"},
	};

	(void)state;
	CHECK(examples);
}

static void others(void **state)
{
	static const struct example examples[] = {
	        {"/system.slice/nerdctl-" A ".scope", "containerd " A},
	        {"/default/" A, "containerd " A},
	        {"/" A, "oci " A},
	        {"/ecs/2fc932cefdcc454b97bdaadfdeb4c340/" A, "oci " A},
	        {"/my/own/parent/" A "/worker", "oci " A},
	};

	(void)state;
	CHECK(examples);
}

static void what_only_looks_like_a_container(void **state)
{
	static const char *const paths[] = {
	        "",
	        "/",
	        "//",
	        "/init.scope",
	        "/user.slice/user-1000.slice/session-2.scope",
	        "/user.slice/user-1000.slice/user@1000.service/app.slice/app-org.gnome.Terminal.slice",
	        "/user.slice/user-1000.slice/user@1000.service/app.slice/app-flatpak-org.gimp.GIMP-4711.scope",
	        "/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-docker\\x2ddesktop-1.scope",
	        /* the runtimes themselves */
	        "/system.slice/docker.service",
	        "/system.slice/docker.socket",
	        "/system.slice/containerd.service",
	        "/system.slice/crio.service",
	        "/system.slice/snap.lxd.daemon.service",
	        "/lxc.monitor.web",
	        "/lxc.monitor/web",
	        "/lxc.pivot",
	        "/lxc.payload",
	        "/lxc",
	        "/machine.slice/libpod-conmon-" A ".scope",
	        "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-conmon-" A ".scope",
	        "/machine.slice/machine-fedora.scope/supervisor",
	        "/machine.slice/systemd-nspawn@web.service/supervisor",
	        "/srv.slice/container-homeassistant.service/runtime",
	        /* pods, but no container of them */
	        "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice",
	        "/kubepods/besteffort/pod" UID,
	        "/libpod_parent/" B,
	        "/machine.slice/machine-libpod_pod_" B ".slice",
	        /* virtual machines */
	        "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt/emulator",
	        /* services with such names */
	        "/system.slice/machine-learning.service",
	        "/system.slice/docker-cleanup.service",
	        "/system.slice/docker-abc.scope",
	        "/docker/buildx",
	        "/docker/buildkit/ihc2sv5lv4tmz5dbcgt6wvzgn",
	        /* not quite ids */
	        "/process_api/c04a8d02e25b5d97e04519271defca1d",
	        "/system.slice/run-r2fc932cefdcc454b97bdaadfdeb4c340.scope",
	        "/docker/" A "0",
	        "/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde",
	        "/docker/0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF",
	        "/system.slice/xdocker-" A ".scope",
	        "/system.slice/docker-" A "-wal.scope",
	        "/system.slice/docker" A ".scope",
	        "/machine.slice/machine-.scope",
	        "/lxc.payload.",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); ++i) {
		if (*containers_of(paths[i]))
			print_error("%s\n", paths[i]);
		assert_string_equal(containers_of(paths[i]), "");
	}
}

static void a_container_ends_where_its_own_cgroup_does(void **state)
{
	static const char path[] = "/docker/" B "/kubelet/kubepods/pod" UID "/" A "/worker";
	struct sb_container_path found;

	(void)state;
	assert_int_equal(sb_container_path(path, 0, &found), 1);
	assert_int_equal(found.end, strlen("/docker/" B));
	assert_int_equal(sb_container_path(path, found.end, &found), 1);
	assert_int_equal(found.end, strlen(path) - strlen("/worker"));
	assert_int_equal(sb_container_path(path, found.end, &found), 0);
}

/* Names are cut nowhere, and what is no name is not taken for one. */
static void long_components(void **state)
{
	char path[1024];
	struct sb_container_path found;

	(void)state;
	strcpy(path, "/lxc/");
	memset(path + 5, 'x', SB_CONTAINER_ID_MAX);
	path[5 + SB_CONTAINER_ID_MAX] = '\0';
	assert_int_equal(sb_container_path(path, 0, &found), 1);
	assert_int_equal(strlen(found.id), SB_CONTAINER_ID_MAX);
	strcat(path, "x");
	assert_int_equal(sb_container_path(path, 0, &found), 0);
	memset(path, '/', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(sb_container_path(path, 0, &found), 0);
	memset(path, ':', sizeof(path) - 1);
	assert_int_equal(sb_container_path(path, 0, &found), 0);
}

/* Paths from hostile recordings: whatever is found lies within the path, and the search ends. */
static void random_paths(void **state)
{
	static const char *const piece[] = {"/",      ":",           "docker",   "-",      A,
	                                    ".scope", "lxc",         "machine-", ".slice", "kubepods-pod",
	                                    UID_,     "lxc.payload", "\\x2d",    ".",      "libpod_pod_"};
	const size_t npieces = sizeof(piece) / sizeof(piece[0]);
	uint32_t random = 1;

	(void)state;
	for (int i = 0; i < 20000; ++i) {
		char *path = calloc(1, 40 * 70);

		assert_non_null(path);
		for (int n = 0; n < 40; ++n) {
			random = random * 1664525u + 1013904223u;
			strcat(path, piece[(random >> 8) % npieces]);
		}
		path = realloc(path, strlen(path) + 1);
		assert_non_null(path);
		containers_of(path);
		free(path);
	}
}

static void kinds_have_names(void **state)
{
	(void)state;
	for (int i = 0; i < sb_container_kinds; ++i)
		assert_non_null(sb_container_kind_name((enum sb_container_kind)i));
	assert_string_equal(sb_container_kind_name(sb_container_kinds), "unknown");
	assert_string_equal(sb_pod_class_name(sb_pod_classes), "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        cmocka_unit_test(docker),
	        cmocka_unit_test(kubernetes),
	        cmocka_unit_test(podman),
	        cmocka_unit_test(nspawn),
	        cmocka_unit_test(lxc),
	        cmocka_unit_test(others),
	        cmocka_unit_test(what_only_looks_like_a_container),
	        cmocka_unit_test(a_container_ends_where_its_own_cgroup_does),
	        cmocka_unit_test(long_components),
	        cmocka_unit_test(random_paths),
	        cmocka_unit_test(kinds_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
