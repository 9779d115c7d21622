#!/bin/sh
# Processes that may have one memory: what one of them maps is the others', too, and no record says so. Where the
# code tells how the child was made, all comes; else what the other one would have there is a gap. Nothing is wrong.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
workload=$BUILD_DIR/tests/workloads/share
mkdir "$dir/files"

# replay HOW OPTIONS...: records and replays; $dir/missing are the lines of the truth that do not come.
replay()
{
	how=$1
	shift
	record "$how" "$@" -- "$workload" "$dir/files" "$how" || return 1
	for jobs in 1 3; do
		"$SBTRACE" replay --root "$dir/$how.root" --no-host-root -j $jobs --sink insn="$dir/flow" \
			--sink gap="$dir/gaps" "$dir/$how.data" 2>"$dir/err" ||
			{ fail "replay $how: $(cat "$dir/err")"; return 1; }
		cat "$dir/flow" "$dir/gaps" | sha256sum
	done | uniq | wc -l | grep -qx 1 || fail "$how $*: what is told depends on the number of jobs"
	flow_against_truth "$how" "$@"
}

for options in '-c 1' '-c 2 --mtc --cyc'; do
	for how in fork apart workers vfork; do
		# shellcheck disable=SC2086
		replay $how $options && [ -s "$dir/missing" ] &&
			fail "$how $options: $(wc -l <"$dir/missing") lines are missing: $(head -n 3 "$dir/gaps")"
	done
	for how in share above; do
		# shellcheck disable=SC2086
		replay $how $options || continue
		# All that is missing is in gaps that say why; of code that is not doubtful, nothing is.
		grep -q 'anonymous.*code.: mapped by a process that may have the same memory' "$dir/gaps" ||
			fail "$how $options: $(cat "$dir/gaps")"
		[ "$(wc -l <"$dir/missing")" -lt 3000 ] || fail "$how: $(wc -l <"$dir/missing") lines are missing"
	done
done
[ $failures -eq 0 ]
