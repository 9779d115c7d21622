/* fuzz_events.c - pt_evt_*() and pt_qry_*(), called in every order that a client can think of.
 *
 * The input is a configuration, a list of calls that is repeated until enough were made, and the trace. Every
 * call is made on two decoders, of which one has a caller with a struct of another size: both must give the
 * same. With an empty list of calls, a client that does what the manual says asks the query decoder for all
 * that is there; the events it gets are those of the event decoder. */
#include <string.h>

#include <intel-pt.h>

#include "support/check.h"
#include "support/config.h"
#include "support/guarded.h"
#include "support/target.h"

enum { max_ops = 31, max_calls = 800 };

/* What an event's caller may be built against: 64 bytes was libipt 2.0.5's. */
static const uint8_t sizes[] = {64, sizeof(struct pt_event), sizeof(struct pt_event) + 24, 40, 24, 0, 7, 64};

/* ---- What the calls of both kinds of decoder have in common ---- */

/* One kind of decoder. */
struct kind {
	void *(*alloc)(const struct pt_config *config);
	void (*free)(void *decoder);
	int (*call)(void *decoder, unsigned op, uint64_t number, uint64_t answer[4]);
	int (*event)(void *decoder, void *event, size_t size);
	int (*get_offset)(const void *decoder, uint64_t *offset);
	int (*get_sync_offset)(const void *decoder, uint64_t *offset);
	unsigned ops; /* of call; one more is event */
};

static void *evt_alloc(const struct pt_config *config)
{
	return pt_evt_alloc_decoder(config);
}

static void evt_free(void *decoder)
{
	pt_evt_free_decoder(decoder);
}

static int evt_call(void *decoder, unsigned op, uint64_t number, uint64_t answer[4])
{
	(void)answer;
	switch (op) {
	case 0:
		return pt_evt_sync_forward(decoder);
	case 1:
		return pt_evt_sync_backward(decoder);
	default:
		return pt_evt_sync_set(decoder, number);
	}
}

static int evt_event(void *decoder, void *event, size_t size)
{
	return pt_evt_next(decoder, event, size);
}

static int evt_get_offset(const void *decoder, uint64_t *offset)
{
	return pt_evt_get_offset(decoder, offset);
}

static int evt_get_sync_offset(const void *decoder, uint64_t *offset)
{
	return pt_evt_get_sync_offset(decoder, offset);
}

static void *qry_alloc(const struct pt_config *config)
{
	return pt_qry_alloc_decoder(config);
}

static void qry_free(void *decoder)
{
	pt_qry_free_decoder(decoder);
}

static int qry_call(void *decoder, unsigned op, uint64_t number, uint64_t answer[4])
{
	uint32_t lost_mtc = 0, lost_cyc = 0, cbr = 0;
	int status, taken = 0;

	switch (op) {
	case 0:
		return pt_qry_sync_forward(decoder, &answer[0]);
	case 1:
		return pt_qry_sync_backward(decoder, &answer[0]);
	case 2:
		return pt_qry_sync_set(decoder, &answer[0], number);
	case 3:
		status = pt_qry_cond_branch(decoder, &taken);
		answer[0] = (uint64_t)taken;
		FUZZ_CHECK(status < 0 || taken == 0 || taken == 1, "taken is %d", taken);
		return status;
	case 4:
		return pt_qry_indirect_branch(decoder, &answer[0]);
	case 5:
		status = pt_qry_time(decoder, &answer[0], &lost_mtc, &lost_cyc);
		answer[1] = lost_mtc;
		answer[2] = lost_cyc;
		FUZZ_CHECK(status == 0 || status == -pte_no_time, "status %d", status);
		return status;
	case 6:
		status = pt_qry_core_bus_ratio(decoder, &cbr);
		answer[0] = cbr;
		FUZZ_CHECK(status == 0 || status == -pte_no_cbr, "status %d", status);
		return status;
	default:
		return pt_qry_sync_forward(decoder, NULL);
	}
}

static int qry_event(void *decoder, void *event, size_t size)
{
	return pt_qry_event(decoder, event, size);
}

static int qry_get_offset(const void *decoder, uint64_t *offset)
{
	return pt_qry_get_offset(decoder, offset);
}

static int qry_get_sync_offset(const void *decoder, uint64_t *offset)
{
	return pt_qry_get_sync_offset(decoder, offset);
}

static const struct kind kinds[] = {
        {evt_alloc, evt_free, evt_call, evt_event, evt_get_offset, evt_get_sync_offset, 3},
        {qry_alloc, qry_free, qry_call, qry_event, qry_get_offset, qry_get_sync_offset, 8},
};

static void check_status(int status)
{
	FUZZ_CHECK(status >= -pte_bad_cpu && status <= (pts_event_pending | pts_ip_suppressed | pts_eos),
	           "status %d", status);
	FUZZ_CHECK(status != -pte_internal, "internal error");
}

static void check_event(const struct pt_event *event)
{
	FUZZ_CHECK(event->type <= ptev_syscall, "event type %d", event->type);
	FUZZ_CHECK(event->type != ptev_tick, "a tick without code");
	FUZZ_CHECK(!event->reserved[0] && !event->reserved[1], "reserved bits");
}

/* Where the decoder stands is in the trace, and behind its synchronisation point. */
static uint64_t check_offsets(const struct kind *kind, const void *decoder, uint64_t size)
{
	uint64_t offset = 0, sync = 0;
	const int status = kind->get_offset(decoder, &offset);

	FUZZ_CHECK(kind->get_sync_offset(decoder, &sync) == status, "one offset, but not the other");
	if (status < 0) {
		FUZZ_CHECK(status == -pte_nosync, "status %d", status);
		return 0;
	}
	FUZZ_CHECK(offset <= size && sync <= offset, "offset %d, sync offset %d", (int)offset, (int)sync);
	return offset;
}

/* ---- Calls in any order ---- */

/* No event without what every event has; and it stays where it is. */
static int refused_event(const struct kind *kind, void *decoder, size_t size)
{
	struct guarded odd;
	const int status = kind->event(decoder, guarded_begin(&odd), size);

	FUZZ_CHECK(status == -pte_invalid, "an event of %zu bytes: %d", size, status);
	guarded_check(&odd, 0, 0, 0);
	return status;
}

/* The same call on both decoders, the second with a struct of @size. */
static int both_events(const struct kind *kind, void *const decoder[2], size_t size)
{
	struct guarded plain, odd;
	int status, other;

	if (size < offsetof(struct pt_event, variant))
		return refused_event(kind, decoder[1], size);
	memset(&plain, 0, sizeof(plain));
	status = kind->event(decoder[0], &plain, sizeof(struct pt_event));
	other = kind->event(decoder[1], guarded_begin(&odd), size);
	FUZZ_CHECK(status == other, "status %d, with another size %d", status, other);
	guarded_check(&odd, size, sizeof(struct pt_event), status >= 0);
	if (status >= 0) {
		const size_t both = size < sizeof(struct pt_event) ? size : sizeof(struct pt_event);

		check_event((const struct pt_event *)(const void *)plain.bytes);
		FUZZ_CHECK(!memcmp(plain.bytes, odd.bytes, both), "events of other sizes differ");
	}
	return status;
}

static int both_calls(const struct kind *kind, void *const decoder[2], unsigned op, uint64_t number)
{
	uint64_t answer[4] = {0}, other_answer[4] = {0};
	const int status = kind->call(decoder[0], op, number, answer);
	const int other = kind->call(decoder[1], op, number, other_answer);

	FUZZ_CHECK(status == other && !memcmp(answer, other_answer, sizeof(answer)), "status %d and %d",
	           status, other);
	return status;
}

static void call_in_any_order(const struct kind *kind, const struct pt_config *config, const uint8_t *op,
                              size_t ops)
{
	const uint64_t size = (uint64_t)(config->end - config->begin);
	void *const decoder[2] = {kind->alloc(config), kind->alloc(config)};

	FUZZ_CHECK(decoder[0] && decoder[1], "no decoder");
	for (unsigned n = 0; n < max_calls; n++) {
		const uint8_t code = op[n % ops];
		const unsigned what = (code & 15) % (kind->ops + 1);
		const uint64_t number = (uint64_t)(code >> 4) * (size + 1) / 16;
		const uint64_t before = check_offsets(kind, decoder[0], size);
		const int moves = what < 3 || (kind == &kinds[1] && what == 7);
		int status;

		if (what == kind->ops)
			status = both_events(kind, decoder, sizes[(code >> 4) % sizeof(sizes)]);
		else
			status = both_calls(kind, decoder, what, number);
		check_status(status);
		FUZZ_CHECK(moves || check_offsets(kind, decoder[0], size) >= before, "went back");
		check_offsets(kind, decoder[1], size);
	}
	kind->free(decoder[0]);
	kind->free(decoder[1]);
}

/* ---- A good client ---- */

/* From one synchronisation to the first error. Returns it. Each call must use up trace or hand out something;
 * a packet is at least a byte and becomes a bounded number of events. */
static int all_events(struct pt_event_decoder *evt, uint64_t size, unsigned *count)
{
	struct pt_event event;
	int status;

	for (*count = 0; (status = pt_evt_next(evt, &event, sizeof(event))) >= 0; *count += 1) {
		check_status(status);
		check_event(&event);
		check_offsets(&kinds[0], evt, size);
		FUZZ_CHECK(*count <= 16 * size + 64, "events without end");
	}
	check_status(status);
	FUZZ_CHECK(status != -pte_bad_query && status != -pte_nosync, "status %d", status);
	return status;
}

static int query_step(struct pt_query_decoder *qry, int status)
{
	struct pt_event event;
	uint64_t ip;
	int taken;

	if (status & pts_event_pending) {
		status = pt_qry_event(qry, &event, sizeof(event));
		if (status >= 0)
			check_event(&event);
		return status; /* bad_query: the packet that announced it was not followed by what it needs */
	}
	FUZZ_CHECK(pt_qry_event(qry, &event, sizeof(event)) < 0, "an event came that was not announced");
	status = pt_qry_cond_branch(qry, &taken);
	return status == -pte_bad_query ? pt_qry_indirect_branch(qry, &ip) : status;
}

static int all_queries(struct pt_query_decoder *qry, uint64_t size, int status)
{
	for (unsigned count = 0; status >= 0; count++) {
		check_status(status);
		status = query_step(qry, status);
		check_offsets(&kinds[1], qry, size);
		FUZZ_CHECK(count <= 64 * size + 64, "answers without end");
	}
	check_status(status);
	return status;
}

static void good_clients(const struct pt_config *config)
{
	const uint64_t size = (uint64_t)(config->end - config->begin);
	struct pt_event_decoder *evt = pt_evt_alloc_decoder(config);
	struct pt_query_decoder *qry = pt_qry_alloc_decoder(config);
	unsigned count, syncs = 0;
	uint64_t ip;
	int status;

	while ((status = pt_evt_sync_forward(evt)) != -pte_eos) {
		FUZZ_CHECK(syncs++ <= size, "synchronises without end");
		if (status >= 0)
			all_events(evt, size, &count);
	}
	syncs = 0;
	while ((status = pt_qry_sync_forward(qry, &ip)) != -pte_eos) {
		FUZZ_CHECK(syncs++ <= size, "synchronises without end");
		if (status >= 0)
			all_queries(qry, size, status);
	}
	syncs = 0;
	while (pt_evt_sync_backward(evt) != -pte_eos)
		FUZZ_CHECK(syncs++ <= size, "synchronises without end");
	syncs = 0;
	while (pt_qry_sync_backward(qry, &ip) != -pte_eos)
		FUZZ_CHECK(syncs++ <= size, "synchronises without end");
	pt_evt_free_decoder(evt);
	pt_qry_free_decoder(qry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, data + size};
	struct fuzz_config fc;
	struct pt_config config;
	const uint8_t *op;
	size_t ops;

	fuzz_config_init(&fc, &in, fuzz_code_address(data, size));
	op = fuzz_bytes(&in, fuzz_u8(&in) % (max_ops + 1), &ops);
	fuzz_config_trace(&fc, &in, 1);
	config = fuzz_config_for_events(&fc);
	if (ops) {
		call_in_any_order(&kinds[0], &config, op, ops);
		call_in_any_order(&kinds[1], &config, op, ops);
	}
	good_clients(&config);
	fuzz_config_fini(&fc);
	return 0;
}

size_t fuzz_trace_begin(const uint8_t *data, size_t size)
{
	const size_t begin = fuzz_config_bytes + 1;

	if (size < begin)
		return size;
	return begin + data[begin - 1] % (max_ops + 1) < size ? begin + data[begin - 1] % (max_ops + 1)
	                                                      : size;
}

uint64_t fuzz_code_address(const uint8_t *data, size_t size)
{
	(void)data, (void)size;
	return 0x401000;
}
