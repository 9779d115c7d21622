/* test_replay_kernel_files.c - whole systems whose every instruction is known, replayed without their kcore,
 * or with a part of it: modules from their files, the kernel from vmlinux. Less comes out, and all that does
 * is right.
 *
 * The recordings are not part of this project; without them the test is skipped. The vmlinux is that of
 * Debian's linux-image-6.1.0-56-amd64, version 6.1.192-2, unpacked from its vmlinuz; SBTRACE_VMLINUX names
 * it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sb/bundle.h>

#include "binary/module_find.h"
#include "kernel_truth.h"
#include "support/temp_dir.h"

enum { KERNEL_SIZE = 0xe03000 }; /* of the file that has the kernel's own code, which comes first */

struct bed {
	struct temp_dir dir;
	char directory[256], path[320], root[2][300];
	int tsc_alone; /* no other packets tell the time */
	struct truth_check check;
	struct sb_account account;
};

/* A recording without the code of its modules. */
static void copy_recording(struct bed *bed, int with_kernel)
{
	static const char *const roots[] = {"root", "root/mod"};
	char command[4096];

	temp_dir_make(&bed->dir);
	snprintf(bed->path, sizeof(bed->path), "%s/perf.data", bed->dir.path);
	snprintf(command, sizeof(command),
	         "mkdir -p %s/kcore_dir && cp %s/perf.data/data %s/ && "
	         "if [ %d = 1 ]; then cp %s/perf.data/kcore_dir/kallsyms %s/kcore_dir/ && "
	         "head -c %d %s/perf.data/kcore_dir/kcore >%s/kcore_dir/kcore && "
	         "printf '\\001\\000' | dd of=%s/kcore_dir/kcore bs=1 seek=%zu conv=notrunc 2>/dev/null; fi",
	         bed->path, bed->directory, bed->path, with_kernel, bed->directory, bed->path, KERNEL_SIZE,
	         bed->directory, bed->path, bed->path, offsetof(Elf64_Ehdr, e_phnum));
	assert_int_equal(system(command), 0);
	for (int i = 0; i < 2; ++i)
		snprintf(bed->root[i], sizeof(bed->root[i]), "%s/%s", bed->directory, roots[i]);
}

static void replay(struct bed *bed, struct sb_replay_options *options)
{
	const struct sb_sink sink = {.context = &bed->check, .flow = follow_flow, .gap = follow_gap};
	const char *roots[] = {bed->root[0], bed->root[1]};
	struct sb_perfdata *perfdata;
	struct sb_session *session;
	struct sb_error err = {0};

	options->size = sizeof(*options);
	options->root = roots;
	options->nroots = access(bed->root[1], X_OK) == 0 ? 2 : 1;
	options->no_host_root = 1;
	bed->check.directory = bed->directory;
	assert_int_equal(sb_perfdata_open(&perfdata, bed->path, NULL), 0);
	if (bed->tsc_alone)
		sb_perfdata_trust_tsc_alone(perfdata);
	if (sb_session_open(&session, perfdata, options, &err) < 0)
		fail_msg("%s: %s", err.file, err.text);
	assert_int_equal(sb_session_run(session, &sink, NULL), 0);
	bed->account = *sb_session_account(session);
	sb_session_close(session);
	sb_perfdata_close(perfdata);
}

static struct bed *open_bed(const char *name)
{
	struct bed *bed = calloc(1, sizeof(*bed));

	assert_non_null(bed);
	snprintf(bed->directory, sizeof(bed->directory), CORPUS_DIR "/%s", name);
	return bed;
}

/* What is missing is a module's initialisation, which is dropped, and what follows it until a packet holds an
 * address. */
static void modules_come_from_their_files(void **state)
{
	struct bed *bed = open_bed("kernel-kaslr-modules");
	struct sb_replay_options options = {0};
	uint64_t ninsn, skipped;

	(void)state;
	copy_recording(bed, 1);
	replay(bed, &options);
	ninsn = end_of_truth(&bed->check, &skipped);
	print_message("%" PRIu64 " instructions, %" PRIu64 " missing, %" PRIu64 " gaps in the kernel\n",
	              ninsn, skipped, bed->check.ngaps[sb_gap_no_kernel]);
	assert_true(ninsn >= 64600000 && ninsn + skipped >= 64718098 && ninsn + skipped <= 64718104);
	assert_in_range(bed->check.ngaps[sb_gap_no_kernel], 1, 20);
	assert_int_equal(bed->check.ngaps[sb_gap_decode_error], 0);
	temp_dir_remove(&bed->dir);
	free(bed);
}

/* Time stands still between TSC packets: who runs is known all the same, or is said not to be. */
static void time_by_tsc_alone(void **state)
{
	struct bed *bed = open_bed("kernel-pti");
	struct sb_replay_options options = {.jobs = 2};
	uint64_t ninsn, skipped;

	(void)state;
	bed->tsc_alone = 1;
	snprintf(bed->path, sizeof(bed->path), "%s/perf.data", bed->directory);
	snprintf(bed->root[0], sizeof(bed->root[0]), "%s/root", bed->directory);
	replay(bed, &options);
	ninsn = end_of_truth(&bed->check, &skipped);
	print_message("%" PRIu64 " instructions, %" PRIu64 " missing\n", ninsn, skipped);
	assert_true(ninsn >= 27300000 && ninsn + skipped == 27300999);
	free(bed);
}

/* @total: instructions whose code is in a file. */
static void check_vmlinux(const char *name, uint64_t total, uint64_t least)
{
	struct bed *bed = open_bed(name);
	char kallsyms[320];
	struct sb_replay_options options = {.vmlinux = getenv("SBTRACE_VMLINUX"), .kallsyms = kallsyms};
	uint64_t ninsn, skipped;

	if (!options.vmlinux) {
		free(bed);
		skip();
	}
	snprintf(kallsyms, sizeof(kallsyms), "%s/perf.data/kcore_dir/kallsyms", bed->directory);
	copy_recording(bed, 0);
	replay(bed, &options);
	ninsn = end_of_truth(&bed->check, &skipped);
	print_message("%" PRIu64 " instructions, %" PRIu64 " missing, %" PRIu64 " gaps in the kernel\n",
	              ninsn, skipped, bed->check.ngaps[sb_gap_no_kernel]);
	assert_int_equal(ninsn + skipped, total);
	assert_true(ninsn >= least);
	temp_dir_remove(&bed->dir);
	free(bed);
}

static void vmlinux_is_right_where_it_is_known(void **state)
{
	(void)state;
	check_vmlinux("kernel-pti", 27300999, 4000000);
}

static void a_moved_vmlinux_is_right_where_it_is_known(void **state)
{
	(void)state;
	check_vmlinux("kernel-kaslr-modules", 64718098, 16000000);
}

/* Recorded is only "[loop]". */
static void bundles_have_the_files_of_modules(void **state)
{
	struct bed *bed = open_bed("kernel-kaslr-modules");
	const char *roots[] = {bed->root[0], bed->root[1]};
	char *directory;
	struct sb_resolver_options from = {.size = sizeof(from), .no_host_root = 1};
	struct sb_bundle_options options = {.size = sizeof(options)};
	struct module_finder finder;
	struct sb_resolver *resolver;
	struct sb_perfdata *perfdata;
	struct sb_bundle_result result;
	const struct sb_binary *binary;
	char *path;

	(void)state;
	copy_recording(bed, 1);
	options.directory = directory = temp_dir_path(&bed->dir, "bundle");
	assert_int_equal(sb_perfdata_open(&perfdata, bed->path, NULL), 0);
	assert_int_equal(sb_resolver_new(&resolver, roots, 2, 1, NULL), 0);
	assert_int_equal(sb_bundle_write(perfdata, resolver, &options, &result, NULL), 0);
	sb_resolver_free(resolver);
	from.bundle = directory;
	assert_int_equal(sb_resolver_open(&resolver, &from, NULL), 0);
	assert_int_equal(module_finder_init(&finder, resolver, sb_perfdata_osrelease(perfdata)), 0);
	path = module_find(&finder, "[lz4_compress]", &binary);
	assert_string_equal(path, "/lz4_compress.ko");
	assert_int_equal(binary->how, sb_how_bundle);
	module_finder_fini(&finder);
	sb_resolver_free(resolver);
	sb_perfdata_close(perfdata);
	temp_dir_remove(&bed->dir);
	free(path);
	free(directory);
	free(bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(modules_come_from_their_files),
	        cmocka_unit_test(vmlinux_is_right_where_it_is_known),
	        cmocka_unit_test(a_moved_vmlinux_is_right_where_it_is_known),
	        cmocka_unit_test(bundles_have_the_files_of_modules),
	        cmocka_unit_test(time_by_tsc_alone),
	};

	if (access(CORPUS_DIR "/kernel-kaslr-modules", R_OK | X_OK) != 0)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
