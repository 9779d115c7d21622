#!/bin/sh
# Records of forks are taken out of a recording, as degrade.py does, and with some of them those of switches: a child
# that comes to sight without a record of its beginning is somebody of whom nobody knows what it has mapped. What it
# executed comes as nobody's or not at all, and never as its parent's, whose code it is.
set -u
perl -e 1 2>/dev/null || { echo "skipped: no perl here"; exit 77; }
python3 -c 1 2>/dev/null || { echo "skipped: no python3 here"; exit 77; }
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=lost_forks

# check PERCENT WHAT...: at least so many percent of the lines come, none is another's, and how many jobs there are
# changes nothing. What does not come has a gap.
check()
{
	percent=$1
	shift
	python3 "$SOURCE_DIR/tests/degraded/degrade.py" "$dir/$name.data" "$dir/lost.data" "$@" 2>/dev/null ||
		fail "$name: degrade.py"
	for jobs in 1 3; do
		"$SBTRACE" replay --root "$dir/$name.root" --no-host-root -j "$jobs" --sink insn="$dir/lines" \
			--sink summary="$dir/summary" "$dir/lost.data" >/dev/null 2>&1 || fail "$name: replay -j $jobs"
		cat "$dir/lines" "$dir/summary" | sha256sum
	done | uniq | wc -l | grep -qx 1 || fail "$name, $*: who ran depends on the number of jobs"
	read -r other all <<-END
		$(wrong)
	END
	come=$(wc -l <"$dir/lines")
	[ "$other" -eq 0 ] || fail "$name, $*: $other of $all lines are another's"
	[ $((come * 100)) -ge $((all * percent)) ] || fail "$name, $*: only $come of $all lines"
	[ "$come" -eq "$all" ] || grep -q '^gaps' "$dir/summary" || fail "$name, $*: no gap: $(cat "$dir/summary")"
	echo "$name, $*: $come of $all lines, $other another's"
}

# Children that exec, and children that never do.
record children -c 2 --mtc --cyc -- sh -c '(a=0; while [ $a -lt 8 ]; do a=$((a+1)); done) & (exit 3) & /bin/true | cat
	wait' || exit 1
check 100 fork=0
check 30 fork=1
check 30 fork=0.5 seed=2
check 20 fork=0.5 switch=0.1 seed=3
check 10 fork=1 switch=0.3 seed=4

# A child that runs code which its parent had made, and then makes its own in that place.
mkdir "$dir/jit"
record jit -c 2 --mtc --cyc -- "$BUILD_DIR/tests/workloads/jit" "$dir/jit" || exit 1
check 100 fork=0
check 90 fork=1

# The record of an exec is lost, too: the page tables that the process had before come to another one, which it has the
# parent in common with. Process 126 never ran on CPU 2.
exec_without_a_record()
{
	at=${CORPUS_DIR:-}/kernel-kaslr-modules
	[ -r "$at/perf.data/data" ] || { echo "skipped: an exec without a record: no corpus"; return; }
	mkdir "$dir/exec.data"
	ln -s "$at/perf.data/kcore_dir" "$dir/exec.data"
	python3 "$SOURCE_DIR/tests/degraded/degrade.py" "$at/perf.data/data" "$dir/exec.data/data" comm=0.3 seed=990010 \
		2>/dev/null || fail "degrade.py"
	"$SBTRACE" replay --root "$at/root" --no-host-root --cpu 2 --pid 126 --sink insn="$dir/lines" \
		--sink summary="$dir/summary" "$dir/exec.data" >/dev/null 2>&1 || fail "an exec without a record: replay"
	come=$(wc -l <"$dir/lines")
	echo "an exec without a record: $come lines are another's"
	[ "$come" -eq 0 ] || fail "an exec without a record: $come lines are another's"
	grep -q '^gaps' "$dir/summary" || fail "an exec without a record: no gap: $(cat "$dir/summary")"
}
exec_without_a_record
[ $failures -eq 0 ]
