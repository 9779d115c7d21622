/* test_kernel_sources.c - files of the kernel as they are given: compressed, or of another kernel than the
 * one that was recorded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sb/binary.h>
#include <sb/kernel.h>
#include <sb/perfdata.h>
#include <sb/replay.h>
#include <sb/symbols.h>
#include <sb/system.h>

#include "perfdata_file.h"
#include "support/temp_dir.h"
#include "support/trace.h"

#define LINKED 0xffffffff81000000ull
#define SHIFT  0x4000000ull

enum { BEHIND_CALL = 5 }; /* of tests/samples/vmlinux.c: "nop", and then a static call */

struct recording {
	struct temp_dir dir;
	struct sb_perfdata *perfdata;
	uint64_t ninsn, last_ip;
};

static void put_kernel_map(struct bytes *b)
{
	const size_t at = begin_record(b, PERF_RECORD_MMAP, 1);

	put32(b, UINT32_MAX);
	put32(b, 0);
	put64(b, LINKED + SHIFT);
	put64(b, 0x1000);
	put64(b, LINKED + SHIFT);
	put_text(b, "[kernel.kallsyms]_text", 8);
	put_trailer(b, 0, 0, 0, 0, 201);
	end_record(b, at);
}

static void put_kernel_build_id(struct bytes *b, const uint8_t *id, int size)
{
	const size_t at = begin_record(b, SB_RECORD_BUILD_ID, 1 | 1 << 15);

	put32(b, UINT32_MAX);
	for (int i = 0; i < 24; ++i)
		put8(b, i < size ? id[i] : i == 20 ? (uint8_t)size : 0);
	put_text(b, "[kernel.kallsyms]", 8);
	end_record(b, at);
}

/* The kernel runs from its first instruction on; it stood SHIFT above where it was linked to. */
static void make_recording(struct recording *recording, const uint8_t *id, int id_size)
{
	static const struct attr attrs[] = {{PT, 0x300e601, USUAL, SAMPLE_ID_ALL, {101}, 1},
	                                    {1, 9, USUAL, SAMPLE_ID_ALL, {201}, 1}};
	struct feature features[] = {{.bit = 2}, {.bit = 9}};
	struct trace trace = {0};
	struct bytes b = {0};
	char *path;

	memset(recording, 0, sizeof(*recording));
	temp_dir_make(&recording->dir);
	trace_start(&trace, 50);
	trace_tsc(&trace, 100);
	trace_ip(&trace, ppt_tip_pge, LINKED + SHIFT);
	trace_tnt(&trace, "t");
	trace.size = (trace.size + 7) & ~(size_t)7;
	begin_file(&b, attrs, 2, 112);
	put_auxtrace_info(&b, 18);
	put_kernel_map(&b);
	put_auxtrace(&b, 0, -1, 0, trace.size, 0);
	memcpy(b.data + b.size - trace.size, trace.bytes, trace.size);
	end_records(&b);
	put_kernel_build_id(&features[0].content, id, id_size);
	put32(&features[1].content, 64);
	put_text(&features[1].content, "GenuineIntel,6,85,4", 64);
	put_features(&b, features, 2);
	path = temp_dir_write(&recording->dir, "perf.data", b.data, b.size);
	assert_int_equal(sb_perfdata_open(&recording->perfdata, path, NULL), 0);
	free(path);
}

static void forget_recording(struct recording *recording)
{
	sb_perfdata_close(recording->perfdata);
	temp_dir_remove(&recording->dir);
}

static int on_flow(void *context, const struct sb_flow *flow)
{
	struct recording *recording = context;

	recording->ninsn += flow->ninsn;
	for (uint32_t i = 0; i < flow->npaths; ++i)
		recording->last_ip = flow->path[i]->block[flow->path[i]->nblocks - 1].end_ip;
	return 0;
}

static int replay(struct recording *recording, const char *vmlinux, const char *kallsyms,
                  struct sb_error *err)
{
	const struct sb_replay_options options = {
	        .size = sizeof(options), .no_host_root = 1, .vmlinux = vmlinux, .kallsyms = kallsyms};
	const struct sb_sink sink = {.context = recording, .flow = on_flow};
	struct sb_session *session;
	int status = sb_session_open(&session, recording->perfdata, &options, err);

	if (status < 0)
		return status;
	status = sb_session_run(session, &sink, err);
	sb_session_close(session);
	return status;
}

/* As "NAME" in the directory; to be freed. */
static char *packed(const struct recording *recording, const char *file, const char *packer, const char *name)
{
	char *path = temp_dir_path(&recording->dir, name), command[512];

	snprintf(command, sizeof(command), "%s -c <'%s' >'%s' 2>/dev/null", packer, file, path);
	if (system(command) != 0) {
		free(path);
		return NULL;
	}
	return path;
}

static void assert_replayed(struct recording *recording, const char *vmlinux, const char *kallsyms)
{
	struct sb_error err = {0};

	recording->ninsn = 0;
	if (replay(recording, vmlinux, kallsyms, &err) < 0)
		fail_msg("%s: %s", err.file, err.text);
	assert_int_equal(recording->ninsn, 2);
	assert_int_equal(recording->last_ip, LINKED + SHIFT + BEHIND_CALL);
}

static void vmlinux_and_kallsyms_may_be_compressed(void **state)
{
	static const char *const packers[] = {"gzip", "xz", "zstd -q"};
	struct recording recording;
	struct sb_error err;
	char *kallsyms, text[128];
	uint8_t id[20];

	(void)state;
	make_recording(&recording, id, sb_elf_build_id(SAMPLE_VMLINUX, id, &err));
	snprintf(text, sizeof(text), "%llx T __switch_to_asm\n", LINKED + SHIFT + 0x16);
	kallsyms = temp_dir_write(&recording.dir, "kallsyms", text, strlen(text));
	assert_replayed(&recording, SAMPLE_VMLINUX, kallsyms);
	for (size_t i = 0; i < sizeof(packers) / sizeof(packers[0]); ++i) {
		char *vmlinux = packed(&recording, SAMPLE_VMLINUX, packers[i], "packed");
		char *symbols = packed(&recording, kallsyms, packers[i], "packed-kallsyms");

		assert_non_null(vmlinux);
		assert_non_null(symbols);
		assert_replayed(&recording, vmlinux, symbols);
		free(vmlinux);
		free(symbols);
	}
	forget_recording(&recording);
	free(kallsyms);
}

static void another_kernel_is_refused(void **state)
{
	struct recording recording;
	struct sb_error err = {0};
	uint8_t id[20];
	int size = sb_elf_build_id(SAMPLE_VMLINUX, id, &err);

	(void)state;
	assert_int_equal(size, 20);
	make_recording(&recording, id, size);
	assert_replayed(&recording, SAMPLE_VMLINUX, NULL);
	forget_recording(&recording);
	id[19] ^= 1;
	make_recording(&recording, id, size);
	assert_int_equal(replay(&recording, SAMPLE_VMLINUX, NULL, &err), -sbe_invalid);
	assert_string_equal(err.file, SAMPLE_VMLINUX);
	assert_non_null(strstr(err.text, "is not the kernel that was recorded: its build-id is "));
	forget_recording(&recording);
}

/* As it is in a vmlinuz, with nothing that says where the tables are that have no section of their own. */
static void a_vmlinux_without_symbols_has_no_known_patches(void **state)
{
	struct recording recording;
	struct sb_error err = {0};
	char *stripped, command[512];
	uint8_t id[20];

	(void)state;
	make_recording(&recording, id, sb_elf_build_id(SAMPLE_VMLINUX, id, &err));
	stripped = temp_dir_path(&recording.dir, "stripped");
	snprintf(command, sizeof(command), "objcopy -S --rename-section __jump_table=.other %s %s",
	         SAMPLE_VMLINUX, stripped);
	if (system(command) != 0)
		skip();
	assert_int_equal(replay(&recording, stripped, NULL, &err), -sbe_not_found);
	assert_non_null(strstr(err.text, "give its kallsyms"));
	forget_recording(&recording);
	free(stripped);
}

static void kallsyms_that_are_named_have_to_be_there(void **state)
{
	struct recording recording;
	struct sb_error err = {0};
	char *other;
	uint8_t id[20];

	(void)state;
	make_recording(&recording, id, sb_elf_build_id(SAMPLE_VMLINUX, id, &err));
	assert_int_equal(replay(&recording, SAMPLE_VMLINUX, "/nowhere/kallsyms", &err), -sbe_not_found);
	assert_string_equal(err.file, "/nowhere/kallsyms");
	other = temp_dir_write(&recording.dir, "other", "hello\n", 6);
	assert_int_equal(replay(&recording, SAMPLE_VMLINUX, other, &err), -sbe_format);
	assert_string_equal(err.file, other);
	assert_non_null(strstr(err.text, "expected lines of an address, a type and a name"));
	free(other);
	forget_recording(&recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(vmlinux_and_kallsyms_may_be_compressed),
	        cmocka_unit_test(another_kernel_is_refused),
	        cmocka_unit_test(a_vmlinux_without_symbols_has_no_known_patches),
	        cmocka_unit_test(kallsyms_that_are_named_have_to_be_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
