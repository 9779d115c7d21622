#!/bin/sh
# Where perf cannot ask for SWITCH records, it records sched:sched_switch: the same recording, told by samples of
# that, is replayed to the same instructions of the same threads.
set -u
perl -e 1 2>/dev/null || { echo "skipped: no perl here"; exit 77; }
. "$SOURCE_DIR/tests/tools/recordings.sh"

# check NAME FILE ROOT
check()
{
	perl "$SOURCE_DIR/tests/tools/switches_as_samples.pl" "$2" "$dir/samples.data" >"$dir/log" || { fail "$1: perl"; return; }
	for kind in "$2" "$dir/samples.data"; do
		"$SBTRACE" replay --root "$3" --no-host-root --sink insn "$kind" 2>"$dir/err" | sha256sum >"$dir/sum.${kind##*/}"
		grep -q 'unknown-process' "$dir/err" && fail "$1: $(cat "$dir/err")"
	done
	"$SBTRACE" dump --sideband --type SAMPLE,SWITCH_CPU_WIDE "$dir/samples.data" 2>/dev/null >"$dir/records"
	grep -q SWITCH_CPU_WIDE "$dir/records" && fail "$1: there still are SWITCH records"
	[ "$(grep -c '"sched":"sched_switch".* next_pid [0-9]' "$dir/records") samples" = "$(cat "$dir/log")" ] ||
		fail "$1: not all samples have their fields"
	if cmp -s "$dir/sum.${2##*/}" "$dir/sum.samples.data"; then
		echo "$1: $(cat "$dir/log"), the same instructions"
	else
		fail "$1: other instructions by samples than by SWITCH records"
	fi
}

record pipeline -c 2 -- sh -c 'cat /etc/passwd | head -n 3 | wc -c' &&
	check pipeline "$dir/pipeline.data" "$dir/pipeline.root"
for name in user-threads user-threads-overflow user-medium; do
	corpus=$CORPUS_DIR/$name
	[ -n "${SANITIZE:-}" ] || [ ! -e "$corpus/perf.data" ] || check $name "$corpus/perf.data" "$corpus/root"
done
[ $failures -eq 0 ]
