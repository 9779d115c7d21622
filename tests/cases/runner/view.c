/* view.c - see view.h. The packet and event views; the others are in view_flow.c. */
#include "view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "event_text.h"
#include "names.h"
#include "view_flow.h"
#include "view_query.h"

static int describe_unknown(struct pt_packet_unknown *unknown, const struct pt_config *config,
                            const uint8_t *pos, void *context)
{
	const struct case_file *file = context;

	unknown->packet = pos;
	unknown->priv = NULL;
	return config->end - pos < file->unknown_size ? -pte_eos : file->unknown_size;
}

static void set_filter(struct pt_conf_addr_filter *filter, unsigned n, unsigned cfg, uint64_t a, uint64_t b)
{
	uint64_t *const range[] = {&filter->addr0_a, &filter->addr1_a, &filter->addr2_a, &filter->addr3_a};

	filter->config.addr_cfg |= (uint64_t)cfg << 4 * n;
	range[n][0] = a;
	range[n][1] = b;
}

/* "N filter|stop FIRST LAST" */
static void add_filter(struct pt_config *config, const struct case_line *line, const struct program *program)
{
	char kind[16], first[64], last[64];
	uint64_t a = 0, b = 0;
	unsigned n;

	if (sscanf(line->text, "%u %15s %63s %63s", &n, kind, first, last) != 4 || n >= case_max_filters)
		return;
	program_value(program, first, &a);
	program_value(program, last, &b);
	set_filter(&config->addr_filter, n, strcmp(kind, "stop") ? 1 : 2, a, b);
}

struct view view_make(const struct api *api, const struct case_file *file, const struct program *program,
                      struct case_trace *trace)
{
	struct view view = {.api = api, .file = file, .program = program, .config = file->config};

	view.config.begin = trace->bytes;
	view.config.end = trace->bytes + trace->size;
	if (file->unknown_size) {
		view.config.decode.callback = describe_unknown;
		view.config.decode.context = (void *)(uintptr_t)file;
	}
	for (size_t i = 0; i < file->nfilters; ++i)
		add_filter(&view.config, &file->filter[i], program);
	return view;
}

/* From the first byte on, in sync with a PSB or not: cases may be of single packets. */
static void print_packets(FILE *out, const struct view *view)
{
	const struct api *api = view->api;
	struct pt_packet_decoder *decoder = api->pt_pkt_alloc_decoder(&view->config);
	struct pt_packet packet;
	uint64_t offset = 0;
	int status;

	status = decoder ? api->pt_pkt_sync_set(decoder, 0) : -pte_bad_config;
	while (status >= 0) {
		api->pt_pkt_get_offset(decoder, &offset);
		/* Debian's library leaves bits alone that it does not know. */
		memset(&packet, 0, sizeof(packet));
		status = api->pt_pkt_next(decoder, &packet, sizeof(packet));
		if (status >= 0) {
			fprintf(out, "%04" PRIx64 " ", offset);
			packet_print(out, &packet);
			fputc('\n', out);
		}
	}
	if (status != -pte_eos || offset != (uint64_t)(view->config.end - view->config.begin))
		fprintf(out, "%04" PRIx64 " error %s\n", offset, error_name(status));
	api->pt_pkt_free_decoder(decoder);
}

static void print_events(FILE *out, const struct view *view)
{
	const struct api *api = view->api;
	struct pt_config config = view->config;
	struct pt_event_decoder *decoder;
	uint64_t offset = 0;
	int status;

	config.flags.variant.event.keep_tcal_on_ovf = view->file->flag_keep_tcal & 1;
	config.flags.variant.event.enable_iflags_events = view->file->flag_iflags & 1;
	decoder = api->pt_evt_alloc_decoder(&config);
	status = decoder ? api->pt_evt_sync_forward(decoder) : -pte_bad_config;
	while (status >= 0) {
		struct pt_event event;

		status = api->pt_evt_next(decoder, &event, sizeof(event));
		if (status < 0)
			break;
		event_print(out, &event, view->program);
		fputc('\n', out);
	}
	fprintf(out, "error %s", error_name(status));
	if (decoder && status != -pte_eos && api->pt_evt_get_offset(decoder, &offset) >= 0)
		fprintf(out, " @%" PRIx64, offset);
	fputc('\n', out);
	api->pt_evt_free_decoder(decoder);
}

/* Older libraries have neither an event decoder nor resynchronisation. */
static int can_give(const struct view *view, enum case_view which)
{
	if (which == view_events)
		return view->api->pt_evt_next != NULL;
	if (which == view_packets || which == view_query)
		return 1;
	return view->file->after_error != case_resync || view->api->pt_insn_resync;
}

char *view_text(const struct view *view, enum case_view which)
{
	char *text = NULL;
	size_t size;
	FILE *out;

	if (!can_give(view, which))
		return NULL;
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	if (which == view_packets)
		print_packets(out, view);
	else if (which == view_events)
		print_events(out, view);
	else if (which == view_query)
		print_query(out, view);
	else
		print_flow(out, view, which);
	fclose(out);
	return text;
}

static int is_own_flag(const char *word, size_t size)
{
	static const char *const flags[] = {"enabled",  "disabled", "resumed", "interrupted",
	                                    "resynced", "stopped",  "aborted", "committed"};

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); ++i) {
		if (strlen(flags[i]) == size && !strncmp(flags[i], word, size))
			return 1;
	}
	return 0;
}

static void copy_words(FILE *out, const char *line, const char *end)
{
	for (const char *word = line; word < end;) {
		const size_t size = strcspn(word, " \n");

		if (!is_own_flag(word, size))
			fprintf(out, "%s%.*s", word == line ? "" : " ", (int)size, word);
		word += size;
		word += word < end;
	}
}

/* Copies one line without flags; an event's line as it is. Returns where the next line begins. */
static const char *copy_line(FILE *out, const char *line)
{
	const char *end = line + strcspn(line, "\n");

	if (*line == '[')
		fwrite(line, 1, (size_t)(end - line), out);
	else
		copy_words(out, line, end);
	fputc('\n', out);
	return *end ? end + 1 : end;
}

char *view_plain(const char *text)
{
	char *plain = NULL;
	size_t size;
	FILE *out = open_memstream(&plain, &size);

	while (out && *text)
		text = copy_line(out, text);
	if (out)
		fclose(out);
	return plain;
}
