/* fuzz_span.c - what a span's result may hold: any items at all, in blocks whose sums are right.
 *
 * The input is cut into blocks behind bytes of 255; what is read of it holds what the reader promises: paths
 * have blocks, blocks have instructions that fit their addresses, numbers keep their meaning.
 */
#include <string.h>

#include "replay/span_format.h"
#include "replay/span_read.h"
#include "support/check.h"
#include "support/target.h"
#include "system/system.h"

enum { BLOCKS_ENOUGH = 1 << 20, BYTES_MAX = 1 << 16 };

struct result {
	uint8_t bytes[BYTES_MAX];
	size_t size;
};

static int64_t read_result(void *context, size_t index, uint64_t offset, void *bytes, size_t size,
                           struct sb_error *err)
{
	const struct result *result = context;
	const size_t left = offset < result->size ? result->size - (size_t)offset : 0;

	(void)index;
	(void)err;
	if (size > left)
		size = left;
	memcpy(bytes, result->bytes + offset, size);
	return (int64_t)size;
}

static void add_block(struct result *result, const uint8_t *bytes, size_t size)
{
	const uint32_t header[2] = {(uint32_t)size, span_block_sum(bytes, size)};

	if (result->size + sizeof(header) + size > sizeof(result->bytes))
		return;
	memcpy(result->bytes + result->size, header, sizeof(header));
	memcpy(result->bytes + result->size + sizeof(header), bytes, size);
	result->size += sizeof(header) + size;
}

static void check_flow(const struct sb_flow *flow)
{
	const uint64_t *times = flow->times;
	uint64_t nblocks = 0, all = 0;

	for (uint32_t i = 0; i < flow->npaths; ++i) {
		const struct pt_run_path *path = flow->path[i];

		FUZZ_CHECK(path->nblocks > 0, "%s", "a span");
		for (uint32_t k = 0; k < path->nblocks; ++k) {
			uint64_t ip = path->block[k].ip;

			FUZZ_CHECK(path->block[k].ninsn > 0, "%s", "a span");
			for (uint32_t n = 0; n + 1 < path->block[k].ninsn; ++n)
				ip += path->block[k].length[n];
			FUZZ_CHECK(ip == path->block[k].end_ip, "%s", "a span");
			all += times ? *times++ : 1;
			nblocks += 1;
		}
	}
	FUZZ_CHECK(nblocks || !all, "%s", "a span");
}

static void check_number(const struct span_reader *reader, uint32_t number)
{
	FUZZ_CHECK(number < reader->ncodes, "%s", "a span");
}

static void check_seam(const struct span_reader *reader, const struct sb_flow_seam *seam)
{
	if (!seam->has_code)
		return;
	check_number(reader, seam->first.code);
	check_number(reader, seam->last);
	for (uint32_t i = 0; i < seam->nbacks; ++i) {
		check_number(reader, seam->back[i].code);
		FUZZ_CHECK(seam->back[i].deepest <= sb_way_interrupted_most, "%s", "a span");
	}
	if (seam->comes_to_user)
		check_number(reader, seam->user);
	if (seam->has_last_user == sb_flow_user_known)
		check_number(reader, seam->last_user);
	FUZZ_CHECK(seam->deepest <= sb_way_interrupted_most && seam->ninterrupted <= sb_way_interrupted_most,
	           "%s", "a span");
	for (uint32_t i = 0; i < seam->ninterrupted; ++i)
		check_number(reader, seam->interrupted[i].code);
}

static void check_ways(const struct span_reader *reader, const struct sb_flow_ways *ways)
{
	for (size_t i = 0; i < ways->nways; ++i) {
		check_number(reader, ways->way[i].from);
		check_number(reader, ways->way[i].to);
	}
	if (ways->seam)
		check_seam(reader, ways->seam);
}

static void check_calls(const struct span_reader *reader, const struct sb_flow_calls *calls)
{
	for (uint32_t i = 1; i < calls->nsums; ++i)
		FUZZ_CHECK(calls->sum[i].below < i && calls->sum[i].function < reader->nfunctions, "%s",
		           "a span");
	for (size_t i = 0; i < calls->nedges; ++i)
		FUZZ_CHECK(calls->edge[i].callee < reader->nfunctions &&
		                   (calls->edge[i].caller < reader->nfunctions ||
		                    calls->edge[i].caller == sb_flow_call_base),
		           "%s", "a span");
}

/* @sums: what is expected. */
static void check_turns(const struct sb_flow *flow)
{
	FUZZ_CHECK(flow->nturns > 0, "%s", "a span");
	for (size_t i = 0; i < flow->nturns; i++)
		FUZZ_CHECK(flow->turn[i].ninsn_kernel <= flow->turn[i].ninsn, "%s", "a span");
}

static void read_all(struct result *result, const struct span_world *world, unsigned int sums)
{
	struct span_reader reader;
	struct span_item item;
	struct sb_error err = {0};
	uint64_t nblocks = 0;
	int status = 1;

	FUZZ_CHECK(span_reader_init(&reader, world, 0) == 0, "%s", "a span");
	reader.context = result;
	reader.read = read_result;
	reader.sums = sums;
	while (status > 0 && nblocks < BLOCKS_ENOUGH) {
		status = span_read(&reader, &item, &err);
		if (status <= 0)
			break;
		FUZZ_CHECK(item.kind != span_none && item.kind != span_renumber && item.kind != span_forget,
		           "%s", "a span");
		if (item.kind == span_gap)
			FUZZ_CHECK(strnlen(item.gap.detail, sizeof(item.gap.detail)) <
			                   sizeof(item.gap.detail),
			           "%s", "a span");
		if (item.kind == span_turns && span_read_others(&reader, &item, &err) == 0)
			check_turns(&item.flow);
		if (item.kind != span_flow)
			continue;
		check_flow(&item.flow);
		if (item.flow.ways)
			check_ways(&reader, item.flow.ways);
		if (item.flow.calls)
			check_calls(&reader, item.flow.calls);
		nblocks += item.flow.nblocks + 1;
	}
	FUZZ_CHECK(status >= 0 || err.code == status, "%s", "a span");
	span_reader_fini(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct result result;
	struct sb_system *system = system_new(0);
	struct span_world world;

	FUZZ_CHECK(system && system_seal(system, 0) == 0 && span_world_init(&world, system) == 0, "%s",
	           "a span");
	result.size = 0;
	while (size) {
		const uint8_t *end = memchr(data, 0xff, size);
		const size_t length = end ? (size_t)(end - data) + 1 : size;

		add_block(&result, data, length);
		data += length;
		size -= length;
	}
	/* Of one channel: the others differ by their numbers alone. */
	read_all(&result, &world, sb_sums_ways);
	read_all(&result, &world, sb_sums_stacks);
	read_all(&result, &world, sb_sums_threads);
	span_world_fini(&world);
	sb_system_free(system);
	return 0;
}
