/* Instruction sizes and classes against Debian's libipt.so.2 (package libipt2), on random byte strings.
 *
 * Both libraries execute the same bytes at the same address, from memory that a callback serves; each must
 * give the same size and class, and the same address behind it or behind a direct branch, which is taken.
 * Where they may differ is listed in excuse(), with the reason. Skipped where that library is not there.
 */
#include <setjmp.h>
#include <stdarg.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "code/insn_class.h"
#include "support/trace.h"

/* The functions of one library. */
struct library {
	void *handle;
	struct pt_insn_decoder *(*alloc)(const struct pt_config *config);
	void (*free)(struct pt_insn_decoder *decoder);
	int (*sync_set)(struct pt_insn_decoder *decoder, uint64_t offset);
	int (*next)(struct pt_insn_decoder *decoder, struct pt_insn *insn, size_t size);
	int (*event)(struct pt_insn_decoder *decoder, struct pt_event *event, size_t size);
	struct pt_image *(*get_image)(struct pt_insn_decoder *decoder);
	int (*set_callback)(struct pt_image *image, read_memory_callback_t *callback, void *context);
};

static const char their_path[] = "/usr/lib/x86_64-linux-gnu/libipt.so.2";

enum { address = 0x8000 };

/* Code at the address, and no-operations everywhere else. */
struct code {
	uint8_t bytes[pt_max_insn_size];
};

static int read_code(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	const struct code *code = context;

	(void)asid;
	for (size_t i = 0; i < size; i++)
		buffer[i] = ip + i - address < sizeof(code->bytes) ? code->bytes[ip + i - address] : 0x90;
	return (int)size;
}

/* One of the libraries, ready to execute what stands in the code. */
struct machine {
	const struct library *library;
	struct pt_insn_decoder *decoder;
};

static struct machine make_machine(const struct library *library, const struct trace *trace,
                                   struct code *code)
{
	struct pt_config config = trace_config(trace);
	struct machine machine = {library, library->alloc(&config)};

	assert_non_null(machine.decoder);
	assert_int_equal(library->set_callback(library->get_image(machine.decoder), read_code, code), 0);
	return machine;
}

/* What became of an instruction. */
struct result {
	int size; /* or the error */
	enum pt_insn_class iclass;
	uint64_t next_ip; /* zero if it is not known */
};

static struct result execute(const struct machine *machine)
{
	const struct library *lib = machine->library;
	struct pt_insn insn = {0}, next = {0};
	struct pt_event event;
	int status = lib->sync_set(machine->decoder, 0);

	while (status >= 0 && (status & pts_event_pending))
		status = lib->event(machine->decoder, &event, sizeof(event));
	assert_true(status >= 0);
	status = lib->next(machine->decoder, &insn, sizeof(insn));
	if (status >= 0 && !(status & pts_event_pending))
		lib->next(machine->decoder, &next, sizeof(next));
	return (struct result){insn.size ? insn.size : status, insn.iclass, next.size ? next.ip : 0};
}

static void trace_mode(struct trace *trace, enum pt_exec_mode mode)
{
	static const uint8_t payload[] = {[ptem_16bit] = 0, [ptem_32bit] = 2, [ptem_64bit] = 1};

	trace->bytes[trace->size++] = 0x99;
	trace->bytes[trace->size++] = payload[mode];
}

static void make_trace(struct trace *trace, enum pt_exec_mode mode)
{
	trace->size = 0;
	trace_psb(trace);
	trace_mode(trace, mode);
	trace_ip(trace, ppt_fup, address);
	trace_psbend(trace);
	trace_tnt(trace, "tttttt"); /* branches are taken */
}

static void find(const struct library *library, const char *name, void *function)
{
	void *symbol = dlsym(library->handle, name);

	assert_non_null(symbol);
	memcpy(function, &symbol, sizeof(symbol));
}

/* Debian's library, in a namespace of its own; without a handle where it is missing. */
static struct library load_theirs(void)
{
	struct library library = {.handle = dlmopen(LM_ID_NEWLM, their_path, RTLD_NOW)};

	if (!library.handle)
		return library;
	find(&library, "pt_insn_alloc_decoder", &library.alloc);
	find(&library, "pt_insn_free_decoder", &library.free);
	find(&library, "pt_insn_sync_set", &library.sync_set);
	find(&library, "pt_insn_next", &library.next);
	find(&library, "pt_insn_event", &library.event);
	find(&library, "pt_insn_get_image", &library.get_image);
	find(&library, "pt_image_set_callback", &library.set_callback);
	return library;
}

static struct library our_library(void)
{
	return (struct library){
	        .alloc = pt_insn_alloc_decoder,
	        .free = pt_insn_free_decoder,
	        .sync_set = pt_insn_sync_set,
	        .next = pt_insn_next,
	        .event = pt_insn_event,
	        .get_image = pt_insn_get_image,
	        .set_callback = pt_image_set_callback,
	};
}

/* ---- byte strings ------------------------------------------------------------------------------- */

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 32);
}

/* Bytes that are no prefix hardly ever come behind several of those: most strings start with few. */
static void make_code(struct code *code, uint64_t *state)
{
	static const uint8_t prefix[] = {0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x40, 0x48, 0x4f, 0x0f, 0x0f, 0x0f};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(code->bytes); i++)
		code->bytes[i] = (uint8_t)next_random(state);
	while (n < 3 && next_random(state) % 3 == 0)
		code->bytes[n++] = prefix[next_random(state) % sizeof(prefix)];
}

/* ---- differences --------------------------------------------------------------------------------- */

enum excuse { undefined, returns, has_operands, vector, apx, wraps, n_excuses };

/* Why ours may differ from 2.0.5, which tells lengths by tables of opcodes without checking encodings. */
static const char *const reason[n_excuses] = {
        [undefined] =
                "undefined: raises #UD, never retires; to execute it means that code and trace do not fit",
        [returns] = "RSM: execution does not go on behind it",
        [has_operands] = "UD0, UD1, 0F A6 and 0F A7 have operands, which 2.0.5 does not know",
        [vector] = "VEX, EVEX and XOP: 2.0.5 takes lengths of the legacy map or knows no length for the map",
        [apx] = "REX2 came after 2.0.5",
        [wraps] = "16- and 32-bit branches wrap; 2.0.5 lets their targets become negative or too large",
};

static bool is_prefix(uint8_t byte, enum pt_exec_mode mode)
{
	static const uint8_t prefix[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3};

	return memchr(prefix, byte, sizeof(prefix)) || (mode == ptem_64bit && byte >> 4 == 4);
}

/* The excuse for a difference; n_excuses: there is none. */
static enum excuse excuse(const struct code *code, enum pt_exec_mode mode, const struct result *ours,
                          const struct result *theirs)
{
	const uint8_t *opcode = code->bytes;

	if (mode != ptem_64bit && ours->next_ip != theirs->next_ip &&
	    (ours->next_ip == (uint32_t)theirs->next_ip || ours->next_ip == (uint16_t)theirs->next_ip))
		return wraps;
	if (ours->size == -pte_bad_insn)
		return undefined;
	while (is_prefix(*opcode, mode))
		opcode++;
	switch (opcode[0]) {
	case 0x0f:
		if (opcode[1] == 0xaa)
			return returns;
		return memchr("\xb9\xff\xa6\xa7", opcode[1], 4) ? has_operands : n_excuses;
	case 0x62:
	case 0x8f:
	case 0xc4:
	case 0xc5:
		return ours->iclass == ptic_other ? vector : n_excuses;
	case 0xd5:
		return mode == ptem_64bit ? apx : n_excuses;
	default:
		return n_excuses;
	}
}

/* The instruction behind it may be one that only one of them knows, or need trace that is not there. */
static bool same_result(const struct result *a, const struct result *b)
{
	return a->size == b->size && a->iclass == b->iclass &&
	       (a->next_ip == b->next_ip || !a->next_ip || !b->next_ip);
}

static void complain(const struct code *code, const struct result *ours, const struct result *theirs)
{
	for (size_t i = 0; i < sizeof(code->bytes); i++)
		print_message("%02x ", code->bytes[i]);
	print_message(": ours %d, class %d, to %" PRIx64 "; theirs %d, class %d, to %" PRIx64 "\n",
	              ours->size, (int)ours->iclass, ours->next_ip, theirs->size, (int)theirs->iclass,
	              theirs->next_ip);
}

enum { strings_per_mode = 250000 };

static void sizes_and_classes_agree(enum pt_exec_mode mode, uint64_t random)
{
	const struct library library[2] = {our_library(), load_theirs()};
	uint64_t agreed = 0, wrong = 0, excused[n_excuses] = {0};
	struct machine machine[2];
	struct trace trace;
	struct code code;

	assert_non_null(library[1].handle);
	make_trace(&trace, mode);
	for (int i = 0; i < 2; i++)
		machine[i] = make_machine(&library[i], &trace, &code);
	for (int i = 0; i < strings_per_mode; i++) {
		struct result ours, theirs;
		enum excuse why;

		make_code(&code, &random);
		ours = execute(&machine[0]);
		theirs = execute(&machine[1]);
		if (same_result(&ours, &theirs)) {
			agreed++;
			continue;
		}
		why = excuse(&code, mode, &ours, &theirs);
		if (why < n_excuses)
			excused[why]++;
		else if (wrong++ < 20)
			complain(&code, &ours, &theirs);
	}
	print_message("%" PRIu64 " agree\n", agreed);
	for (int i = 0; i < n_excuses; i++)
		print_message("%7" PRIu64 " %s\n", excused[i], reason[i]);
	assert_int_equal(wrong, 0);
	assert_true(agreed > strings_per_mode / 2);
	for (int i = 0; i < 2; i++)
		library[i].free(machine[i].decoder);
	dlclose(library[1].handle);
}

static void they_agree_in_64_bit_mode(void **state)
{
	(void)state;
	sizes_and_classes_agree(ptem_64bit, 1);
}

static void they_agree_in_32_bit_mode(void **state)
{
	(void)state;
	sizes_and_classes_agree(ptem_32bit, 2);
}

static void they_agree_in_16_bit_mode(void **state)
{
	(void)state;
	sizes_and_classes_agree(ptem_16bit, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(they_agree_in_64_bit_mode),
	        cmocka_unit_test(they_agree_in_32_bit_mode),
	        cmocka_unit_test(they_agree_in_16_bit_mode),
	};

	if (access(their_path, R_OK) != 0) {
		print_message("%s is missing: skipped\n", their_path);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
