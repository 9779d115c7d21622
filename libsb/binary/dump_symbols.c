/* dump_symbols.c - see dump_symbols.h. */
#include "binary/dump_symbols.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <sb/error.h>

#include "binary/jitdump.h"

static int add_names(struct dump_symbols *symbols, const struct jitdump *dump)
{
	int status = 0;

	for (size_t i = 0; i < dump->ncodes && status == 0; ++i) {
		const struct jitdump_code *code = &dump->code[i];
		const struct table_symbol symbol = {.begin = code->offset,
		                                    .end = code->offset + (code->end - code->begin),
		                                    .name.raw = code->name};

		/* What was moved is there under the same name already. */
		if (code->offset != JITDUMP_NO_BYTES && code->name && code->name[0])
			status = symbol_table_add(&symbols->table, &symbol);
	}
	return status == 0 ? symbol_table_seal(&symbols->table) : status;
}

int dump_symbols_load(struct dump_symbols *symbols, int fd, const char *path)
{
	struct jitdump dump;
	struct stat state;
	void *bytes;
	int status;

	*symbols = (struct dump_symbols){0};
	if (fstat(fd, &state) < 0 || state.st_size <= 0)
		return 0;
	bytes = mmap(NULL, (size_t)state.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return 0;
	symbols->bytes = bytes;
	symbols->size = (size_t)state.st_size;
	status = jitdump_read(&dump, symbols->bytes, symbols->size, path, NULL);
	if (status < 0)
		return status == -sbe_nomem ? status : 0;
	status = add_names(symbols, &dump);
	jitdump_free(&dump);
	return status;
}

void dump_symbols_fini(struct dump_symbols *symbols)
{
	symbol_table_fini(&symbols->table);
	if (symbols->bytes)
		munmap(symbols->bytes, symbols->size);
	memset(symbols, 0, sizeof(*symbols));
}
