#!/bin/sh
# Memory follows the code that ran, not the length of the recording: three times the length, by 7 MB of trace and 146
# million instructions more, may take a part of that trace's size more, for what still fills up, and no more.
# Nor does planning shards take more for more of them.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"

[ -z "${SANITIZE:-}" ] || { echo "skipped: with sanitizers, memory is theirs"; exit 77; }
command -v /usr/bin/time >/dev/null || { echo "skipped: no /usr/bin/time"; exit 77; }

cd "$dir" || exit 1
head -c 4000 "$SOURCE_DIR/README.md" >in
record turn -c 2 --mtc -- gzip -c in || exit 1
"$BUILD_DIR/tests/bench/repeat" 100 turn.data long.data >log 2>&1 || { cat log; exit 1; }
"$BUILD_DIR/tests/bench/repeat" 300 turn.data longest.data >log 2>&1 || { cat log; exit 1; }
long=$(wc -c <long.data) longest=$(wc -c <longest.data)

# peak SINK RECORDING: in KiB.
peak()
{
	/usr/bin/time -f %M -o time "$SBTRACE" replay --jobs 1 --root turn.root --no-host-root --sink "$1" "$2" \
		>/dev/null 2>err || fail "$1 $2: $(cat err)"
	cat time
}

# What counts keeps paths, up to 2 MiB for each CPU, and finds them by tables: these fill up slowly.
paths=6144
# A page keeps what it shows, at most as much as a screen has room for.
page=4096
# One for each way of keeping things: none, stacks, counts, calls of threads, text as it comes, a page.
most=$(((longest - long) / 1024 * 3 / 4))
[ $most -gt 3000 ] || fail "too short to say: $long and $longest bytes"
for sink in gap folded counts callgrind jsonl html; do
	first=$(peak $sink long.data) then=$(peak $sink longest.data)
	more=$most
	case $sink in
	counts | callgrind) more=$((most + paths)) ;;
	html) more=$((most + page)) ;;
	esac
	echo "$sink: $first KiB, and $then with three times the length; at most $more more are fine"
	[ $((then - first)) -le $more ] || fail "$sink: from $first to $then KiB"
done

# Where a job is cut into shards, the trace is looked at, which does not stay in memory.
"$BUILD_DIR/tests/bench/repeat" 600 turn.data longest.data >log 2>&1 || { cat log; exit 1; }
cat >job.yaml <<-END
	version: 1
	roots: [turn.root]
	host_root: false
	recording: longest.data
	sinks: [{name: gap, file: out}]
END
# peak_of_plan SHARDS: in KiB.
peak_of_plan()
{
	/usr/bin/time -f %M -o time "$SBTRACE" job plan -n "$1" -o plan job.yaml >err 2>&1 || fail "plan: $(cat err)"
	rm -rf plan plan.checkpoints
	cat time
}
few=$(peak_of_plan 4) many=$(peak_of_plan 640)
most=$(($(wc -c <longest.data) / 1024 / 4))
echo "a plan: $few KiB with 4 shards, $many with 640; at most $most more are fine"
[ $((many - few)) -le $most ] || fail "a plan of 640 shards: from $few to $many KiB"
[ $failures -eq 0 ]
