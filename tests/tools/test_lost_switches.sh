#!/bin/sh
# Records of switches are taken out of recordings at random, as degrade.py does: what other records and addresses leave
# in doubt then comes as nobody's or as a gap, and not as another's. Who has the same code at the same addresses is
# what that is about: siblings by fork, threads, and processes of one program where addresses are not random.
set -u
perl -e 1 2>/dev/null || { echo "skipped: no perl here"; exit 77; }
python3 -c 1 2>/dev/null || { echo "skipped: no python3 here"; exit 77; }
. "$SOURCE_DIR/tests/tools/recordings.sh"

# check PERCENT LOST SEED: at least so many percent of the lines come, and no other ones.
check()
{
	python3 "$SOURCE_DIR/tests/degraded/degrade.py" "$dir/$name.data" "$dir/lost.data" "switch=$2" "seed=$3" \
		2>/dev/null || fail "$name: degrade.py"
	for jobs in 1 3; do
		"$SBTRACE" replay --root "$dir/$name.root" --no-host-root -j "$jobs" --sink insn="$dir/lines" \
			--sink summary="$dir/summary" "$dir/lost.data" >/dev/null 2>&1 || fail "$name: replay -j $jobs"
		cat "$dir/lines" "$dir/summary" | sha256sum
	done | uniq | wc -l | grep -qx 1 || fail "$name: who ran depends on the number of jobs"
	set -- "$1" "$2" "$3" $(wrong) "$(wc -l <"$dir/lines")"
	# In a hundred thousand, one may be: when somebody came and went between two others without a trace.
	[ $(($4 * 100000)) -le "$5" ] || fail "$name, $2 of the switches lost, seed $3: $4 of $5 lines are another's"
	[ $(($6 * 100)) -ge $(($5 * $1)) ] || fail "$name, $2 of the switches lost, seed $3: $6 of $5 lines"
	echo "$name, $2 of the switches lost, seed $3: $6 of $5 lines, $4 another's"
}

record siblings -c 3 --mtc --cyc -- sh -c 'for i in 1 2 3; do (a=0; while [ $a -lt 8 ]; do a=$((a+1)); done) & done
	wait' || exit 1
check 90 0.02 2
check 60 0.1 3
check 30 0.3 4

if setarch -R true 2>/dev/null; then
	record alike -c 2 --mtc -- setarch -R sh -c "'$BUILD_DIR/tests/workloads/place1' & '$BUILD_DIR/tests/workloads/place1' & (exit 1) & wait" || exit 1
	check 90 0.02 5
	check 30 0.3 6
fi
[ $failures -eq 0 ]
