#!/bin/sh
# Coverage from a recording is what gcov counts in the same program when it is built with --coverage; genhtml takes
# it.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"

command -v genhtml >/dev/null || { echo "skipped: no lcov here"; exit 77; }
gcc=$(command -v gcc) || { echo "skipped: gcov goes with gcc, which is not here"; exit 77; }

cat >"$dir/shared.h" <<'EOF'
static inline int square(int n) { return n * n; }
EOF
cat >"$dir/program.c" <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "shared.h"

static int
unused(int n)
{
	return n + 1;
}

static int classify(int n)
{
	switch (n % 8) {
	case 0:
		return 1;
	case 1:
	case 2:
		n += 3;
		break;
	case 3:
		n = square(n);
		/* fall through */
	case 4:
		n--;
		break;
	case 5: case 6:
		n ^= 5;
		break;
	default:
		return unused == NULL ? 7 : 8;
	}
	return n & 1 ? 2 : 3;
}

static int search(const int *of, int n, int what)
{
	int low = 0, high = n;

	while (low < high) {
		int middle = low + (high - low) / 2;

		if (of[middle] == what)
			return middle;
		else if (of[middle] < what)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

static int compare(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static unsigned gcd(unsigned a, unsigned b)
{
	unsigned t = 0;

	do {
		t = a % b;
		a = b;
		b = t;
	} while (b);
	return a;
}

static int logic(int a, int b, int c)
{
	if ((a && b) || c)
		return 1;
	if (a ||
	    !b &&
	    c > 3)
		return 2;
	for (;;) {
		if (a++ > 10) break;
		if (a == 3) continue;
		if (b) goto out;
	}
out:
	return 0;
}

static long fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void quiet(void)
{
	static int calls;

	calls += square(calls);
}

int main(int argc, char **argv)
{
	int numbers[50], sum = 0, i, j;
	unsigned seed = 7;

	for (i = 0; i < 50; i++) {
		seed = seed * 1103515245u + 12345;
		numbers[i] = (int)(seed >> 16 & 1023);
	}
	qsort(numbers, 50, sizeof(numbers[0]), compare);
	for (i = 0; i < 50; i++)
		sum += classify(numbers[i]);
	for (i = 0; i < 1024; i += 7)
		sum += search(numbers, 50, i) >= 0;
	for (i = 1; i < 20; i++) for (j = 1; j < 20; j++) sum += (int)gcd((unsigned)i, (unsigned)j);
	for (i = 0; i < 8; i++)
		sum += logic(i & 1, i & 2, i & 4);
	if (argc > 1 && !strcmp(argv[1], "more"))
		sum += (int)fib(12);
	else if (argc > 2)
		abort();
	quiet();
	printf("%d\n",
	       sum);
	return sum == 0;
}
EOF

# The same source, the same directory, the same arguments.
cd "$dir" || exit 1
"$gcc" -O0 -g "$dir/program.c" -o "$dir/program" || exit 1
"$gcc" -O0 -g --coverage "$dir/program.c" -o "$dir/counted" || exit 1
./counted more >/dev/null
lcov -q -c -d . -o "$dir/theirs.info" --rc lcov_branch_coverage=1 2>"$dir/log" || fail "lcov: $(cat "$dir/log")"
record program -- "$dir/program" more || exit 1
for jobs in 1 3; do
	"$SBTRACE" replay --root "$dir/program.root" --no-host-root --jobs $jobs --sink lcov="$dir/ours.info$jobs" \
		"$dir/program.data" 2>"$dir/log" || fail "replay: $(cat "$dir/log")"
done
cmp "$dir/ours.info1" "$dir/ours.info3" || fail "coverage depends on the number of jobs"
mv "$dir/ours.info1" "$dir/ours.info"

# rows FILE NAMES: of each source file, sorted.
rows()
{
	awk -F: -v names="$2" '/^SF:/ { file = $2; sub(/.*\//, "", file) } $1 ~ "^(" names ")$" { print file, $0 }' "$1" |
		sort -V
}

# Functions: all of them.
rows theirs.info 'FN|FNDA' >"$dir/theirs"
rows ours.info 'FN|FNDA' | diff "$dir/theirs" - || fail "functions"
[ "$(wc -l <"$dir/theirs")" -eq 20 ] || fail "there are $(wc -l <"$dir/theirs") rows of functions"

# Lines: labels have no code, and only gcov counts them; braces at the end have some, and gcov does not count them.
rows theirs.info DA >"$dir/theirs"
rows ours.info DA >"$dir/ours"
grep -nE '^	*(case|default|do|out:)' program.c | sed 's/:.*//' | sed 's/.*/^program.c DA:&,/' >"$dir/labels"
grep -nE '^}' program.c | sed 's/:.*//' | sed 's/.*/^program.c DA:&,/' >"$dir/braces"
grep -vf "$dir/labels" "$dir/theirs" | grep -vf "$dir/braces" >"$dir/theirs.lines"
grep -vf "$dir/braces" "$dir/ours" | diff "$dir/theirs.lines" - || fail "lines"
[ "$(wc -l <"$dir/theirs.lines")" -ge 55 ] || fail "only $(wc -l <"$dir/theirs.lines") lines"

# Branches: those of lines that ran, but for switches, which compilers make of whatever they like. Which of two is
# the first is not the same.
branches()
{
	rows "$1" BRDA | awk -F '[ :,]' '$1 == "program.c" && $6 != "-" { print $3, $6 }' |
		grep -v "^$(grep -n switch program.c | cut -d: -f1) " | sort -V
}
branches theirs.info >"$dir/theirs"
branches ours.info | diff "$dir/theirs" - || fail "branches"
[ "$(wc -l <"$dir/theirs")" -ge 40 ] || fail "only $(wc -l <"$dir/theirs") branches"

# The consumer.
genhtml --branch-coverage -o "$dir/html" "$dir/ours.info" >"$dir/log" 2>&1 || fail "genhtml: $(cat "$dir/log")"
grep -q 'functions..: 90.9% (10 of 11 functions)\|functions..: 90.0% (9 of 10 functions)' "$dir/log" ||
	fail "genhtml: $(tail -4 "$dir/log")"
lines=$(sed -n 's/ *lines\.*: .*(\([0-9]*\) of \([0-9]*\) lines)/\1 \2/p' "$dir/log")
summed=$(awk -F: '$1 == "LF" { all += $2 } $1 == "LH" { hit += $2 } END { print hit, all }' "$dir/ours.info")
[ "$lines" = "$summed" ] || fail "genhtml counts $lines lines, expected $summed"
ls "$dir/html"/*/program.c.gcov.html "$dir/html"/program.c.gcov.html 2>/dev/null | grep -q . || fail "no page of program.c"

# One source file alone.
"$SBTRACE" replay --root "$dir/program.root" --no-host-root --sink lcov="$dir/some.info" --with source='*/shared.h' \
	"$dir/program.data" 2>"$dir/log"
[ "$(grep '^SF:' "$dir/some.info")" = "SF:$dir/shared.h" ] || fail "one source file: $(grep '^SF:' "$dir/some.info")"

[ $failures -eq 0 ]
