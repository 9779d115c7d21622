/* test_flow.c - small programs, their packets, and the flow that must come out.
 *
 * Each case: code at 0x1000, packets behind a PSB+ with tracing off, and the expected text
 * (support/flow_text.h). Packet sequences follow the Intel SDM, vol. 3, "Intel Processor Trace".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <intel-pt-run.h>

#include "support/run_blocks.h"
#include "support/flow_text.h"

/* One packet of a case. */
struct step {
	enum {
		end,
		pge,
		pgd,
		pgd_ip,
		tip,
		fup,
		tnt,
		ovf,
		tsc,
		psb_at,
		psb_off,
		raw,
		tsx_begin,
		tsx_abort,
		tsx_commit,
		pip,
		ptw,
		mode64,
		stop
	} kind;
	uint64_t value;
	const char *bits;
};

struct flow_case {
	const char *name;
	const char *code;
	size_t size;
	struct step step[16];
	const char *flow;
};

/* String literals hold NUL bytes: the size comes from the literal. */
#define CODE(literal) literal, sizeof(literal) - 1

static const struct flow_case cases[] = {
        {
                "straight code to a system call",
                CODE("\x90\x90\x0f\x05"), /* nop; nop; syscall */
                {{pge, 0x1000, 0}, {pgd, 0, 0}},
                "[enabled] 1000 1001 1002 [disabled] eos",
        },
        {
                "tracing resumes behind the system call",
                CODE("\x0f\x05\x90\x0f\x05"),
                {{pge, 0x1000, 0}, {pgd, 0, 0}, {pge, 0x1002, 0}, {pgd, 0, 0}},
                "[enabled] 1000 [disabled] [resumed] 1002 1003 [disabled] eos",
        },
        {
                "conditional branches, taken and not",
                CODE("\x90\x74\xfd\xff\xe0"), /* 1000: nop; je 1000; jmp *%rax */
                {{pge, 0x1000, 0}, {tnt, 0, "ttn"}, {tip, 0x1001, 0}, {tnt, 0, "n"}, {pgd_ip, 0x5000, 0}},
                "[enabled] 1000 1001 1000 1001 1000 1001 1003 1001 1003 [disabled] eos",
        },
        {
                "a compressed return",
                /* 1000: call 1008; syscall; 1007: hlt; 1008: ret */
                CODE("\xe8\x03\x00\x00\x00\x0f\x05\xf4\xc3"),
                {{pge, 0x1000, 0}, {tnt, 0, "t"}, {pgd, 0, 0}},
                "[enabled] 1000 1008 1005 [disabled] eos",
        },
        {
                "an uncompressed return leaves the stack as it is",
                /* 1000: call 100a; 1005: call 100b; 100a: ret; 100b: ret */
                CODE("\xe8\x05\x00\x00\x00\xe8\x01\x00\x00\x00\xc3\xc3"),
                {{pge, 0x1000, 0}, {tip, 0x1005, 0}, {tnt, 0, "t"}, {pgd, 0, 0}},
                "[enabled] 1000 100a 1005 100b 100a [disabled] eos",
        },
        {
                "a call to the next instruction is not pushed",
                /* 1000: call 100b; 1005: syscall; hlts; 100b: call 1010; 1010: pop; ret */
                CODE("\xe8\x06\x00\x00\x00\x0f\x05\xf4\xf4\xf4\xf4\xe8\x00\x00\x00\x00\x58\xc3"),
                {{pge, 0x1000, 0}, {tnt, 0, "t"}, {pgd, 0, 0}},
                "[enabled] 1000 100b 1010 1011 1005 [disabled] eos",
        },
        {
                "a return that is compressed without a call",
                CODE("\xc3"),
                {{pge, 0x1000, 0}, {tnt, 0, "t"}, {pgd, 0, 0}},
                "[enabled] 1000 retstack_empty",
        },
        {
                "a return with a not-taken bit",
                CODE("\xe8\x00\x00\x00\x00\xe8\x00\x00\x00\x00\xc3"),
                {{pge, 0x1000, 0}, {tnt, 0, "n"}, {pgd, 0, 0}},
                "[enabled] 1000 1005 100a bad_retcomp",
        },
        {
                "an indirect call is pushed",
                /* 1000: call *%rax; syscall; 1004: ret */
                CODE("\xff\xd0\x0f\x05\xc3"),
                {{pge, 0x1000, 0}, {tip, 0x1004, 0}, {tnt, 0, "t"}, {pgd, 0, 0}},
                "[enabled] 1000 1004 1002 [disabled] eos",
        },
        {
                "a TIP deferred behind TNT bits",
                /* 1000: je 1002; jmp *%rax; 1004: je 1006; syscall */
                CODE("\x74\x00\xff\xe0\x74\x00\x0f\x05"),
                {{pge, 0x1000, 0}, {tnt, 0, "nt"}, {tip, 0x1004, 0}, {pgd, 0, 0}},
                "[enabled] 1000 1002 1004 1006 [disabled] eos",
        },
        {
                "time between deferred TIPs",
                CODE("\x74\x00\xff\xe0\x74\x00\x0f\x05"),
                {{pge, 0x1000, 0}, {tnt, 0, "nt"}, {tsc, 300, 0}, {tip, 0x1004, 0}, {pgd, 0, 0}},
                "[enabled] 1000 1002 1004 1006 [disabled] eos",
        },
        {
                "an interrupt in the middle of a block",
                /* 1000: nop; nop; syscall; handler 1004: nop; iret */
                CODE("\x90\x90\x0f\x05\x90\xcf"),
                {{pge, 0x1000, 0}, {fup, 0x1001, 0}, {tip, 0x1004, 0}, {tip, 0x1001, 0}, {pgd, 0, 0}},
                "[enabled] 1000 [async_branch] 1004 1005 1001 1002 [disabled] eos",
        },
        {
                "an interrupt at the very place where the flow stands",
                CODE("\x90\x74\xfd"),
                {{pge, 0x1000, 0},
                 {tnt, 0, "t"},
                 {fup, 0x1000, 0},
                 {pgd, 0, 0},
                 {pge, 0x1000, 0},
                 {fup, 0x1000, 0},
                 {pgd, 0, 0}},
                "[enabled] 1000 1001 [async_disabled] [resumed] [async_disabled] eos",
        },
        {
                "an interrupt behind a jump",
                /* 1000: jmp 1003; hlt; 1003: nop; nop */
                CODE("\xeb\x01\xf4\x90\x90\x90"),
                {{pge, 0x1000, 0}, {fup, 0x1004, 0}, {pgd, 0, 0}},
                "[enabled] 1000 1003 [async_disabled] eos",
        },
        {
                "an interrupt that the flow cannot come to",
                CODE("\x90\x74\xfd\x90"),
                {{pge, 0x1000, 0}, {fup, 0x1003, 0}, {pgd, 0, 0}},
                "[enabled] 1000 1001 bad_query",
        },
        {
                "an interrupt inside of an instruction",
                CODE("\x90\xeb\x00\x90\x90\x0f\x05"),
                {{pge, 0x1000, 0}, {fup, 0x1002, 0}, {pgd, 0, 0}},
                "[enabled] 1000 1001 1003 1004 1005 bad_query",
        },
        {
                "a circle of jumps ends in an error, not in a hang",
                CODE("\x90\xeb\xfd"),
                {{pge, 0x1000, 0}, {fup, 0x1002, 0}, {pgd, 0, 0}},
                "[enabled] 1000 1001 1000 1001 bad_query",
        },
        {
                "an interrupt in a circle is found",
                CODE("\x90\xeb\xfd"),
                {{pge, 0x1000, 0}, {fup, 0x1001, 0}, {pgd, 0, 0}},
                "[enabled] 1000 [async_disabled] eos",
        },
        {
                "an overflow that resumes while tracing",
                CODE("\x90\x74\xfd\x90\x90\x0f\x05"),
                {{pge, 0x1000, 0}, {tnt, 0, "t"}, {ovf, 0, 0}, {fup, 0x1004, 0}, {pgd, 0, 0}},
                "[enabled] 1000 1001 [overflow] 1004 1005 [disabled] eos",
        },
        {
                "an overflow that resumes with TIP.PGE",
                CODE("\x90\x74\xfd\x90\x90\x0f\x05"),
                {{pge, 0x1000, 0}, {tnt, 0, "t"}, {ovf, 0, 0}, {tsc, 300, 0}, {pge, 0x1003, 0}, {pgd, 0, 0}},
                "[enabled] 1000 1001 [overflow] [enabled] 1003 1004 1005 [disabled] eos",
        },
        {
                "an overflow empties the return stack",
                CODE("\xe8\x03\x00\x00\x00\x0f\x05\xf4\xc3"),
                {{pge, 0x1000, 0}, {ovf, 0, 0}, {fup, 0x1008, 0}, {tnt, 0, "t"}, {pgd, 0, 0}},
                "[enabled] [overflow] 1008 retstack_empty",
        },
        {
                "an overflow is the last packet",
                CODE("\x90\x74\xfd"),
                {{pge, 0x1000, 0}, {tnt, 0, "t"}, {ovf, 0, 0}},
                "[enabled] 1000 1001 [overflow] eos",
        },
        {
                "PSB in the middle: the flow goes to where PSB+ says",
                CODE("\x90\x74\xfd\x90\x0f\x05"),
                {{pge, 0x1000, 0}, {tnt, 0, "n"}, {psb_at, 0x1004, 0}, {pgd, 0, 0}},
                "[enabled] 1000 1001 1003 1004 [disabled] eos",
        },
        {
                "PSB empties the return stack, but not of the calls behind it",
                /* 1000: call 100a; 1005: syscall; hlt...; 100a: call 1010; syscall? no: ret; 1010: ret */
                CODE("\xe8\x05\x00\x00\x00\x0f\x05\xf4\xf4\xf4\xe8\x01\x00\x00\x00\xc3\xc3"),
                {{pge, 0x1000, 0}, {psb_at, 0x100a, 0}, {tnt, 0, "t"}, {tip, 0x1005, 0}, {pgd, 0, 0}},
                "[enabled] 1000 100a 1010 100f 1005 [disabled] eos",
        },
        {
                "PSB at a place that the flow cannot come to",
                CODE("\x90\x74\xfd\x90\x0f\x05"),
                {{pge, 0x1000, 0}, {psb_at, 0x1003, 0}, {pgd, 0, 0}},
                "[enabled] 1000 1001 bad_query",
        },
        {
                "PSB while tracing is off",
                CODE("\x0f\x05\x0f\x05"),
                {{pge, 0x1000, 0}, {pgd, 0, 0}, {psb_off, 0, 0}, {pge, 0x1002, 0}, {pgd, 0, 0}},
                "[enabled] 1000 [disabled] [resumed] 1002 [disabled] eos",
        },
        {
                "erratum BDM70: a FUP in PSB+ right before TIP.PGE does not count",
                CODE("\x0f\x05\x0f\x05"),
                {{pge, 0x1000, 0}, {pgd, 0, 0}, {psb_at, 0x1002, 0}, {pge, 0x1002, 0}, {pgd, 0, 0}},
                "[enabled] 1000 [disabled] [resumed] 1002 [disabled] eos",
        },
        {
                "code that is not mapped",
                CODE("\xff\xe0"),
                {{pge, 0x1000, 0}, {tip, 0x8000, 0}, {pgd, 0, 0}},
                "[enabled] 1000 nomap",
        },
        {
                "bytes that are no instruction",
                CODE("\x90\x06\x90"),
                {{pge, 0x1000, 0}, {pgd, 0, 0}},
                "[enabled] 1000 bad_insn",
        },
        {
                "TNT while tracing is off",
                CODE("\x90"),
                {{tnt, 0, "t"}},
                "no_enable",
        },
        {
                "tracing enabled twice",
                CODE("\x90\x0f\x05"),
                {{pge, 0x1000, 0}, {pge, 0x1000, 0}},
                "[enabled] bad_context",
        },
        {
                "the trace ends: blocks go on until they need it",
                CODE("\x90\xeb\x00\x90\x74\xfd"),
                {{pge, 0x1000, 0}},
                "[enabled] 1000 1001 1003 1004 eos",
        },
        {
                "bytes that are no packet stop the flow at once",
                CODE("\x90\xeb\x00\x90\x74\xfd"),
                {{pge, 0x1000, 0}, {raw, 0x05, 0}},
                "[enabled] bad_opc",
        },
        {
                "a direct branch out of the filtered range",
                /* 1000: jmp 1003 */
                CODE("\xeb\x01\xf4\x90"),
                {{pge, 0x1000, 0}, {pgd_ip, 0x1003, 0}},
                "[enabled] 1000 [disabled] eos",
        },
        {
                "a transaction begins: no branch comes with it",
                /* 1000: nop; 1001: jmp *%rax */
                CODE("\x90\xff\xe0"),
                {{pge, 0x1000, 0},
                 {tsx_begin, 0, 0},
                 {fup, 0x1000, 0},
                 {tip, 0x1001, 0},
                 {pgd_ip, 0x5000, 0}},
                "[enabled] [begin] 1000 1001 1001 [disabled] eos",
        },
        {
                "a transaction is aborted: execution goes on elsewhere",
                CODE("\x90\x90\x90\x0f\x05"),
                {{pge, 0x1000, 0}, {tsx_abort, 0, 0}, {fup, 0x1001, 0}, {tip, 0x1003, 0}, {pgd, 0, 0}},
                "[enabled] 1000 [abort] [async_branch] 1003 [disabled] eos",
        },
        {
                "PTWRITE: no branch comes with it",
                /* 1000: ptwrite %eax; 1004: jmp *%rax */
                CODE("\xf3\x0f\xae\xe0\xff\xe0"),
                {{pge, 0x1000, 0}, {ptw, 7, 0}, {fup, 0x1000, 0}, {tip, 0x1004, 0}, {pgd_ip, 0x5000, 0}},
                "[enabled] 1000 [ptwrite] 1004 1004 [disabled] eos",
        },
        {
                "MODE.Exec with a FUP: only a flag changed there",
                CODE("\x90\xff\xe0"),
                {{pge, 0x1000, 0},
                 {mode64, 0, 0},
                 {fup, 0x1001, 0},
                 {tip, 0x1000, 0},
                 {fup, 0x1001, 0},
                 {pgd, 0, 0}},
                "[enabled] 1000 [exec_mode] 1001 1000 [async_disabled] eos",
        },
        {
                "MODE.Exec, then TNT: they do not belong together",
                CODE("\x90\x74\xfd"),
                {{pge, 0x1000, 0}, {mode64, 0, 0}, {tnt, 0, "t"}},
                "[enabled] bad_context",
        },
        {
                "TNT is no answer to an overflow",
                CODE("\x90\x74\xfd"),
                {{pge, 0x1000, 0}, {tnt, 0, "t"}, {ovf, 0, 0}, {tnt, 0, "tt"}},
                "[enabled] 1000 1001 bad_context",
        },
        {
                "PIP behind an overflow: tracing did not go on",
                /* 1000: nop; mov %rax,%cr3 */
                CODE("\x90\x0f\x22\xd8\x0f\x05"),
                {{pge, 0x1000, 0}, {ovf, 0, 0}, {pip, 0x1000, 0}, {pge, 0x1004, 0}, {pgd, 0, 0}},
                "[enabled] [overflow] [paging] [enabled] 1004 [disabled] eos",
        },
        {
                "PIP holds behind MOV CR3",
                CODE("\x90\x0f\x22\xd8\x90\x0f\x05"),
                {{pge, 0x1000, 0}, {pip, 0x2000, 0}, {pgd, 0, 0}},
                "[enabled] 1000 1001 [paging] 1004 1005 [disabled] eos",
        },
        {
                "a MOV CR3 whose PIP came may disable, too, when no far branch follows",
                /* 1000: mov %rax,%cr3; nop; je 1006; 1006: syscall */
                CODE("\x0f\x22\xd8\x90\x74\x00\x0f\x05"),
                {{pge, 0x1000, 0},
                 {pip, 0x2000, 0},
                 {pgd, 0, 0},
                 {pge, 0x1003, 0},
                 {tnt, 0, "n"},
                 {pgd, 0, 0}},
                "[enabled] 1000 [paging] [disabled] [resumed] 1003 1004 1006 [disabled] eos",
        },
        {
                "PIP and MODE.Exec of a far branch hold at its target",
                /* 1000: iretq; 1002: nop; syscall */
                CODE("\x48\xcf\x90\x0f\x05"),
                {{pge, 0x1000, 0}, {pip, 0x2000, 0}, {mode64, 0, 0}, {tip, 0x1002, 0}, {pgd, 0, 0}},
                "[enabled] 1000 [paging] [exec_mode] 1002 1003 [disabled] eos",
        },
        {
                "an interrupt between a far branch and its target",
                CODE("\x48\xcf\x90\x0f\x05"),
                {{pge, 0x1000, 0}, {pip, 0x2000, 0}, {fup, 0x1002, 0}, {tip, 0x1003, 0}, {tip, 0x1002, 0}},
                "[enabled] 1000 [paging] bad_context",
        },
        {
                "MOV CR3 to what is filtered out disables",
                CODE("\x90\x0f\x22\xd8\x90\x0f\x05"),
                {{pge, 0x1000, 0}, {pgd, 0, 0}},
                "[enabled] 1000 1001 [disabled] eos",
        },
        {
                "a MOV CR3 does not disable when the TIP.PGD says where a branch went",
                /* 1000: mov %rax,%cr3; nop; jmp *%rax */
                CODE("\x0f\x22\xd8\x90\xff\xe0"),
                {{pge, 0x1000, 0},
                 {pip, 0x2000, 0},
                 {pgd_ip, 0x5000, 0},
                 {pge, 0x1000, 0},
                 {pgd_ip, 0x5000, 0}},
                "[enabled] 1000 [paging] 1003 1004 [disabled] [enabled] 1000 1003 1004 [disabled] eos",
        },
        {
                "a TIP for a far branch deferred behind TNT bits",
                /* 1000: je 1002; int $3; 1004: je 1006; syscall */
                CODE("\x74\x00\xcd\x03\x74\x00\x0f\x05"),
                {{pge, 0x1000, 0}, {tnt, 0, "nt"}, {tip, 0x1004, 0}, {pgd, 0, 0}},
                "[enabled] 1000 1002 1004 1006 [disabled] eos",
        },
        {
                "a loop of direct branches in which each turn has an event",
                /* 1000: mov %rax,%cr3; jmp 1000 */
                CODE("\x0f\x22\xd8\xeb\xfb"),
                {{pge, 0x1000, 0},
                 {pip, 0x2000, 0},
                 {pip, 0x3000, 0},
                 {pip, 0x4000, 0},
                 {fup, 0x1003, 0},
                 {pgd, 0, 0}},
                "[enabled] 1000 [paging] 1003 1000 [paging] 1003 1000 [paging] [async_disabled] eos",
        },
        {
                "a trace stop",
                CODE("\x90\x0f\x05"),
                {{pge, 0x1000, 0}, {pgd, 0, 0}, {stop, 0, 0}},
                "[enabled] 1000 1001 [disabled] [stop] eos",
        },
};

static void add_step(struct trace *trace, const struct step *step)
{
	switch (step->kind) {
	case pge:
		trace_ip(trace, ppt_tip_pge, step->value);
		break;
	case pgd:
		trace_ip_suppressed(trace, ppt_tip_pgd);
		break;
	case pgd_ip:
		trace_ip(trace, ppt_tip_pgd, step->value);
		break;
	case tip:
		trace_ip(trace, ppt_tip, step->value);
		break;
	case fup:
		trace_ip(trace, ppt_fup, step->value);
		break;
	case tnt:
		trace_tnt(trace, step->bits);
		break;
	case ovf:
		trace_ovf(trace);
		break;
	case tsc:
		trace_tsc(trace, step->value);
		break;
	case psb_at:
		trace_psb(trace);
		trace_ip(trace, ppt_fup, step->value);
		trace_psbend(trace);
		break;
	case psb_off:
		trace_psb(trace);
		trace_psbend(trace);
		break;
	case tsx_begin:
		trace_tsx(trace, 1, 0);
		break;
	case tsx_abort:
		trace_tsx(trace, 0, 1);
		break;
	case tsx_commit:
		trace_tsx(trace, 0, 0);
		break;
	case pip:
		trace_pip(trace, step->value);
		break;
	case ptw:
		trace_ptw(trace, step->value);
		break;
	case mode64:
		trace_mode64(trace);
		break;
	case stop:
		trace_stop(trace);
		break;
	case raw:
		trace->bytes[trace->size++] = (uint8_t)step->value;
		break;
	case end:
		break;
	}
}

static void run_case(void **state)
{
	const struct flow_case *flow_case = *state;
	struct flow_text flow;
	struct trace trace = {0};
	struct program file;
	struct pt_image *image;
	struct pt_config config;

	trace_start(&trace, 100);
	for (const struct step *step = flow_case->step; step->kind != end; ++step)
		add_step(&trace, step);
	program_write(&file, flow_case->code, flow_case->size);
	image = program_image(&file, 0x1000);
	config = trace_config(&trace);
	config.errata.bdm70 = 1; /* no other case depends on it */
	flow_text(&flow, &config, image);
	pt_image_free(image);
	program_remove(&file);
	assert_string_equal(flow.text, flow_case->flow);
}

/* Calls 70 deep: the return stack holds 64, so the six outermost returns cannot be compressed. */
static void the_return_stack_holds_64(void **state)
{
	uint8_t code[70 * 6 + 1];
	struct trace trace = {0};
	struct program file;
	struct pt_config config;
	struct pt_image *image;
	struct flow_text flow;

	(void)state;
	/* i: call i + 1; ret. The innermost only returns. */
	for (uint32_t i = 0; i < 70; ++i)
		memcpy(&code[6 * i], "\xe8\x01\x00\x00\x00\xc3", 6);
	code[70 * 6] = 0xc3;
	trace_start(&trace, 100);
	trace_ip(&trace, ppt_tip_pge, 0x1000);
	for (int i = 0; i < 16; ++i)
		trace_tnt(&trace, "tttt");
	trace_tnt(&trace, "t");
	program_write(&file, code, sizeof(code));
	image = program_image(&file, 0x1000);
	config = trace_config(&trace);
	flow_text(&flow, &config, image);
	pt_image_free(image);
	program_remove(&file);
	/* The 64th return comes to that of level 6, which is one too many. */
	assert_non_null(strstr(flow.text, " 102f 1029 retstack_empty"));
}

/* An instruction that begins in one section and ends in another. */
static void an_instruction_across_two_sections(void **state)
{
	struct trace trace = {0};
	struct program first, second;
	struct pt_config config;
	struct pt_image *image;
	struct flow_text flow;
	struct pt_block_decoder *decoder;
	struct pt_block block;
	struct pt_event event;
	int truncated = 0, status;

	(void)state;
	/* 1000: nop; 1001: mov $0,%eax (five bytes, two of them here); 1006: syscall */
	program_write(&first, "\x90\xb8\x00", 3);
	program_write(&second, "\x00\x00\x00\x0f\x05", 5);
	image = program_image(&first, 0x1000);
	assert_int_equal(pt_image_add_file(image, second.path, 0, 5, NULL, 0x1003), 0);
	trace_start(&trace, 100);
	trace_ip(&trace, ppt_tip_pge, 0x1000);
	trace_ip_suppressed(&trace, ppt_tip_pgd);
	config = trace_config(&trace);
	flow_text(&flow, &config, image);
	assert_string_equal(flow.text, "[enabled] 1000 1001 1006 [disabled] eos");

	decoder = pt_blk_alloc_decoder(&config);
	pt_blk_set_image(decoder, image);
	status = pt_blk_sync_forward(decoder);
	while (status >= 0) {
		if (status & pts_event_pending) {
			status = pt_blk_event(decoder, &event, sizeof(event));
			continue;
		}
		status = pt_blk_next(decoder, &block, sizeof(block));
		if (block.truncated) {
			truncated += 1;
			assert_int_equal(block.size, 5);
			assert_memory_equal(block.raw, "\xb8\x00\x00\x00\x00", 5);
		}
	}
	assert_int_equal(truncated, 1);
	pt_blk_free_decoder(decoder);
	pt_image_free(image);
	program_remove(&first);
	program_remove(&second);
}

/* A caller's struct of another size: what it says of itself stays true, so that it can be passed on. */
static void address_spaces_of_any_size(void **state)
{
	static const struct {
		size_t size, told;
	} row[] = {{8, 8}, {16, 16}, {24, 24}, {32, 24}};
	struct trace trace = {0};
	struct pt_config config;
	struct pt_block_decoder *decoder;

	(void)state;
	trace_start(&trace, 100);
	config = trace_config(&trace);
	decoder = pt_blk_alloc_decoder(&config);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); ++i) {
		union {
			struct pt_asid asid;
			uint8_t room[32];
		} user = {0};

		assert_int_equal(pt_blk_asid(decoder, &user.asid, row[i].size), 0);
		assert_int_equal(user.asid.size, row[i].told);
		assert_int_equal(user.asid.cr3, row[i].size < 16 ? 0 : pt_asid_no_cr3);
		assert_int_equal(user.asid.vmcs, row[i].size < 24 ? 0 : pt_asid_no_vmcs);
	}
	assert_int_equal(pt_blk_asid(decoder, &(struct pt_asid){0}, 7), -pte_invalid);
	pt_blk_free_decoder(decoder);
}

enum { ncases = sizeof(cases) / sizeof(cases[0]) };

int main(void)
{
	struct CMUnitTest tests[ncases + 3];
	size_t n = 0;

	for (; n < ncases; ++n) {
		tests[n] = (struct CMUnitTest){
		        .name = cases[n].name,
		        .test_func = run_case,
		        .initial_state = (void *)(uintptr_t)&cases[n],
		};
	}
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(the_return_stack_holds_64);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(an_instruction_across_two_sections);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(address_spaces_of_any_size);
	return _cmocka_run_group_tests("flow", tests, n, NULL, NULL);
}
