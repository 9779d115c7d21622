/* demangle.c - readable names of C++ and Rust; see sb_demangle() in sb/symbols.h.
 *
 * The work is done by GNU libiberty, which knows all that binutils and gdb know, Rust's v0 names included
 * (libstdc++'s __cxa_demangle does not), has limits for deep recursion, and gives its output in pieces,
 * without memory of its own. Its demanglers are under the LGPL with the exception that their compiled form
 * may be linked into any program without restriction.
 *
 * What is left to us are names that are short and grow without end: substitutions of substitutions. Output is
 * cut off where the caller's room ends, by leaving from the callback.
 */
#include <sb/symbols.h>

#include <ctype.h>
#include <setjmp.h>
#include <string.h>

#include <libiberty/demangle.h>

enum {
	REFERENCES_MAX = 40, /* at most 3^(40/3) times as much work as without */
	OPTIONS = DMGL_PARAMS | DMGL_ANSI,
};

struct output {
	char *buffer;
	size_t used, size;
	int may_leave;
	jmp_buf leave;
};

static void take(const char *text, size_t length, void *context)
{
	struct output *output = context;

	if (length >= output->size - output->used) {
		if (output->may_leave)
			longjmp(output->leave, 1);
		output->size = output->used; /* nothing fits any more */
		return;
	}
	/* Nothing may come as NULL. */
	if (length)
		memcpy(output->buffer + output->used, text, length);
	output->used += length;
}

static size_t count(const char *name, char letter)
{
	size_t n = 0;

	while ((name = strchr(name, letter))) {
		n += 1;
		name += 1;
	}
	return n;
}

/* Whether something may be looked through again and again without any output: packs that expand. */
static int has_packs(const char *name)
{
	return strstr(name, "Dp") || strstr(name, "sZ") || strstr(name, "sP") || strstr(name, "sp") ||
	       strstr(name, "fl") || strstr(name, "fr") || strstr(name, "fL") || strstr(name, "fR");
}

/* Whether the Rust demangler may hold memory while it writes: identifiers that are not ASCII. */
static int has_punycode(const char *name)
{
	while ((name = strchr(name, 'u'))) {
		name += 1;
		if (isdigit((unsigned char)*name))
			return 1;
	}
	return 0;
}

typedef int demangler(const char *mangled, int options, demangle_callbackref callback, void *opaque);

static size_t run(demangler *demangle, const char *name, struct output *output)
{
	output->used = 0;
	if (setjmp(output->leave))
		return 0;
	if (!demangle(name, OPTIONS, take, output) || output->used >= output->size)
		return 0;
	output->buffer[output->used] = '\0';
	return output->used;
}

static size_t demangle_rust(const char *name, struct output *output)
{
	output->may_leave = !has_punycode(name);
	if (!output->may_leave && count(name, 'B') > REFERENCES_MAX)
		return 0;
	return run(rust_demangle_callback, name, output);
}

static size_t demangle_cplus(const char *name, struct output *output)
{
	if (has_packs(name) && count(name, 'S') + count(name, 'T') > REFERENCES_MAX)
		return 0;
	output->may_leave = 1;
	return run(cplus_demangle_v3_callback, name, output);
}

size_t sb_demangle(const char *name, char *buffer, size_t size)
{
	struct output output = {.buffer = buffer, .size = size};
	size_t length = 0;

	if (!name || !buffer || !size || name[0] != '_')
		return 0;
	/* Rust's legacy names are C++ names, too, but for what stands for special characters. */
	if (name[1] == 'R' || name[1] == 'Z')
		length = demangle_rust(name, &output);
	if (!length && name[1] == 'Z')
		length = demangle_cplus(name, &output);
	return length;
}
