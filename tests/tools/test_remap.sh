#!/bin/sh
# Code that changes at one address: other files there are told apart by time; where the process could write to its
# code, a trace that would fit the file as well is a gap, before and behind nothing is lost, and nothing is wrong.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
workload=$BUILD_DIR/tests/workloads/remap
mkdir "$dir/files"

# replay NAME OPTIONS...: records and replays; $dir/missing are the lines of the truth that do not come.
replay()
{
	name=$1
	shift
	record "$name" "$@" -- "$workload" "$dir/files" "$name" || return 1
	"$SBTRACE" replay --root "$dir/$name.root" --no-host-root --sink insn="$dir/flow" --sink gap="$dir/gaps" \
		"$dir/$name.data" 2>"$dir/err" || { fail "replay $name: $(cat "$dir/err")"; return 1; }
	flow_against_truth "$name" "$@"
}

for options in '-c 1' '-c 2 --mtc'; do
	# shellcheck disable=SC2086
	replay files $options && [ -s "$dir/missing" ] && fail "files: $(wc -l <"$dir/missing") lines are missing"
	for how in write protect; do
		# shellcheck disable=SC2086
		replay $how $options || continue
		# The code itself, and what is on the way from it to where the trace names an address.
		[ "$(grep -c '7e0000000000$' "$dir/missing")" -eq 20 ] ||
			fail "$how: of 21 rounds, 20 of written code should be missing: $(wc -l <"$dir/missing") lines"
		[ "$(wc -l <"$dir/missing")" -lt 3000 ] || fail "$how: $(wc -l <"$dir/missing") lines are missing"
		grep -q 'anonymous.*code0: the process could write there' "$dir/gaps" || fail "$how: $(cat "$dir/gaps")"
	done
done

# One of them is written to after the recording: what stands there now is not what ran.
record since -c 1 -- "$workload" "$dir/files" files || exit 1
maj=$(stat -c %Hd "$dir/files/code0") min=$(stat -c %Ld "$dir/files/code0") ino=$(stat -c %i "$dir/files/code0")
if "$SBTRACE" dump --sideband "$dir/since.data" | grep code0 | grep -q "maj 0x0*$(printf %x "$maj") min 0x0*$(printf %x "$min") ino $ino "; then
	sleep 0.1
	cat "$dir/files/code1" >"$dir/files/code0"
	"$SBTRACE" replay --sink insn="$dir/flow" --sink gap="$dir/gaps" "$dir/since.data" 2>"$dir/err" ||
		fail "replay since: $(cat "$dir/err")"
	flow_against_truth since
	grep -q 'binary-mismatch.*code0 was written to since it was recorded' "$dir/gaps" || fail "since: $(cat "$dir/gaps")"
else
	echo "records do not say which file it was: nothing is written to since"
fi
[ $failures -eq 0 ]
