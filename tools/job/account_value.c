/* account_value.c - see account_value.h. */
#include "job/account_value.h"

#include <string.h>

#include "sink/printable.h"

static const char *const evidence[sb_switch_evidences] = {[sb_switch_by_time] = "by_time",
                                                          [sb_switch_seen] = "seen",
                                                          [sb_switch_by_address] = "by_address",
                                                          [sb_switch_uncertain] = "uncertain",
                                                          [sb_switch_by_paging] = "by_paging",
                                                          [sb_switch_repaired] = "repaired"};

static json_t *integer(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *gaps_value(const struct sb_account *account)
{
	json_t *gaps = json_object();

	for (unsigned int i = 0; i < sb_gap_reasons; i++)
		if (account->gap[i].count || account->gap[i].bytes)
			json_object_set_new(gaps, sb_gap_reason_name((enum sb_gap_reason)i),
			                    json_pack("{s:o, s:o}", "count", integer(account->gap[i].count),
			                              "bytes", integer(account->gap[i].bytes)));
	return gaps;
}

static json_t *switches_value(const struct sb_account *account)
{
	json_t *switches = json_object();

	for (unsigned int i = 0; i < sb_switch_evidences; i++)
		json_object_set_new(switches, evidence[i], integer(account->switches[i]));
	return switches;
}

/* Names are what the recording says, and may be anything. */
static json_t *threads_value(const struct sb_account *account)
{
	char comm[4 * sizeof(account->thread->comm) + 1];
	json_t *threads = json_array();

	for (size_t i = 0; i < account->nthreads; i++) {
		const struct sb_account_thread *thread = &account->thread[i];

		json_array_append_new(
		        threads,
		        json_pack("{s:i, s:i, s:s, s:o, s:o}", "pid", thread->pid, "tid", thread->tid, "comm",
		                  printable(comm, thread->comm, strnlen(thread->comm, sizeof(thread->comm))),
		                  "instructions", integer(thread->ninsn), "blocks",
		                  integer(thread->nblocks)));
	}
	return threads;
}

json_t *account_value(const struct sb_account *account)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "bytes", integer(account->bytes_total),
	                 "bytes_decoded", integer(account->bytes_decoded), "instructions",
	                 integer(account->ninsn), "blocks", integer(account->nblocks),
	                 "instructions_filtered", integer(account->ninsn_filtered), "switches",
	                 switches_value(account), "gaps", gaps_value(account), "threads",
	                 threads_value(account));
}
