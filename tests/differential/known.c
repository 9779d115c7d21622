/* known.c - see known.h. */
#include "known.h"

#include <stddef.h>

struct known {
	const char *reason;
	enum known_effect effect;
	int (*accepts)(const struct known_query *query);
};

/* FACTS: bit 7 of the byte in the SDM; 2.0.5 reads bit 3. */
static int is_pwre_hw(const struct known_query *query)
{
	struct record ours = *query->ours, debian = *query->debian;

	if (ours.kind != debian.kind || ours.type != debian.type)
		return 0;
	if (!(ours.kind == rec_event && ours.type == 14) && !(ours.kind == rec_packet && ours.type == 24))
		return 0;
	ours.field[2] = debian.field[2] = 0;
	return record_equal(&ours, &debian);
}

static const struct known rows[known_count] = {
        {"PWRE: the HW bit is bit 7 of its byte; 2.0.5 reads another one", known_same, is_pwre_hw},
};

int known_find(const struct known_query *query, enum known_effect *effect)
{
	for (int row = 0; row < known_count; ++row)
		if (rows[row].accepts(query)) {
			*effect = rows[row].effect;
			return row;
		}
	return -1;
}

const char *known_reason(int row)
{
	return rows[row].reason;
}
