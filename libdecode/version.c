/* The library's version, the texts of its errors, and the layouts it promises to programs that were
 * built against libipt 2.x.
 */
#include "intel-pt.h"

struct pt_version pt_library_version(void)
{
	return (struct pt_version){
	        .major = LIBIPT_VERSION_MAJOR,
	        .minor = LIBIPT_VERSION_MINOR,
	        .patch = LIBIPT_VERSION_PATCH,
	        .ext = "",
	};
}

/* The wording is libipt's: programs print it, and some compare it. */
static const char *const texts[] = {
        [pte_ok] = "OK",
        [pte_internal] = "internal error",
        [pte_invalid] = "invalid argument",
        [pte_nosync] = "decoder out of sync",
        [pte_bad_opc] = "unknown opcode",
        [pte_bad_packet] = "unknown packet",
        [pte_bad_context] = "unexpected packet context",
        [pte_eos] = "reached end of trace stream",
        [pte_bad_query] = "trace stream does not match query",
        [pte_nomem] = "out of memory",
        [pte_bad_config] = "bad configuration",
        [pte_noip] = "no ip",
        [pte_ip_suppressed] = "ip has been suppressed",
        [pte_nomap] = "no memory mapped at this address",
        [pte_bad_insn] = "unknown instruction",
        [pte_no_time] = "no timing information",
        [pte_no_cbr] = "no core:bus ratio",
        [pte_bad_image] = "bad image",
        [pte_bad_lock] = "locking error",
        [pte_not_supported] = "not supported",
        [pte_retstack_empty] = "compressed return without call",
        [pte_bad_retcomp] = "bad compressed return",
        [pte_bad_status_update] = "bad status update",
        [pte_no_enable] = "expected tracing enabled event",
        [pte_event_ignored] = "event ignored",
        [pte_overflow] = "overflow",
        [pte_bad_file] = "bad file",
        [pte_bad_cpu] = "unknown cpu",
};

const char *pt_errstr(enum pt_error_code errcode)
{
	unsigned index = (unsigned)errcode;

	return index < sizeof(texts) / sizeof(*texts) ? texts[index] : "internal error.";
}

#define LAYOUT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)
#define SIZE(type, size)            _Static_assert(sizeof(type) == (size), #type)

#if UINTPTR_MAX == UINT64_MAX
SIZE(struct pt_version, 16);
LAYOUT(struct pt_version, patch, 2);
LAYOUT(struct pt_version, build, 4);
LAYOUT(struct pt_version, ext, 8);

SIZE(struct pt_cpu, 8);
LAYOUT(struct pt_cpu, family, 4);
LAYOUT(struct pt_cpu, model, 6);
LAYOUT(struct pt_cpu, stepping, 7);

SIZE(struct pt_errata, 64);
LAYOUT(struct pt_errata, reserved, 4);
SIZE(struct pt_conf_flags, 16);
SIZE(struct pt_conf_addr_filter, 136);
LAYOUT(struct pt_conf_addr_filter, addr0_a, 8);
LAYOUT(struct pt_conf_addr_filter, addr3_b, 64);
LAYOUT(struct pt_conf_addr_filter, reserved, 72);

SIZE(struct pt_config, 280);
LAYOUT(struct pt_config, begin, 8);
LAYOUT(struct pt_config, end, 16);
LAYOUT(struct pt_config, decode.callback, 24);
LAYOUT(struct pt_config, decode.context, 32);
LAYOUT(struct pt_config, cpu, 40);
LAYOUT(struct pt_config, errata, 48);
LAYOUT(struct pt_config, cpuid_0x15_eax, 112);
LAYOUT(struct pt_config, cpuid_0x15_ebx, 116);
LAYOUT(struct pt_config, mtc_freq, 120);
LAYOUT(struct pt_config, nom_freq, 121);
LAYOUT(struct pt_config, flags, 124);
LAYOUT(struct pt_config, addr_filter, 144);

SIZE(struct pt_packet, 24);
LAYOUT(struct pt_packet, size, 4);
LAYOUT(struct pt_packet, payload, 8);
LAYOUT(struct pt_packet_cfe, vector, 4);
LAYOUT(struct pt_packet_evd, payload, 8);
LAYOUT(struct pt_packet_trig, icnt, 2);
SIZE(struct pt_packet_unknown, 16);
LAYOUT(struct pt_packet_unknown, priv, 8);

SIZE(struct pt_event, 72);
LAYOUT(struct pt_event, tsc, 8);
LAYOUT(struct pt_event, lost_mtc, 16);
LAYOUT(struct pt_event, lost_cyc, 20);
LAYOUT(struct pt_event, reserved, 24);
LAYOUT(struct pt_event, variant, 40);
LAYOUT(struct pt_event, variant.tnt.size, 48);
LAYOUT(struct pt_event, variant.iflags.ip, 48);
LAYOUT(struct pt_event, variant.interrupt.vector, 41);
LAYOUT(struct pt_event, variant.interrupt.cr2, 48);
LAYOUT(struct pt_event, variant.interrupt.ip, 56);
LAYOUT(struct pt_event, variant.vmexit.vector, 41);
LAYOUT(struct pt_event, variant.vmexit.vmxr, 48);
LAYOUT(struct pt_event, variant.vmexit.vmxq, 56);
LAYOUT(struct pt_event, variant.vmexit.ip, 64);
LAYOUT(struct pt_event, variant.uintr.ip, 48);
LAYOUT(struct pt_event, variant.trig.icnt, 42);
LAYOUT(struct pt_event, variant.trig.ip, 48);
LAYOUT(struct pt_event, variant.swintr.ip, 48);

SIZE(struct pt_insn, 40);
LAYOUT(struct pt_insn, isid, 8);
LAYOUT(struct pt_insn, mode, 12);
LAYOUT(struct pt_insn, iclass, 16);
LAYOUT(struct pt_insn, raw, 20);
LAYOUT(struct pt_insn, size, 35);

SIZE(struct pt_block, 48);
LAYOUT(struct pt_block, end_ip, 8);
LAYOUT(struct pt_block, isid, 16);
LAYOUT(struct pt_block, mode, 20);
LAYOUT(struct pt_block, iclass, 24);
LAYOUT(struct pt_block, ninsn, 28);
LAYOUT(struct pt_block, raw, 30);
LAYOUT(struct pt_block, size, 45);

SIZE(struct pt_asid, 24);
LAYOUT(struct pt_asid, cr3, 8);
LAYOUT(struct pt_asid, vmcs, 16);
#endif

_Static_assert(pte_bad_cpu == 27, "error codes");
_Static_assert(ptev_syscall == 36, "event types");
_Static_assert(ppt_trig == 29, "packet types");
_Static_assert(ptic_indirect == 10, "instruction classes");
