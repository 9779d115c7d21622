/* script_line.c - see script_line.h. */
#include "sink/script_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sb/source_lines.h>

#include "sink/printable.h"
#include "sink/symbol_text.h"
#include "sink/text.h"

enum {
	path_most = 1024, /* bytes of a path that are shown */
	path_text_most = 4 * path_most + 1,
	line_most = 512 + 2 * symbol_text_most + insn_text_most + 4 * symbol_name_most + path_text_most,
	lines_kept = 4096,
	indent_most = 64, /* levels */
};
_Static_assert((int)line_most < (int)output_most, "a line fits");

/* Who ran when, as text: it changes seldom. */
struct script_prefix {
	int32_t cpu, pid, tid;
	uint64_t tsc;
	uint32_t length; /* 0: not made yet */
	char text[192];
};

/* The last command that was asked for. */
struct script_comm {
	int32_t pid, tid;
	uint64_t from, until;
	char text[4 * 16 + 1];
};

struct script_source {
	const struct sb_epoch *epoch;
	struct sb_source_line line;
};

struct script_writer {
	struct output *output;
	const struct sink_context *context;
	struct script_writer_options options;
	struct script_prefix prefix;
	struct script_comm comm;
	struct symbol_texts *texts;    /* owned; NULL: no names */
	struct sb_code *code;          /* owned */
	struct insn_texts *insns;      /* owned */
	struct sb_source_lines *lines; /* the context's; NULL: not wanted */
	struct script_source source[lines_kept];
};

/* ---- Fields ----------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	uint32_t field;
} field_names[] = {
        {"comm", script_comm},   {"pid", script_pid},           {"tid", script_tid},
        {"cpu", script_cpu},     {"time", script_time},         {"tsc", script_tsc},
        {"flags", script_flags}, {"callindent", script_indent}, {"ip", script_ip},
        {"sym", script_sym},     {"symoff", script_symoff},     {"dso", script_dso},
        {"addr", script_addr},   {"insnlen", script_insnlen},   {"insn", script_insn},
        {"asm", script_asm},     {"srcline", script_srcline},
};

int script_fields_parse(const char *text, uint32_t *fields, struct option_error *error)
{
	for (;;) {
		const size_t length = strcspn(text, ",");
		uint32_t field = 0;

		for (size_t i = 0; i < sizeof(field_names) / sizeof(field_names[0]); i++)
			if (strlen(field_names[i].name) == length &&
			    !strncmp(field_names[i].name, text, length))
				field = field_names[i].field;
		if (!field)
			return option_fail(error,
			                   "'%.*s' is no field; there are comm, pid, tid, cpu, time, tsc, "
			                   "flags, callindent, ip, sym, symoff, dso, addr, insnlen, insn, "
			                   "asm, srcline",
			                   (int)(length < 64 ? length : 64), text);
		*fields |= field;
		if (!text[length])
			return 0;
		text += length + 1;
	}
}

/* ---- The writer ------------------------------------------------------------------------------- */

struct script_writer *script_writer_new(struct output *output, const struct sink_context *context,
                                        const struct script_writer_options *options)
{
	struct script_writer *writer = calloc(1, sizeof(*writer));
	bool made;

	if (!writer)
		return NULL;
	writer->output = output;
	writer->context = context;
	writer->options = *options;
	made = !sb_code_new(&writer->code, context->session, NULL);
	if (made)
		writer->insns = insn_texts_new(writer->code, options->syntax);
	if (made && context->symbols)
		writer->texts = symbol_texts_new(context->symbols, context->clock);
	if (made && (options->fields & script_srcline))
		writer->lines = context->lines;
	if (made && writer->insns && (writer->texts || !context->symbols))
		return writer;
	script_writer_free(writer);
	return NULL;
}

void script_writer_free(struct script_writer *writer)
{
	if (!writer)
		return;
	symbol_texts_free(writer->texts);
	insn_texts_free(writer->insns);
	sb_code_free(writer->code);
	free(writer);
}

/* ---- Who and when ----------------------------------------------------------------------------- */

static uint64_t time_of(const struct script_writer *writer, uint64_t tsc)
{
	return writer->context->clock->time_mult ? sb_clock_tsc_to_ns(writer->context->clock, tsc) : 0;
}

static const char *comm_of(struct script_writer *writer, int32_t pid, int32_t tid, uint64_t time)
{
	struct script_comm *comm = &writer->comm;

	if (comm->until && comm->pid == pid && comm->tid == tid && time >= comm->from && time < comm->until)
		return comm->text;
	comm->pid = pid;
	comm->tid = tid;
	comm->from = time;
	printable(comm->text, sb_system_comm_until(writer->context->system, pid, tid, time, &comm->until),
	          16);
	return comm->text;
}

static char *put_time(char *at, size_t room, uint64_t ns, bool nanoseconds)
{
	const uint64_t seconds = ns / 1000000000, rest = ns % 1000000000;

	return at + (nanoseconds ? snprintf(at, room, "%5" PRIu64 ".%09" PRIu64 ": ", seconds, rest)
	                         : snprintf(at, room, "%5" PRIu64 ".%06" PRIu64 ": ", seconds, rest / 1000));
}

static char *put_thread(char *at, size_t room, uint32_t fields, const struct sb_flow *flow)
{
	if ((fields & script_pid) && (fields & script_tid))
		return at + snprintf(at, room, "%5d/%-5d ", flow->pid, flow->tid);
	if (fields & (script_pid | script_tid))
		return at + snprintf(at, room, "%5d ", fields & script_pid ? flow->pid : flow->tid);
	return at;
}

static void make_prefix(struct script_writer *writer, const struct sb_flow *flow)
{
	struct script_prefix *prefix = &writer->prefix;
	const uint64_t time = time_of(writer, flow->tsc);
	const uint32_t fields = writer->options.fields;
	char *at = prefix->text, *end = prefix->text + sizeof(prefix->text);

	prefix->cpu = flow->cpu;
	prefix->pid = flow->pid;
	prefix->tid = flow->tid;
	prefix->tsc = flow->tsc;
	if (fields & script_comm)
		at += snprintf(at, (size_t)(end - at), "%16s ", comm_of(writer, flow->pid, flow->tid, time));
	at = put_thread(at, (size_t)(end - at), fields, flow);
	if (fields & script_cpu)
		at += snprintf(at, (size_t)(end - at), "[%03d] ", flow->cpu);
	if (fields & script_time)
		at = put_time(at, (size_t)(end - at), time, writer->options.nanoseconds);
	if (fields & script_tsc)
		at += snprintf(at, (size_t)(end - at), "%" PRIu64 " ", flow->tsc);
	prefix->length = (uint32_t)(at - prefix->text);
}

static char *put_prefix(struct script_writer *writer, char *at, const struct sb_flow *flow)
{
	const struct script_prefix *prefix = &writer->prefix;

	if (!prefix->length || prefix->tsc != flow->tsc || prefix->tid != flow->tid ||
	    prefix->pid != flow->pid || prefix->cpu != flow->cpu)
		make_prefix(writer, flow);
	memcpy(at, prefix->text, prefix->length);
	return at + prefix->length;
}

/* ---- What ------------------------------------------------------------------------------------- */

static char *put_string(char *at, const char *text)
{
	const size_t length = strlen(text);

	memcpy(at, text, length);
	return at + length;
}

static char *put_printable(char *at, const char *text, size_t most)
{
	printable(at, text, most);
	return at + strlen(at);
}

static char *put_blanks(char *at, size_t count)
{
	memset(at, ' ', count);
	return at + count;
}

static char *put_address(char *at, uint64_t ip)
{
	char digits[64];
	const size_t length = (size_t)(text_hex(digits, ip) - digits);

	at = put_blanks(at, 17 - length);
	memcpy(at, digits, length);
	return at + length;
}

static const struct symbol_text *symbol_of(struct script_writer *writer, const struct sb_flow *flow,
                                           uint64_t ip)
{
	static const struct symbol_text unknown;

	return writer->texts && ip ? symbol_text_at(writer->texts, flow, ip) : &unknown;
}

/* The address, with its names. NULL: out of memory. */
static char *put_place(struct script_writer *writer, char *at, const struct sb_flow *flow, uint64_t ip)
{
	const uint32_t fields = writer->options.fields;
	const struct symbol_text *text;

	at = put_address(at, ip);
	if (!(fields & (script_sym | script_dso)))
		return at;
	text = symbol_of(writer, flow, ip);
	if (!text)
		return NULL;
	if ((fields & script_sym) && text->name) {
		*at++ = ' ';
		memcpy(at, text->text, text->nname);
		at += text->nname;
		if (fields & script_symoff)
			at = text_hex(put_string(at, "+0x"), ip - text->begin);
	} else if (fields & script_sym) {
		at = put_string(at, " [unknown]");
	}
	if (!(fields & script_dso))
		return at;
	if (!text->dso)
		return put_string(at, " ([unknown])");
	at = put_string(at, " (");
	memcpy(at, text->text + text->nname, text->ndso);
	return put_string(at + text->ndso, ")");
}

static char *put_flags(char *at, const struct script_line *line)
{
	enum { width = 24 };
	char *const begin = at;

	at = put_string(at, "  ");
	at = put_string(at, line->flags);
	at = put_string(at, line->more);
	return at - begin < width ? put_blanks(at, (size_t)(width - (at - begin))) : at;
}

static char *put_indent(char *at, const struct script_line *line)
{
	enum { step = 4, width = 36 };
	const uint32_t depth = line->depth < indent_most ? line->depth : indent_most;
	char *const begin = at;

	at = put_blanks(at, (size_t)step * depth);
	if (line->function)
		at = put_printable(at, line->function, symbol_name_most);
	if (line->unsure)
		at = put_string(at, " (?)");
	return at - begin < width ? put_blanks(at, (size_t)(width - (at - begin))) : at;
}

static char *put_bytes(char *at, const struct insn_text *insn)
{
	static const char digit[] = "0123456789abcdef";

	at = put_string(at, " insn:");
	for (unsigned int i = 0; i < insn->known; i++) {
		*at++ = ' ';
		*at++ = digit[insn->bytes[i] >> 4];
		*at++ = digit[insn->bytes[i] & 15];
	}
	return at;
}

static const struct insn_text *insn_of(struct script_writer *writer, const struct script_place *place)
{
	return insn_text_at(writer->insns, place->flow, place->ip, place->length, place->mode, place->iclass);
}

static char *put_insn(struct script_writer *writer, char *at, const struct script_place *place)
{
	const uint32_t fields = writer->options.fields;
	const struct insn_text *insn;

	if (fields & script_insnlen)
		at = text_u64(put_string(at, " ilen: "), place->length);
	if (!(fields & (script_insn | script_asm)) || !place->length)
		return at;
	insn = insn_of(writer, place);
	if (!insn)
		return NULL;
	if ((fields & script_insn) && insn->known)
		at = put_bytes(at, insn);
	if ((fields & script_asm) && insn->text[0])
		at = put_string(put_string(at, "  "), insn->text);
	return at;
}

static char *put_source(struct script_writer *writer, char *at, const struct script_place *place)
{
	const struct sb_symbols_place wanted = {.epoch = place->flow->epoch, .pid = -1, .ip = place->ip};
	struct script_source *source = &writer->source[(place->ip ^ place->ip >> 12) % lines_kept];

	if (source->epoch != wanted.epoch || place->ip < source->line.low || place->ip >= source->line.high) {
		if (sb_source_lines_find(writer->lines, &wanted, &source->line, NULL) < 0)
			return NULL;
		source->epoch = wanted.epoch;
	}
	if (!source->line.file)
		return at;
	at = put_string(at, "  ");
	at = put_printable(at, source->line.file, path_most);
	*at++ = ':';
	return text_u64(at, source->line.line);
}

/* ---- Lines ------------------------------------------------------------------------------------ */

const char *script_branch(struct script_writer *writer, const struct script_place *place)
{
	const struct insn_text *insn;

	if (place->iclass == ptic_other || place->iclass == ptic_ptwrite)
		return "";
	insn = insn_of(writer, place);
	return insn ? insn->branch : NULL;
}

int script_put(struct script_writer *writer, const struct script_line *line)
{
	const uint32_t fields = writer->options.fields;
	char *at = output_room(writer->output, line_most);

	if (!at)
		return -1;
	at = put_prefix(writer, at, line->at.flow);
	if (fields & script_flags)
		at = put_flags(at, line);
	if (fields & script_indent)
		at = put_indent(at, line);
	if (fields & script_ip)
		at = put_place(writer, at, line->at.flow, line->at.ip);
	if (at && (fields & script_addr) && line->has_to)
		at = put_place(writer, put_string(at, " =>"), line->to_flow ? line->to_flow : line->at.flow,
		               line->to);
	if (at)
		at = put_insn(writer, at, &line->at);
	if (at && writer->lines && line->at.ip)
		at = put_source(writer, at, &line->at);
	if (!at)
		return -1;
	*at++ = '\n';
	output_advance(writer->output, at);
	return 0;
}

int script_put_gap(struct script_writer *writer, const struct sb_gap *gap)
{
	char detail[4 * sizeof(gap->detail) + 1], from[32], to[32];

	*put_time(from, sizeof(from), time_of(writer, gap->tsc_from), true) = '\0';
	*put_time(to, sizeof(to), time_of(writer, gap->tsc_to), true) = '\0';
	from[strcspn(from, ":")] = to[strcspn(to, ":")] = '\0';
	return output_printf(writer->output,
	                     "# gap: %s, cpu %d, pid %d, tid %d, from %s to %s, %" PRIu64
	                     " bytes at 0x%" PRIx64 ", ip %" PRIx64 "%s%s\n",
	                     sb_gap_reason_name(gap->reason), gap->cpu, gap->pid, gap->tid,
	                     gap->tsc_from ? from + strspn(from, " ") : "-",
	                     gap->tsc_to ? to + strspn(to, " ") : "-", gap->bytes, gap->offset, gap->ip,
	                     gap->detail[0] ? ": " : "", printable(detail, gap->detail, sizeof(gap->detail)));
}
