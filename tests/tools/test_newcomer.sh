#!/bin/sh
# What somebody does first who has a program and has never seen this one: record it, look at it as a flame graph and a
# timeline, with no option that is not in the README; and what goes wrong then says what to do.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
cd "$dir" || exit 1
cat >prog.c <<'END'
#include <stdio.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

int main(void)
{
	int list[200];

	for (int i = 0; i < 200; i++)
		list[i] = rand();
	qsort(list, 200, sizeof(int), compare);
	printf("%d\n", fibonacci(12));
}
END
"$CC" -O1 -g -fno-inline prog.c -o prog || exit 1

begin=$(date +%s)
"$SBTRACE" record --software -- ./prog >out 2>err || fail "record: $(cat err)"
[ "$(cat out)" = 144 ] || fail "the program's own output: $(cat out)"
grep -q 'instructions (0 lost), 1 processes.*: perf.data$' err || fail "record says: $(cat err)"
"$SBTRACE" replay --sink flame=flame.svg --sink perfetto=timeline.pftrace --sink chrome=timeline.json \
	--sink html=report.html perf.data 2>err || fail "replay: $(cat err)"
[ ! -s err ] || fail "replay says: $(cat err)"
for function in main compare fibonacci qsort; do
	grep -q "<title>$function[ _]" flame.svg || [ $function = qsort ] || fail "$function is not in the flame graph"
	grep -q "\"name\":\"$function" timeline.json || [ $function = qsort ] || fail "$function is not in the timeline"
done
[ "$(grep -c '"name":"fibonacci"' timeline.json)" -eq 465 ] || fail "fibonacci(12) is 465 calls"
grep -qa fibonacci timeline.pftrace || fail "fibonacci is not in Perfetto's timeline"
echo "from the program to the pictures: $(($(date +%s) - begin)) s"

# Once more: what was recorded before is kept.
cp perf.data first
"$SBTRACE" record --software -q -- ./prog >/dev/null 2>err || fail "once more: $(cat err)"
cmp perf.data.old first || fail "the first recording is gone"
"$SBTRACE" record --software 2>err && fail "no command"
[ -e perf.data ] || fail "a wrong command line moved the recording away"

says()
{
	pattern=$1
	shift
	"$SBTRACE" "$@" >/dev/null 2>err && fail "$*: no error"
	grep -qE -- "$pattern" err || fail "$*: $(cat err)"
}
says "\./nothere: it cannot be run: No such file" record --software -- ./nothere
says "perf.dat: No such file" replay perf.dat
says "unknown sink 'flamegraph'; there are insn, .*flame.*" replay --sink flamegraph=x perf.data
says "unknown sink 'perfeto'; did you mean 'perfetto'" replay --sink perfeto=x perf.data
says "perfetto cannot write to standard output: name a file" replay --sink perfetto perf.data
[ $failures -eq 0 ]
