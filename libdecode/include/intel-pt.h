/* intel-pt.h - decoding Intel Processor Trace.
 *
 * The C interface of libipt 2.x, implemented anew: names, numbers, layouts and error codes are those
 * of libipt 2.3, and programs that were built against libipt 2.0.5 run unchanged. Added are
 * observers (struct pt_observer) and, in bits that libipt leaves unused, flags of blocks and
 * instructions. Packet formats: Intel SDM, volume 3, chapter "Intel Processor Trace".
 *
 * Conventions that hold for every function:
 *  - An int result is zero or positive on success and a negated enum pt_error_code on failure.
 *    A NULL object or a NULL result pointer gives -pte_invalid (or NULL, if a pointer is returned).
 *  - Structs that may grow are passed with the size the caller knows: at most that much is written,
 *    and what a newer caller has beyond the library's struct is zeroed.
 *  - An object must not be used by two threads at once. Different objects may: the library has no
 *    state outside its objects. An image may be read by many decoders, a section cache be used by
 *    many threads.
 *  - The trace buffer belongs to the caller and must stay until the decoder has been freed.
 */
#ifndef INTEL_PT_H
#define INTEL_PT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pt_encoder;
struct pt_packet_decoder;
struct pt_event_decoder;
struct pt_query_decoder;
struct pt_insn_decoder;
struct pt_block_decoder;

#ifndef pt_export
#if defined(__GNUC__)
#define pt_export __attribute__((visibility("default")))
#else
#define pt_export
#endif
#endif

/* ---- Version ---------------------------------------------------------------------------------- */

/* The version of libipt whose interface this header describes. */
#define LIBIPT_VERSION_MAJOR 2
#define LIBIPT_VERSION_MINOR 3
#define LIBIPT_VERSION_PATCH 0

#define LIBIPT_VERSION ((LIBIPT_VERSION_MAJOR << 8) + LIBIPT_VERSION_MINOR)

struct pt_version {
	uint8_t major;
	uint8_t minor;
	uint16_t patch;
	uint32_t build;
	const char *ext; /* free text; never NULL, not owned by the caller */
};

/* The version of the library that is linked, which may differ from the header's. */
extern pt_export struct pt_version pt_library_version(void);

/* ---- Errors ----------------------------------------------------------------------------------- */

enum pt_error_code {
	pte_ok,                /* no error */
	pte_internal,          /* a defect of the library */
	pte_invalid,           /* a bad argument */
	pte_nosync,            /* the decoder is not synchronised, or no PSB is where one was asked for */
	pte_bad_opc,           /* unknown packet */
	pte_bad_packet,        /* known packet with impossible content */
	pte_bad_context,       /* the packet must not occur here */
	pte_eos,               /* end of the trace */
	pte_bad_query,         /* trace and question, or trace and code, do not fit */
	pte_nomem,             /* out of memory */
	pte_bad_config,        /* the configuration contradicts itself or the trace */
	pte_noip,              /* there is no IP yet */
	pte_ip_suppressed,     /* the trace leaves out the IP */
	pte_nomap,             /* no code is known at the address */
	pte_bad_insn,          /* bytes that are no instruction */
	pte_no_time,           /* there was no TSC packet yet */
	pte_no_cbr,            /* there was no CBR packet yet */
	pte_bad_image,         /* a bad image, or a file that changed */
	pte_bad_lock,          /* a lock failed */
	pte_not_supported,     /* not supported */
	pte_retstack_empty,    /* compressed return, but no call is known */
	pte_bad_retcomp,       /* compressed return without its taken bit */
	pte_bad_status_update, /* PSB+ contradicts the decoder's state */
	pte_no_enable,         /* tracing should have been enabled here */
	pte_event_ignored,     /* an event was left unhandled */
	pte_overflow,          /* a number or a buffer is too small */
	pte_bad_file,          /* a file cannot be read */
	pte_bad_cpu            /* unknown processor */
};

/* The error code of a function's int result; pte_ok for success. */
static inline enum pt_error_code pt_errcode(int status)
{
	return status < 0 ? (enum pt_error_code) - status : pte_ok;
}

/* A short text for @errcode; never NULL, static. */
extern pt_export const char *pt_errstr(enum pt_error_code errcode);

/* ---- Configuration ---------------------------------------------------------------------------- */

enum pt_cpu_vendor { pcv_unknown, pcv_intel };

/* A processor: display family and display model, as CPUID leaf 1 gives them. */
struct pt_cpu {
	enum pt_cpu_vendor vendor;
	uint16_t family;
	uint8_t model;
	uint8_t stepping;
};

/* Errata that decoding works around, named after the specification update that listed them first.
 * pt_cpu_errata() knows which processor has which. */
struct pt_errata {
	/* PSB+ before a TIP.PGE may hold FUP and MODE.Exec, as if tracing were already on. */
	uint32_t bdm70 : 1;
	/* A transactional abort right after a branch may record a wrong branch target. */
	uint32_t bdm64 : 1;
	/* An OVF may replace all but the first byte of a CYC. */
	uint32_t skd007 : 1;
	/* A VM entry that clears TraceEn may emit a FUP before its TIP.PGD. */
	uint32_t skd022 : 1;
	/* The FUP or TIP.PGE that belongs to an OVF may be missing. */
	uint32_t skd010 : 1;
	/* A direct branch out of the address filter may end in a TIP.PGD without IP. */
	uint32_t skl014 : 1;
	/* OVF outside the address filter may be followed by a FUP. */
	uint32_t apl12 : 1;
	/* OVF may be followed by a TIP.PGD, when tracing ended at that moment. */
	uint32_t apl11 : 1;
	/* A CYC, perhaps with its MTC, may be lost before a PSB. */
	uint32_t skl168 : 1;
	/* In a guest with TSC offset or scaling, TMA is garbage and followed by a stray byte. */
	uint32_t skz84 : 1;
	uint32_t reserved[15]; /* zero */
};

/* Flags of one kind of decoder; which variant counts depends on the decoder. */
struct pt_conf_flags {
	union {
		struct {
			uint32_t end_on_call : 1;          /* a call ends a block */
			uint32_t enable_tick_events : 1;   /* give ptev_tick when time changes */
			uint32_t end_on_jump : 1;          /* a jump ends a block */
			uint32_t keep_tcal_on_ovf : 1;     /* keep the time calibration over an overflow */
			uint32_t enable_iflags_events : 1; /* give ptev_iflags */
		} block;
		struct {
			uint32_t enable_tick_events : 1;
			uint32_t keep_tcal_on_ovf : 1;
			uint32_t enable_iflags_events : 1;
		} insn;
		struct {
			uint32_t keep_tcal_on_ovf : 1;
			uint32_t enable_iflags_events : 1;
		} query;
		struct {
			uint32_t keep_tcal_on_ovf : 1;
			uint32_t enable_iflags_events : 1;
		} event;
		uint32_t reserved[4];
	} variant;
};

/* Address filters, as in IA32_RTIT_CTL.ADDRn_CFG (0: unused, 1: trace inside only, 2: stop tracing
 * inside) and IA32_RTIT_ADDRn_A/_B (first and last address of the range). */
struct pt_conf_addr_filter {
	union {
		uint64_t addr_cfg;
		struct {
			uint32_t addr0_cfg : 4;
			uint32_t addr1_cfg : 4;
			uint32_t addr2_cfg : 4;
			uint32_t addr3_cfg : 4;
		} ctl;
	} config;
	uint64_t addr0_a;
	uint64_t addr0_b;
	uint64_t addr1_a;
	uint64_t addr1_b;
	uint64_t addr2_a;
	uint64_t addr2_b;
	uint64_t addr3_a;
	uint64_t addr3_b;
	uint64_t reserved[8]; /* zero */
};

struct pt_packet_unknown;

/* How a trace was recorded and where it lies. Decoders copy it at allocation. */
struct pt_config {
	size_t size;    /* sizeof(struct pt_config); pt_config_init() sets it */
	uint8_t *begin; /* the trace; only an encoder writes to it */
	uint8_t *end;   /* one past its last byte */

	/* Asked about opcodes the library does not know; may be NULL. Describes the packet at @pos
	 * in *unknown and returns its size in bytes (at least 1, at most what is left up to
	 * config->end), or a negative error code. */
	struct {
		int (*callback)(struct pt_packet_unknown *unknown, const struct pt_config *config,
		                const uint8_t *pos, void *context);
		void *context;
	} decode;

	struct pt_cpu cpu;       /* where the trace was recorded */
	struct pt_errata errata; /* which errata to work around */

	/* CPUID leaf 15h: the TSC runs ebx / eax times as fast as the CTC (needed for MTC). */
	uint32_t cpuid_0x15_eax, cpuid_0x15_ebx;
	uint8_t mtc_freq; /* IA32_RTIT_CTL.MTCFreq (needed for MTC) */
	/* MSR_PLATFORM_INFO[15:8], the ratio of TSC and bus clock (for CYC); zero: calibrate without CBR. */
	uint8_t nom_freq;

	struct pt_conf_flags flags;
	struct pt_conf_addr_filter addr_filter;
};

/* Zeroes @config and sets its size. */
static inline void pt_config_init(struct pt_config *config)
{
	memset(config, 0, sizeof(*config));
	config->size = sizeof(*config);
}

/* Sets *errata to what is known about @cpu. -pte_bad_cpu: an unknown processor; *errata is zeroed. */
extern pt_export int pt_cpu_errata(struct pt_errata *errata, const struct pt_cpu *cpu);

/* ---- Packets ---------------------------------------------------------------------------------- */

/* The kinds of packets, named as in the SDM. ppt_unknown is one the config's callback described. */
enum pt_packet_type {
	ppt_invalid,
	ppt_unknown,
	ppt_pad,
	ppt_psb,
	ppt_psbend,
	ppt_fup,
	ppt_tip,
	ppt_tip_pge,
	ppt_tip_pgd,
	ppt_tnt_8,
	ppt_tnt_64,
	ppt_mode,
	ppt_pip,
	ppt_vmcs,
	ppt_cbr,
	ppt_tsc,
	ppt_tma,
	ppt_mtc,
	ppt_cyc,
	ppt_stop,
	ppt_ovf,
	ppt_mnt,
	ppt_exstop,
	ppt_mwait,
	ppt_pwre,
	ppt_pwrx,
	ppt_ptw,
	ppt_cfe,
	ppt_evd,
	ppt_trig
};

/* IPBytes of a FUP or TIP: how many bytes follow, and how they become an address. */
enum pt_ip_compression {
	pt_ipc_suppressed = 0, /* none: no address */
	pt_ipc_update_16 = 1,  /* 2 bytes replace the last IP's low ones */
	pt_ipc_update_32 = 2,  /* 4 bytes, likewise */
	pt_ipc_sext_48 = 3,    /* 6 bytes, sign-extended */
	pt_ipc_update_48 = 4,  /* 6 bytes replace the last IP's low ones */
	pt_ipc_full = 6        /* 8 bytes */
};

enum pt_exec_mode { ptem_unknown, ptem_16bit, ptem_32bit, ptem_64bit };

/* Leaf field of a MODE packet, in place. */
enum pt_mode_leaf { pt_mol_exec = 0x00, pt_mol_tsx = 0x20 };

/* TNT: payload bit (bit_size - 1) is the oldest branch; 1 is taken. The stop bit is removed. */
struct pt_packet_tnt {
	uint8_t bit_size;
	uint64_t payload;
};

/* FUP, TIP, TIP.PGE, TIP.PGD: the bytes of the packet, zero-extended. */
struct pt_packet_ip {
	enum pt_ip_compression ipc;
	uint64_t ip;
};

/* MODE.Exec: CS.L and LMA, CS.D, and RFLAGS.IF where event tracing is on. */
struct pt_packet_mode_exec {
	uint32_t csl : 1;
	uint32_t csd : 1;
	uint32_t iflag : 1;
};

static inline enum pt_exec_mode pt_get_exec_mode(const struct pt_packet_mode_exec *packet)
{
	if (packet->csl)
		return packet->csd ? ptem_unknown : ptem_64bit;
	return packet->csd ? ptem_32bit : ptem_16bit;
}

static inline struct pt_packet_mode_exec pt_set_exec_mode(enum pt_exec_mode mode)
{
	struct pt_packet_mode_exec packet;

	/* the unknown mode has both bits set, which no processor emits */
	packet.csl = mode != ptem_16bit && mode != ptem_32bit;
	packet.csd = mode != ptem_16bit && mode != ptem_64bit;
	packet.iflag = 0;
	return packet;
}

/* MODE.TSX: in a transaction; an abort. */
struct pt_packet_mode_tsx {
	uint32_t intx : 1;
	uint32_t abrt : 1;
};

struct pt_packet_mode {
	enum pt_mode_leaf leaf;
	union {
		struct pt_packet_mode_exec exec;
		struct pt_packet_mode_tsx tsx;
	} bits;
};

/* PIP: CR3 with its low five bits zero; VMX non-root operation. */
struct pt_packet_pip {
	uint64_t cr3;
	uint32_t nr : 1;
};

/* TSC: the low 7 bytes of the time stamp counter. */
struct pt_packet_tsc {
	uint64_t tsc;
};

/* CBR: core clock to bus clock ratio. */
struct pt_packet_cbr {
	uint8_t ratio;
};

/* TMA: low bits of the CTC, and the TSC ticks since it changed (9 bits). */
struct pt_packet_tma {
	uint16_t ctc;
	uint16_t fc;
};

/* MTC: eight bits of the CTC, taken at bit MTCFreq. */
struct pt_packet_mtc {
	uint8_t ctc;
};

/* CYC: core clock cycles since the last CYC. */
struct pt_packet_cyc {
	uint64_t value;
};

/* VMCS: its base address (bits 51:12 of it, in place). */
struct pt_packet_vmcs {
	uint64_t base;
};

struct pt_packet_mnt {
	uint64_t payload;
};

/* In the packets below, the bit "ip" says that a FUP follows with the address. */

struct pt_packet_exstop {
	uint32_t ip : 1;
};

/* MWAIT: EAX[7:0] and ECX[1:0] of the instruction. */
struct pt_packet_mwait {
	uint32_t hints;
	uint32_t ext;
};

/* PWRE: the C-state entered (numbers start at zero for C1), and whether hardware chose to. */
struct pt_packet_pwre {
	uint8_t state;
	uint8_t sub_state;
	uint32_t hw : 1;
};

/* PWRX: core C-state at wake-up and the deepest one; and what woke it. */
struct pt_packet_pwrx {
	uint8_t last;
	uint8_t deepest;
	uint32_t interrupt : 1;
	uint32_t store : 1;
	uint32_t autonomous : 1;
};

/* PTW: the operand of PTWRITE; plc is the packet's size code (see pt_ptw_size()). */
struct pt_packet_ptw {
	uint64_t payload;
	uint8_t plc;
	uint32_t ip : 1;
};

/* The number of payload bytes that a PTW's size code stands for. -pte_bad_packet for the reserved
 * codes, -pte_internal for what does not fit into two bits. */
static inline int pt_ptw_size(uint8_t plc)
{
	if (plc > 3)
		return -pte_internal;
	return plc > 1 ? -pte_bad_packet : 4 << plc;
}

/* CFE: what kind of control flow event. */
enum pt_cfe_type {
	pt_cfe_intr = 0x1, /* interrupt or exception; a vector */
	pt_cfe_iret = 0x2,
	pt_cfe_smi = 0x3,
	pt_cfe_rsm = 0x4,
	pt_cfe_sipi = 0x5, /* a vector */
	pt_cfe_init = 0x6,
	pt_cfe_vmentry = 0x7,
	pt_cfe_vmexit = 0x8,
	pt_cfe_vmexit_intr = 0x9, /* VM exit because of an interrupt or exception; a vector */
	pt_cfe_shutdown = 0xa,
	pt_cfe_uintr = 0xc, /* user interrupt; a vector */
	pt_cfe_uiret = 0xd,
	pt_cfe_swintr = 0xe, /* software interrupt under FRED; a vector */
	pt_cfe_syscall = 0xf /* system call under FRED */
};

struct pt_packet_cfe {
	enum pt_cfe_type type;
	uint8_t vector;
	uint32_t ip : 1;
};

/* EVD: what the payload of an event data packet is. */
enum pt_evd_type {
	pt_evd_cr2 = 0x0,  /* page fault linear address */
	pt_evd_vmxq = 0x1, /* VM exit qualification */
	pt_evd_vmxr = 0x2  /* VM exit reason */
};

struct pt_packet_evd {
	enum pt_evd_type type;
	uint64_t payload;
};

/* TRIG: the bit vector of triggers; if icntv is set, the number of instructions since; mult says that
 * triggers hit more than once. */
struct pt_packet_trig {
	uint8_t trbv;
	uint16_t icnt;
	uint32_t ip : 1;
	uint32_t icntv : 1;
	uint32_t mult : 1;
};

/* What the config's decode callback says about a packet. */
struct pt_packet_unknown {
	const uint8_t *packet; /* its first byte */
	void *priv;            /* the callback's own */
};

/* A packet; the type says which member of the payload counts (none for pad, psb, psbend, ovf, stop). */
struct pt_packet {
	enum pt_packet_type type;
	uint8_t size; /* bytes in the trace; ignored by the encoder */
	union {
		struct pt_packet_tnt tnt;
		struct pt_packet_ip ip;
		struct pt_packet_mode mode;
		struct pt_packet_pip pip;
		struct pt_packet_tsc tsc;
		struct pt_packet_cbr cbr;
		struct pt_packet_tma tma;
		struct pt_packet_mtc mtc;
		struct pt_packet_cyc cyc;
		struct pt_packet_vmcs vmcs;
		struct pt_packet_mnt mnt;
		struct pt_packet_exstop exstop;
		struct pt_packet_mwait mwait;
		struct pt_packet_pwre pwre;
		struct pt_packet_pwrx pwrx;
		struct pt_packet_ptw ptw;
		struct pt_packet_cfe cfe;
		struct pt_packet_evd evd;
		struct pt_packet_trig trig;
		struct pt_packet_unknown unknown;
	} payload;
};

/* Encoder: writes packets one after the other into the config's buffer, from its beginning. NULL when
 * the config is bad or memory is short. */
extern pt_export struct pt_encoder *pt_alloc_encoder(const struct pt_config *config);
extern pt_export void pt_free_encoder(struct pt_encoder *encoder); /* NULL is fine */

/* Moves to @offset, counted from the buffer's beginning. -pte_eos: past the end. */
extern pt_export int pt_enc_sync_set(struct pt_encoder *encoder, uint64_t offset);
extern pt_export int pt_enc_get_offset(const struct pt_encoder *encoder, uint64_t *offset);
extern pt_export const struct pt_config *pt_enc_get_config(const struct pt_encoder *encoder);

/* Writes @packet. Returns its size in bytes; on failure nothing is written: -pte_bad_opc (a type that
 * cannot be written), -pte_bad_packet (fields out of range), -pte_eos (no room). */
extern pt_export int pt_enc_next(struct pt_encoder *encoder, const struct pt_packet *packet);

/* Packet decoder: hands out the packets as they stand in the trace. It must be synchronised first. */
extern pt_export struct pt_packet_decoder *pt_pkt_alloc_decoder(const struct pt_config *config);
extern pt_export void pt_pkt_free_decoder(struct pt_packet_decoder *decoder); /* NULL is fine */

/* Moves to the next PSB from the current position on (on a new decoder: the first one of the buffer; on
 * the PSB that was found last: the one after it), or to the last PSB that ends at or before the current
 * position (on a new decoder: the last one of the buffer). -pte_eos: there is none; the decoder stays. */
extern pt_export int pt_pkt_sync_forward(struct pt_packet_decoder *decoder);
extern pt_export int pt_pkt_sync_backward(struct pt_packet_decoder *decoder);

/* Moves to @offset, whatever stands there. -pte_eos: past the end. */
extern pt_export int pt_pkt_sync_set(struct pt_packet_decoder *decoder, uint64_t offset);

/* The current position and the last synchronisation point, as offsets into the buffer. -pte_nosync:
 * not synchronised yet. */
extern pt_export int pt_pkt_get_offset(const struct pt_packet_decoder *decoder, uint64_t *offset);
extern pt_export int pt_pkt_get_sync_offset(const struct pt_packet_decoder *decoder, uint64_t *offset);
extern pt_export const struct pt_config *pt_pkt_get_config(const struct pt_packet_decoder *decoder);

/* Gives the next packet and moves behind it; @size is sizeof(struct pt_packet). Returns the packet's
 * size; on failure the decoder stays: -pte_nosync, -pte_bad_opc, -pte_bad_packet, -pte_eos (also in
 * the middle of a packet). */
extern pt_export int pt_pkt_next(struct pt_packet_decoder *decoder, struct pt_packet *packet, size_t size);

/* ---- Events ----------------------------------------------------------------------------------- */

/* Bits of the non-negative results of the block and the instruction decoder. */
enum pt_status_flag {
	pts_event_pending = 1 << 0, /* fetch events before going on */
	pts_ip_suppressed = 1 << 1, /* the current address is not known */
	pts_eos = 1 << 2            /* the trace ended; only what needs no trace still comes */
};

enum pt_event_type {
	ptev_enabled,        /* tracing begins */
	ptev_disabled,       /* tracing ends, by an instruction */
	ptev_async_disabled, /* tracing ends, by something else */
	ptev_async_branch,   /* an interrupt, exception and the like */
	ptev_paging,         /* CR3 changes, by an instruction */
	ptev_async_paging,   /* CR3 changes, by something else */
	ptev_overflow,       /* trace was lost */
	ptev_exec_mode,      /* 16, 32, 64 bit mode changes */
	ptev_tsx,            /* a transaction begins, commits or aborts */
	ptev_stop,           /* TraceStop */
	ptev_vmcs,           /* the VMCS changes, by an instruction */
	ptev_async_vmcs,     /* the VMCS changes, by something else */
	ptev_exstop,         /* the core stops executing */
	ptev_mwait,          /* MWAIT */
	ptev_pwre,           /* a C-state is entered */
	ptev_pwrx,           /* a C-state is left */
	ptev_ptwrite,        /* PTWRITE */
	ptev_tick,           /* time changes; only when the config asks for it */
	ptev_cbr,            /* the core clock changes */
	ptev_mnt,            /* maintenance data */
	ptev_tip,            /* an indirect branch: event decoder only */
	ptev_tnt,            /* conditional branches: event decoder only */
	ptev_iflags,         /* RFLAGS.IF changes; only when the config asks for it */
	ptev_interrupt,      /* an interrupt or exception */
	ptev_iret,           /* an interrupt return */
	ptev_smi,            /* system management interrupt */
	ptev_rsm,            /* return from system management mode */
	ptev_sipi,           /* startup inter-processor interrupt */
	ptev_init,           /* INIT */
	ptev_vmentry,        /* VM entry */
	ptev_vmexit,         /* VM exit */
	ptev_shutdown,       /* shutdown */
	ptev_uintr,          /* user interrupt */
	ptev_uiret,          /* user interrupt return */
	ptev_trig,           /* a trigger hit */
	ptev_swintr,         /* software interrupt */
	ptev_syscall         /* system call */
};

/* An event. An "ip" is the address of the instruction the event belongs to or takes effect at, if
 * not said otherwise; it is missing when ip_suppressed is set. */
struct pt_event {
	enum pt_event_type type;
	uint32_t ip_suppressed : 1;
	uint32_t status_update : 1; /* not a change, but the state told by PSB+ */
	uint32_t has_tsc : 1;       /* tsc counts */
	uint64_t tsc;
	uint32_t lost_mtc; /* MTC and CYC that could not be used for tsc: a measure of its quality */
	uint32_t lost_cyc;
	uint64_t reserved[2];

	union {
		struct {
			uint64_t ip;          /* the first instruction */
			uint32_t resumed : 1; /* where tracing was disabled last */
		} enabled;
		struct {
			uint64_t ip; /* where the disabling branch went */
		} disabled;
		struct {
			uint64_t at; /* the instruction before which it happened */
			uint64_t ip; /* where execution went */
		} async_disabled;
		struct {
			uint64_t from; /* the instruction before which it happened */
			uint64_t to;   /* the handler */
		} async_branch;
		struct {
			uint64_t cr3;
			uint32_t non_root : 1; /* in a VMX guest */
		} paging;
		struct {
			uint64_t cr3;
			uint32_t non_root : 1;
			uint64_t ip;
		} async_paging;
		struct {
			uint64_t ip; /* where tracing goes on */
		} overflow;
		struct {
			enum pt_exec_mode mode;
			uint64_t ip;
		} exec_mode;
		struct {
			uint64_t ip;
			uint32_t speculative : 1; /* in a transaction from here on */
			uint32_t aborted : 1;     /* what ran speculatively did not happen */
		} tsx;
		struct {
			uint64_t base;
		} vmcs;
		struct {
			uint64_t base;
			uint64_t ip;
		} async_vmcs;
		struct {
			uint64_t ip; /* the last instruction that ran */
		} exstop;
		struct {
			uint64_t ip;
			uint32_t hints;
			uint32_t ext;
		} mwait;
		struct {
			uint8_t state;
			uint8_t sub_state;
			uint32_t hw : 1;
		} pwre;
		struct {
			uint8_t last;
			uint8_t deepest;
			uint32_t interrupt : 1;
			uint32_t store : 1;
			uint32_t autonomous : 1;
		} pwrx;
		struct {
			uint64_t ip;
			uint8_t size; /* of the payload, in bytes */
			uint64_t payload;
		} ptwrite;
		struct {
			uint64_t ip; /* near which it is this time */
		} tick;
		struct {
			uint16_t ratio;
		} cbr;
		struct {
			uint64_t payload;
		} mnt;
		struct {
			uint64_t ip; /* the target */
		} tip;
		struct {
			uint64_t bits; /* bit (size - 1) is the oldest branch; 1 is taken */
			uint8_t size;
		} tnt;
		struct {
			uint32_t iflag : 1;
			uint64_t ip;
		} iflags;
		struct {
			uint32_t has_cr2 : 1; /* a page fault; cr2 counts */
			uint8_t vector;
			uint64_t cr2;
			uint64_t ip;
		} interrupt;
		struct {
			uint64_t ip;
		} iret;
		struct {
			uint64_t ip;
		} smi;
		struct {
			uint64_t ip;
		} rsm;
		struct {
			uint8_t vector;
		} sipi;
		struct {
			uint64_t ip;
		} init;
		struct {
			uint64_t ip;
		} vmentry;
		struct {
			uint32_t has_vector : 1; /* which of the fields below count */
			uint32_t has_vmxr : 1;
			uint32_t has_vmxq : 1;
			uint8_t vector;
			uint64_t vmxr; /* reason */
			uint64_t vmxq; /* qualification */
			uint64_t ip;
		} vmexit;
		struct {
			uint64_t ip;
		} shutdown;
		struct {
			uint8_t vector;
			uint64_t ip;
		} uintr;
		struct {
			uint64_t ip;
		} uiret;
		struct {
			uint8_t trbv;
			uint16_t icnt; /* instructions since the trigger; zero if not told */
			uint64_t ip;
			uint32_t mult : 1;
		} trig;
		struct {
			uint8_t vector;
			uint64_t ip;
		} swintr;
		struct {
			uint64_t ip;
		} syscall;
	} variant;
};

/* Event decoder: packets joined to events, TNT and TIP included (ptev_tnt, ptev_tip). It knows no code, so
 * an event whose place in the code is not told by the trace has no IP.
 *
 * Synchronising works as for the packet decoder, but a PSB+ must be there in whole: it becomes events with
 * status_update set. */
extern pt_export struct pt_event_decoder *pt_evt_alloc_decoder(const struct pt_config *config);
extern pt_export void pt_evt_free_decoder(struct pt_event_decoder *decoder); /* NULL is fine */

/* Zero, or a negative code: -pte_eos (no further PSB), -pte_nosync (set: no PSB at @offset), -pte_bad_opc,
 * -pte_bad_packet. */
extern pt_export int pt_evt_sync_forward(struct pt_event_decoder *decoder);
extern pt_export int pt_evt_sync_backward(struct pt_event_decoder *decoder);
extern pt_export int pt_evt_sync_set(struct pt_event_decoder *decoder, uint64_t offset);

/* As for the packet decoder. Events are made of several packets: the position is behind the last of them. */
extern pt_export int pt_evt_get_offset(const struct pt_event_decoder *decoder, uint64_t *offset);
extern pt_export int pt_evt_get_sync_offset(const struct pt_event_decoder *decoder, uint64_t *offset);
extern pt_export const struct pt_config *pt_evt_get_config(const struct pt_event_decoder *decoder);

/* Gives the next event; @size is sizeof(struct pt_event). Zero or pt_status_flag bits; -pte_nosync, -pte_eos,
 * -pte_bad_opc, -pte_bad_packet, -pte_bad_context. */
extern pt_export int pt_evt_next(struct pt_event_decoder *decoder, struct pt_event *event, size_t size);

/* ---- Query decoder ---------------------------------------------------------------------------- */

/* For those who follow the code themselves: they walk instructions from a known address and ask at each
 * branch. What a function returns on success are pt_status_flag bits about what comes next: with
 * pts_event_pending, an event must be fetched before the next question; with pts_ip_suppressed, *ip was
 * not given; with pts_eos, the trace holds no more answers. */
extern pt_export struct pt_query_decoder *pt_qry_alloc_decoder(const struct pt_config *config);
extern pt_export void pt_qry_free_decoder(struct pt_query_decoder *decoder); /* NULL is fine */

/* Synchronise as pt_evt_sync_*() do. *ip (may be NULL) becomes the address where execution stands;
 * pts_ip_suppressed: tracing is disabled there. */
extern pt_export int pt_qry_sync_forward(struct pt_query_decoder *decoder, uint64_t *ip);
extern pt_export int pt_qry_sync_backward(struct pt_query_decoder *decoder, uint64_t *ip);
extern pt_export int pt_qry_sync_set(struct pt_query_decoder *decoder, uint64_t *ip, uint64_t offset);

extern pt_export int pt_qry_get_offset(const struct pt_query_decoder *decoder, uint64_t *offset);
extern pt_export int pt_qry_get_sync_offset(const struct pt_query_decoder *decoder, uint64_t *offset);
extern pt_export const struct pt_config *pt_qry_get_config(const struct pt_query_decoder *decoder);

/* At a conditional branch (or a compressed return): whether it was taken. -pte_bad_query: the trace has
 * something else here, an event for one. */
extern pt_export int pt_qry_cond_branch(struct pt_query_decoder *decoder, int *taken);

/* At an indirect or far branch, or an uncompressed return: where it went. -pte_bad_query as above. */
extern pt_export int pt_qry_indirect_branch(struct pt_query_decoder *decoder, uint64_t *ip);

/* The event that is pending. -pte_bad_query: none is. */
extern pt_export int pt_qry_event(struct pt_query_decoder *decoder, struct pt_event *event, size_t size);

/* As pt_insn_time() and pt_insn_core_bus_ratio(). */
extern pt_export int pt_qry_time(struct pt_query_decoder *decoder, uint64_t *time, uint32_t *lost_mtc,
                                 uint32_t *lost_cyc);
extern pt_export int pt_qry_core_bus_ratio(struct pt_query_decoder *decoder, uint32_t *cbr);

/* ---- Traced code ------------------------------------------------------------------------------ */

/* An address space. A field with its "no" value is not known, and then fits any. */
struct pt_asid {
	size_t size; /* sizeof(struct pt_asid) */
	uint64_t cr3;
	uint64_t vmcs; /* base address */
};

static const uint64_t pt_asid_no_cr3 = 0xffffffffffffffffull;
static const uint64_t pt_asid_no_vmcs = 0xffffffffffffffffull;

/* Sets the size; the rest is unknown. */
static inline void pt_asid_init(struct pt_asid *asid)
{
	asid->size = sizeof(*asid);
	asid->cr3 = pt_asid_no_cr3;
	asid->vmcs = pt_asid_no_vmcs;
}

/* A section cache holds pieces of files, each once, under an identifier (isid, positive). Images
 * take them from there; the pieces live as long as the cache or an image needs them.
 *
 * Threads: any number may call any of its functions at the same time, and decode with images that took
 * sections from it; only pt_iscache_free() must be the last call. Images may outlive the cache. */
struct pt_image_section_cache;

/* @name is copied and may be NULL. NULL when memory is short. */
extern pt_export struct pt_image_section_cache *pt_iscache_alloc(const char *name);
extern pt_export void pt_iscache_free(struct pt_image_section_cache *iscache); /* NULL is fine */
extern pt_export const char *pt_iscache_name(const struct pt_image_section_cache *iscache);

/* Limits what the cache keeps of sections that nobody uses just now, in bytes: of each section that was read
 * or decoded from, its size and the memory for what was learned of its code. A section is in use while an
 * image maps it, a decoder stands in it, or pt_iscache_read() reads it; that does not count, and is never
 * taken away. When nobody uses it any more, the section is kept as the most recently used one; beyond the
 * limit the least recently used ones lose their mapping and what was learned, at once, also when the limit
 * is lowered. Their isids stay valid: they are mapped again when they are needed, unless the file changed
 * (-pte_bad_image). Zero: nothing is kept. A new cache has no limit. Zero; -pte_invalid: no cache. */
extern pt_export int pt_iscache_set_limit(struct pt_image_section_cache *iscache, uint64_t limit);

/* Takes [offset, offset + size) of @filename, cut at the file's end and where addresses end, meant for
 * address @vaddr. Returns its isid, the same one for the same piece; a file that changed since is another
 * one. -pte_invalid: @offset is not in the file, or it is no regular file that can be read. */
extern pt_export int pt_iscache_add_file(struct pt_image_section_cache *iscache, const char *filename,
                                         uint64_t offset, uint64_t size, uint64_t vaddr);

/* Reads at @vaddr from section @isid. Returns the number of bytes, which is less than @size at the
 * section's end. -pte_invalid: @size is zero; -pte_nomap: not in the section; -pte_bad_image: no such
 * section, or its file is not any more what it was. */
extern pt_export int pt_iscache_read(struct pt_image_section_cache *iscache, uint8_t *buffer, uint64_t size,
                                     int isid, uint64_t vaddr);

/* An image: what code lies where, in any number of address spaces.
 *
 * Threads: decoders in any number of threads may use an image as long as nobody changes it. It is changed
 * by pt_image_add_*(), _copy() (the target), _remove_*(), _set_callback() and _free(): not while another
 * thread uses it in whatever way. The thread that alone uses it may change it between two calls of its
 * decoder and in an observer's callback; that counts from the next instruction on. Its callback is called
 * in the threads of all its decoders. */
struct pt_image;

extern pt_export struct pt_image *pt_image_alloc(const char *name);
extern pt_export void pt_image_free(struct pt_image *image); /* NULL is fine */
extern pt_export const char *pt_image_name(const struct pt_image *image);

/* Maps [offset, offset + size) of @filename, cut at the file's end, at @vaddr in @asid (NULL: in
 * all). What was mapped there before is cut or split. Zero; -pte_invalid as pt_iscache_add_file(). */
extern pt_export int pt_image_add_file(struct pt_image *image, const char *filename, uint64_t offset,
                                       uint64_t size, const struct pt_asid *asid, uint64_t vaddr);

/* Maps section @isid at its address, likewise. -pte_bad_image: no such section. */
extern pt_export int pt_image_add_cached(struct pt_image *image, struct pt_image_section_cache *iscache,
                                         int isid, const struct pt_asid *asid);

/* Maps into @image what is mapped in @src. Returns the number of mappings that could not be added. */
extern pt_export int pt_image_copy(struct pt_image *image, const struct pt_image *src);

/* Unmap what came from @filename, or everything, in all address spaces that match @asid; NULL and unknown
 * values match any. Return the number of mappings removed. */
extern pt_export int pt_image_remove_by_filename(struct pt_image *image, const char *filename,
                                                 const struct pt_asid *asid);
extern pt_export int pt_image_remove_by_asid(struct pt_image *image, const struct pt_asid *asid);

/* Reads up to @size bytes of code at @ip in @asid; returns how many, or a negative error code. */
typedef int(read_memory_callback_t)(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip,
                                    void *context);

/* Sets who is asked for code that is not mapped; replaces the one before; NULL: nobody. */
extern pt_export int pt_image_set_callback(struct pt_image *image, read_memory_callback_t *callback,
                                           void *context);

/* ---- Observers -------------------------------------------------------------------------------- */

/* Whether instructions are being traced at the decoder's current position. */
enum pt_decode_state { ptds_unknown, ptds_disabled, ptds_enabled };

/* An observer is told, in the middle of decoding, that time or the decode state changed, at the place
 * in the flow where that happened. It is what correlates a trace with other records: with limit set
 * to the time of the next record, it applies the records that are due when it ticks, and may swap the
 * decoder's image, which counts from the very next instruction.
 *
 * Attached to one decoder at a time; a decoder can have several, called in no particular order.
 * A NULL callback is not subscribed. Callbacks return zero or a negative pt_error_code, which becomes
 * the result of the decoder function that called them.
 *
 * The owner may change callbacks, limit and context while the observer is not attached, or inside one
 * of its callbacks. Such a change counts once that callback returned, before any other callback of
 * the decoder is entered. A limit moved into the future postpones the next tick, a limit that has
 * passed already makes it due again, but never twice for the same moment. Setting both callbacks to
 * NULL detaches: when the decoder function has returned, the observer may be freed or attached again.
 *
 * Inside a callback the decoder's set_image, get_image, time, asid, offset and config functions may
 * be called. Those that move it or notify (next, event, run, sync, resync) give -pte_invalid. */
struct pt_observer {
	size_t size;   /* sizeof(struct pt_observer) */
	void *context; /* the owner's */
	struct {
		struct pt_observer *next; /* the library's */
		/* Time changed, and is at or past limit. Time and estimates lost as pt_blk_time() gives them.
		 */
		int (*callback)(struct pt_observer *self, uint64_t tsc, uint32_t lost_mtc, uint32_t lost_cyc);
		uint64_t limit; /* zero: every change */
	} tick;
	struct {
		struct pt_observer *next; /* the library's */
		/* The decode state changed to @state. */
		int (*callback)(struct pt_observer *self, enum pt_decode_state state);
	} state;
};

/* ---- Instruction decoder ---------------------------------------------------------------------- */

/* A coarse class of instructions: as much as following the flow needs. */
enum pt_insn_class {
	ptic_unknown,              /* not classified */
	ptic_error = ptic_unknown, /* its name before libipt 2.1 */
	ptic_other = 1,            /* none of the following */
	ptic_call,                 /* near call */
	ptic_return,               /* near return */
	ptic_jump,                 /* near unconditional jump */
	ptic_cond_jump,            /* near conditional jump */
	ptic_far_call,             /* SYSCALL, INT, VMLAUNCH and the like */
	ptic_far_return,           /* SYSRET, IRET and the like */
	ptic_far_jump,             /* far jump */
	ptic_ptwrite,              /* PTWRITE */
	ptic_indirect              /* indirect branch of a kind that is not known */
};

enum { pt_max_insn_size = 15 };

/* An instruction that ran. The flags from enabled on mean what they mean in struct pt_block, for this
 * instruction. */
struct pt_insn {
	uint64_t ip;
	int isid; /* the section it came from; zero if that has none */
	enum pt_exec_mode mode;
	enum pt_insn_class iclass;
	uint8_t raw[pt_max_insn_size];
	uint8_t size;             /* bytes of raw that count */
	uint32_t speculative : 1; /* ran inside a transaction */
	uint32_t truncated : 1;   /* begins in this section and ends in another */
	uint32_t enabled : 1;
	uint32_t disabled : 1;
	uint32_t resumed : 1;
	uint32_t interrupted : 1;
	uint32_t resynced : 1;
	uint32_t stopped : 1;
	uint32_t aborted : 1;
	uint32_t committed : 1;
};

/* A decoder for the config's buffer, with an empty image of its own. NULL: bad config, no memory. */
extern pt_export struct pt_insn_decoder *pt_insn_alloc_decoder(const struct pt_config *config);

/* Also frees the image it came with and lets go of its observers. NULL is fine. */
extern pt_export void pt_insn_free_decoder(struct pt_insn_decoder *decoder);

/* Search a PSB as pt_pkt_sync_*() does, move there and read its PSB+, which must be complete.
 * Zero or pt_status_flag bits. -pte_eos (no further one), -pte_nosync (set: no PSB at @offset), -pte_bad_opc,
 * -pte_bad_packet. */
extern pt_export int pt_insn_sync_forward(struct pt_insn_decoder *decoder);
extern pt_export int pt_insn_sync_backward(struct pt_insn_decoder *decoder);
extern pt_export int pt_insn_sync_set(struct pt_insn_decoder *decoder, uint64_t offset);

/* After an error: goes on at the next address that the trace tells (a TIP, an event with its address,
 * TIP.PGE, an overflow, PSB+), without going to a PSB first; time, address space and mode stay known, the
 * return stack is emptied. For code that is missing or does not fit: it trusts the packets, but for a TIP
 * behind TNT bits where the processor may have deferred it (Intel SDM vol. 3, "Deferred TIPs"), which is
 * passed over. Where a packet cannot be read, or before the first synchronisation, it is
 * pt_insn_sync_forward(). The first instruction has `resynced` set. Status bits; -pte_eos: no address comes
 * any more. */
extern pt_export int pt_insn_resync(struct pt_insn_decoder *decoder);

/* Where decoding stands, and the PSB where it was synchronised, as offsets into the buffer; when that failed,
 * both are the PSB whose PSB+ could not be read. -pte_nosync: there was no attempt yet. */
extern pt_export int pt_insn_get_offset(const struct pt_insn_decoder *decoder, uint64_t *offset);
extern pt_export int pt_insn_get_sync_offset(const struct pt_insn_decoder *decoder, uint64_t *offset);

/* The image in use. Setting NULL goes back to the one the decoder came with. A foreign image is not
 * owned and must outlive its use. */
extern pt_export struct pt_image *pt_insn_get_image(struct pt_insn_decoder *decoder);
extern pt_export int pt_insn_set_image(struct pt_insn_decoder *decoder, struct pt_image *image);

extern pt_export const struct pt_config *pt_insn_get_config(const struct pt_insn_decoder *decoder);

/* The time at the current position: a TSC value in *time, and in *lost_mtc and *lost_cyc (both may
 * be NULL) how many packets could not be used for it. -pte_no_time: there was no TSC yet; *time is then
 * relative to the synchronisation point. */
extern pt_export int pt_insn_time(struct pt_insn_decoder *decoder, uint64_t *time, uint32_t *lost_mtc,
                                  uint32_t *lost_cyc);

/* The last core clock to bus clock ratio. -pte_no_cbr: there was none yet. */
extern pt_export int pt_insn_core_bus_ratio(struct pt_insn_decoder *decoder, uint32_t *cbr);

/* The address space at the current position; @size is sizeof(struct pt_asid). */
extern pt_export int pt_insn_asid(const struct pt_insn_decoder *decoder, struct pt_asid *asid, size_t size);

/* The next instruction in execution order. Returns pt_status_flag bits: with pts_event_pending, call
 * pt_insn_event() first; with pts_eos, only instructions that need no trace follow. Errors:
 * -pte_nosync, -pte_eos, -pte_bad_opc, -pte_bad_packet, -pte_bad_context, -pte_bad_query (trace and
 * code do not fit), -pte_nomap (no code at that address). */
extern pt_export int pt_insn_next(struct pt_insn_decoder *decoder, struct pt_insn *insn, size_t size);

/* The next pending event. Returns pt_status_flag bits. -pte_bad_query: none is pending. */
extern pt_export int pt_insn_event(struct pt_insn_decoder *decoder, struct pt_event *event, size_t size);

/* Attaches @obsv. -pte_invalid: NULL, or attached already. */
extern pt_export int pt_insn_attach_obsv(struct pt_insn_decoder *decoder, struct pt_observer *obsv);

/* ---- Block decoder ---------------------------------------------------------------------------- */

/* Instructions that ran one after the other. They need not be contiguous: to list them, follow direct
 * branches from ip on, ninsn times; the last one must be at end_ip. */
struct pt_block {
	uint64_t ip;
	uint64_t end_ip;
	int isid;                  /* the section they came from; zero if that has none */
	enum pt_exec_mode mode;    /* of all of them */
	enum pt_insn_class iclass; /* of the last one, or ptic_unknown */
	uint16_t ninsn;
	uint8_t raw[pt_max_insn_size]; /* the last instruction, only if truncated */
	uint8_t size;                  /* its length, only if truncated */
	uint32_t speculative : 1;      /* ran inside a transaction */
	uint32_t truncated : 1;        /* the last instruction begins in this section and ends in another */
	/* The following repeat, as flags, what pt_blk_event() gives in detail. */
	uint32_t enabled : 1;     /* the first block after tracing was enabled */
	uint32_t disabled : 1;    /* tracing was disabled after this block */
	uint32_t resumed : 1;     /* enabled, at the address where it had been disabled */
	uint32_t interrupted : 1; /* after this block came an interrupt or the like */
	uint32_t resynced : 1;    /* the first block after an overflow */
	uint32_t stopped : 1;     /* the last block before a TraceStop */
	uint32_t aborted : 1;     /* the transaction was aborted after this block */
	uint32_t committed : 1;   /* the transaction was committed after this block */
};

/* The same functions as for instructions, with the same results; what differs is said. */
extern pt_export struct pt_block_decoder *pt_blk_alloc_decoder(const struct pt_config *config);
extern pt_export void pt_blk_free_decoder(struct pt_block_decoder *decoder);

extern pt_export int pt_blk_sync_forward(struct pt_block_decoder *decoder);
extern pt_export int pt_blk_sync_backward(struct pt_block_decoder *decoder);
extern pt_export int pt_blk_sync_set(struct pt_block_decoder *decoder, uint64_t offset);
extern pt_export int pt_blk_resync(struct pt_block_decoder *decoder);

extern pt_export int pt_blk_get_offset(const struct pt_block_decoder *decoder, uint64_t *offset);
extern pt_export int pt_blk_get_sync_offset(const struct pt_block_decoder *decoder, uint64_t *offset);

extern pt_export struct pt_image *pt_blk_get_image(struct pt_block_decoder *decoder);
extern pt_export int pt_blk_set_image(struct pt_block_decoder *decoder, struct pt_image *image);

extern pt_export const struct pt_config *pt_blk_get_config(const struct pt_block_decoder *decoder);

extern pt_export int pt_blk_time(struct pt_block_decoder *decoder, uint64_t *time, uint32_t *lost_mtc,
                                 uint32_t *lost_cyc);
extern pt_export int pt_blk_core_bus_ratio(struct pt_block_decoder *decoder, uint32_t *cbr);
extern pt_export int pt_blk_asid(const struct pt_block_decoder *decoder, struct pt_asid *asid, size_t size);

/* The next block in execution order. A block may come together with an error: ninsn then is greater than
 * zero although the result is negative. */
extern pt_export int pt_blk_next(struct pt_block_decoder *decoder, struct pt_block *block, size_t size);
extern pt_export int pt_blk_event(struct pt_block_decoder *decoder, struct pt_event *event, size_t size);
extern pt_export int pt_blk_attach_obsv(struct pt_block_decoder *decoder, struct pt_observer *obsv);

#ifdef __cplusplus
}
#endif

#endif /* INTEL_PT_H */
