/* kernel_fields.c - the fields of the kernel's records, by name. */
#include "record/field_put.h"

#include <linux/perf_event.h>

static void comm_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_pid_tid(visitor, record->u.comm.pid, record->u.comm.tid);
	put_flag(visitor, "exec", record->u.comm.exec);
	put_string(visitor, "name", record->u.comm.name);
}

static void mmap2_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	if (record->u.mmap.build_id_size) {
		put_bytes(visitor, "build_id", record->u.mmap.build_id, record->u.mmap.build_id_size);
	} else {
		put_hex(visitor, "maj", record->u.mmap.maj);
		put_hex(visitor, "min", record->u.mmap.min);
		put_unsigned(visitor, "ino", record->u.mmap.ino);
		put_unsigned(visitor, "ino_generation", record->u.mmap.ino_generation);
	}
	put_hex(visitor, "prot", record->u.mmap.prot);
	put_hex(visitor, "flags", record->u.mmap.flags);
}

static void mmap_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_pid_tid(visitor, record->u.mmap.pid, record->u.mmap.tid);
	put_hex(visitor, "addr", record->u.mmap.addr);
	put_hex(visitor, "len", record->u.mmap.len);
	put_hex(visitor, "pgoff", record->u.mmap.pgoff);
	if (record->u.mmap.is_mmap2)
		mmap2_fields(visitor, record);
	put_flag(visitor, "kernel", record->u.mmap.is_kernel);
	put_flag(visitor, "guest", record->u.mmap.is_guest);
	put_flag(visitor, "data", record->u.mmap.is_data);
	put_flag(visitor, "cut", record->u.mmap.is_cut);
	put_string(visitor, "filename", record->u.mmap.filename);
}

static void task_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_pid_tid(visitor, record->u.task.pid, record->u.task.tid);
	put_signed(visitor, "ppid", record->u.task.ppid);
	put_signed(visitor, "ptid", record->u.task.ptid);
	put_unsigned(visitor, "at", record->u.task.time);
}

static void switch_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	const int out = record->u.context_switch.out;

	put_flag(visitor, "out", out);
	put_flag(visitor, "in", !out);
	put_flag(visitor, "preempted", record->u.context_switch.preempt);
	if (record->type != PERF_RECORD_SWITCH_CPU_WIDE)
		return;
	put_signed(visitor, out ? "next_pid" : "prev_pid", record->u.context_switch.next_prev_pid);
	put_signed(visitor, out ? "next_tid" : "prev_tid", record->u.context_switch.next_prev_tid);
}

static void itrace_start_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_pid_tid(visitor, record->u.itrace_start.pid, record->u.itrace_start.tid);
}

static void aux_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	const uint64_t flags = record->u.aux.flags;

	put_hex(visitor, "offset", record->u.aux.offset);
	put_hex(visitor, "size", record->u.aux.size);
	put_hex(visitor, "flags", flags);
	put_flag(visitor, "truncated", flags & PERF_AUX_FLAG_TRUNCATED);
	put_flag(visitor, "overwrite", flags & PERF_AUX_FLAG_OVERWRITE);
	put_flag(visitor, "partial", flags & PERF_AUX_FLAG_PARTIAL);
	put_flag(visitor, "collision", flags & PERF_AUX_FLAG_COLLISION);
}

static void lost_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	if (record->type == PERF_RECORD_LOST)
		put_unsigned(visitor, "id", record->u.lost.id);
	put_unsigned(visitor, "lost", record->u.lost.lost);
}

static void throttle_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_unsigned(visitor, "at", record->u.throttle.time);
	put_unsigned(visitor, "id", record->u.throttle.id);
	put_unsigned(visitor, "stream_id", record->u.throttle.stream_id);
}

static void namespaces_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	static const char *const kinds[] = {"net", "uts", "ipc", "pid", "user", "mnt", "cgroup"};

	put_pid_tid(visitor, record->u.namespaces.pid, record->u.namespaces.tid);
	visitor->begin_list(visitor->context, "namespaces");
	for (uint64_t i = 0; i < record->u.namespaces.nr; i++) {
		const struct sb_namespace namespace = sb_record_namespace(record, i);

		visitor->begin_group(visitor->context);
		put_string(visitor, "kind", i < sizeof(kinds) / sizeof(kinds[0]) ? kinds[i] : "unknown");
		put_hex(visitor, "dev", namespace.dev);
		put_unsigned(visitor, "ino", namespace.ino);
		visitor->end_group(visitor->context);
	}
	visitor->end_list(visitor->context);
}

static void ksymbol_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_hex(visitor, "addr", record->u.ksymbol.addr);
	put_hex(visitor, "len", record->u.ksymbol.len);
	put_unsigned(visitor, "ksym_type", record->u.ksymbol.ksym_type);
	put_hex(visitor, "flags", record->u.ksymbol.flags);
	put_flag(visitor, "unregister", record->u.ksymbol.flags & 1);
	put_string(visitor, "name", record->u.ksymbol.name);
}

static void bpf_event_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_unsigned(visitor, "event_type", record->u.bpf_event.event_type);
	put_hex(visitor, "flags", record->u.bpf_event.flags);
	put_unsigned(visitor, "id", record->u.bpf_event.id);
	put_bytes(visitor, "tag", record->u.bpf_event.tag, sizeof(record->u.bpf_event.tag));
}

static void cgroup_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_unsigned(visitor, "id", record->u.cgroup.id);
	put_string(visitor, "path", record->u.cgroup.path);
}

static void text_poke_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_hex(visitor, "addr", record->u.text_poke.addr);
	put_unsigned(visitor, "old_len", record->u.text_poke.old_len);
	put_unsigned(visitor, "new_len", record->u.text_poke.new_len);
	put_bytes(visitor, "old_bytes", record->u.text_poke.old_bytes, record->u.text_poke.old_len);
	put_bytes(visitor, "new_bytes", record->u.text_poke.new_bytes, record->u.text_poke.new_len);
}

static void aux_output_hw_id_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_hex(visitor, "hw_id", record->u.aux_output_hw_id.hw_id);
}

static void callchain_deferred_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_hex(visitor, "cookie", record->u.callchain_deferred.cookie);
	put_numbers(visitor, "ips", record->u.callchain_deferred.ips, record->u.callchain_deferred.nr);
}

/* Types that older headers lack are given by number. */
fields_of *const kernel_fields[] = {
        [PERF_RECORD_MMAP] = mmap_fields,
        [PERF_RECORD_LOST] = lost_fields,
        [PERF_RECORD_COMM] = comm_fields,
        [PERF_RECORD_EXIT] = task_fields,
        [PERF_RECORD_THROTTLE] = throttle_fields,
        [PERF_RECORD_UNTHROTTLE] = throttle_fields,
        [PERF_RECORD_FORK] = task_fields,
        [PERF_RECORD_READ] = read_fields,
        [PERF_RECORD_SAMPLE] = sample_fields,
        [PERF_RECORD_MMAP2] = mmap_fields,
        [PERF_RECORD_AUX] = aux_fields,
        [PERF_RECORD_ITRACE_START] = itrace_start_fields,
        [PERF_RECORD_LOST_SAMPLES] = lost_fields,
        [PERF_RECORD_SWITCH] = switch_fields,
        [PERF_RECORD_SWITCH_CPU_WIDE] = switch_fields,
        [PERF_RECORD_NAMESPACES] = namespaces_fields,
        [17] = ksymbol_fields,
        [18] = bpf_event_fields,
        [19] = cgroup_fields,
        [20] = text_poke_fields,
        [21] = aux_output_hw_id_fields,
        [22] = callchain_deferred_fields,
};

const uint32_t kernel_fields_count = sizeof(kernel_fields) / sizeof(kernel_fields[0]);
