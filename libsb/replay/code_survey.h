/* code_survey.h - what was mapped where no record says so, as far as the trace tells.
 *
 * When the record of a mapping was lost, and no other process says what was there, the packets are read once,
 * from the beginning to the end: what addresses were executed where nothing is mapped? They tell which file
 * it was (code_vote.h), of those that anybody had mapped, or that have the process's name; and then of all
 * that are where those were.
 *
 * What is found depends on the recording alone, not on who asks for what, and when. Threads may share it.
 */
#ifndef SB_CODE_SURVEY_H
#define SB_CODE_SURVEY_H

#include <pthread.h>

#include <sb/binary.h>
#include <sb/replay.h>

#include "replay/survey_folder.h"

struct surveyed_map {
	uint32_t epoch;
	struct sb_map map;
};

struct code_survey {
	/* Borrowed; NULL: nothing is looked for. */
	const struct sb_system *system;
	const struct sb_perfdata *perfdata;
	struct sb_resolver *resolver;

	pthread_mutex_t lock; /* of making it */
	int made, status;
	struct surveyed_map *found; /* owned; by epoch and address */
	size_t nfound, capacity;
	struct sb_account_map *list; /* owned: the same by process and address */
	char **name;                 /* owned: of files that no record names */
	size_t nnames, name_capacity;
	struct survey_files beside; /* all where recorded ones were */
	int has_beside;
};

void code_survey_init(struct code_survey *survey, const struct sb_system *system,
                      const struct sb_perfdata *perfdata, struct sb_resolver *resolver);
void code_survey_fini(struct code_survey *survey);

/* Makes the survey now, if there is something to ask. Zero or -sbe_nomem. */
int code_survey_make(struct code_survey *survey);
/* Whether it was made: somebody asked. */
int code_survey_is_made(struct code_survey *survey);

/* The mapping of @epoch at @ip: 1, or 0: none is known, or -sbe_nomem. */
int code_survey_find(struct code_survey *survey, const struct sb_epoch *epoch, uint64_t ip,
                     struct sb_map *map);

#endif
