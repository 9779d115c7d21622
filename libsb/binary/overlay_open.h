/* overlay_open.h - a file in the union of directories that overlayfs would mount.
 *
 * Containers see their layers merged, and the merged directory is gone when they are. Its layers are not: a
 * path is looked up in them as overlayfs does (Documentation/filesystems/overlayfs.rst), so that neither
 * mount nor privilege is needed. What upper layers removed (whiteouts) or replaced (opaque directories) is
 * not found below them. Symbolic links lead to other places of the union, never out of it.
 *
 * Attributes are those of "trusted.overlay.", which only root can read, and "user.overlay.".
 */
#ifndef SB_OVERLAY_OPEN_H
#define SB_OVERLAY_OPEN_H

#include <stddef.h>

#include "binary/rooted_open.h"

enum { OVERLAY_LAYERS_MAX = 512 }; /* overlayfs takes 500 */

/* @layer are directories without trailing slash, the uppermost first; @name begins with '/'. On
 * rooted_failed, errno says why; EOPNOTSUPP: the path was renamed in an upper layer (redirect_dir). */
enum rooted_status overlay_open(struct rooted_file *file, const char *const *layer, size_t nlayers,
                                const char *name);

#endif
