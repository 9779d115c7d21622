/* fuzz_insns.c - pt_insn_classify(): any bytes, one instruction behind the other, in each mode.
 *
 * What it says of an instruction depends on its own bytes only: with one byte less it cannot tell, with more
 * it says the same. */
#include <stdlib.h>
#include <string.h>

#include "code/insn_class.h"
#include "support/check.h"
#include "support/target.h"

static const enum pt_exec_mode modes[] = {ptem_16bit, ptem_32bit, ptem_64bit, ptem_unknown};

/* The bytes stand at the end of memory of their own, so that AddressSanitizer sees a read behind them. */
static int classify(struct pt_insn_info *info, const uint8_t *bytes, size_t size, enum pt_exec_mode mode)
{
	uint8_t *copy = malloc(size ? size : 1);
	int status;

	FUZZ_CHECK(copy, "no memory");
	if (size)
		memcpy(copy, bytes, size);
	status = pt_insn_classify(info, copy, size, mode);
	free(copy);
	return status;
}

static int is_direct_branch(const struct pt_insn_info *info)
{
	return info->kind == pt_kind_cond || info->kind == pt_kind_jump || info->kind == pt_kind_call;
}

static void check_info(const struct pt_insn_info *info, size_t size, enum pt_exec_mode mode)
{
	FUZZ_CHECK(mode != ptem_unknown, "an instruction in no mode");
	FUZZ_CHECK(info->length && info->length <= size && info->length <= pt_max_insn_size, "length %d",
	           info->length);
	FUZZ_CHECK(info->kind <= pt_kind_ptwrite, "kind %d", info->kind);
	FUZZ_CHECK(info->iclass > ptic_unknown && info->iclass <= ptic_indirect, "class %d", info->iclass);
	if (is_direct_branch(info) && info->ip_bits == 16)
		FUZZ_CHECK(mode != ptem_16bit || pt_insn_target(info, 0x100, mode) <= 0xffff,
		           "beyond 64 KiB");
}

static void check_alike(const struct pt_insn_info *info, const struct pt_insn_info *other, size_t size)
{
	FUZZ_CHECK(info->length == other->length && info->kind == other->kind &&
	                   info->iclass == other->iclass && info->displacement == other->displacement &&
	                   info->ip_bits == other->ip_bits,
	           "with %d bytes it is another one", (int)size);
}

/* Returns the instruction's length, or one if there is none. */
static size_t check_insn(const uint8_t *bytes, size_t size, enum pt_exec_mode mode)
{
	struct pt_insn_info info, other;
	const int status = classify(&info, bytes, size, mode);

	if (status < 0) {
		FUZZ_CHECK(status == -pte_bad_insn || status == -pte_nomap, "status %d", status);
		FUZZ_CHECK(status == -pte_bad_insn || size < pt_max_insn_size, "15 bytes are not enough");
		return 1;
	}
	check_info(&info, size, mode);
	for (size_t less = 0; less < info.length; less++)
		FUZZ_CHECK(classify(&other, bytes, less, mode) == -pte_nomap, "%d of %d bytes tell",
		           (int)less, info.length);
	FUZZ_CHECK(classify(&other, bytes, info.length, mode) == 0, "needs more than its %d bytes",
	           info.length);
	check_alike(&info, &other, info.length);
	return info.length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum pt_exec_mode mode;

	if (!size)
		return 0;
	mode = modes[*data % 4];
	for (size_t at = 1, left; at < size; at += left) {
		left = size - at < 20 ? size - at : 20;
		left = check_insn(data + at, left, mode);
	}
	return 0;
}
