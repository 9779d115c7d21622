#!/bin/sh
# What is known to come out wrong without a gap. Skipped, and says what, as long as it does; passes once each such
# input gives right lines or a gap; anything else is a failure.
#
# rewritten: code that its process makes writable, changes and makes executable again. The records are those of code
# that was only mapped again: the kernel tells nothing of the bytes, nor that they could be written meanwhile.
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
[ -s gaps ] && { echo "told by a gap: $(head -n 1 gaps)"; exit $failures; }
"$BUILD_DIR/tests/lines" columns rewritten.truth >expected
"$BUILD_DIR/tests/lines" columns flow >given
diff expected given >differences && exit $failures
# The three instructions behind the one that was changed are told, and were not executed.
[ "$(grep -c '^[<>]' differences)" -eq "$(grep -c '^>' differences)" ] && [ "$(grep -c '^>' differences)" -eq 3 ] ||
	fail "other lines are wrong, too: $(head -n 5 differences)"
[ $failures -eq 0 ] || exit 1
echo "skipped: known to be wrong: 3 instructions of code that was rewritten are told without a gap"
exit 77
