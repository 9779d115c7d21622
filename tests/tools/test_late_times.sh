#!/bin/sh
# A processor does not tell the time where user space is entered, as tracers in software do: recordings are made to tell
# it as processors do (degrade.py time=N), with an MTC every 0.3 us and seldom. Less may be known then; nothing becomes
# wrong, however trace is shared out.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=late_times
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
degraded=$SOURCE_DIR/tests/degraded
"$CC" -O2 -o "$dir/score" "$degraded/score.c" || exit 1

# check NAME FILE ROOT TRUTH N LEAST: with an MTC every 2^N ticks, LEAST percent are right, and nothing is wrong.
check()
{
	python3 "$degraded/degrade.py" "$2" "$dir/late.data" "time=$5" 2>/dev/null || fail "$1: degrade.py"
	for jobs in 1 2; do
		"$SBTRACE" replay --root "$3" --no-host-root --jobs $jobs --sink insn="$dir/flow$jobs" "$dir/late.data" \
			>/dev/null 2>"$dir/err" || fail "$1: $(cat "$dir/err")"
	done
	cmp "$dir/flow1" "$dir/flow2" || fail "$1, time=$5: it depends on --jobs"
	"$dir/score" "$4" "$dir/flow1" >"$dir/scored"
	awk -v least="$6" '$2 < least || $4 > 0 || $12 > 0 { bad = 1 } END { exit bad || !NR }' "$dir/scored" ||
		fail "$1, time=$5: $(cat "$dir/scored")"
}

record pipe -c 2 --mtc -- sh -c 'cat /etc/passwd | sort | head -n 3; tac /etc/passwd | wc' || exit 1
columns_but_tsc "$dir/pipe.truth" >"$dir/truth"
for freq in 3 7 11; do
	check pipe "$dir/pipe.data" "$dir/pipe.root" "$dir/truth" $freq 40
done

corpus=$CORPUS_DIR/user-pipe
if [ -d "$corpus" ]; then
	zstd -dcq "$corpus"/truth.cpu*.tsv.zst >"$dir/truth"
	check user-pipe "$corpus/perf.data" "$corpus/root" "$dir/truth" 3 100
	check user-pipe "$corpus/perf.data" "$corpus/root" "$dir/truth" 9 98
fi
[ $failures -eq 0 ]
