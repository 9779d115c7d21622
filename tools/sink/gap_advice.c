/* tools/sink/gap_advice.c - see gap_advice.h. */
#include "sink/gap_advice.h"

static const char *const advice[sb_gap_reasons] = {
        [sb_gap_overflow] = "trace less: user space only, an address filter, no CYC packets, fewer CPUs",
        [sb_gap_no_binary] = "give the machine's files with --root, or keep them with sbtrace bundle",
        [sb_gap_binary_mismatch] = "give the files as they were then; record perf record --buildid-mmap",
        [sb_gap_anonymous] =
                "a jitdump by the just-in-time compiler; no code that is written to, or shared; MTC packets",
        [sb_gap_not_mapped] = "record from before the process starts; larger buffers (perf record -m)",
        [sb_gap_unknown_process] =
                "record switches (--switch-events), with larger buffers (-m); for raw pairs, recording.info",
        [sb_gap_decode_error] = "give the files as they were then; perf record --buildid-mmap and --kcore",
        [sb_gap_bad_trace] = "compare the recording with its original: it is damaged",
        [sb_gap_no_sync] = "a shorter PSB period; it is at the beginning of a trace",
        [sb_gap_truncated] = "larger buffers for the trace (perf record -m pages,auxpages)",
        [sb_gap_no_kernel] = "perf record --kcore as the superuser; or --kcore, --vmlinux",
        [sb_gap_vmx_guest] = "record inside of the virtual machine, too",
        [sb_gap_filtered] = "leave out --cpu",
        [sb_gap_lost_patch] = "larger buffers (perf record -m): records of patches were lost",
};

const char *gap_advice(enum sb_gap_reason reason, const struct sb_perfdata *perfdata)
{
	if (reason == sb_gap_truncated && perfdata &&
	    (sb_perfdata_damage(perfdata) || sb_perfdata_info(perfdata)->interrupted))
		return "the whole recording: this one is cut off or damaged; copy it again, let perf record end";
	return (unsigned int)reason < sb_gap_reasons && advice[reason] ? advice[reason] : "-";
}
