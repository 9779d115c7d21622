#!/bin/sh
# What once came out wrong without a gap.
#
# rewritten: code that its process makes writable, changes and makes executable again. The kernel tells nothing of the
# bytes, nor that they could be written meanwhile: but its record is of a piece of what was mapped before.
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
[ $failures -eq 0 ]
