/* Records about the kernel's code, containers and counters, laid out as perf_event_open(2) says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <linux/perf_event.h>
#include <cmocka.h>

#include "sb/record_checks.h"

static void compose_text_poke(struct bytes *b)
{
	size_t at = begin_record(b, 20, PERF_RECORD_MISC_KERNEL);

	put64(b, 0xffffffffc0201005);
	put16(b, 5);
	put16(b, 2);
	put(b, 0x0000441f0f, 5); /* nopl */
	put16(b, 0x1234);
	put(b, 0, 5); /* to a multiple of 8 */
	finish(b, at);
}

static void compose_ksymbol(struct bytes *b)
{
	size_t at = begin_record(b, 17, 0);

	put64(b, 0xffffffffc0201000);
	put32(b, 0x140);
	put16(b, 1);
	put16(b, 1);
	put_text(b, "bpf_prog_6deef7357e7b4530_F", 8);
	finish(b, at);
}

static void compose_bpf_event(struct bytes *b)
{
	size_t at = begin_record(b, 18, 0);

	put16(b, 2);
	put16(b, 7);
	put32(b, 44);
	put64(b, 0x8877665544332211);
	finish(b, at);
}

static void compose_namespaces(struct bytes *b)
{
	size_t at = begin_record(b, PERF_RECORD_NAMESPACES, 0);

	put32(b, 30);
	put32(b, 31);
	put64(b, NR_NAMESPACES);
	for (unsigned int i = 0; i < NR_NAMESPACES; i++) {
		put64(b, 4 + i);
		put64(b, 0xf0000000 + i);
	}
	finish(b, at);
}

static void compose_cgroup(struct bytes *b)
{
	size_t at = begin_record(b, 19, 0);

	put64(b, 4711);
	put_text(b, "/system.slice/docker-0123.scope", 8);
	finish(b, at);
}

static void compose_throttle(struct bytes *b)
{
	size_t at = begin_record(b, PERF_RECORD_THROTTLE, 0);

	put64(b, 1300);
	put64(b, 101);
	put64(b, 102);
	finish(b, at);
}

static void compose_unthrottle(struct bytes *b)
{
	compose_throttle(b);
	patch(b, 0, PERF_RECORD_UNTHROTTLE, 4);
}

static void compose_read(struct bytes *b)
{
	size_t at = begin_record(b, PERF_RECORD_READ, 0);

	put32(b, 30);
	put32(b, 31);
	put64(b, 123456);
	finish(b, at);
}

static void compose_aux_output_hw_id(struct bytes *b)
{
	size_t at = begin_record(b, 21, 0);

	put64(b, 3);
	finish(b, at);
}

static void compose_callchain_deferred(struct bytes *b)
{
	size_t at = begin_record(b, 22, 0);

	put64(b, 99);
	put64(b, 2);
	put64(b, 0x401000);
	put64(b, 0x401234);
	finish(b, at);
}

static const struct composed types[] = {
        {"TEXT_POKE", compose_text_poke, 12 + TRAILER},
        {"KSYMBOL", compose_ksymbol, 16 + TRAILER},
        {"BPF_EVENT", compose_bpf_event, 16 + TRAILER},
        {"NAMESPACES", compose_namespaces, 16 + 16 * NR_NAMESPACES + TRAILER},
        {"CGROUP", compose_cgroup, 8 + TRAILER},
        {"THROTTLE", compose_throttle, 24 + TRAILER},
        {"UNTHROTTLE", compose_unthrottle, 24 + TRAILER},
        {"READ", compose_read, 16 + TRAILER},
        {"AUX_OUTPUT_HW_ID", compose_aux_output_hw_id, 8 + TRAILER},
        {"CALLCHAIN_DEFERRED", compose_callchain_deferred, 32 + TRAILER},
};
enum { ntypes = sizeof(types) / sizeof(types[0]) };

static void text_poke_has_the_bytes_before_and_after(void **state)
{
	struct bytes b = {0};
	struct sb_record r;

	(void)state;
	compose_text_poke(&b);
	r = parse(&b);
	check_trailer(&r);
	assert_int_equal(r.u.text_poke.addr, 0xffffffffc0201005);
	assert_int_equal(r.u.text_poke.old_len, 5);
	assert_int_equal(r.u.text_poke.new_len, 2);
	assert_memory_equal(r.u.text_poke.old_bytes, "\x0f\x1f\x44\x00\x00", 5);
	assert_memory_equal(r.u.text_poke.new_bytes, "\x34\x12", 2);
	/* The trailer is no code. */
	patch(&b, 16, 8, 2);
	patch(&b, 18, 5, 2);
	assert_int_equal(parse_code(&b, NULL), -sbe_format);
	patch(&b, 16, UINT16_MAX, 2);
	patch(&b, 18, UINT16_MAX, 2);
	assert_int_equal(parse_code(&b, NULL), -sbe_format);
	patch(&b, 16, 0, 4);
	r = parse(&b);
	assert_int_equal(r.u.text_poke.old_len, 0);
	assert_int_equal(r.u.text_poke.new_len, 0);
}

static void ksymbol_and_bpf_event(void **state)
{
	struct bytes ksymbol = {0}, bpf = {0};
	struct sb_record r;

	(void)state;
	compose_ksymbol(&ksymbol);
	r = parse(&ksymbol);
	check_trailer(&r);
	assert_int_equal(r.u.ksymbol.addr, 0xffffffffc0201000);
	assert_int_equal(r.u.ksymbol.len, 0x140);
	assert_int_equal(r.u.ksymbol.ksym_type, 1);
	assert_int_equal(r.u.ksymbol.flags, 1);
	assert_string_equal(r.u.ksymbol.name, "bpf_prog_6deef7357e7b4530_F");
	compose_bpf_event(&bpf);
	r = parse(&bpf);
	check_trailer(&r);
	assert_int_equal(r.u.bpf_event.event_type, 2);
	assert_int_equal(r.u.bpf_event.flags, 7);
	assert_int_equal(r.u.bpf_event.id, 44);
	assert_memory_equal(r.u.bpf_event.tag, "\x11\x22\x33\x44\x55\x66\x77\x88", 8);
}

static void namespaces_by_kind(void **state)
{
	struct bytes b = {0};
	struct sb_record r;

	(void)state;
	compose_namespaces(&b);
	r = parse(&b);
	check_trailer(&r);
	assert_int_equal(r.u.namespaces.pid, 30);
	assert_int_equal(r.u.namespaces.tid, 31);
	assert_int_equal(r.u.namespaces.nr, 7);
	assert_int_equal(sb_record_namespace(&r, PID_NS_INDEX).dev, 7);
	assert_int_equal(sb_record_namespace(&r, PID_NS_INDEX).ino, 0xf0000003);
	assert_int_equal(sb_record_namespace(&r, CGROUP_NS_INDEX).ino, 0xf0000006);
	assert_int_equal(sb_record_namespace(&r, NR_NAMESPACES).ino, 0);
	patch(&b, 16, 8, 8);
	assert_int_equal(parse_code(&b, NULL), -sbe_format);
	patch(&b, 16, UINT64_MAX / 16 + 2, 8); /* times 16, it would wrap to a small number */
	assert_int_equal(parse_code(&b, NULL), -sbe_format);
	patch(&b, 16, 3, 8);
	r = parse(&b);
	assert_int_equal(sb_record_namespace(&r, PID_NS_INDEX).ino, 0);
}

static void cgroup_names_a_path(void **state)
{
	struct bytes b = {0};
	struct sb_record r;

	(void)state;
	compose_cgroup(&b);
	r = parse(&b);
	check_trailer(&r);
	assert_int_equal(r.u.cgroup.id, 4711);
	assert_string_equal(r.u.cgroup.path, "/system.slice/docker-0123.scope");
}

static void throttled_and_counted(void **state)
{
	struct bytes throttle = {0}, read = {0}, hw = {0};
	struct sb_record r;

	(void)state;
	compose_throttle(&throttle);
	r = parse(&throttle);
	check_trailer(&r);
	assert_int_equal(r.u.throttle.time, 1300);
	assert_int_equal(r.u.throttle.id, 101);
	assert_int_equal(r.u.throttle.stream_id, 102);
	compose_read(&read);
	r = parse(&read);
	assert_int_equal(r.u.read.pid, 30);
	assert_int_equal(r.u.read.tid, 31);
	assert_int_equal(r.u.read.size, 8);
	assert_int_equal(r.u.read.values[1], 123456 >> 8 & 0xff);
	compose_aux_output_hw_id(&hw);
	assert_int_equal(parse(&hw).u.aux_output_hw_id.hw_id, 3);
}

static void deferred_callchain(void **state)
{
	struct bytes b = {0};
	struct sb_record r;

	(void)state;
	compose_callchain_deferred(&b);
	r = parse(&b);
	check_trailer(&r);
	assert_int_equal(r.u.callchain_deferred.cookie, 99);
	assert_int_equal(r.u.callchain_deferred.nr, 2);
	assert_ptr_equal(r.u.callchain_deferred.ips, b.data + 24);
	patch(&b, 16, 3, 8);
	assert_int_equal(parse_code(&b, NULL), -sbe_format);
	patch(&b, 16, UINT64_MAX / 8 + 2, 8);
	assert_int_equal(parse_code(&b, NULL), -sbe_format);
}

static void printed_with_their_fields(void **state)
{
	static const char *const expected[ntypes] = {
	        "TEXT_POKE addr 0xffffffffc0201005 old_len 5 new_len 2 old_bytes 0f1f440000 new_bytes 3412",
	        "KSYMBOL addr 0xffffffffc0201000 len 0x140 ksym_type 1 flags 0x1 unregister name "
	        "\"bpf_prog_6deef7357e7b4530_F\"",
	        "BPF_EVENT event_type 2 flags 0x7 id 44 tag 1122334455667788",
	        "NAMESPACES pid 30 tid 31 namespaces [kind \"net\" dev 0x4 ino 4026531840] "
	        "[kind \"uts\" dev 0x5 ino 4026531841] [kind \"ipc\" dev 0x6 ino 4026531842] "
	        "[kind \"pid\" dev 0x7 ino 4026531843] [kind \"user\" dev 0x8 ino 4026531844] "
	        "[kind \"mnt\" dev 0x9 ino 4026531845] [kind \"cgroup\" dev 0xa ino 4026531846]",
	        "CGROUP id 4711 path \"/system.slice/docker-0123.scope\"",
	        "THROTTLE at 1300 id 101 stream_id 102",
	        "UNTHROTTLE at 1300 id 101 stream_id 102",
	        "READ pid 30 tid 31 value 123456",
	        "AUX_OUTPUT_HW_ID hw_id 0x3",
	        "CALLCHAIN_DEFERRED cookie 0x63 ips 0x401000,0x401234",
	};

	(void)state;
	for (int i = 0; i < ntypes; i++) {
		struct bytes b = {0};
		char line[1024];
		char *text;

		types[i].compose(&b);
		snprintf(line, sizeof(line), "0x100\t14\t11/12\t1300\t%s", expected[i]);
		text = printed(&b);
		assert_string_equal(text, line);
		free(text);
	}
}

static void cut_after_every_byte(void **state)
{
	(void)state;
	check_cuts(types, ntypes);
}

static void every_size_that_it_may_claim(void **state)
{
	(void)state;
	check_sizes(types, ntypes);
}

static void random_bytes_do_no_harm(void **state)
{
	(void)state;
	check_random_bytes(types, ntypes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(text_poke_has_the_bytes_before_and_after),
	        cmocka_unit_test(ksymbol_and_bpf_event),
	        cmocka_unit_test(namespaces_by_kind),
	        cmocka_unit_test(cgroup_names_a_path),
	        cmocka_unit_test(throttled_and_counted),
	        cmocka_unit_test(deferred_callchain),
	        cmocka_unit_test(printed_with_their_fields),
	        cmocka_unit_test(cut_after_every_byte),
	        cmocka_unit_test(every_size_that_it_may_claim),
	        cmocka_unit_test(random_bytes_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
