/* bundle_recording.c - what a bundle has of recordings themselves; see sb/bundle.h. */
#include <errno.h>
#include <sb/bundle.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "binary/bundle_index.h"
#include "binary/resolver.h"

char *bundle_base_name(const char *path)
{
	char *real = realpath(path, NULL), *slash = real ? strrchr(real, '/') : NULL, *name = NULL;

	if (slash && slash[1])
		name = strdup(slash + 1);
	free(real);
	return name;
}

/* The path of the bundle's file "BEFORE/NAME/BEHIND/FILE", NAME being that of the recording. */
static char *find(const struct sb_resolver *resolver, const char *before, const char *recording,
                  const char *behind, const char *file)
{
	const char *directory = resolver ? bundle_directory(resolver->bundle) : NULL;
	char *name = directory ? bundle_base_name(recording) : NULL, *path = NULL, *inside;
	struct rooted_file found;

	if (name && asprintf(&inside, "/%s/%s%s/%s", before, name, behind, file) >= 0) {
		if (rooted_open(&found, directory, inside) == rooted_found) {
			path = strdup(found.path);
			rooted_close(&found);
		}
		free(inside);
	}
	free(name);
	return path;
}

char *sb_bundle_named_kernel(const struct sb_resolver *resolver, const char *recording, const char *file)
{
	return find(resolver, "kernel", recording, "", file);
}

char *sb_bundle_recorded_kernel(const struct sb_resolver *resolver, const char *recording, const char *file)
{
	return find(resolver, "recordings", recording, "/kcore_dir", file);
}

char *kernel_file_recorded(const struct sb_resolver *resolver, const struct sb_perfdata *perfdata,
                           const char *file)
{
	const char *directory = sb_perfdata_kcore_dir(perfdata);
	char *path = NULL;

	if (directory && asprintf(&path, "%s/%s", directory, file) < 0)
		return NULL;
	if (path && access(path, R_OK) == 0)
		return path;
	free(path);
	return sb_bundle_recorded_kernel(resolver, sb_perfdata_path(perfdata), file);
}

int sb_bundle_recording(const char *directory, const char *name, char **path, struct sb_error *err)
{
	json_t *manifest, *recordings;
	int status = bundle_manifest_read(&manifest, directory, err);

	*path = NULL;
	if (status < 0)
		return status;
	recordings = json_object_get(manifest, "recordings");
	if (!name && json_object_size(recordings) > 1)
		status = sb_error_set(err, -sbe_invalid, directory, UINT64_MAX,
		                      "there is more than one recording in this bundle: which one?");
	else if (!name)
		name = json_object_iter_key(json_object_iter(recordings));
	if (status == 0 && !name && access(directory, F_OK))
		status = sb_error_set(err, -sbe_not_found, directory, UINT64_MAX, "%s", strerror(errno));
	else if (status == 0 && !name)
		status = sb_error_set(err, -sbe_not_found, directory, UINT64_MAX,
		                      "holds no recording: name one, or make the bundle with one "
		                      "(sbtrace bundle --with-recording)");
	else if (status == 0 && (strchr(name, '/') || !json_object_get(recordings, name)))
		status = sb_error_set(err, -sbe_not_found, directory, UINT64_MAX,
		                      "there is no such recording in this bundle");
	if (status == 0 && asprintf(path, "%s/recordings/%s", directory, name) < 0)
		status = sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	json_decref(manifest);
	return status;
}
