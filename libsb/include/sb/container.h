/* sb/container.h - containers, and how they are recognised.
 *
 * A container runtime puts the processes of each container into a cgroup of their own and names it after the
 * container: "/system.slice/docker-0123...cdef.scope". So the path of a cgroup tells the runtime, the
 * container's id or name, and the pod that it belongs to. Where no path tells, processes in a PID and a
 * mount namespace of their own are a container, too; see sb/system.h.
 */
#ifndef SB_CONTAINER_H
#define SB_CONTAINER_H

#include <stddef.h>
#include <stdint.h>

#include <sb/export.h>

enum sb_container_kind {
	sb_container_none,
	sb_container_docker,
	sb_container_containerd, /* CRI (Kubernetes), nerdctl, ctr */
	sb_container_crio,
	sb_container_podman,
	sb_container_nspawn, /* systemd-nspawn, and whatever else is registered as a machine */
	sb_container_lxc,    /* LXC, LXD, Incus, libvirt's LXC driver */
	sb_container_pod,    /* of a Kubernetes pod; the path does not tell the runtime */
	sb_container_oci,    /* the path has a container's id, but tells nothing else */
	sb_container_namespace,
	sb_container_kinds
};

/* "docker", "containerd", "cri-o", ... */
sb_export const char *sb_container_kind_name(enum sb_container_kind kind);

/* The quality-of-service class of a Kubernetes pod; none: in no such pod. */
enum sb_pod_class { sb_pod_none, sb_pod_guaranteed, sb_pod_burstable, sb_pod_besteffort, sb_pod_classes };

/* "", "guaranteed", "burstable", "besteffort". */
sb_export const char *sb_pod_class_name(enum sb_pod_class pod_class);

enum { SB_CONTAINER_ID_MAX = 255, SB_POD_MAX = 64 };

/* What the path of a cgroup says of a container. */
struct sb_container_path {
	enum sb_container_kind kind;
	char id[SB_CONTAINER_ID_MAX + 1]; /* 64 hexadecimal digits, or a name (nspawn, lxc) */
	/* Of the pod: a Kubernetes UID (with dashes, or 32 hexadecimal digits for static pods), or the 64
	 * hexadecimal digits of a Podman pod; "" when it is in none. */
	char pod[SB_POD_MAX + 1];
	enum sb_pod_class pod_class;
	size_t end; /* the container's own cgroup is this long a part of the path */
};

/* The outermost container that the cgroup at @path, of either version of cgroups, is in or below of; of those
 * that end behind @from, a place in the path. Returns 1; 0 when there is none (any more), and then *@found is
 * undefined. All of them:
 *
 *     for (at = 0; sb_container_path(path, at, &found); at = found.end)
 *
 * Parts of a runtime that run outside of the containers (conmon, lxc.monitor, ...) are in none. */
sb_export int sb_container_path(const char *path, size_t from, struct sb_container_path *found);

/* A container that a recording tells of. Owned by its system; strings, too. */
struct sb_container {
	uint32_t index; /* dense from 0, see sb_system_containers() */
	enum sb_container_kind kind;
	const char *id; /* of a namespace: the inode of the PID namespace */
	const char *pod;
	enum sb_pod_class pod_class;
	const char *cgroup;               /* its own; "" for a namespace */
	const struct sb_container *outer; /* that it runs in, or NULL */
};

/* Whether @pattern means @container or one around it: its id or name, the first digits of an id (as docker
 * and podman take them), its pod, or, with one of *?[ in it, a glob(7) pattern for one of these. */
sb_export int sb_container_matches(const struct sb_container *container, const char *pattern);

#endif
