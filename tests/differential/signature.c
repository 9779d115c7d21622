/* signature.c - see signature.h. */
#include "signature.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *name_of(const struct record *record)
{
	static const char *const names[] = {"end",    "sync",   "packet", "insn",  "event",
	                                    "branch", "target", "error",  "defect"};

	if (record->kind == rec_event)
		return record_event_name(record->type);
	if (record->kind == rec_packet)
		return record_packet_name(record->type);
	if (record->kind == rec_error)
		return record_error_name(record->status);
	return names[record->kind];
}

static void add(char *text, const char *format, const char *what, unsigned number)
{
	size_t used = strlen(text);

	snprintf(text + used, signature_size - used, format, what, number);
}

void signature_of(char *text, const struct record *ours, const struct record *debian)
{
	snprintf(text, signature_size, "%s", name_of(ours));
	if (ours->kind != debian->kind || ours->type != debian->type ||
	    (ours->kind == rec_error && ours->status != debian->status)) {
		add(text, " / %s", name_of(debian), 0);
		return;
	}
	if (ours->status != debian->status)
		add(text, "%s", " status", 0);
	if (ours->flags != debian->flags)
		add(text, "%s %x", " flags", ours->flags ^ debian->flags);
	if (ours->offset != debian->offset)
		add(text, "%s", " offset", 0);
	for (unsigned i = 0; i < record_fields; ++i)
		if (ours->field[i] != debian->field[i])
			add(text, "%s%u", " field", i);
	if (memcmp(ours->raw, debian->raw, sizeof(ours->raw)))
		add(text, "%s", " raw", 0);
	if (ours->tsc != debian->tsc)
		add(text, "%s", " tsc", 0);
	if (ours->lost_mtc != debian->lost_mtc || ours->lost_cyc != debian->lost_cyc)
		add(text, "%s", " lost", 0);
	if (ours->time != debian->time || ours->time_status != debian->time_status)
		add(text, "%s", ours->time_status ? " notime" : " time", 0);
	if (ours->time_lost_mtc != debian->time_lost_mtc || ours->time_lost_cyc != debian->time_lost_cyc)
		add(text, "%s", " timelost", 0);
	if (ours->cbr != debian->cbr || ours->cr3 != debian->cr3 || ours->vmcs != debian->vmcs)
		add(text, "%s", " state", 0);
}

void signature_count(struct signatures *signatures, const char *text, const char *name)
{
	for (uint64_t i = 0; i < signatures->rows; ++i)
		if (!strcmp(signatures->row[i].text, text)) {
			++signatures->row[i].count;
			return;
		}
	if (signatures->rows == signature_max) {
		++signatures->more;
		return;
	}
	snprintf(signatures->row[signatures->rows].text, signature_size, "%s", text);
	snprintf(signatures->row[signatures->rows].first, sizeof(signatures->row->first), "%.63s", name);
	signatures->row[signatures->rows++].count = 1;
}

void signature_print(const struct signatures *signatures)
{
	for (uint64_t i = 0; i < signatures->rows; ++i)
		printf("%8" PRIu64 " %-60s first: %s\n", signatures->row[i].count, signatures->row[i].text,
		       signatures->row[i].first);
	if (signatures->more)
		printf("%8" PRIu64 " others\n", signatures->more);
}
