/* record.c - see record.h. Names are listed in the order of the enums of intel-pt.h. */
#include "record.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct row {
	const char *name;
	const char *field[record_fields];
};

static const struct row packets[] = {
        {"invalid", {0}},
        {"unknown", {0}},
        {"pad", {0}},
        {"psb", {0}},
        {"psbend", {0}},
        {"fup", {"ipc", "ip"}},
        {"tip", {"ipc", "ip"}},
        {"tip.pge", {"ipc", "ip"}},
        {"tip.pgd", {"ipc", "ip"}},
        {"tnt.8", {"size", "bits"}},
        {"tnt.64", {"size", "bits"}},
        {"mode", {"leaf", "a", "b", "c"}},
        {"pip", {"cr3", "nr"}},
        {"vmcs", {"base"}},
        {"cbr", {"ratio"}},
        {"tsc", {"tsc"}},
        {"tma", {"ctc", "fc"}},
        {"mtc", {"ctc"}},
        {"cyc", {"value"}},
        {"stop", {0}},
        {"ovf", {0}},
        {"mnt", {"payload"}},
        {"exstop", {"ip"}},
        {"mwait", {"hints", "ext"}},
        {"pwre", {"state", "sub_state", "hw"}},
        {"pwrx", {"last", "deepest", "interrupt", "store", "autonomous"}},
        {"ptw", {"plc", "ip", "payload"}},
        {"cfe", {"type", "vector", "ip"}},
        {"evd", {"type", "payload"}},
        {"trig", {"trbv", "icnt", "ip", "icntv", "mult"}},
};

static const struct row events[] = {
        {"enabled", {"ip", "resumed"}},
        {"disabled", {"ip"}},
        {"async_disabled", {"ip", "at"}},
        {"async_branch", {"to", "from"}},
        {"paging", {"cr3", "non_root"}},
        {"async_paging", {"ip", "cr3", "non_root"}},
        {"overflow", {"ip"}},
        {"exec_mode", {"ip", "mode"}},
        {"tsx", {"ip", "speculative", "aborted"}},
        {"stop", {0}},
        {"vmcs", {"base"}},
        {"async_vmcs", {"ip", "base"}},
        {"exstop", {"ip"}},
        {"mwait", {"ip", "hints", "ext"}},
        {"pwre", {"state", "sub_state", "hw"}},
        {"pwrx", {"last", "deepest", "interrupt", "store", "autonomous"}},
        {"ptwrite", {"ip", "size", "payload"}},
        {"tick", {"ip"}},
        {"cbr", {"ratio"}},
        {"mnt", {"payload"}},
        {"tip", {"ip"}},
        {"tnt", {"bits", "size"}},
        {"iflags", {"ip", "iflag"}},
        {"interrupt", {"ip", "vector", "has_cr2", "cr2"}},
        {"iret", {"ip"}},
        {"smi", {"ip"}},
        {"rsm", {"ip"}},
        {"sipi", {"vector"}},
        {"init", {"ip"}},
        {"vmentry", {"ip"}},
        {"vmexit", {"ip", "has", "vector", "vmxr", "vmxq"}},
        {"shutdown", {"ip"}},
        {"uintr", {"ip", "vector"}},
        {"uiret", {"ip"}},
        {"trig", {"ip", "trbv", "icnt", "mult"}},
        {"swintr", {"ip", "vector"}},
        {"syscall", {"ip"}},
};

static const struct row others[] = {
        [rec_none] = {"(end)", {0}},
        [rec_sync] = {"sync", {"psb", "ip"}},
        [rec_insn] = {"insn", {"ip", "size", "mode", "iclass", "speculative", "truncated"}},
        [rec_branch] = {"branch", {"taken"}},
        [rec_target] = {"target", {"ip"}},
        [rec_error] = {"error", {0}},
        [rec_defect] = {"DEFECT", {"", ""}},
};

static const char *const errors[] = {
        "ok",          "internal",   "invalid",   "nosync",     "bad_opc",  "bad_packet",    "bad_context",
        "eos",         "bad_query",  "nomem",     "bad_config", "noip",     "suppressed",    "nomap",
        "bad_insn",    "no_time",    "no_cbr",    "bad_image",  "bad_lock", "not_supported", "retstack",
        "bad_retcomp", "bad_status", "no_enable", "ignored",    "overflow", "bad_file",      "bad_cpu",
};

static const char *const modes[] = {"?", "16", "32", "64"};
static const char *const classes[] = {"?",        "other",      "call",     "return",  "jump",    "cond_jump",
                                      "far_call", "far_return", "far_jump", "ptwrite", "indirect"};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

const char *record_event_name(uint32_t type)
{
	return type < COUNT(events) ? events[type].name : "(unknown event)";
}

const char *record_packet_name(uint32_t type)
{
	return type < COUNT(packets) ? packets[type].name : "(unknown packet)";
}

const char *record_error_name(int status)
{
	return status <= 0 && (size_t)-status < COUNT(errors) ? errors[-status] : "(unknown error)";
}

void record_forget(struct record *record, unsigned parts)
{
	if (parts & part_time) {
		record->time_status = 0;
		record->time = 0;
		record->cbr = record->time_lost_mtc = record->time_lost_cyc = 0;
	}
	if (parts & part_asid)
		record->cr3 = record->vmcs = 0;
	if (parts & part_status && record->status > 0)
		record->status = 0;
	if (parts & part_offset)
		record->offset = 0;
	if (parts & part_iclass && record->kind == rec_insn)
		record->field[3] = 0;
	if (parts & part_tsc)
		record->tsc = record->lost_mtc = record->lost_cyc = 0;
	if (parts & part_flags)
		record->flags = 0;
	if (parts & part_raw)
		memset(record->raw, 0, sizeof(record->raw));
}

int record_equal(const struct record *a, const struct record *b)
{
	return !memcmp(a, b, offsetof(struct record, text));
}

struct writer {
	char *text;
	size_t left;
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *writer, const char *format, ...)
{
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf(writer->text, writer->left, format, args);
	va_end(args);
	if (size < 0 || (size_t)size >= writer->left)
		size = (int)writer->left - 1;
	writer->text += size;
	writer->left -= (size_t)size;
}

static const struct row *row_of(const struct record *record)
{
	static const struct row unknown = {"(unknown)", {"a", "b", "c", "d", "e", "f"}};

	if (record->kind == rec_packet)
		return record->type < COUNT(packets) ? &packets[record->type] : &unknown;
	if (record->kind == rec_event)
		return record->type < COUNT(events) ? &events[record->type] : &unknown;
	return record->kind < COUNT(others) && others[record->kind].name ? &others[record->kind] : &unknown;
}

static void put_insn(struct writer *writer, const struct record *record)
{
	put(writer, "%" PRIx64 " size %" PRIu64 " %s bit %s%s%s", record->field[0], record->field[1],
	    record->field[2] < COUNT(modes) ? modes[record->field[2]] : "bad",
	    record->field[3] < COUNT(classes) ? classes[record->field[3]] : "bad",
	    record->field[4] ? " speculative" : "", record->field[5] ? " truncated" : "");
	put(writer, " ");
	for (size_t i = 0; i < record->field[1] && i < sizeof(record->raw); ++i)
		put(writer, "%02x", record->raw[i]);
}

static void put_fields(struct writer *writer, const struct record *record)
{
	const struct row *row = row_of(record);

	for (size_t i = 0; i < record_fields && row->field[i]; ++i)
		put(writer, " %s %" PRIx64, row->field[i], record->field[i]);
}

static void put_status(struct writer *writer, const struct record *record)
{
	if (record->status < 0)
		put(writer, " %s", record_error_name(record->status));
	if (record->status > 0)
		put(writer, " [%s%s%s]", record->status & 1 ? " event" : "",
		    record->status & 2 ? " suppressed" : "", record->status & 4 ? " eos" : "");
}

static void put_state(struct writer *writer, const struct record *record)
{
	if (record->time || record->time_status)
		put(writer, " | time %" PRIx64 " (%s) lost %u %u", record->time,
		    record_error_name(record->time_status), record->time_lost_mtc, record->time_lost_cyc);
	if (record->cbr)
		put(writer, " cbr %u", record->cbr);
	if (record->cr3)
		put(writer, " cr3 %" PRIx64, record->cr3);
	if (record->vmcs)
		put(writer, " vmcs %" PRIx64, record->vmcs);
}

void record_print(char *text, size_t size, const struct record *record)
{
	struct writer writer = {text, size};

	if (record->kind == rec_event)
		put(&writer, "    [%s]", row_of(record)->name);
	else
		put(&writer, "%s", record->kind == rec_insn ? "" : row_of(record)->name);
	if (record->kind == rec_insn)
		put_insn(&writer, record);
	else
		put_fields(&writer, record);
	if (record->flags)
		put(&writer, "%s%s", record->flags & 1 ? " suppressed" : "",
		    record->flags & 2 ? " status_update" : "");
	if (record->flags & 4)
		put(&writer, " tsc %" PRIx64 " lost %u %u", record->tsc, record->lost_mtc, record->lost_cyc);
	put_status(&writer, record);
	if (record->offset)
		put(&writer, " @%" PRIx64, record->offset);
	put_state(&writer, record);
	if (record->text)
		put(&writer, " %s", record->text);
}
