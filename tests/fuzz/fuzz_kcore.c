/* fuzz_kcore.c - the kernel's code over time: any kcore file, patched by any pokes, with any code that comes
 * and goes.
 *
 * The first bytes make pokes and bodies near the kernel's usual address, the rest is the file. Whatever both
 * say, pieces are in order and do not overlap, each has a version at any time, and what a version says of its
 * file is there.
 */
#include <string.h>
#include <sys/stat.h>

#include "binary/kernel_text.h"
#include "support/check.h"
#include "support/input.h"
#include "support/memory_file.h"
#include "support/target.h"

enum { POKES_MAX = 8, POKE_MAX = 16, BODIES_MAX = 4, BODY_MAX = 64, LOSSES_MAX = 4 };

static const uint64_t text_begin = 0xffffffff81000000;
static struct memory_file file;

static size_t draw_pokes(struct fuzz_input *in, struct sb_text_poke poke[POKES_MAX],
                         uint8_t bytes[POKES_MAX][2 * POKE_MAX])
{
	const size_t count = fuzz_below(in, POKES_MAX + 1);
	uint64_t time = 0;

	for (size_t i = 0; i < count; i++) {
		time += fuzz_below(in, 3);
		poke[i] = (struct sb_text_poke){.time = time,
		                                .addr = text_begin + fuzz_u8(in),
		                                .old_len = (uint16_t)fuzz_below(in, POKE_MAX + 1),
		                                .new_len = (uint16_t)fuzz_below(in, POKE_MAX + 1),
		                                .old_bytes = bytes[i],
		                                .new_bytes = bytes[i] + POKE_MAX};
		memset(bytes[i], (int)(2 * i), POKE_MAX);
		memset(bytes[i] + POKE_MAX, (int)(2 * i + 1), POKE_MAX);
		if (fuzz_u8(in) > 250)
			poke[i].addr = -(uint64_t)fuzz_u8(in);
	}
	return count;
}

static size_t draw_bodies(struct fuzz_input *in, struct kernel_body body[BODIES_MAX])
{
	static const uint8_t bytes[BODY_MAX];
	const size_t count = fuzz_below(in, BODIES_MAX + 1);

	for (size_t i = 0; i < count; i++) {
		body[i].from = fuzz_below(in, 8);
		body[i].to = fuzz_u8(in) & 1 ? UINT64_MAX : body[i].from + fuzz_below(in, 8);
		body[i].begin = text_begin + fuzz_u8(in);
		body[i].size = fuzz_below(in, BODY_MAX + 1);
		body[i].bytes = fuzz_u8(in) & 1 ? bytes : NULL;
		if (fuzz_u8(in) > 250)
			body[i].begin = -(uint64_t)fuzz_u8(in);
	}
	return count;
}

static size_t draw_losses(struct fuzz_input *in, struct lost_time loss[LOSSES_MAX])
{
	const size_t count = fuzz_below(in, LOSSES_MAX + 1);
	uint64_t time = 0;

	for (size_t i = 0; i < count; i++) {
		loss[i].from = time + fuzz_below(in, 4);
		loss[i].to = fuzz_u8(in) > 250 ? UINT64_MAX : loss[i].from + fuzz_below(in, 4);
		time = loss[i].to + 1;
		if (!time)
			return i + 1;
	}
	return count;
}

static void check_version(const struct kernel_text *text, const struct kernel_piece *piece,
                          const struct kernel_version *version)
{
	const struct sb_binary *binary = &version->binary;
	struct stat stat;

	if (!binary->size)
		return;
	FUZZ_CHECK(binary->size == piece->end - piece->begin, "a version of another size");
	FUZZ_CHECK(binary->path == text->base.path || binary->path == text->patches_path,
	           "a file of nobody's");
	FUZZ_CHECK(fstat(binary->path == text->base.path ? file.fd : text->patches, &stat) == 0 &&
	                   binary->offset <= (uint64_t)stat.st_size &&
	                   binary->size <= (uint64_t)stat.st_size - binary->offset,
	           "code behind the end of a file");
}

static void check_text(const struct kernel_text *text)
{
	for (size_t i = 0; i < text->npieces; i++) {
		const struct kernel_piece *piece = &text->piece[i];

		FUZZ_CHECK(piece->begin < piece->end && piece->nversions, "piece %zu is nothing", i);
		FUZZ_CHECK(!i || piece[-1].end <= piece->begin, "piece %zu overlaps the one before", i);
		FUZZ_CHECK(kernel_text_find(text, piece->begin) == piece &&
		                   kernel_text_find(text, piece->end - 1) == piece,
		           "piece %zu is not found", i);
		for (size_t changes = 0; changes <= text->nchanges; changes++)
			check_version(text, piece, kernel_text_version(text, piece, changes));
		for (uint32_t content = 0; content < piece->ncontents; content++) {
			FUZZ_CHECK(kernel_text_content(text, piece, content)->binary.size,
			           "content %u is nothing", (unsigned int)content);
			check_version(text, piece, kernel_text_content(text, piece, content));
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t bytes[POKES_MAX][2 * POKE_MAX];
	struct fuzz_input in = {data, data + size};
	struct sb_text_poke poke[POKES_MAX];
	struct kernel_body body[BODIES_MAX];
	struct kernel_base base;
	struct kernel_text text;
	struct lost_time loss[LOSSES_MAX];
	struct kernel_history history = {.body = body, .poke = poke, .losses = {.of = loss}};

	if (!file.name[0])
		memory_file_open(&file);
	history.npokes = draw_pokes(&in, poke, bytes);
	history.nbodies = draw_bodies(&in, body);
	history.losses.count = draw_losses(&in, loss);
	memory_file_set(&file, in.pos, (size_t)(in.end - in.pos));
	if (kernel_base_open_kcore(&base, file.name, NULL) < 0 ||
	    kernel_text_init(&text, &base, &history, NULL) < 0)
		return 0;
	check_text(&text);
	kernel_text_fini(&text);
	return 0;
}
