#!/bin/sh
# What the sink callgrind writes is what Valgrind's callgrind itself counts in the same program: instructions of each
# function, calls and what they cost; callgrind_annotate takes it, and finds the lines.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"

command -v valgrind >/dev/null || { echo "skipped: no valgrind here"; exit 77; }

cat >"$dir/program.c" <<'EOF'
#include <stdio.h>
#include <stdlib.h>

static int square(int n) { return n * n; }

static int classify(int n)
{
	switch (n % 8) {
	case 0:
		return 1;
	case 3:
		return square(n);
	default:
		return n > 5 ? square(n + 1) : 2;
	}
}

static int compare(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static long fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static long deep(int n)
{
	long sum = 0;

	for (int i = 0; i < n; i++)
		sum += classify(i) + fib(i % 5);
	return sum;
}

int main(void)
{
	int numbers[50];
	unsigned seed = 7;
	long sum;

	for (int i = 0; i < 50; i++) {
		seed = seed * 1103515245u + 12345;
		numbers[i] = (int)(seed >> 16 & 1023);
	}
	qsort(numbers, 50, sizeof(numbers[0]), compare);
	sum = deep(40) + fib(10);
	printf("%ld\n", sum + numbers[7]);
	return 0;
}
EOF
cd "$dir" || exit 1
"${CC:-cc}" -O0 -g "$dir/program.c" -o "$dir/program" || exit 1
valgrind --tool=callgrind --callgrind-out-file="$dir/theirs.out" "$dir/program" >"$dir/log" 2>&1 ||
	{ echo "skipped: callgrind does not run here: $(tail -1 "$dir/log")"; exit 77; }
record program -- "$dir/program" || exit 1
for jobs in 1 3; do
	"$SBTRACE" replay --root "$dir/program.root" --no-host-root --jobs $jobs --sink callgrind="$dir/ours.out$jobs" \
		"$dir/program.data" 2>"$dir/log" || fail "replay: $(cat "$dir/log")"
done
cmp "$dir/ours.out1" "$dir/ours.out3" || fail "the profile depends on the number of jobs"
mv "$dir/ours.out1" "$dir/ours.out"

# own FILE: "FUNCTION INSTRUCTIONS" of each function of the program; recursion is one. main() is left out, to which
# Valgrind gives the linkage tables'.
own()
{
	callgrind_annotate --threshold=100 --auto=no "$1" 2>"$dir/log" |
		sed -n "s/^ *\([0-9,]*\) *([0-9. %]*) *[^ ]*program\.c:\([a-z]*\)\('2\)* .*/\2 \1/p" | tr -d , |
		awk '$1 != "main" { sum[$1] += $2 } END { for (name in sum) print name, sum[name] }' | sort
}
own theirs.out >"$dir/theirs"
own ours.out | diff "$dir/theirs" - || fail "instructions of functions"
[ "$(wc -l <"$dir/theirs")" -eq 5 ] || fail "functions: $(cat "$dir/theirs")"

# called FILE: "FUNCTION COST CALLS", with what was called, of functions that do not call themselves.
called()
{
	callgrind_annotate --threshold=100 --auto=no --tree=calling "$1" 2>"$dir/log" |
		sed -n "s/^ *\([0-9,]*\) *([0-9. %]*) *> *[^ ]*program\.c:\([a-z]*\) (\([0-9]*\)x).*/\2 \1 \3/p" | tr -d , |
		awk '$1 != "main" && $1 != "fib" { cost[$1] += $2; calls[$1] += $3 }
			END { for (name in cost) print name, cost[name], calls[name] }' | sort
}
called theirs.out >"$dir/theirs"
called ours.out | diff "$dir/theirs" - || fail "calls"
[ "$(wc -l <"$dir/theirs")" -eq 4 ] || fail "calls: $(cat "$dir/theirs")"

# All of it, and its lines.
total=$(wc -l <"$dir/program.truth")
callgrind_annotate ours.out | tr -d , | grep -q "^ *$total (100.0%)  PROGRAM TOTALS" || fail "not all $total instructions"
callgrind_annotate --auto=yes --include="$dir" ours.out | tr -d , | grep 'return n < 2' | head -1 >"$dir/line"
callgrind_annotate --auto=yes --include="$dir" theirs.out | tr -d , | grep 'return n < 2' | head -1 | sed 's/(.*)//' >"$dir/their_line"
[ "$(awk '{ print $1 }' "$dir/line")" = "$(awk '{ print $1 }' "$dir/their_line")" ] || fail "a line: $(cat "$dir/line" "$dir/their_line")"

[ $failures -eq 0 ]
