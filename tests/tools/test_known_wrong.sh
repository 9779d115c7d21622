#!/bin/sh
# What once came out wrong without a gap.
#
# rewritten: code that its process makes writable, changes and makes executable again. The kernel tells nothing of the
# bytes, nor that they could be written meanwhile: but its record is of a piece of what was mapped before.
#
# swapped: files that take each other's place at an address, while the trace's time stands still.
#
# deferred: the bits of code that a TIP leads to, from a program that is missing, may stand before that TIP.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
cd "$dir" || exit 1

cat >rewritten.c <<'END'
#include <string.h>
#include <sys/mman.h>

enum { size = 4096 };

__asm__(".section .text.changed,\"ax\",@progbits\n"
        ".balign 4096\n"
        "changed: nop\nnop\nnop\nret\n"
        ".balign 4096\n"
        ".text\n");
void changed(void);

int main(void)
{
	char *page = (char *)changed;

	changed();
	if (mprotect(page, size, PROT_READ | PROT_WRITE))
		return 1;
	memset(page, 0xc3, 1); /* ret */
	if (mprotect(page, size, PROT_READ | PROT_EXEC))
		return 1;
	changed();
	return 0;
}
END
"$CC" -O1 rewritten.c -o rewritten || exit 1
record rewritten -c 1 --mtc -- ./rewritten || exit 1
"$SBTRACE" replay --root rewritten.root --no-host-root --sink insn=flow --sink gap=gaps rewritten.data >/dev/null 2>err ||
	fail "replay: $(cat err)"
cut -f 8- gaps | grep -q '^anonymous.*rewritten: the process could write' || fail "no gap tells: $(cat gaps)"
"$BUILD_DIR/tests/lines" columns rewritten.truth >expected
"$BUILD_DIR/tests/lines" columns flow >given
diff expected given | grep '^>' >made_up && fail "told, and did not run: $(head -n 5 made_up)"
# What came before is all there.
[ "$(wc -l <given)" -ge "$(($(wc -l <expected) * 99 / 100))" ] || fail "only $(wc -l <given) lines are told"

# swap: maps two files in turns at one address, and calls what stands there.
cat >swap.c <<'END'
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { size = 4096 };

/* A loop of so many nops, 3 times, and ret. */
static int code(const char *name, unsigned char nops)
{
	static const unsigned char begin[] = {0xb9, 3, 0, 0, 0}; /* mov $3, %ecx; dec %ecx; jne */
	unsigned char bytes[size] = {0}, *at = bytes;
	const int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0755);

	memcpy(at, begin, sizeof(begin));
	at += sizeof(begin);
	memset(at, 0x90, nops);
	at += nops;
	memcpy(at, (const unsigned char[]){0xff, 0xc9, 0x75, (unsigned char)(-4 - nops), 0xc3}, 5);
	return write(fd, bytes, size) == size ? fd : -1;
}

int main(void)
{
	void *const place = (void *)0x600000000000;
	const int fd[] = {code("one.bin", 1), code("two.bin", 4)};

	for (int i = 0; i < 60; i++) {
		if (mmap(place, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd[i & 1], 0) != place)
			return 1;
		((void (*)(void))place)();
	}
	return 0;
}
END
have_tools=yes
perl -e 1 2>/dev/null && python3 -c 1 2>/dev/null || have_tools=''
[ "$have_tools" ] || echo "no perl or python3 here: nothing is swapped"
"$CC" -O1 swap.c -o swap || exit 1
for cpus in ${have_tools:+1 2}; do
	record swapped -c $cpus --mtc -- ./swap || exit 1
	python3 "$SOURCE_DIR/tests/degraded/degrade.py" swapped.data still.data strip=mtc,cyc,tsc 2>/dev/null || fail "degrade.py"
	for jobs in 1 3; do
		"$SBTRACE" replay --root swapped.root --no-host-root -j $jobs --sink insn=lines --sink gap=gaps still.data \
			>/dev/null 2>err || fail "replay: $(cat err)"
		cat lines gaps | sha256sum
	done | uniq | wc -l | grep -qx 1 || fail "swapped: what is told depends on the number of jobs"
	set -- $(wrong)
	[ "$1" -eq 0 ] || fail "swapped, on $cpus CPUs: $1 lines were not executed"
	cut -f 8- gaps | grep -q '^anonymous.*other code came there' || fail "swapped: no gap tells: $(head -n 3 gaps)"
	[ "$(wc -l <lines)" -ge $(($2 * 9 / 10)) ] || fail "swapped: only $(wc -l <lines) of $2 lines"
done

for period in 256 4096; do
	record deferred -c 1 --mtc --tnt64 --psb-period $period -- "$BUILD_DIR/tests/workloads/mt" 50 || exit 1
	rm -r deferred.root/"$BUILD_DIR"
	for jobs in 1 3; do
		"$SBTRACE" replay --root deferred.root --no-host-root -j $jobs --sink insn=lines --sink gap=gaps deferred.data \
			>/dev/null 2>err || fail "replay: $(cat err)"
		cat lines gaps | sha256sum
	done | uniq | wc -l | grep -qx 1 || fail "deferred: what is told depends on the number of jobs"
	"$BUILD_DIR/tests/lines" right "$(wc -l <gaps)" deferred.truth lines || fail "deferred, a PSB every $period bytes"
	[ "$(wc -l <lines)" -ge $(($(wc -l <deferred.truth) / 2)) ] || fail "deferred: only $(wc -l <lines) lines"
done
[ $failures -eq 0 ]
