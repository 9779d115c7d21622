/* The section cache and images against Debian's libipt.so.2 (package libipt2): what each function returns for
 * good and bad arguments, and what code a decoder then finds at every address of several address spaces.
 *
 * SAME() calls both libraries and compares; DIFFERENT() is a difference on purpose, with its reason. Skipped
 * where that library is not there.
 */
#include <setjmp.h>
#include <stdarg.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/trace.h"

static const char their_path[] = "/usr/lib/x86_64-linux-gnu/libipt.so.2";

/* One of the libraries, with a section cache, two images and a decoder. */
struct library {
	void *handle;
	struct pt_image_section_cache *(*iscache_alloc)(const char *name);
	void (*iscache_free)(struct pt_image_section_cache *iscache);
	const char *(*iscache_name)(const struct pt_image_section_cache *iscache);
	int (*iscache_set_limit)(struct pt_image_section_cache *iscache, uint64_t limit);
	int (*iscache_add_file)(struct pt_image_section_cache *iscache, const char *filename, uint64_t offset,
	                        uint64_t size, uint64_t vaddr);
	int (*iscache_read)(struct pt_image_section_cache *iscache, uint8_t *buffer, uint64_t size, int isid,
	                    uint64_t vaddr);
	struct pt_image *(*image_alloc)(const char *name);
	void (*image_free)(struct pt_image *image);
	const char *(*image_name)(const struct pt_image *image);
	int (*image_add_file)(struct pt_image *image, const char *filename, uint64_t offset, uint64_t size,
	                      const struct pt_asid *asid, uint64_t vaddr);
	int (*image_add_cached)(struct pt_image *image, struct pt_image_section_cache *iscache, int isid,
	                        const struct pt_asid *asid);
	int (*image_copy)(struct pt_image *image, const struct pt_image *src);
	int (*image_remove_by_filename)(struct pt_image *image, const char *filename,
	                                const struct pt_asid *asid);
	int (*image_remove_by_asid)(struct pt_image *image, const struct pt_asid *asid);
	int (*image_set_callback)(struct pt_image *image, read_memory_callback_t *callback, void *context);
	struct pt_insn_decoder *(*alloc_decoder)(const struct pt_config *config);
	void (*free_decoder)(struct pt_insn_decoder *decoder);
	int (*set_image)(struct pt_insn_decoder *decoder, struct pt_image *image);
	int (*sync_set)(struct pt_insn_decoder *decoder, uint64_t offset);
	int (*event)(struct pt_insn_decoder *decoder, struct pt_event *event, size_t size);
	int (*next)(struct pt_insn_decoder *decoder, struct pt_insn *insn, size_t size);

	struct pt_image_section_cache *cache;
	struct pt_image *image, *other;
	struct pt_insn_decoder *decoder;
};

static struct library our_library(void)
{
	return (struct library){
	        .iscache_alloc = pt_iscache_alloc,
	        .iscache_free = pt_iscache_free,
	        .iscache_name = pt_iscache_name,
	        .iscache_set_limit = pt_iscache_set_limit,
	        .iscache_add_file = pt_iscache_add_file,
	        .iscache_read = pt_iscache_read,
	        .image_alloc = pt_image_alloc,
	        .image_free = pt_image_free,
	        .image_name = pt_image_name,
	        .image_add_file = pt_image_add_file,
	        .image_add_cached = pt_image_add_cached,
	        .image_copy = pt_image_copy,
	        .image_remove_by_filename = pt_image_remove_by_filename,
	        .image_remove_by_asid = pt_image_remove_by_asid,
	        .image_set_callback = pt_image_set_callback,
	        .alloc_decoder = pt_insn_alloc_decoder,
	        .free_decoder = pt_insn_free_decoder,
	        .set_image = pt_insn_set_image,
	        .sync_set = pt_insn_sync_set,
	        .event = pt_insn_event,
	        .next = pt_insn_next,
	};
}

static void find(const struct library *library, const char *name, void *function)
{
	void *symbol = dlsym(library->handle, name);

	assert_non_null(symbol);
	memcpy(function, &symbol, sizeof(symbol));
}

/* In a namespace of its own. */
static struct library their_library(void)
{
	struct library library = {.handle = dlmopen(LM_ID_NEWLM, their_path, RTLD_NOW)};

	assert_non_null(library.handle);
	find(&library, "pt_iscache_alloc", &library.iscache_alloc);
	find(&library, "pt_iscache_free", &library.iscache_free);
	find(&library, "pt_iscache_name", &library.iscache_name);
	find(&library, "pt_iscache_set_limit", &library.iscache_set_limit);
	find(&library, "pt_iscache_add_file", &library.iscache_add_file);
	find(&library, "pt_iscache_read", &library.iscache_read);
	find(&library, "pt_image_alloc", &library.image_alloc);
	find(&library, "pt_image_free", &library.image_free);
	find(&library, "pt_image_name", &library.image_name);
	find(&library, "pt_image_add_file", &library.image_add_file);
	find(&library, "pt_image_add_cached", &library.image_add_cached);
	find(&library, "pt_image_copy", &library.image_copy);
	find(&library, "pt_image_remove_by_filename", &library.image_remove_by_filename);
	find(&library, "pt_image_remove_by_asid", &library.image_remove_by_asid);
	find(&library, "pt_image_set_callback", &library.image_set_callback);
	find(&library, "pt_insn_alloc_decoder", &library.alloc_decoder);
	find(&library, "pt_insn_free_decoder", &library.free_decoder);
	find(&library, "pt_insn_set_image", &library.set_image);
	find(&library, "pt_insn_sync_set", &library.sync_set);
	find(&library, "pt_insn_event", &library.event);
	find(&library, "pt_insn_next", &library.next);
	return library;
}

/* ---- the fixture: both libraries, files of code, a trace ------------------------------------------- */

enum { file_size = 5000, nfiles = 3 };

struct fixture {
	struct library ours, theirs;
	struct temp_dir dir;
	char *file[nfiles]; /* the last one does not exist */
	uint8_t content[2][file_size];
	struct trace trace;
	size_t ip_at; /* where in the trace the address of the code stands */
	size_t pip_at, vmcs_at;
};

/* Every byte is an instruction, and says which byte it is. */
static void fill(uint8_t *content, uint32_t random)
{
	static const uint8_t one_byte_insn[] = {0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59,
	                                        0x5a, 0x5b, 0x5c, 0x5d, 0x5e, 0x5f, 0x90, 0x91, 0x92, 0x93,
	                                        0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0xa4, 0xa5, 0xaa, 0xab,
	                                        0xac, 0xad, 0xf5, 0xf8, 0xf9, 0xfc, 0xfd};

	for (size_t i = 0; i < file_size; i++) {
		random = random * 1664525u + 1013904223u;
		content[i] = one_byte_insn[(random >> 16) % sizeof(one_byte_insn)];
	}
}

/* PSB+ with room for PIP and VMCS. */
static void make_trace(struct fixture *f)
{
	struct trace *trace = &f->trace;

	trace_psb(trace);
	trace_mode64(trace);
	f->pip_at = trace->size;
	f->vmcs_at = f->pip_at + 8;
	trace->size += 8 + 7; /* zero is PAD */
	f->ip_at = trace->size + 1;
	trace_ip(trace, ppt_fup, 0x123456789abc);
	trace_psbend(trace);
	trace_tnt(trace, "n");
}

/* The decoders will start at @ip in address space (@cr3, @vmcs); what they do not know is padding. */
static void stand_at(struct fixture *f, uint64_t cr3, uint64_t vmcs, uint64_t ip)
{
	uint8_t *pip = f->trace.bytes + f->pip_at, *base = f->trace.bytes + f->vmcs_at;
	const uint64_t pip_payload = cr3 >> 5 << 1, vmcs_payload = vmcs >> 12;

	memset(pip, 0, 8);
	if (cr3 != pt_asid_no_cr3) {
		memcpy(pip, "\x02\x43", 2);
		memcpy(pip + 2, &pip_payload, 6);
	}
	memset(base, 0, 7);
	if (vmcs != pt_asid_no_vmcs) {
		memcpy(base, "\x02\xc8", 2);
		memcpy(base + 2, &vmcs_payload, 5);
	}
	memcpy(f->trace.bytes + f->ip_at, &ip, 6);
}

static void begin(struct library *library, const struct trace *trace)
{
	const struct pt_config config = trace_config(trace);

	library->cache = library->iscache_alloc("cache");
	library->image = library->image_alloc("image");
	library->other = library->image_alloc(NULL);
	library->decoder = library->alloc_decoder(&config);
	assert_non_null(library->decoder);
}

static void end(struct library *library)
{
	library->free_decoder(library->decoder);
	library->image_free(library->image);
	library->image_free(library->other);
	library->iscache_free(library->cache);
	if (library->handle)
		dlclose(library->handle);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	temp_dir_make(&f->dir);
	for (uint32_t i = 0; i < 2; i++) {
		fill(f->content[i], i);
		f->file[i] = temp_dir_write(&f->dir, i ? "two" : "one", f->content[i], file_size);
	}
	f->file[2] = temp_dir_path(&f->dir, "missing");
	make_trace(f);
	f->ours = our_library();
	f->theirs = their_library();
	begin(&f->ours, &f->trace);
	begin(&f->theirs, &f->trace);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	end(&f->ours);
	end(&f->theirs);
	for (int i = 0; i < nfiles; i++)
		free(f->file[i]);
	temp_dir_remove(&f->dir);
	free(f);
	return 0;
}

/* CALL: an expression with the library L. */
#define BOTH(call, our_result, their_result)                                                                 \
	do {                                                                                                 \
		const struct library *L = &f->ours;                                                          \
		const int ours_ = (call), expected_ours_ = (our_result);                                     \
		int theirs_;                                                                                 \
                                                                                                             \
		L = &f->theirs;                                                                              \
		theirs_ = (call);                                                                            \
		if (ours_ != expected_ours_ || theirs_ != (their_result))                                    \
			fail_msg("%s: ours %d, theirs %d", #call, ours_, theirs_);                           \
	} while (0)

#define SAME(call)                         BOTH(call, ours_, ours_)
#define SAME_AS(call, result)              BOTH(call, result, result)
#define DIFFERENT(call, ours, theirs, why) BOTH(call, ours, theirs)

/* ---- arguments and results -------------------------------------------------------------------------- */

static void names_are_the_same(void **state)
{
	struct fixture *f = *state;

	SAME_AS(strcmp(L->iscache_name(L->cache), "cache"), 0);
	SAME_AS(strcmp(L->image_name(L->image), "image"), 0);
	SAME_AS(L->image_name(L->other) == NULL, 1);
	SAME_AS(L->iscache_name(NULL) == NULL, 1);
	SAME_AS(L->image_name(NULL) == NULL, 1);
	SAME_AS(L->iscache_set_limit(NULL, 5), -pte_invalid);
	SAME_AS(L->iscache_set_limit(L->cache, 0), 0);
	SAME_AS(L->iscache_set_limit(L->cache, UINT64_MAX), 0);
	SAME_AS((L->iscache_free(NULL), L->image_free(NULL), 0), 0);
}

static void adding_to_the_cache_is_the_same(void **state)
{
	struct fixture *f = *state;
	char *empty = temp_dir_write(&f->dir, "empty", "", 0);

	SAME_AS(L->iscache_add_file(NULL, f->file[0], 0, 1, 0), -pte_invalid);
	SAME_AS(L->iscache_add_file(L->cache, NULL, 0, 1, 0), -pte_invalid);
	SAME_AS(L->iscache_add_file(L->cache, f->file[2], 0, 1, 0), -pte_invalid);
	SAME_AS(L->iscache_add_file(L->cache, "", 0, 1, 0), -pte_invalid);
	SAME_AS(L->iscache_add_file(L->cache, "/dev/zero", 0, 1, 0), -pte_invalid);
	SAME_AS(L->iscache_add_file(L->cache, empty, 0, 1, 0), -pte_invalid);
	SAME_AS(L->iscache_add_file(L->cache, f->file[0], file_size, 1, 0), -pte_invalid);
	SAME_AS(L->iscache_add_file(L->cache, f->file[0], file_size + 1, 1, 0), -pte_invalid);
	SAME_AS(L->iscache_add_file(L->cache, f->file[0], UINT64_MAX, 1, 0), -pte_invalid);
	SAME_AS(L->iscache_add_file(L->cache, f->file[0], file_size, 0, 0), -pte_invalid);
	/* The same piece has the same isid, however its size is written. */
	SAME_AS(L->iscache_add_file(L->cache, f->file[0], 0, 100, 0x1000), 1);
	SAME_AS(L->iscache_add_file(L->cache, f->file[0], 0, 100, 0x1000), 1);
	SAME_AS(L->iscache_add_file(L->cache, f->file[0], 0, 100, 0x2000), 2);
	SAME_AS(L->iscache_add_file(L->cache, f->file[0], 0, file_size, 0x1000), 3);
	SAME_AS(L->iscache_add_file(L->cache, f->file[0], 0, file_size + 1, 0x1000), 3);
	SAME_AS(L->iscache_add_file(L->cache, f->file[0], 0, UINT64_MAX, 0x1000), 3);
	SAME_AS(L->iscache_add_file(L->cache, f->file[0], 1, UINT64_MAX, 0x1000), 4);
	SAME_AS(L->iscache_add_file(L->cache, f->file[1], 0, 100, 0x1000), 5);
	SAME_AS(L->iscache_add_file(L->cache, f->file[0], 0, 0, 0x1000), 6);
	SAME_AS(L->iscache_add_file(L->cache, f->file[0], 0, 0, 0x1000), 6);
	DIFFERENT(L->iscache_add_file(L->cache, f->dir.path, 0, 1, 0), -pte_invalid, 7,
	          "a directory has no code");
	free(empty);
}

static void reading_from_the_cache_is_the_same(void **state)
{
	uint8_t buffer[70000];
	struct fixture *f = *state;

	SAME_AS(L->iscache_add_file(L->cache, f->file[0], 0x100, 0x800, 0x1000), 1);
	SAME_AS(L->iscache_add_file(L->cache, f->file[0], 0, 0, 0x1000), 2);
	for (uint64_t vaddr = 0xff0; vaddr < 0x1010; vaddr++) {
		SAME(L->iscache_read(L->cache, buffer, 15, 1, vaddr));
		SAME(L->iscache_read(L->cache, buffer, 15, 1, vaddr + 0x800));
		SAME(L->iscache_read(L->cache, buffer, UINT64_MAX, 1, vaddr + 0x800));
		SAME(L->iscache_read(L->cache, buffer, 15, 2, vaddr));
	}
	for (int isid = -2; isid < 5; isid++) {
		SAME(L->iscache_read(L->cache, buffer, 16, isid, 0x1000));
		SAME(L->iscache_read(L->cache, buffer, 16, isid, 0));
		SAME(L->iscache_read(L->cache, buffer, 0, isid, 0x1000));
		SAME(L->iscache_read(L->cache, NULL, 16, isid, 0x1000));
		SAME(L->iscache_read(NULL, buffer, 16, isid, 0x1000));
	}
	SAME_AS(L->iscache_read(L->cache, buffer, 0x900, 1, 0x1000), 0x800);
	SAME_AS((L->iscache_read(L->cache, buffer, 0x900, 1, 0x1000),
	         memcmp(buffer, f->content[0] + 0x100, 0x800)),
	        0);
}

static void long_reads_are_not_cut(void **state)
{
	struct fixture *f = *state;
	uint8_t *bytes = calloc(1, 100000);
	char *file = temp_dir_write(&f->dir, "long", bytes, 100000);

	SAME_AS(L->iscache_add_file(L->cache, file, 0, 100000, 0x1000), 1);
	SAME_AS(L->iscache_read(L->cache, bytes, 65535, 1, 0x1000), 65535);
	DIFFERENT(L->iscache_read(L->cache, bytes, 65536, 1, 0x1000), 65536, 65535, "no need to cut it");
	DIFFERENT(L->iscache_read(L->cache, bytes, 100000, 1, 0x1000), 100000, 65535, "no need to cut it");
	free(file);
	free(bytes);
}

static void files_that_change(void **state)
{
	struct fixture *f = *state;
	char *file = temp_dir_write(&f->dir, "file", "\x90\x91\x92\x93", 4);
	uint8_t buffer[8];

	SAME_AS(L->iscache_add_file(L->cache, file, 0, 4, 0x1000), 1);
	SAME_AS(L->iscache_add_file(L->cache, file, 0, 2, 0x1000), 2);
	SAME_AS(L->iscache_read(L->cache, buffer, 4, 1, 0x1000), 4);
	free(temp_dir_write(&f->dir, "file", "\x90\x91\x92\x93\x94\x95", 6));
	SAME_AS(L->iscache_read(L->cache, buffer, 2, 2, 0x1000), -pte_bad_image);
	DIFFERENT(L->iscache_add_file(L->cache, file, 0, 4, 0x1000), 3, 1,
	          "the new file must not be the old one");
	unlink(file);
	SAME_AS(L->iscache_read(L->cache, buffer, 2, 2, 0x1000), -pte_bad_image);
	DIFFERENT(L->iscache_add_file(L->cache, file, 0, 4, 0x1000), -pte_invalid, 1,
	          "it is not known any more");
	SAME_AS(L->iscache_add_file(L->cache, file, 0, 3, 0x1000), -pte_invalid);
	free(file);
}

static struct pt_asid asid_of(uint64_t cr3, uint64_t vmcs)
{
	return (struct pt_asid){.size = sizeof(struct pt_asid), .cr3 = cr3, .vmcs = vmcs};
}

static void changing_an_image_is_the_same(void **state)
{
	struct fixture *f = *state;
	struct pt_asid five = asid_of(5, pt_asid_no_vmcs), both = asid_of(5, 7),
	               seven = asid_of(pt_asid_no_cr3, 7);

	SAME_AS(L->image_add_file(NULL, f->file[0], 0, 1, NULL, 0), -pte_invalid);
	SAME_AS(L->image_add_file(L->image, NULL, 0, 1, NULL, 0), -pte_invalid);
	SAME_AS(L->image_add_file(L->image, f->file[2], 0, 1, NULL, 0), -pte_invalid);
	SAME_AS(L->image_add_file(L->image, f->file[2], 0, 0, NULL, 0), -pte_invalid);
	SAME_AS(L->image_add_file(L->image, f->file[0], file_size, 0, NULL, 0), -pte_invalid);
	SAME_AS(L->image_add_file(L->image, f->file[0], file_size, 1, NULL, 0), -pte_invalid);
	SAME_AS(L->image_add_file(L->image, "/dev/zero", 0, 1, NULL, 0), -pte_invalid);
	SAME_AS(L->image_add_cached(L->image, L->cache, 0, NULL), -pte_bad_image);
	SAME_AS(L->image_add_cached(L->image, L->cache, -1, NULL), -pte_bad_image);
	SAME_AS(L->image_add_cached(L->image, L->cache, 1, NULL), -pte_bad_image);
	SAME_AS(L->image_add_cached(L->image, NULL, 1, NULL), -pte_invalid);
	SAME_AS(L->image_add_cached(NULL, L->cache, 1, NULL), -pte_invalid);
	SAME_AS(L->image_copy(NULL, L->image), -pte_invalid);
	SAME_AS(L->image_copy(L->image, NULL), -pte_invalid);
	SAME_AS(L->image_copy(L->image, L->image), 0);
	SAME_AS(L->image_remove_by_asid(NULL, NULL), -pte_invalid);
	SAME_AS(L->image_remove_by_filename(NULL, f->file[0], NULL), -pte_invalid);
	SAME_AS(L->image_remove_by_filename(L->image, NULL, NULL), -pte_invalid);
	SAME_AS(L->image_set_callback(NULL, NULL, NULL), -pte_invalid);
	SAME_AS(L->image_set_callback(L->image, NULL, NULL), 0);
	/* Pieces are counted, in all address spaces that match. */
	SAME_AS(L->image_add_file(L->image, f->file[0], 0, 0x100, &five, 0x1000), 0);
	SAME_AS(L->image_add_file(L->image, f->file[0], 0, 0x10, &seven, 0x1080), 0);
	SAME_AS(L->image_add_file(L->image, f->file[1], 0, 0x10, &both, 0x2000), 0);
	SAME_AS(L->image_remove_by_filename(L->image, "one", NULL), 0);
	SAME_AS(L->image_remove_by_filename(L->image, f->file[0], &both), 3);
	SAME_AS(L->image_remove_by_asid(L->image, &seven), 1);
	SAME_AS(L->image_remove_by_asid(L->image, NULL), 0);
}

static void what_holds_no_byte_does_not_count(void **state)
{
	struct fixture *f = *state;

	SAME_AS(L->image_add_file(L->image, f->file[0], 0, 0, NULL, 0x1000), 0);
	DIFFERENT(L->image_remove_by_asid(L->image, NULL), 0, 1, "nothing was mapped");
	SAME_AS(L->iscache_add_file(L->cache, f->file[0], 0, 0, 0x1000), 1);
	SAME_AS(L->image_add_cached(L->image, L->cache, 1, NULL), 0);
	DIFFERENT(L->image_remove_by_asid(L->image, NULL), 0, 1, "nothing was mapped");
}

static void addresses_end(void **state)
{
	struct fixture *f = *state;
	uint8_t buffer[0x100];

	SAME_AS(L->iscache_add_file(L->cache, f->file[0], 0, 0x100, -0x80ull), 1);
	SAME_AS(L->iscache_read(L->cache, buffer, 0x10, 1, -0x80ull), 0x10);
	DIFFERENT(L->iscache_read(L->cache, buffer, 0x10, 1, -8ull), 8, 0x10,
	          "there are no addresses behind");
	SAME_AS(L->iscache_read(L->cache, buffer, 0x10, 1, 0), -pte_nomap);
}

/* Also of sizes that no version had. */
static void asids_are_the_same(void **state)
{
	static const size_t size[] = {0, 8, 16, 24, 64};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
		struct pt_asid asid = {.size = size[i], .cr3 = 5, .vmcs = 6};
		struct pt_asid other = asid_of(4, 6), vmcs = asid_of(5, 7);

		SAME_AS(L->image_add_file(L->image, f->file[0], 0, 1, &asid, 0x1000), 0);
		SAME(L->image_remove_by_asid(L->image, &other));
		SAME(L->image_remove_by_asid(L->image, &vmcs));
		SAME(L->image_remove_by_asid(L->image, &asid));
		SAME_AS(L->image_remove_by_asid(L->image, NULL), 0);
	}
}

/* ---- code at addresses --------------------------------------------------------------------------- */

/* Executes from where the trace stands. Fills in what was seen of up to @count instructions; returns how
 * many, with the error that ended it in *status. */
static size_t execute(const struct library *library, struct pt_image *image, struct pt_insn *insn,
                      size_t count, int *status)
{
	size_t n = 0;

	library->set_image(library->decoder, image);
	*status = library->sync_set(library->decoder, 0);
	while (n < count) {
		struct pt_event event;

		while (*status >= 0 && (*status & pts_event_pending))
			*status = library->event(library->decoder, &event, sizeof(event));
		if (*status < 0)
			break;
		memset(&insn[n], 0, sizeof(insn[n]));
		*status = library->next(library->decoder, &insn[n], sizeof(insn[n]));
		if (*status < 0)
			break;
		n++;
	}
	return n;
}

enum { range_size = 300, range_base = 0x10000 };

/* The same code stands in the whole range, in both images, and where none stands both say the same. */
static void expect_same_range(struct fixture *f, uint64_t cr3, uint64_t vmcs)
{
	static struct pt_insn ours[range_size], theirs[range_size];

	for (uint64_t at = 0; at < range_size; at++) {
		const size_t left = range_size - at;
		int our_status, their_status;
		size_t n;

		stand_at(f, cr3, vmcs, range_base + at);
		n = execute(&f->ours, f->ours.image, ours, left, &our_status);
		assert_int_equal(execute(&f->theirs, f->theirs.image, theirs, left, &their_status), n);
		assert_int_equal(our_status, their_status);
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(ours[i].ip, range_base + at + i);
			assert_int_equal(theirs[i].ip, ours[i].ip);
			assert_int_equal(theirs[i].raw[0], ours[i].raw[0]);
			assert_int_equal(theirs[i].isid, ours[i].isid);
		}
		at += n;
	}
}

/* Every address space that is fully known; a decoder that does not know its own may see any of them. */
static void expect_same_code(struct fixture *f)
{
	static const uint64_t cr3[] = {0x1000, 0x2000}, vmcs[] = {0x1000, 0x2000};

	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 2; k++)
			expect_same_range(f, cr3[i], vmcs[k]);
}

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

static struct pt_asid random_asid(uint64_t *random)
{
	static const uint64_t value[] = {0x1000, 0x2000, UINT64_MAX};

	return asid_of(value[next_random(random) % 3], value[next_random(random) % 3]);
}

/* A piece of a file and where it goes: mostly inside of the range, and not empty. */
struct piece {
	const char *file;
	uint64_t offset, size, vaddr;
};

static struct piece random_piece(const struct fixture *f, uint64_t *random)
{
	struct piece piece = {
	        .file = f->file[next_random(random) % 20 == 0 ? 2 : next_random(random) % 2],
	        .offset = next_random(random) % (file_size + 50),
	        .size = 1 + next_random(random) % 100,
	        .vaddr = range_base + next_random(random) % range_size,
	};

	if (next_random(random) % 10 == 0)
		piece.vaddr -= 50;
	return piece;
}

static void change_at_random(struct fixture *f, uint64_t *random)
{
	const struct piece piece = random_piece(f, random);
	const struct pt_asid asid = random_asid(random);
	const int isid = (int)(next_random(random) % 20);

	switch (next_random(random) % 12) {
	case 0:
	case 1:
		SAME(L->image_add_file(L->image, piece.file, piece.offset, piece.size, &asid, piece.vaddr));
		break;
	case 2:
		SAME(L->image_add_file(L->image, piece.file, piece.offset, piece.size, NULL, piece.vaddr));
		break;
	case 3:
	case 4:
		SAME(L->iscache_add_file(L->cache, piece.file, piece.offset, piece.size, piece.vaddr));
		break;
	case 5:
		SAME(L->image_remove_by_filename(L->image, piece.file, &asid));
		break;
	case 6:
		if (next_random(random) % 4 == 0)
			SAME(L->image_remove_by_asid(L->image, &asid));
		break;
	default:
		SAME(L->image_add_cached(L->image, L->cache, isid, &asid));
		break;
	}
}

static void random_changes_are_the_same(void **state)
{
	struct fixture *f = *state;
	uint64_t random = 20260101;

	for (int round = 0; round < 1500; round++) {
		for (int i = 0; i < 3; i++)
			change_at_random(f, &random);
		expect_same_code(f);
		if (round % 200 == 199)
			SAME(L->image_remove_by_asid(L->image, NULL));
	}
}

/* A decoder that does not know its address space sees what is mapped in any; one that does, what is mapped
 * where nothing is known. All mappings have the same asid: which of several is seen is not specified. */
static void what_is_unknown_matches_any(void **state)
{
	static const uint64_t value[] = {0x1000, 0x2000, UINT64_MAX};
	struct fixture *f = *state;
	uint64_t random = 3;

	for (int round = 0; round < 40; round++) {
		const struct pt_asid asid = random_asid(&random);

		for (int i = 0; i < 8; i++) {
			const struct piece piece = random_piece(f, &random);

			SAME(L->image_add_file(L->image, piece.file, piece.offset, piece.size, &asid,
			                       piece.vaddr));
		}
		for (int i = 0; i < 9; i++)
			expect_same_range(f, value[i / 3], value[i % 3]);
		SAME(L->image_remove_by_asid(L->image, NULL));
	}
}

static void random_reads_of_the_cache_are_the_same(void **state)
{
	struct fixture *f = *state;
	uint64_t random = 1;
	uint8_t ours[200], theirs[200];

	for (int i = 0; i < 20000; i++) {
		const struct piece piece = random_piece(f, &random);
		const int isid = (int)(next_random(&random) % 1000);
		int size;

		SAME(L->iscache_add_file(L->cache, piece.file, piece.offset, piece.size, piece.vaddr));
		size = f->ours.iscache_read(f->ours.cache, ours, piece.size * 2, isid, piece.vaddr);
		assert_int_equal(
		        f->theirs.iscache_read(f->theirs.cache, theirs, piece.size * 2, isid, piece.vaddr),
		        size);
		if (size > 0)
			assert_memory_equal(ours, theirs, (size_t)size);
	}
}

/* Whole pieces: the other library cannot copy those that were cut. */
static void copies_are_the_same(void **state)
{
	struct fixture *f = *state;
	uint64_t random = 7;

	for (uint64_t i = 0; i < 10; i++) {
		const struct pt_asid asid = random_asid(&random);

		SAME_AS(L->image_add_file(L->other, f->file[0], i * 100, 30, &asid, range_base + i * 30), 0);
		SAME_AS(L->image_add_file(L->image, f->file[1], i * 100, 20, &asid, range_base + i * 25), 0);
	}
	SAME_AS(L->image_copy(L->image, L->other), 0);
	expect_same_code(f);
	SAME_AS(L->image_remove_by_filename(L->image, f->file[1], NULL) >= 0, 1);
	expect_same_code(f);
}

static int byte_at(struct fixture *f, const struct library *library, struct pt_image *image, uint64_t ip)
{
	struct pt_insn insn = {0};
	int status;

	stand_at(f, 0x1000, 0x1000, ip);
	return execute(library, image, &insn, 1, &status) ? insn.raw[0] : status;
}

static int first_byte(struct fixture *f, const struct library *library)
{
	return byte_at(f, library, library->image, range_base + 60);
}

/* Their list of pieces is sorted by use, and their copy forgets where in the file a piece began. */
static void copies_of_cut_pieces_are_right(void **state)
{
	struct fixture *f = *state;

	SAME_AS(L->image_add_file(L->other, f->file[0], 0, 100, NULL, range_base), 0);
	SAME_AS(L->image_add_file(L->other, f->file[1], 0, 10, NULL, range_base + 40), 0);
	SAME_AS(byte_at(f, L, L->other, range_base), f->content[0][0]);
	SAME_AS(L->image_copy(L->image, L->other), 0);
	DIFFERENT(first_byte(f, L), f->content[0][60], f->content[0][10], "the copy must show the same code");
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(byte_at(f, &f->ours, f->ours.image, range_base + i),
		                 i < 40 || i >= 50 ? f->content[0][i] : f->content[1][i - 40]);
}

static void code_whose_file_changed_is_not_executed(void **state)
{
	struct fixture *f = *state;
	char *file = temp_dir_write(&f->dir, "file", f->content[0], 100);

	SAME_AS(L->image_add_file(L->image, file, 0, 100, NULL, range_base), 0);
	free(temp_dir_write(&f->dir, "file", f->content[1], 101));
	SAME_AS(first_byte(f, L), -pte_bad_image);
	unlink(file);
	SAME_AS(first_byte(f, L), -pte_bad_image);
	free(file);
}

/* ---- callbacks ------------------------------------------------------------------------------------ */

/* Serves what it is told to, at any address. */
struct memory {
	int result; /* instead of bytes, when negative; else how many it gives at most */
	int calls;
	uint64_t cr3, vmcs;
};

static int read_memory(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	struct memory *memory = context;

	memory->calls++;
	memory->cr3 = asid->cr3;
	memory->vmcs = asid->vmcs;
	if (memory->result < 0)
		return memory->result;
	if (size > (size_t)memory->result)
		size = (size_t)memory->result;
	for (size_t i = 0; i < size; i++)
		buffer[i] = (uint8_t)(0x90 + (ip + i) % 8);
	return (int)size;
}

static void callbacks_are_the_same(void **state)
{
	static const int result[] = {15, 1, -pte_nomap, -pte_bad_context, -pte_nomem, -1000};
	struct fixture *f = *state;
	struct memory memory = {0};

	SAME_AS(L->image_set_callback(L->image, read_memory, &memory), 0);
	SAME_AS(L->image_add_file(L->image, f->file[0], 0, 20, NULL, range_base + 20), 0);
	for (size_t i = 0; i < sizeof(result) / sizeof(result[0]); i++) {
		memory.result = result[i];
		SAME(first_byte(f, L));
		expect_same_code(f);
	}
	memory.result = 0;
	DIFFERENT(first_byte(f, L), -pte_nomap, -pte_internal, "who has no bytes maps nothing");
	memory.result = 15;
	SAME_AS((first_byte(f, L), (int)memory.cr3), 0x1000);
	SAME_AS((memory.vmcs = 0, first_byte(f, L), (int)memory.vmcs), 0x1000);
	SAME_AS(L->image_set_callback(L->image, NULL, NULL), 0);
	SAME_AS(first_byte(f, L), -pte_nomap);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(names_are_the_same),
	        TEST(adding_to_the_cache_is_the_same),
	        TEST(reading_from_the_cache_is_the_same),
	        TEST(long_reads_are_not_cut),
	        TEST(files_that_change),
	        TEST(changing_an_image_is_the_same),
	        TEST(what_holds_no_byte_does_not_count),
	        TEST(addresses_end),
	        TEST(asids_are_the_same),
	        TEST(random_changes_are_the_same),
	        TEST(what_is_unknown_matches_any),
	        TEST(random_reads_of_the_cache_are_the_same),
	        TEST(copies_are_the_same),
	        TEST(copies_of_cut_pieces_are_right),
	        TEST(code_whose_file_changed_is_not_executed),
	        TEST(callbacks_are_the_same),
	};

	if (access(their_path, R_OK) != 0) {
		print_message("%s is missing: skipped\n", their_path);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
