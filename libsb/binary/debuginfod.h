/* debuginfod.h - files by build-id from the servers of $DEBUGINFOD_URLS.
 *
 * libdebuginfod is loaded when it is wanted: it brings half of the network with it, and nobody else needs
 * that. It keeps what it fetched below ~/.cache/debuginfod_client; see debuginfod_find_debuginfo(3).
 */
#ifndef SB_DEBUGINFOD_H
#define SB_DEBUGINFOD_H

#include <stdint.h>

#include <sb/error.h>

#include "binary/build_id_dir.h"

struct debuginfod;

/* -sbe_not_found when the library is not installed, or no server is named. */
int debuginfod_open(struct debuginfod **debuginfod, struct sb_error *err);
void debuginfod_close(struct debuginfod *debuginfod);

/* The path of the file, to be freed, or NULL. May take as long as $DEBUGINFOD_TIMEOUT says. One thread at a
 * time. */
char *debuginfod_fetch(struct debuginfod *debuginfod, enum build_id_kind kind, const uint8_t *id,
                       int id_size);

#endif
