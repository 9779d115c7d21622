/* tools/job/job_files.h - where the files that a recording names are looked for: what replay, bundle and jobs
 * say about it. Zeroed is empty: this machine. */
#ifndef TOOLS_JOB_FILES_H
#define TOOLS_JOB_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include <sb/binary.h>

#include "job/job_list.h"
#include "options.h"

/* A directory, or layers of an overlay, the uppermost first. */
struct job_root {
	char *container; /* NULL: everybody's */
	struct job_texts layer;
};

struct job_roots {
	struct job_root *root;
	size_t count;
};

struct job_files {
	struct job_roots roots, container_roots;
	struct job_texts build_id_dir;
	char *bundle;
	bool no_host_root, debuginfod;
};

enum {
	job_items_most = 256, /* roots, sinks, patterns */
	job_layers_most = 512,
};

void job_files_free(struct job_files *files);

/* All return zero, or -1 with the reason. Paths are taken as they are. */

/* A root without layers yet, NULL: the reason is in @error. @container NULL: everybody's. */
struct job_root *job_add_root(struct job_files *files, const char *container, struct option_error *error);
int job_add_layer(struct job_root *root, const char *path, struct option_error *error);
/* "UPPER:LOWER..."; a backslash before a colon makes it a part of the path, as for mount(8). */
int job_add_layers(struct job_root *root, const char *text, struct option_error *error);
/* "NAME=DIR" or "NAME=UPPER:LOWER...". */
int job_add_container_root(struct job_files *files, const char *text, struct option_error *error);

int job_open_resolver(const struct job_files *files, struct sb_resolver **resolver, struct sb_error *err);

/* The options of the command line; their target begins with a struct job. */
option_set file_option_root, file_option_overlay, file_option_container_root, file_option_no_host_root,
        file_option_build_id_dir, file_option_debuginfod, file_option_bundle, file_option_kcore,
        file_option_vmlinux, file_option_kallsyms;

#define FILE_OPTION_ROWS                                                                                     \
	{"root", 0, "DIR", "look up mapped files below DIR first; may be repeated", file_option_root},       \
	        {"overlay", 0, "UPPER:LOWER...", "a root of layers, as overlayfs merges them",               \
	         file_option_overlay},                                                                       \
	        {"container-root", 0, "NAME=DIR", "where a container's files are: DIR or UPPER:LOWER...",    \
	         file_option_container_root},                                                                \
	        {"no-host-root", 0, NULL, "never take a file from outside of the roots",                     \
	         file_option_no_host_root},                                                                  \
	        {"build-id-dir", 0, "DIR", "files by build-id: DIR/xx/yyyy/elf; may be repeated",            \
	         file_option_build_id_dir},                                                                  \
	{                                                                                                    \
		"debuginfod", 0, NULL, "ask the servers of $DEBUGINFOD_URLS", file_option_debuginfod         \
	}
#define BUNDLE_OPTION_ROW                                                                                    \
	{                                                                                                    \
		"bundle", 0, "DIR", "take files from what sbtrace bundle made, not from this machine",       \
		        file_option_bundle                                                                   \
	}

#define KERNEL_OPTION_ROWS                                                                                   \
	{"kcore", 0, "FILE", "the traced kernel's code (default: what perf record --kcore put there)",       \
	 file_option_kcore},                                                                                 \
	        {"vmlinux", 0, "FILE", "the kernel as it was built: nearly its code, if there is no kcore",  \
	         file_option_vmlinux},                                                                       \
	{                                                                                                    \
		"kallsyms", 0, "FILE", "the traced kernel's symbols (default: beside its kcore)",            \
		        file_option_kallsyms                                                                 \
	}

#endif
