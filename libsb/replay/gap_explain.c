/* gap_explain.c - see gap_explain.h. */
#include "replay/gap_explain.h"

#include <stdio.h>
#include <string.h>

#include "system/address_space.h"

static void say(struct sb_gap *gap, enum sb_gap_reason reason, const char *text)
{
	gap->reason = reason;
	snprintf(gap->detail, sizeof(gap->detail), "%s", text);
}

static const char *why_unknown(const struct sideband_observer *observer)
{
	if (observer->track.pid == 0)
		return "the idle task has no code in user space";
	if (!observer->clock->time_mult)
		return "the recording does not say how the times of trace and records relate";
	return "no record says who ran";
}

/* What is known of an address of the kernel at which its image has nothing. */
static void explain_missing_kernel(const struct stream_replay *replay, struct sb_gap *gap)
{
	const struct kernel_image *kernel = replay->observer->kernel;

	gap->ip = kernel->has_missing_ip ? kernel->missing_ip : replay->last_ip;
	if (kernel_image_open_at(kernel, gap->ip) >= 0)
		say(gap, sb_gap_lost_patch,
		    "the kernel may have patched its code there: records of that may be among the lost ones");
	else if (!kernel->text || !kernel->text->base.path)
		say(gap, sb_gap_no_kernel, "the kernel's code is not there: record with perf record --kcore");
	else if (kernel->text->base.code >= 0)
		say(gap, sb_gap_no_kernel,
		    "what the kernel patched there when it booted, vmlinux does not say: kcore does");
	else
		say(gap, sb_gap_no_kernel,
		    "no kcore, module, BPF program or TEXT_POKE record has code there");
}

static void say_missing(const struct stream_replay *replay, struct sb_gap *gap, const struct sb_map *map,
                        const struct sb_binary *binary)
{
	const size_t length = strlen(binary->detail);

	say(gap, binary->missing, binary->detail);
	if (binary->missing == sb_gap_anonymous && map->origin == sb_map_recorded && replay->jit)
		jit_code_explain(replay->jit, replay->observer->track.pid, gap->ip, gap->detail + length,
		                 sizeof(gap->detail) - length);
}

/* Somebody whose fork has no record, or who has the number of a process that had come to its end. */
static int is_stranger(const struct sideband_observer *observer)
{
	const struct strangers *strangers = evidence_strangers(observer->evidence);
	const int32_t pid = observer->track.pid;
	const uint64_t now = sideband_observer_now(observer), slack = observer->track.slack;
	const struct sb_space *space = sb_system_space(observer->system, pid, now);

	if (space && !space_living(observer->system, pid, now, slack))
		return 1;
	return strangers && strangers_have(strangers, pid, now, slack) &&
	       !(space && space_lacks_program(space));
}

/* The same for user space, by the model. */
static void explain_missing_code(const struct stream_replay *replay, struct sb_gap *gap)
{
	const struct sideband_observer *observer = replay->observer;
	const struct sb_binary *binary;
	const struct sb_map *map;

	if (observer->in_guest) {
		gap->ip = replay->images->has_missing_ip ? replay->images->missing_ip : replay->last_ip;
		say(gap, sb_gap_vmx_guest, "a virtual machine ran, whose code is not the host's");
		return;
	}
	if (observer->in_kernel) {
		explain_missing_kernel(replay, gap);
		return;
	}
	gap->ip = replay->images->has_missing_ip ? replay->images->missing_ip : replay->last_ip;
	if (observer->track.pid <= 0) {
		say(gap, sb_gap_unknown_process, why_unknown(observer));
		return;
	}
	map = observer->epoch ? sb_epoch_code(observer->epoch, gap->ip) : NULL;
	if (!map && !(replay->images->has_missing_ip && replay->images->is_uncertain)) {
		say(gap, sb_gap_not_mapped,
		    is_stranger(observer)
		            ? "missing records: of this process' fork, and so of what it had mapped"
		            : "no record says what was mapped there");
		return;
	}
	if (replay->images->has_missing_ip && replay->images->is_uncertain)
		say(gap, sb_gap_anonymous,
		    "other code came there, and the trace's time does not say exactly when");
	else if (image_builder_find(replay->images, map, &binary) < 0)
		say(gap, sb_gap_no_binary, map->filename);
	else if (binary->missing)
		say_missing(replay, gap, map, binary);
	else if (gap->ip - map->begin >= binary->size)
		say(gap, sb_gap_not_mapped, "behind the end of the code in the file");
	else
		say(gap, sb_gap_no_binary, binary->path);
}

void gap_explain(struct sb_gap *gap, const struct stream_replay *replay, int errcode)
{
	gap->ip = replay->last_ip;
	switch (errcode) {
	case -pte_nomap:
		explain_missing_code(replay, gap);
		return;
	case -pte_bad_image:
		say(gap, sb_gap_binary_mismatch, pt_errstr(pt_errcode(errcode)));
		return;
	case -pte_no_time:
		say(gap, sb_gap_bad_trace, "time goes back");
		return;
	case -pte_bad_opc:
	case -pte_bad_packet:
	case -pte_bad_context:
		say(gap, sb_gap_bad_trace, pt_errstr(pt_errcode(errcode)));
		return;
	default:
		say(gap, sb_gap_decode_error, pt_errstr(pt_errcode(errcode)));
		return;
	}
}

/* Whether the trace itself says that execution came to @ip. */
static int is_named(const struct stream_replay *replay, uint64_t ip)
{
	uint64_t named;

	return pt_blk_get_named_ip(replay->decoder, &named) == 0 && named == ip;
}

int gap_leaves_flow_right(const struct sb_gap *gap, const struct stream_replay *replay, int errcode)
{
	/* What is not known of the calls before the place where it went on, is not wrong. */
	if (errcode == -pte_retstack_empty)
		return replay->resumed;
	switch (gap->reason) {
	case sb_gap_not_mapped:
		return is_named(replay, gap->ip);
	case sb_gap_no_binary:
	case sb_gap_binary_mismatch:
	case sb_gap_anonymous:
	case sb_gap_unknown_process:
	case sb_gap_no_kernel:
	case sb_gap_vmx_guest:
	case sb_gap_lost_patch:
		return 1;
	default:
		return 0;
	}
}

enum gap_resume gap_resume(const struct sb_gap *gap, const struct stream_replay *replay, int errcode)
{
	switch (gap->reason) {
	case sb_gap_bad_trace:
		return gap_resume_psb;
	case sb_gap_no_binary:
	case sb_gap_binary_mismatch:
	case sb_gap_anonymous:
	case sb_gap_unknown_process:
	case sb_gap_no_kernel:
	case sb_gap_vmx_guest:
	case sb_gap_lost_patch:
		return gap_resume_address;
	case sb_gap_decode_error:
		/* Who knows since when, if nothing was missing before. */
		if (!replay->resumed)
			return gap_resume_psb;
		/* fall through */
	default:
		return errcode == -pte_retstack_empty && replay->resumed ? gap_resume_address
		                                                         : gap_resume_whole;
	}
}
