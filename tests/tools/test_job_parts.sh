#!/bin/sh
# A job that is killed within a recording goes on: parts that were finished are not decoded again, and whatever happens on
# the way, the outputs are those of the recording as a whole.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=job_parts
with_truth=

record one -- /bin/true || exit 1
record long -c 2 --mtc --psb-period 512 -- sh -c 'cat /etc/passwd | sort | head -n 2; (echo b; true) | cat' || exit 1
cd "$dir" || exit 1

# job NAME LINE...: a job with these lines, too.
job()
{
	name=$1
	shift
	{
		printf 'version: 1\nrecording: long.data\nroots: [long.root, one.root]\nhost_root: false\nsinks:\n'
		for sink in folded counts jsonl; do
			echo "- {name: $sink, file: out/long.$sink}"
		done
		[ $# -eq 0 ] || printf '%s\n' "$@"
	} >"$name"
}
# nothing_left WHEN: neither halves, nor parts.
nothing_left()
{
	[ "$(ls parts)" = lock ] || fail "$1: parts are left: $(ls parts)"
	[ -z "$(find . -name '*.tmp*')" ] || fail "$1: left behind: $(find . -name '*.tmp*')"
	rm out/*.run.json
	diff -r out reference || fail "$1: something else"
	rm -rf out
	mkdir out
}
parts='parts: {directory: parts, size: 8K}'
rm -rf out reference
mkdir out
job long.yaml
"$SBTRACE" job run long.yaml || fail "as a whole"
rm out/*.run.json
mv out reference
mkdir out
job parts.yaml "$parts"
# timed WORDS...: ms into $took, when it is the shortest: a machine that stands still for once says nothing.
took=
timed()
{
	begin=$(date +%s%N)
	"$SBTRACE" job run "$@" parts.yaml 2>err || fail "in parts, $*: $(cat err)"
	now=$((($(date +%s%N) - begin) / 1000000))
	[ -n "$took" ] && [ "$took" -le $now ] || took=$now
}
timed
nothing_left "in parts"
# Both of what it does tell how far they are.
timed --progress
for label in 'parts ' ''; do
	grep -q "^${label}100% \[=*\] .* MB/s, 00:00 left\$" err || fail "no progress: '$label': $(cat err)"
done
nothing_left "--progress"

# How many parts there are says who goes on: killed as soon as there is one, which a busy machine may see too late.
nparts= tries=0
while [ -z "$nparts" ]; do
	tries=$((tries + 1))
	[ $tries -le 20 ] || { fail "never killed between the first part and the last one"; exit 1; }
	"$SBTRACE" job run parts.yaml 2>err &
	pid=$!
	while kill -0 $pid 2>/dev/null && ! [ -f parts/plan.shards/000000.shard ]; do :; done
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
	"$SBTRACE" job run --resume parts.yaml 2>err || fail "killed at the first part: going on: $(cat err)"
	nparts=$(sed -n 's/.*note: long.data: [0-9]* of \([0-9]*\) parts.*/\1/p' err)
	nothing_left "killed at the first part"
done

killed=0 found=0
# At eight moments of the run, one as far from the next as the other.
for round in 1 2 3 4 5 6 7 8; do
	resume=
	# Every other one is killed once more while it goes on.
	for again in $(seq $((1 + round % 2))); do
		"$SBTRACE" job run $resume parts.yaml 2>err &
		pid=$!
		sleep "$(awk -v at="$round" -v took="$took" 'BEGIN { printf "%.3f", (at - 0.5) / 8 * took / 1000 }')"
		kill -9 $pid 2>/dev/null
		wait $pid 2>/dev/null
		[ $? -ne 137 ] || killed=$((killed + 1))
		resume=--resume
	done
	there=$(find parts -name '[0-9]*.shard' | wc -l) is_done=
	! grep -qs '"finished"' out/parts.run.json || is_done=yes
	"$SBTRACE" job run --resume --jobs 1 parts.yaml 2>err || fail "round $round: going on: $(cat err)"
	# Once it is in the run record, what is left of parts is only removed.
	[ "$there" -eq 0 ] || [ "$is_done" ] || grep -q "note: long.data: $there of [0-9]* parts are there already" err ||
		fail "round $round: $there parts, but: $(cat err)"
	found=$((found + there))
	nothing_left "round $round"
done
echo "in parts: killed $killed times of 12, $took ms long; $found parts were not decoded again"

last=parts/plan.shards/$(printf %06d $((nparts - 1))).shard
# What is killed while parts are merged merges anew, but decodes none of them again.
is_written()
{
	set -- out/*.tmp*
	[ -e "$1" ]
}
# kill_merge RESUME: is killed as soon as all parts are there, and an output is being written. It is looked for without a
# pause, and without another process: a merge takes as long as either, and ends with all outputs in their places.
kill_merge()
{
	"$SBTRACE" job run $1 parts.yaml 2>err &
	pid=$!
	while kill -0 $pid 2>/dev/null && ! { [ -f "$last" ] && is_written; }; do :; done
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
	parts_there=$(stat -c '%i %n' parts/plan.shards/*.shard 2>/dev/null)
	[ "$(echo "$parts_there" | grep -c .)" -eq "$nparts" ]
}
merges=0 round=0
while [ $round -lt 3 ] || [ $merges -eq 0 ]; do
	round=$((round + 1))
	[ $round -le 20 ] || { fail "never killed in the merge"; exit 1; }
	kill_merge "" && first=$parts_there && kill_merge --resume && {
		merges=$((merges + 1))
		[ "$parts_there" = "$first" ] || fail "killed in the merge, round $round: parts were decoded again: $parts_there"
		[ "$(ls out | grep -vc tmp)" -eq 0 ] || fail "killed in the merge, round $round: half an output: $(ls out)"
	}
	"$SBTRACE" job run --resume parts.yaml 2>err || fail "killed in the merge: going on: $(cat err)"
	nothing_left "killed in the merge, round $round"
done
echo "killed in the merge twice in $merges of $round rounds"

# However far it came: the limit of disk space ends it.
# until_full LIMIT: goes on until so much is written; the parts that are there, to $there.
until_full()
{
	job parts.yaml "$parts" "limits: {disk: $1}"
	"$SBTRACE" job run --resume parts.yaml 2>err && fail "$1 are enough"
	grep -q "the job's limit of disk space is reached" err || fail "limit: $(cat err)"
	there=$(stat -c %i:%n parts/plan.shards/*.shard)
	[ "$(du -b --apparent-size parts/plan.shards/*.shard | awk '{ n += $1 } END { print n + 0 }')" -le $((${1%K} * 1024 + 300000)) ] ||
		fail "$1: too much: $(du -b parts)"
}
until_full 200K
first=$there
until_full 600K
[ "$(echo "$there" | wc -l)" -gt "$(echo "$first" | wc -l)" ] || fail "it does not get on: $there"
for part in $first; do
	echo "$there" | grep -qxF "$part" || fail "decoded again: $part"
done
# A part that was damaged is decoded again, a run beside this one waits for nobody, and another recording has other parts.
part=$(echo "$there" | sed -n '2s/[^:]*://p')
spoil "$part" $(($(wc -c <"$part") / 2))
job parts.yaml "$parts"
flock parts/lock "$SBTRACE" job run --resume parts.yaml 2>err && fail "two at a time"
grep -q 'parts are being made there by another run' err || fail "two at a time: $(cat err)"
"$SBTRACE" job run --resume parts.yaml 2>err || fail "a damaged part: $(cat err)"
nothing_left "a damaged part"
until_full 200K
cp one.data long.data
job long.yaml
rm -rf reference
"$SBTRACE" job run long.yaml || fail "another recording"
rm out/*.run.json
mv out reference
mkdir out
job parts.yaml "$parts"
"$SBTRACE" job run --resume parts.yaml 2>err || fail "another recording: $(cat err)"
nothing_left "another recording"

# What somebody else has there is neither removed nor replaced.
# refused FILE WHEN: because of it; all that is in mine/ and elsewhere/ stays.
refused()
{
	rm -rf before
	mkdir before
	cp -a mine elsewhere before
	for resume in '' --resume; do
		"$SBTRACE" job run $resume mine.yaml 2>err && fail "$2 $resume: not refused"
		grep -q "$1: is there, but was not made for a job's parts: move it away" err || fail "$2 $resume: $(cat err)"
		diff -r --no-dereference -x lock before/mine mine && diff -r before/elsewhere elsewhere || fail "$2 $resume: touched"
	done
	rm -rf out mine elsewhere
	mkdir out mine elsewhere
}
mkdir mine elsewhere
job mine.yaml 'parts: {directory: mine, size: 8K}'
"$SBTRACE" job plan long.yaml -o mine/plan && "$SBTRACE" job run mine/plan --shard all || fail "a plan"
ls mine/plan.shards/*.shard >err || fail "a plan without results"
refused mine/plan "a plan"
echo text >mine/plan
refused mine/plan "a text"
echo text >mine/plan.checkpoints
refused mine/plan.checkpoints "checkpoints"
mkdir mine/plan.shards
echo text >mine/plan.shards/0.shard
refused mine/plan.shards "results"
echo '{"sbtrace": "1"}' >mine/made-for.json
echo text >mine/plan
refused mine/plan "made for something else"
ln -s ../elsewhere mine/plan.shards
echo text >elsewhere/0.shard
refused mine/plan.shards "a symbolic link"
# Not even where parts are.
job mine.yaml 'parts: {directory: mine, size: 8K}' 'limits: {disk: 200K}'
"$SBTRACE" job run mine.yaml 2>err && fail "200K are enough"
[ -f mine/made-for.json ] || fail "no parts: $(ls mine)"
rm -rf mine/plan.shards
ln -s ../elsewhere mine/plan.shards
echo text >elsewhere/0.shard
refused mine/plan.shards "a symbolic link in parts"
# Nor when all is done, and parts that were left are removed: no recording is decoded.
job mine.yaml 'parts: {directory: mine, size: 8K}'
"$SBTRACE" job run mine.yaml 2>err || fail "done: $(cat err)"
echo text | tee mine/plan >elsewhere/0.shard
ln -s ../elsewhere mine/plan.shards
"$SBTRACE" job run --resume mine.yaml 2>err || fail "done already: $(cat err)"
cat mine/plan elsewhere/0.shard >err || fail "done already: touched"
[ $failures -eq 0 ]
