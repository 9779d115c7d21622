/* kernel_records.c - bodies of the records that the kernel writes (below 64), but for SAMPLE and READ, which
 * are laid out as the event's attribute says: sample.c.
 * Layouts: perf_event_open(2), <linux/perf_event.h>.
 */
#include "record/record_body.h"

#include <linux/perf_event.h>

#include "record/bytes.h"

enum { BUILD_ID_MAX = 20, NAMESPACE_ENTRY = 16 };

/* Bits of misc that this tree's oldest supported kernel headers may lack. */
enum { MISC_MMAP_BUILD_ID = 1 << 14, MISC_GUEST_KERNEL = 4, MISC_GUEST_USER = 5 };

static const char *parse_comm(struct sb_record *record, const uint8_t *body, size_t size)
{
	record->u.comm.pid = load_i32(body);
	record->u.comm.tid = load_i32(body + 4);
	record->u.comm.exec = (record->misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
	return read_string(&record->u.comm.name, body, size, 8);
}

static void parse_mapping(struct sb_record *record, const uint8_t *body)
{
	unsigned int cpumode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK;

	memset(&record->u.mmap, 0, sizeof(record->u.mmap));
	record->u.mmap.pid = load_i32(body);
	record->u.mmap.tid = load_i32(body + 4);
	record->u.mmap.addr = load_u64(body + 8);
	record->u.mmap.len = load_u64(body + 16);
	record->u.mmap.pgoff = load_u64(body + 24);
	record->u.mmap.is_data = (record->misc & PERF_RECORD_MISC_MMAP_DATA) != 0;
	record->u.mmap.is_kernel = cpumode == PERF_RECORD_MISC_KERNEL;
	record->u.mmap.is_cut = (record->misc & PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT) != 0;
	record->u.mmap.is_guest = cpumode == MISC_GUEST_KERNEL || cpumode == MISC_GUEST_USER;
}

static const char *parse_mmap(struct sb_record *record, const uint8_t *body, size_t size)
{
	parse_mapping(record, body);
	return read_string(&record->u.mmap.filename, body, size, 32);
}

static const char *parse_build_id(struct sb_record *record, const uint8_t *id)
{
	if (id[0] > BUILD_ID_MAX)
		return "its build-id is longer than 20 bytes";
	record->u.mmap.build_id_size = id[0];
	memcpy(record->u.mmap.build_id, id + 4, id[0]);
	return NULL;
}

/* Where another event on the machine wants build-ids, perhaps another recorder's, the kernel leaves the bit
 * of misc set for events that do not. Those have a device there, whose minor number has 20 bits (MINORBITS);
 * no disk has the major number 20, which as a size is that of a SHA-1. */
static int has_build_id(const struct sb_record *record, const uint8_t *body)
{
	if (!(record->misc & MISC_MMAP_BUILD_ID))
		return 0;
	return record->format->build_id || load_u32(body + 36) >> 20 || load_u32(body + 32) == BUILD_ID_MAX;
}

static const char *parse_mmap2(struct sb_record *record, const uint8_t *body, size_t size)
{
	const char *wrong = NULL;

	parse_mapping(record, body);
	record->u.mmap.is_mmap2 = 1;
	if (has_build_id(record, body)) {
		wrong = parse_build_id(record, body + 32);
	} else {
		record->u.mmap.maj = load_u32(body + 32);
		record->u.mmap.min = load_u32(body + 36);
		record->u.mmap.ino = load_u64(body + 40);
		record->u.mmap.ino_generation = load_u64(body + 48);
	}
	record->u.mmap.prot = load_u32(body + 56);
	record->u.mmap.flags = load_u32(body + 60);
	return wrong ? wrong : read_string(&record->u.mmap.filename, body, size, 64);
}

static const char *parse_task(struct sb_record *record, const uint8_t *body, size_t size)
{
	(void)size;
	record->u.task.pid = load_i32(body);
	record->u.task.ppid = load_i32(body + 4);
	record->u.task.tid = load_i32(body + 8);
	record->u.task.ptid = load_i32(body + 12);
	record->u.task.time = load_u64(body + 16);
	return NULL;
}

static void parse_direction(struct sb_record *record)
{
	record->u.context_switch.out = (record->misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
	record->u.context_switch.preempt = (record->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
}

static const char *parse_switch(struct sb_record *record, const uint8_t *body, size_t size)
{
	(void)body;
	(void)size;
	parse_direction(record);
	record->u.context_switch.next_prev_pid = -1;
	record->u.context_switch.next_prev_tid = -1;
	return NULL;
}

static const char *parse_switch_cpu_wide(struct sb_record *record, const uint8_t *body, size_t size)
{
	(void)size;
	parse_direction(record);
	record->u.context_switch.next_prev_pid = load_i32(body);
	record->u.context_switch.next_prev_tid = load_i32(body + 4);
	return NULL;
}

static const char *parse_itrace_start(struct sb_record *record, const uint8_t *body, size_t size)
{
	(void)size;
	record->u.itrace_start.pid = load_i32(body);
	record->u.itrace_start.tid = load_i32(body + 4);
	return NULL;
}

static const char *parse_aux(struct sb_record *record, const uint8_t *body, size_t size)
{
	(void)size;
	record->u.aux.offset = load_u64(body);
	record->u.aux.size = load_u64(body + 8);
	record->u.aux.flags = load_u64(body + 16);
	return NULL;
}

static const char *parse_lost(struct sb_record *record, const uint8_t *body, size_t size)
{
	(void)size;
	record->u.lost.id = load_u64(body);
	record->u.lost.lost = load_u64(body + 8);
	return NULL;
}

static const char *parse_lost_samples(struct sb_record *record, const uint8_t *body, size_t size)
{
	(void)size;
	record->u.lost.id = 0;
	record->u.lost.lost = load_u64(body);
	return NULL;
}

static const char *parse_throttle(struct sb_record *record, const uint8_t *body, size_t size)
{
	(void)size;
	record->u.throttle.time = load_u64(body);
	record->u.throttle.id = load_u64(body + 8);
	record->u.throttle.stream_id = load_u64(body + 16);
	return NULL;
}

static const char *parse_namespaces(struct sb_record *record, const uint8_t *body, size_t size)
{
	record->u.namespaces.pid = load_i32(body);
	record->u.namespaces.tid = load_i32(body + 4);
	record->u.namespaces.nr = load_u64(body + 8);
	record->u.namespaces.entries = body + 16;
	if (record->u.namespaces.nr > (size - 16) / NAMESPACE_ENTRY)
		return "it counts more namespaces than it holds";
	return NULL;
}

struct sb_namespace sb_record_namespace(const struct sb_record *record, uint64_t kind)
{
	const uint8_t *entry;

	if (record->type != PERF_RECORD_NAMESPACES || kind >= record->u.namespaces.nr)
		return (struct sb_namespace){0};
	entry = record->u.namespaces.entries + kind * NAMESPACE_ENTRY;
	return (struct sb_namespace){.dev = load_u64(entry), .ino = load_u64(entry + 8)};
}

static const char *parse_ksymbol(struct sb_record *record, const uint8_t *body, size_t size)
{
	record->u.ksymbol.addr = load_u64(body);
	record->u.ksymbol.len = load_u32(body + 8);
	record->u.ksymbol.ksym_type = load_u16(body + 12);
	record->u.ksymbol.flags = load_u16(body + 14);
	return read_string(&record->u.ksymbol.name, body, size, 16);
}

static const char *parse_bpf_event(struct sb_record *record, const uint8_t *body, size_t size)
{
	(void)size;
	record->u.bpf_event.event_type = load_u16(body);
	record->u.bpf_event.flags = load_u16(body + 2);
	record->u.bpf_event.id = load_u32(body + 4);
	memcpy(record->u.bpf_event.tag, body + 8, sizeof(record->u.bpf_event.tag));
	return NULL;
}

static const char *parse_cgroup(struct sb_record *record, const uint8_t *body, size_t size)
{
	record->u.cgroup.id = load_u64(body);
	return read_string(&record->u.cgroup.path, body, size, 8);
}

static const char *parse_text_poke(struct sb_record *record, const uint8_t *body, size_t size)
{
	record->u.text_poke.addr = load_u64(body);
	record->u.text_poke.old_len = load_u16(body + 8);
	record->u.text_poke.new_len = load_u16(body + 10);
	record->u.text_poke.old_bytes = body + 12;
	record->u.text_poke.new_bytes = body + 12 + record->u.text_poke.old_len;
	if ((size_t)record->u.text_poke.old_len + record->u.text_poke.new_len > size - 12)
		return "it counts more bytes of code than it holds";
	return NULL;
}

static const char *parse_aux_output_hw_id(struct sb_record *record, const uint8_t *body, size_t size)
{
	(void)size;
	record->u.aux_output_hw_id.hw_id = load_u64(body);
	return NULL;
}

static const char *parse_callchain_deferred(struct sb_record *record, const uint8_t *body, size_t size)
{
	record->u.callchain_deferred.cookie = load_u64(body);
	record->u.callchain_deferred.nr = load_u64(body + 8);
	record->u.callchain_deferred.ips = body + 16;
	if (record->u.callchain_deferred.nr > (size - 16) / 8)
		return "it counts more addresses than it holds";
	return NULL;
}

/* Types that older headers lack are given by number. */
const struct record_body kernel_bodies[] = {
        [PERF_RECORD_MMAP] = {"MMAP", 32, 1, parse_mmap},
        [PERF_RECORD_LOST] = {"LOST", 16, 0, parse_lost},
        [PERF_RECORD_COMM] = {"COMM", 8, 1, parse_comm},
        [PERF_RECORD_EXIT] = {"EXIT", 24, 0, parse_task},
        [PERF_RECORD_THROTTLE] = {"THROTTLE", 24, 0, parse_throttle},
        [PERF_RECORD_UNTHROTTLE] = {"UNTHROTTLE", 24, 0, parse_throttle},
        [PERF_RECORD_FORK] = {"FORK", 24, 0, parse_task},
        [PERF_RECORD_READ] = {"READ", 8, 1, parse_read},
        [PERF_RECORD_SAMPLE] = {"SAMPLE", 0, 1, parse_sample},
        [PERF_RECORD_MMAP2] = {"MMAP2", 64, 1, parse_mmap2},
        [PERF_RECORD_AUX] = {"AUX", 24, 0, parse_aux},
        [PERF_RECORD_ITRACE_START] = {"ITRACE_START", 8, 0, parse_itrace_start},
        [PERF_RECORD_LOST_SAMPLES] = {"LOST_SAMPLES", 8, 0, parse_lost_samples},
        [PERF_RECORD_SWITCH] = {"SWITCH", 0, 0, parse_switch},
        [PERF_RECORD_SWITCH_CPU_WIDE] = {"SWITCH_CPU_WIDE", 8, 0, parse_switch_cpu_wide},
        [PERF_RECORD_NAMESPACES] = {"NAMESPACES", 16, 1, parse_namespaces},
        [17] = {"KSYMBOL", 16, 1, parse_ksymbol},
        [18] = {"BPF_EVENT", 16, 0, parse_bpf_event},
        [19] = {"CGROUP", 8, 1, parse_cgroup},
        [20] = {"TEXT_POKE", 12, 1, parse_text_poke},
        [21] = {"AUX_OUTPUT_HW_ID", 8, 0, parse_aux_output_hw_id},
        [22] = {"CALLCHAIN_DEFERRED", 16, 1, parse_callchain_deferred},
};

const uint32_t kernel_bodies_count = sizeof(kernel_bodies) / sizeof(kernel_bodies[0]);
