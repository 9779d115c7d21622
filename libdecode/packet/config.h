/* The decoder configuration: size-versioned copy and checks. */
#ifndef PT_CONFIG_H
#define PT_CONFIG_H

#include "intel-pt.h"

/* Copies the user's @user, whatever version of the struct it is, into @config: known fields are
 * taken, later ones of ours are zero. -pte_invalid (NULL, begin > end or NULL),
 * -pte_bad_config (size smaller than the mandatory part: offsetof(decode)). */
int pt_config_from_user(struct pt_config *config, const struct pt_config *user);

/* Copies a struct of @known bytes to a user's buffer of @size bytes: what fits, the rest zeroed. */
void pt_copy_to_user(void *user, size_t size, const void *known, size_t known_size);

#endif
