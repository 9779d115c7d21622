/* gdb_stub.c - a stopped program, as gdb's remote protocol shows it, with a recorded trace.
 *
 *   gdb_stub PROGRAM TRACE FAMILY/MODEL/STEPPING PC     (from gdb: target remote | gdb_stub ...)
 *
 * PROGRAM is an ELF file that runs where it was linked: its loadable segments are the memory. TRACE holds raw
 * Intel PT, PC is where the program stands, in hexadecimal. Speaks on stdin and stdout; nothing can be
 * written or run. Protocol: "Remote Serial Protocol" and "Branch Trace Format" in gdb's manual.
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { PAGE_BYTES = 4096, PACKET_BYTES = 16384, CHUNK_BYTES = PACKET_BYTES - 16, GENERAL_REGISTERS = 16 };

struct file {
	const uint8_t *bytes;
	size_t size;
};

struct stub {
	struct file program, trace;
	const char *cpu[3]; /* family, model, stepping */
	uint64_t pc;
	char *btrace; /* the document */
	int quiet;    /* no acknowledgements any more */
	int enabled;  /* gdb asked for branch tracing */
};

static struct file map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *bytes;

	if (fd < 0 || fstat(fd, &st) < 0) {
		perror(path);
		exit(1);
	}
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	return (struct file){.bytes = bytes, .size = (size_t)st.st_size};
}

/* The document that qXfer:btrace:read gives. */
static char *make_btrace(const struct stub *stub)
{
	char *document = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&document, &size);

	if (!out)
		exit(1);
	fprintf(out,
	        "<!DOCTYPE btrace SYSTEM \"btrace.dtd\">\n<btrace version=\"1.0\">\n<pt>\n<pt-config>"
	        "<cpu vendor=\"GenuineIntel\" family=\"%s\" model=\"%s\" stepping=\"%s\"/></pt-config>\n<raw>",
	        stub->cpu[0], stub->cpu[1], stub->cpu[2]);
	for (size_t i = 0; i < stub->trace.size; i++)
		fprintf(out, "%02x", stub->trace.bytes[i]);
	fprintf(out, "</raw>\n</pt>\n</btrace>\n");
	if (fclose(out))
		exit(1);
	return document;
}

/* The byte at @address, or -1. As the kernel maps them, segments go on to the end of their last page: with
 * what follows in the file, or with zeros if they are writable. */
static int byte_at(const struct stub *stub, uint64_t address)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)stub->program.bytes;
	const Elf64_Phdr *segment = (const Elf64_Phdr *)(stub->program.bytes + elf->e_phoff);

	for (unsigned i = 0; i < elf->e_phnum; i++) {
		uint64_t end =
		        (segment[i].p_vaddr + segment[i].p_memsz + PAGE_BYTES - 1) & -(uint64_t)PAGE_BYTES;
		uint64_t offset = address - segment[i].p_vaddr, at = segment[i].p_offset + offset;

		if (segment[i].p_type != PT_LOAD || address < segment[i].p_vaddr || address >= end)
			continue;
		if (offset >= segment[i].p_filesz && segment[i].p_flags & PF_W)
			return 0;
		return at < stub->program.size ? stub->program.bytes[at] : 0;
	}
	return -1;
}

static void put_packet(const char *text)
{
	uint8_t sum = 0;

	for (const char *at = text; *at; at++)
		sum = (uint8_t)(sum + (uint8_t)*at);
	printf("$%s#%02x", text, sum);
	fflush(stdout);
}

/* Memory in hexadecimal, as far as it goes; an error when there is none. */
static void put_memory(const struct stub *stub, const char *range)
{
	char reply[PACKET_BYTES + 1] = "E01", *end;
	uint64_t address = strtoull(range, &end, 16), size = *end == ',' ? strtoull(end + 1, NULL, 16) : 0;

	for (uint64_t i = 0; i < size && i < PACKET_BYTES / 2; i++) {
		int byte = byte_at(stub, address + i);

		if (byte < 0)
			break;
		snprintf(reply + 2 * i, 3, "%02x", (unsigned)byte);
	}
	put_packet(reply);
}

/* Zeros, but for the program counter; gdb takes what is left out as not available. */
static void put_registers(const struct stub *stub)
{
	char reply[16 * (GENERAL_REGISTERS + 1) + 1];

	memset(reply, '0', sizeof(reply));
	for (unsigned i = 0; i < 8; i++)
		snprintf(reply + (size_t)16 * GENERAL_REGISTERS + 2 * i, 3, "%02x",
		         (unsigned)(stub->pc >> 8 * i & 0xff));
	put_packet(reply);
}

/* A piece of a document: "m" and the bytes, or "l" if they are the last. */
static void put_piece(const char *document, const char *range)
{
	char reply[PACKET_BYTES + 1], *end;
	uint64_t offset = strtoull(range, &end, 16), size = *end == ',' ? strtoull(end + 1, NULL, 16) : 0;
	size_t length = strlen(document);

	if (size > CHUNK_BYTES)
		size = CHUNK_BYTES;
	if (offset > length)
		offset = length;
	snprintf(reply, sizeof(reply), "%c%.*s", offset + size < length ? 'm' : 'l', (int)size,
	         document + offset);
	put_packet(reply);
}

/* What always gets the same answer. Prefixes; everything else is not supported, which an empty reply says. */
static const struct {
	const char *request, *reply;
} fixed[] = {
        {"qSupported",
         "PacketSize=4000;QStartNoAckMode+;multiprocess+;qXfer:features:read+;qXfer:btrace:read+;"
         "qXfer:btrace-conf:read+;Qbtrace:off+;Qbtrace:pt+;Qbtrace-conf:pt:size+"},
        {"?", "T05thread:p1.1;"},
        {"H", "OK"},
        {"T", "OK"},
        {"D", "OK"},
        {"Qbtrace-conf", "OK"},
        {"qAttached", "1"},
        {"qC", "QCp1.1"},
        {"qfThreadInfo", "mp1.1"},
        {"qsThreadInfo", "l"},
};

/* Documents: what is asked for ends with ":OFFSET,SIZE". There is never a trace that is newer. */
static int answer_document(const struct stub *stub, const char *request)
{
	const char *conf = "<!DOCTYPE btrace-conf SYSTEM \"btrace-conf.dtd\"><btrace-conf version=\"1.0\">"
	                   "<pt size=\"0x100000\"/></btrace-conf>";
	const struct {
		const char *name, *document;
	} documents[] = {
	        {"qXfer:features:read:target.xml:",
	         "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target>"
	         "<architecture>i386:x86-64</architecture></target>"},
	        {"qXfer:btrace-conf:read::", stub->enabled ? conf : NULL},
	        {"qXfer:btrace:read:all:", stub->btrace},
	        {"qXfer:btrace:read:new:",
	         "<!DOCTYPE btrace SYSTEM \"btrace.dtd\"><btrace version=\"1.0\"></btrace>"},
	};

	for (size_t i = 0; i < sizeof(documents) / sizeof(*documents); i++) {
		size_t length = strlen(documents[i].name);

		if (!strncmp(request, documents[i].name, length)) {
			if (documents[i].document)
				put_piece(documents[i].document, request + length);
			else
				put_packet("E.not recording");
			return 1;
		}
	}
	return 0;
}

static void answer(struct stub *stub, const char *request)
{
	if (*request == 'm') {
		put_memory(stub, request + 1);
		return;
	}
	if (*request == 'g') {
		put_registers(stub);
		return;
	}
	if (answer_document(stub, request))
		return;
	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++) {
		if (!strncmp(request, fixed[i].request, strlen(fixed[i].request))) {
			put_packet(fixed[i].reply);
			return;
		}
	}
	if (!strcmp(request, "QStartNoAckMode")) {
		put_packet("OK");
		stub->quiet = 1;
	} else if (!strcmp(request, "Qbtrace:pt") || !strcmp(request, "Qbtrace:off")) {
		put_packet("OK");
		stub->enabled = request[8] == 'p';
	} else if (!strncmp(request, "qXfer:btrace:read:delta", 23)) {
		put_packet("E.not supported"); /* gdb then asks for what is new */
	} else {
		put_packet("");
	}
}

/* Reads up to the next packet: its content. Zero at the end of input. */
static int get_packet(const struct stub *stub, char *request, size_t room)
{
	size_t length = 0;
	int c;

	while ((c = getchar()) != '$') {
		if (c == EOF)
			return 0;
	}
	while ((c = getchar()) != '#') {
		if (c == EOF || length + 1 == room)
			return 0;
		request[length++] = (char)c;
	}
	request[length] = '\0';
	if (getchar() == EOF || getchar() == EOF) /* the pipe does not damage anything */
		return 0;
	if (!stub->quiet)
		putchar('+');
	return 1;
}

int main(int argc, char **argv)
{
	struct stub stub = {0};
	char request[PACKET_BYTES + 1];

	if (argc != 5) {
		fprintf(stderr, "usage: gdb_stub PROGRAM TRACE FAMILY/MODEL/STEPPING PC\n");
		return 2;
	}
	stub.program = map_file(argv[1]);
	stub.trace = map_file(argv[2]);
	for (unsigned i = 0; i < 3; i++) {
		stub.cpu[i] = strtok(i ? NULL : argv[3], "/");
		if (!stub.cpu[i])
			return 2;
	}
	stub.pc = strtoull(argv[4], NULL, 16);
	stub.btrace = make_btrace(&stub);
	while (get_packet(&stub, request, sizeof(request)) && *request != 'k')
		answer(&stub, request);
	free(stub.btrace);
	return 0;
}
