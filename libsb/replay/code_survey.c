/* code_survey.c - see code_survey.h. */
#include "replay/code_survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bisect.h"
#include "replay/code_vote.h"
#include "replay/survey_scan.h"
#include "system/arena.h"
#include "system/system.h"

enum {
	FILES_MAX = 512,      /* that are tried; those that were mapped first */
	ROUNDS_MAX = 32,      /* mappings that a process may lack */
	IPS_MIN = 4,          /* fewer addresses say nothing */
	NAMES_MAX = 4096,     /* of files that are looked for by name */
	EPOCHS_MAX = 4096,    /* whose mappings are looked for */
	OTHERS_MAX = 1 << 15, /* how often any files are tried that are where recorded ones were */
	OTHERS_BITS = 64,     /* how much must speak for one of these: see code_vote.c */
};

struct library {
	struct code_survey *survey;
	struct code_file file[FILES_MAX];
	size_t count;
	int status;
};

void code_survey_init(struct code_survey *survey, const struct sb_system *system,
                      const struct sb_perfdata *perfdata, struct sb_resolver *resolver)
{
	*survey = (struct code_survey){.system = system, .perfdata = perfdata, .resolver = resolver};
	pthread_mutex_init(&survey->lock, NULL);
}

void code_survey_fini(struct code_survey *survey)
{
	for (size_t i = 0; i < survey->nnames; ++i)
		free(survey->name[i]);
	free(survey->name);
	survey_files_free(&survey->beside);
	free(survey->found);
	free(survey->list);
	pthread_mutex_destroy(&survey->lock);
	*survey = (struct code_survey){0};
}

/* ---- Files ------------------------------------------------------------------------------------ */

static int is_same_file(const struct sb_map *a, const struct sb_map *b)
{
	return strcmp(a->filename, b->filename) == 0 && a->ino == b->ino && a->maj == b->maj &&
	       a->min == b->min && a->build_id_size == b->build_id_size &&
	       memcmp(a->build_id, b->build_id, a->build_id_size) == 0;
}

static int has_file(const struct library *library, const struct sb_map *map)
{
	for (size_t i = 0; i < library->count; ++i)
		if (is_same_file(&library->file[i].like, map))
			return 1;
	return 0;
}

/* Adds the file behind @map, if it is there. */
static int add_file(struct library *library, const struct sb_map *map)
{
	const struct code_survey *survey = library->survey;
	const uint32_t scope = sb_map_scope(survey->resolver, survey->system, map);
	const struct sb_binary *binary;

	if (library->count == FILES_MAX || has_file(library, map))
		return 0;
	if (sb_resolver_find_in(survey->resolver, scope, map, &binary, NULL) < 0)
		return -sbe_nomem;
	if (binary->missing)
		return 0;
	return code_file_read(&library->file[library->count++], map, binary->path);
}

static int on_map(void *context, const struct sb_epoch *epoch, const struct sb_map *map)
{
	struct library *library = context;

	(void)epoch;
	if (map->origin != sb_map_recorded || map->filename[0] != '/' || sb_map_is_anonymous(map->filename))
		return 0;
	library->status = add_file(library, map);
	return library->status;
}

static int add_recorded(struct library *library)
{
	const struct sb_system *system = library->survey->system;
	const size_t count = system_nspaces(system);

	for (size_t i = 0; i < count && library->status == 0; ++i)
		system_walk_space(system, i, on_map, library);
	return library->status;
}

static void free_library(struct library *library)
{
	for (size_t i = 0; i < library->count; ++i)
		code_file_free(&library->file[i]);
	free(library);
}

/* ---- Files by the name of the process ----------------------------------------------------------- */

static char *keep_name(struct code_survey *survey, const char *folder, size_t length, const char *comm)
{
	char *name;

	if (asprintf(&name, "%.*s%s", (int)length, folder, comm) < 0)
		return NULL;
	for (size_t i = 0; i < survey->nnames; ++i)
		if (!strcmp(survey->name[i], name)) {
			free(name);
			return survey->name[i];
		}
	if (array_reserve(&survey->name, &survey->name_capacity, survey->nnames, sizeof(*survey->name)) < 0) {
		free(name);
		return NULL;
	}
	survey->name[survey->nnames++] = name;
	return name;
}

static int add_program(struct library *library, const struct survey_ip *at, const char *folder, size_t length,
                       const char *comm)
{
	struct code_survey *survey = library->survey;
	struct sb_map map = {.end = UINT64_MAX, .pid = at->pid, .time = at->time};

	map.filename = keep_name(survey, folder, length, comm);
	if (!map.filename)
		return -sbe_nomem;
	for (size_t i = 0; i < library->count; ++i)
		if (!strcmp(library->file[i].like.filename, map.filename))
			return 0;
	return add_file(library, &map);
}

/* Programs are called as their file is: it is looked for where others were. */
static int add_by_name(struct library *library, const struct survey_ip *at)
{
	const struct sb_space *space = sb_system_space(library->survey->system, at->pid, at->time);
	const char *comm =
	        space ? sb_system_comm(library->survey->system, at->pid, at->pid, space->from) : "";
	struct survey_folder folder[SURVEY_FOLDERS_MAX];
	size_t nfolders;
	int status = 0;

	if (library->survey->nnames >= NAMES_MAX || !*comm || strchr(comm, '/') || comm[0] == '.')
		return 0;
	nfolders = survey_folders(library->file, library->count, folder);
	for (size_t i = 0; i < nfolders && status == 0; ++i)
		status = add_program(library, at, folder[i].name, folder[i].length, comm);
	return status;
}

/* ---- Concluding --------------------------------------------------------------------------------- */

static int add_verdict(struct code_survey *survey, const struct survey_ip *at,
                       const struct code_verdict *verdict)
{
	for (size_t s = 0; s < verdict->file->nsegments; ++s) {
		if (array_reserve(&survey->found, &survey->capacity, survey->nfound, sizeof(*survey->found)) <
		    0)
			return -sbe_nomem;
		survey->found[survey->nfound] =
		        (struct surveyed_map){at->epoch->id, code_file_map(verdict->file, s, verdict->base)};
		survey->found[survey->nfound].map.pid = at->pid;
		survey->found[survey->nfound++].map.time = at->time;
	}
	return 0;
}

/* Without those that the verdict explains. */
static size_t without(uint64_t *ip, size_t nips, const struct code_verdict *verdict)
{
	size_t count = 0;

	for (size_t i = 0; i < nips; ++i) {
		int explained = 0;

		for (size_t s = 0; s < verdict->file->nsegments; ++s) {
			const struct sb_map map = code_file_map(verdict->file, s, verdict->base);

			explained |= ip[i] >= map.begin && ip[i] < map.end;
		}
		if (!explained)
			ip[count++] = ip[i];
	}
	return count;
}

/* What an epoch lacks. */
struct lack {
	const struct survey_ip *at;
	uint64_t *ip; /* that are not explained */
	size_t count;
};

/* The mappings of one epoch, one after the other; @least: how much must speak for each. */
static int conclude(struct code_survey *survey, struct lack *lack, struct code_file *file, size_t nfiles,
                    uint32_t least)
{
	struct code_verdict verdict;
	int status = 0;

	for (int round = 0; round < ROUNDS_MAX && lack->count && status == 0; ++round) {
		status = code_vote(lack->at->epoch, file, nfiles, lack->ip, lack->count, &verdict);
		if (status < 0 || !verdict.file || verdict.score < least)
			break;
		status = add_verdict(survey, lack->at, &verdict);
		lack->count = without(lack->ip, lack->count, &verdict);
	}
	return status;
}

/* By files that nothing names. Those of containers are not looked at. */
static int conclude_others(struct library *library, size_t recorded, struct lack *lack)
{
	struct code_survey *survey = library->survey;
	const struct sb_map of = {.pid = lack->at->pid, .time = lack->at->time};
	struct survey_folder folder[SURVEY_FOLDERS_MAX];
	int status = 0;

	if (sb_map_scope(survey->resolver, survey->system, &of))
		return 0;
	if (!survey->has_beside)
		status = survey_files_read(&survey->beside, survey->resolver, folder,
		                           survey_folders(library->file, recorded, folder));
	survey->has_beside = 1;
	if (status < 0 || survey->beside.left_out)
		return status;
	return conclude(survey, lack, survey->beside.file, survey->beside.count, OTHERS_BITS);
}

static int conclude_epoch(struct library *library, const struct survey_ip *at, size_t count, size_t *nothers)
{
	const size_t recorded = library->count;
	struct lack lack = {at, calloc(count, sizeof(*lack.ip)), count};
	int status = lack.ip ? add_by_name(library, at) : -sbe_nomem;

	for (size_t i = 0; lack.ip && i < count; ++i)
		lack.ip[i] = at[i].ip;
	if (status == 0)
		status = conclude(library->survey, &lack, library->file, library->count, 0);
	/* What has one process's name is nothing for others. */
	while (library->count > recorded)
		code_file_free(&library->file[--library->count]);
	if (status == 0 && lack.count >= IPS_MIN && *nothers < OTHERS_MAX) {
		status = conclude_others(library, recorded, &lack);
		*nothers += library->survey->beside.count + 1;
	}
	free(lack.ip);
	return status;
}

static int conclude_all(struct library *library, const struct survey_scan *scan)
{
	size_t first = 0, nepochs = 0, nothers = 0;
	int status = 0;

	for (size_t i = 1; i <= scan->count && status == 0 && nepochs < EPOCHS_MAX; ++i) {
		if (i < scan->count && scan->ip[i].epoch->id == scan->ip[first].epoch->id)
			continue;
		if (i - first >= IPS_MIN)
			status = conclude_epoch(library, &scan->ip[first], i - first, &nothers);
		first = i;
		nepochs += 1;
	}
	survey_files_drop(&library->survey->beside);
	return status;
}

static int compare(const void *a, const void *b)
{
	const struct surveyed_map *left = a, *right = b;

	if (left->epoch != right->epoch)
		return left->epoch < right->epoch ? -1 : 1;
	return left->map.begin < right->map.begin ? -1 : left->map.begin > right->map.begin;
}

static int compare_listed(const void *a, const void *b)
{
	const struct sb_account_map *left = a, *right = b;

	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return left->begin < right->begin ? -1 : left->begin > right->begin;
}

static int list_found(struct code_survey *survey)
{
	if (!survey->nfound)
		return 0;
	survey->list = calloc(survey->nfound, sizeof(*survey->list));
	if (!survey->list)
		return -sbe_nomem;
	for (size_t i = 0; i < survey->nfound; ++i) {
		const struct sb_map *map = &survey->found[i].map;

		survey->list[i] = (struct sb_account_map){map->pid, map->begin, map->end, map->filename};
	}
	qsort(survey->found, survey->nfound, sizeof(*survey->found), compare);
	qsort(survey->list, survey->nfound, sizeof(*survey->list), compare_listed);
	return 0;
}

static int make(struct code_survey *survey)
{
	struct library *library = calloc(1, sizeof(*library));
	struct survey_scan scan = {0};
	int status = library ? 0 : -sbe_nomem;

	if (status == 0)
		status = survey_scan(&scan, survey->perfdata, survey->system);
	if (status == 0 && scan.count) {
		library->survey = survey;
		status = add_recorded(library);
		if (status == 0)
			status = conclude_all(library, &scan);
		if (status == 0)
			status = list_found(survey);
	}
	free(scan.ip);
	if (library)
		free_library(library);
	return status;
}

/* ---- Asking ----------------------------------------------------------------------------------- */

/* Makes it unless it is. */
static int make_once(struct code_survey *survey)
{
	int status;

	pthread_mutex_lock(&survey->lock);
	if (!survey->made) {
		survey->made = 1;
		survey->status = make(survey);
	}
	status = survey->status;
	pthread_mutex_unlock(&survey->lock);
	return status;
}

int code_survey_make(struct code_survey *survey)
{
	return survey->system ? make_once(survey) : 0;
}

int code_survey_is_made(struct code_survey *survey)
{
	int made;

	pthread_mutex_lock(&survey->lock);
	made = survey->made;
	pthread_mutex_unlock(&survey->lock);
	return made;
}

int code_survey_find(struct code_survey *survey, const struct sb_epoch *epoch, uint64_t ip,
                     struct sb_map *map)
{
	const struct surveyed_map *last;
	struct bisect at = {0};
	int status;

	if (!survey->system)
		return 0;
	status = make_once(survey);
	if (status < 0)
		return status;
	/* The last one that begins at or before it. */
	at.high = survey->nfound;
	while (bisect_more(&at)) {
		const struct surveyed_map *found = &survey->found[at.middle];

		bisect_go(&at,
		          found->epoch < epoch->id || (found->epoch == epoch->id && found->map.begin <= ip));
	}
	if (!at.low)
		return 0;
	last = &survey->found[at.low - 1];
	if (last->epoch != epoch->id || last->map.end <= ip)
		return 0;
	*map = last->map;
	return 1;
}
