/* sb/bundle.h - all files that a replay of a recording needs, in one directory: for a replay elsewhere, or
 * later.
 *
 * The files are named by their contents, so that a bundle can serve many recordings: by build-id, as
 * .build-id/xx/yyyy/elf, where gdb and perf find them, too, and else by SHA-256, as sha256/xx/yyyy.
 * manifest.json says which file a recorded path stood for; see sbtrace-bundle(1). recordings/NAME/kcore_dir
 * has the kernel's code that perf recorded, and recordings/NAME the recording itself, if that was asked for.
 */
#ifndef SB_BUNDLE_H
#define SB_BUNDLE_H

#include <stddef.h>
#include <stdint.h>

#include <sb/binary.h>
#include <sb/error.h>
#include <sb/perfdata.h>

struct sb_bundle_options {
	size_t size;           /* sizeof(struct sb_bundle_options) */
	const char *directory; /* a new one, an empty one, or a bundle, to which is added what it lacks */
	int with_recording;
	/* The kernel's files when they are not beside the recording, as in struct sb_replay_options; each may
	 * be NULL. */
	const char *kcore, *vmlinux, *kallsyms;
	/* Asked before each file; when it returns something else than zero, the bundle is given up. NULL:
	 * nobody. */
	int (*stop)(void *context);
	/* Called for each recorded file that is not in the bundle, sorted by path. NULL: nobody. */
	void (*missing)(void *context, const char *path, const char *detail);
	void *context;
};

struct sb_bundle_result {
	uint64_t nfiles;                 /* recorded files that are in the bundle */
	uint64_t nmissing;               /* that are not */
	uint64_t ncopied, ncopied_bytes; /* files that the bundle did not have before */
};

/* Collects what the recording's mappings name, as @resolver finds it. On failure, and when it is given up
 * (-sbe_stop), a new directory is not there, and an old one is as before. */
sb_export int sb_bundle_write(const struct sb_perfdata *perfdata, struct sb_resolver *resolver,
                              const struct sb_bundle_options *options, struct sb_bundle_result *result,
                              struct sb_error *err);

/* The path of a file of the kernel ("kcore", "vmlinux", "kallsyms") that the resolver's bundle has for a
 * recording, to be freed: one that was named, or else, of those that were not, one that perf recorded. NULL:
 * there is none. */
sb_export char *sb_bundle_named_kernel(const struct sb_resolver *resolver, const char *recording,
                                       const char *file);
sb_export char *sb_bundle_recorded_kernel(const struct sb_resolver *resolver, const char *recording,
                                          const char *file);

/* The path of a recording in a bundle; to be freed. @name NULL: the only one. -sbe_not_found when there is
 * none, -sbe_invalid when there are several. */
sb_export int sb_bundle_recording(const char *directory, const char *name, char **path, struct sb_error *err);

#endif
