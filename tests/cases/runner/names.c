/* names.c - see names.h. */
#include "names.h"

#include <string.h>

const char *const error_names[] = {
        [pte_ok] = "ok",
        [pte_internal] = "internal",
        [pte_invalid] = "invalid",
        [pte_nosync] = "nosync",
        [pte_bad_opc] = "bad_opc",
        [pte_bad_packet] = "bad_packet",
        [pte_bad_context] = "bad_context",
        [pte_eos] = "eos",
        [pte_bad_query] = "bad_query",
        [pte_nomem] = "nomem",
        [pte_bad_config] = "bad_config",
        [pte_noip] = "noip",
        [pte_ip_suppressed] = "ip_suppressed",
        [pte_nomap] = "nomap",
        [pte_bad_insn] = "bad_insn",
        [pte_no_time] = "no_time",
        [pte_no_cbr] = "no_cbr",
        [pte_bad_image] = "bad_image",
        [pte_bad_lock] = "bad_lock",
        [pte_not_supported] = "not_supported",
        [pte_retstack_empty] = "retstack_empty",
        [pte_bad_retcomp] = "bad_retcomp",
        [pte_bad_status_update] = "bad_status_update",
        [pte_no_enable] = "no_enable",
        [pte_event_ignored] = "event_ignored",
        [pte_overflow] = "overflow",
        [pte_bad_file] = "bad_file",
        [pte_bad_cpu] = "bad_cpu",
        NULL,
};

const char *const class_names[] = {
        [ptic_unknown] = "unknown",   [ptic_other] = "other",
        [ptic_call] = "call",         [ptic_return] = "return",
        [ptic_jump] = "jump",         [ptic_cond_jump] = "cond_jump",
        [ptic_far_call] = "far_call", [ptic_far_return] = "far_return",
        [ptic_far_jump] = "far_jump", [ptic_ptwrite] = "ptwrite",
        [ptic_indirect] = "indirect", NULL,
};

const char *const errata_names[] = {"bdm70", "bdm64", "skd007", "skd022", "skd010", "skl014",
                                    "apl12", "apl11", "skl168", "skz84",  NULL};

const char *error_name(int status)
{
	const unsigned code = (unsigned)-status;

	return code < sizeof(error_names) / sizeof(*error_names) - 1 ? error_names[code] : "?";
}

const char *exec_mode_name(enum pt_exec_mode mode)
{
	static const char *const names[] = {[ptem_unknown] = "unknown-mode",
	                                    [ptem_16bit] = "16",
	                                    [ptem_32bit] = "32",
	                                    [ptem_64bit] = "64"};

	return (unsigned)mode < sizeof(names) / sizeof(*names) ? names[mode] : "?";
}

int erratum_set(struct pt_errata *errata, const char *name)
{
	for (unsigned i = 0; errata_names[i]; ++i) {
		uint32_t word;

		if (strcmp(errata_names[i], name))
			continue;
		/* the flags are the low bits of the first word, in the order of their names */
		memcpy(&word, errata, sizeof(word));
		word |= 1u << i;
		memcpy(errata, &word, sizeof(word));
		return 0;
	}
	return -1;
}
