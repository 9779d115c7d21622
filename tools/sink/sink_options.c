/* sink_options.c - the options of sinks: found by name, tried, and told in the help. */
#include "sink/sink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nearest.h"

const struct sink_option *sink_option_find(const struct sink_type *type, const char *name,
                                           const char **suggestion)
{
	struct nearest nearest;

	nearest_begin(&nearest, name);
	for (size_t i = 0; i < type->noptions; i++) {
		if (!strcmp(type->option[i].name, name))
			return &type->option[i];
		nearest_offer(&nearest, type->option[i].name);
	}
	if (suggestion)
		*suggestion = nearest.best;
	return NULL;
}

int sink_option_try(const struct sink_type *type, const struct sink_option *option, const char *value,
                    struct option_error *error)
{
	void *state = calloc(1, type->size);
	int result;

	if (!state)
		return option_fail(error, "out of memory");
	result = option->set(state, value, error);
	free(state);
	return result;
}

void sink_types_help(void)
{
	const struct sink_type *type;
	char left[64];

	printf("\nsinks, with what --with sets:\n");
	for (size_t i = 0; (type = sink_type_at(i)); i++) {
		printf("  %-26s %s\n", type->name, type->about);
		for (size_t j = 0; j < type->noptions; j++) {
			snprintf(left, sizeof(left), "%s=%s", type->option[j].name, type->option[j].value);
			printf("      %-22s %s\n", left, type->option[j].about);
		}
	}
}
