/* The decoder configuration: size-versioned copy and checks. */
#include "packet/config.h"

int pt_config_from_user(struct pt_config *config, const struct pt_config *user)
{
	size_t size;

	if (!config || !user)
		return -pte_invalid;
	size = user->size;
	if (size < offsetof(struct pt_config, decode))
		return -pte_bad_config;
	if (size > sizeof(*config))
		size = sizeof(*config);
	memset(config, 0, sizeof(*config));
	memcpy(config, user, size);
	config->size = size;
	if (!config->begin || !config->end || config->begin > config->end)
		return -pte_invalid;
	return 0;
}

void pt_copy_to_user(void *user, size_t size, const void *known, size_t known_size)
{
	if (size > known_size) {
		memset((uint8_t *)user + known_size, 0, size - known_size);
		size = known_size;
	}
	memcpy(user, known, size);
}
