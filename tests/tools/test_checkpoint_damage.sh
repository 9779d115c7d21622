#!/bin/sh
# Shards read what is known of the system from a checkpoint, and find out which of it they looked at is what was written:
# whatever bytes of it are other ones, a shard gives the result that it would give without that, or none.
set -u
[ -z "${SANITIZE:-}" ] || { echo "skipped: with sanitizers, fuzz/checkpoint"; exit 77; }
. "$SOURCE_DIR/tests/tools/recordings.sh"
with_truth=
python3 -c 1 2>/dev/null || { echo "skipped: no python3 here"; exit 77; }
cd "$dir" || exit 1

# Of so many switches that no shard looks at all of them: some 15,000.
record loops -c 1 --mtc --psb-period 512 -- sh -c 'for i in 1 2 3; do (a=0; while [ $a -lt 20 ]; do a=$((a+1)); done) & done
	wait' || exit 1
"$BUILD_DIR/tests/bench/repeat" 150 loops.data long.data >log 2>&1 || { cat log; exit 1; }
printf 'version: 1\nroots: [loops.root]\nhost_root: false\nrecording: long.data\nsinks:\n' >job.yaml
printf -- '- {name: summary, file: out}\n- {name: gap, file: out.gap}\n' >>job.yaml
expect 0 '' "$SBTRACE" job plan -n 32 job.yaml -o plan
expect 0 '' "$SBTRACE" job run --jobs 1 plan --shard 17
result=plan.shards/000017.shard
[ -s $result ] && mv $result good || fail "no result"

# changed FROM TO: the bytes there are other ones; once more, and they are as before.
changed()
{
	python3 -c 'import sys
begin, end = int(sys.argv[1]), int(sys.argv[2])
with open("plan.checkpoints", "r+b") as file:
    file.seek(begin)
    other = bytes(byte ^ 0x41 for byte in file.read(end - begin))
    file.seek(begin)
    file.write(other)' "$1" "$2"
}

size=$(wc -c <plan.checkpoints)
tries=24
same=0 refused=0
for i in $(seq 0 $((tries - 1))); do
	from=$((i * size / tries)) to=$(((i + 1) * size / tries))
	changed $from $to
	rm -f $result
	"$SBTRACE" job run --jobs 1 plan --shard 17 >log 2>&1
	status=$?
	if [ ! -e $result ]; then
		refused=$((refused + 1))
		[ $status -eq 1 ] || fail "bytes $from to $to of $size: exit status $status and no result: $(cat log)"
	elif cmp -s $result good; then
		same=$((same + 1))
	else
		fail "bytes $from to $to of $size are other ones: another result, and nobody says so"
	fi
	changed $from $to
done
echo "of $tries changes in $size bytes, $refused were found; $same made no difference"
[ $same -gt 0 ] && [ $refused -gt 0 ] || fail "all of it was looked at, or nothing"
[ $failures -eq 0 ]
