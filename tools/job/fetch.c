/* fetch.c - see fetch.h. */
#include "job/fetch.h"

#include <inttypes.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sb/checkpoint.h>

#include "job/fetch_command.h"

enum { answer_most = 1024, version_most = 255 };

/* What the command for the size says. */
struct identity {
	uint64_t bytes;
	char version[version_most + 1]; /* "": none */
};

struct fetch {
	const struct job_fetch *how;
	char *url;
	struct identity identity;
	bool is_opening; /* what comes is not trace */
	struct sha256_ctx sum;
	char sideband[65]; /* "": not opened */
};

static int out_of_memory(struct sb_error *err)
{
	return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

static uint64_t timeout_of(const struct fetch *fetch)
{
	return fetch->how->timeout ? fetch->how->timeout : job_fetch_timeout_default;
}

/* ---- Size and version ------------------------------------------------------------------------- */

/* "SIZE", and perhaps blanks and a version behind it; then nothing but blanks. */
static bool parse_identity(const char *text, struct identity *identity)
{
	const char *version, *end;
	char *behind;

	if (*text < '0' || *text > '9')
		return false;
	identity->bytes = strtoull(text, &behind, 10);
	version = behind + strspn(behind, " \t");
	if (identity->bytes > INT64_MAX ||
	    (version == behind && *version && *version != '\n' && *version != '\r'))
		return false;
	for (end = version; (unsigned char)*end >= ' ' && (unsigned char)*end < 0x7f; end++)
		;
	if (end[strspn(end, " \t\r\n")])
		return false;
	while (end > version && end[-1] == ' ')
		end--;
	if (end - version > version_most)
		return false;
	snprintf(identity->version, sizeof(identity->version), "%.*s", (int)(end - version), version);
	return true;
}

static int ask(const struct fetch *fetch, struct identity *identity, struct sb_error *err)
{
	const struct job_fetch_words words = {.url = fetch->url, .version = ""};
	char answer[answer_most + 1];
	char **argv = job_fetch_argv(&fetch->how->size, &words);
	struct fetch_command command = {.argv = argv,
	                                .timeout = timeout_of(fetch),
	                                .url = fetch->url,
	                                .offset = UINT64_MAX,
	                                .bytes = answer,
	                                .size = answer_most};
	int64_t n;

	if (!argv)
		return out_of_memory(err);
	n = fetch_command_run(&command, err);
	if (n >= 0) {
		answer[n] = '\0';
		if (strlen(answer) != (size_t)n || !parse_identity(answer, identity)) {
			answer[strcspn(answer, "\r\n")] = '\0';
			n = sb_error_set(
			        err, -sbe_format, fetch->url, UINT64_MAX,
			        "expected the size in bytes from the command '%s', and perhaps a version "
			        "behind it; found '%.100s'",
			        argv[0], answer);
		}
	}
	job_fetch_argv_free(argv);
	return n < 0 ? (int)n : 0;
}

int fetch_open(struct fetch **result, const struct job_fetch *how, const char *url, struct sb_error *err)
{
	struct fetch *fetch;
	int code;

	*result = NULL;
	if (!how->range.count)
		return sb_error_set(
		        err, -sbe_invalid, url, UINT64_MAX,
		        "this is a URL, and the job does not say how to get it: with the key 'fetch'");
	fetch = calloc(1, sizeof(*fetch));
	if (!fetch)
		return out_of_memory(err);
	fetch->how = how;
	fetch->url = strdup(url);
	code = fetch->url ? ask(fetch, &fetch->identity, err) : out_of_memory(err);
	if (code)
		fetch_close(fetch);
	else
		*result = fetch;
	return code;
}

void fetch_close(struct fetch *fetch)
{
	if (!fetch)
		return;
	free(fetch->url);
	free(fetch);
}

/* ---- Bytes ------------------------------------------------------------------------------------ */

static int read_range(void *context, uint64_t offset, void *bytes, size_t size, struct sb_error *err)
{
	struct fetch *fetch = context;
	const struct job_fetch_words words = {fetch->url, fetch->identity.version, offset, size};
	char **argv = job_fetch_argv(&fetch->how->range, &words);
	const struct fetch_command command = {.argv = argv,
	                                      .timeout = timeout_of(fetch),
	                                      .url = fetch->url,
	                                      .offset = offset,
	                                      .bytes = bytes,
	                                      .size = size,
	                                      .is_exact = 1};
	int64_t n;

	if (!argv)
		return out_of_memory(err);
	n = fetch_command_run(&command, err);
	job_fetch_argv_free(argv);
	if (n < 0)
		return (int)n;
	if (fetch->is_opening)
		sha256_update(&fetch->sum, size, bytes);
	return 0;
}

static void end_sum(struct fetch *fetch)
{
	uint8_t digest[SHA256_DIGEST_SIZE];

	sha256_digest(&fetch->sum, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(fetch->sideband + 2 * i, 3, "%02x", digest[i]);
}

int fetch_open_recording(struct fetch *fetch, const struct sb_checkpoint *checkpoint,
                         struct sb_perfdata **perfdata, struct sb_error *err)
{
	const struct sb_store store = {.size = sizeof(store),
	                               .name = fetch->url,
	                               .bytes = fetch->identity.bytes,
	                               .piece = fetch->how->piece,
	                               .context = fetch,
	                               .read = read_range};
	int code;

	sha256_init(&fetch->sum);
	fetch->is_opening = true;
	code = sb_perfdata_open_store_at(perfdata, &store, checkpoint, err);
	fetch->is_opening = false;
	/* What a checkpoint does not have, it has a sum of. */
	if (!checkpoint)
		end_sum(fetch);
	return code;
}

/* ---- Whether it is the same ------------------------------------------------------------------- */

json_t *fetch_value(const struct fetch *fetch)
{
	return json_pack("{s:I, s:s*, s:s*}", "bytes", (json_int_t)fetch->identity.bytes, "version",
	                 *fetch->identity.version ? fetch->identity.version : NULL, "sideband",
	                 *fetch->sideband ? fetch->sideband : NULL);
}

static int compare(const struct fetch *fetch, const struct identity *now, const struct identity *then,
                   const char *when, struct sb_error *err)
{
	if (now->bytes != then->bytes)
		return sb_error_set(err, -sbe_mismatch, fetch->url, UINT64_MAX,
		                    "it has %" PRIu64
		                    " bytes now, as the command '%s' says; %s it had %" PRIu64,
		                    now->bytes, fetch->how->size.value[0], when, then->bytes);
	if (*then->version && strcmp(now->version, then->version) != 0)
		return sb_error_set(err, -sbe_mismatch, fetch->url, UINT64_MAX,
		                    "its version is %.64s now, as the command '%s' says; %s it was %.64s",
		                    *now->version ? now->version : "not told", fetch->how->size.value[0],
		                    when, then->version);
	return 0;
}

int fetch_compare(const struct fetch *fetch, const json_t *value, struct sb_error *err)
{
	const char *version = json_string_value(json_object_get(value, "version"));
	const char *sideband = json_string_value(json_object_get(value, "sideband"));
	struct identity then = {.bytes = (uint64_t)json_integer_value(json_object_get(value, "bytes"))};
	int code;

	snprintf(then.version, sizeof(then.version), "%s", version ? version : "");
	code = compare(fetch, &fetch->identity, &then, "when the plan was made", err);
	if (code || !sideband || !*fetch->sideband || !strcmp(sideband, fetch->sideband))
		return code;
	return sb_error_set(
	        err, -sbe_mismatch, fetch->url, UINT64_MAX,
	        "what the command '%s' gives is not what it was when the plan was made, though it has as "
	        "many bytes",
	        fetch->how->range.value[0]);
}

int fetch_check(const struct fetch *fetch, struct sb_error *err)
{
	struct identity now = {0};
	const int code = ask(fetch, &now, err);

	return code ? code : compare(fetch, &now, &fetch->identity, "when it was opened", err);
}
