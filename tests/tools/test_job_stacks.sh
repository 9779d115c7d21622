#!/bin/sh
# Shards of a job that wants call stacks add up what happens above the frames that they do not know: each output is, with
# any number of shards, that of one machine, over longjmp, exceptions, tail calls, trampolines, signals and coroutines.
# So it is for who called whom (callgrind), and where other outputs of the job count (lcov, counts, summary), and for
# the report (html), also where most of its stacks have to make room, or few are told of.
# What is called and returns as it should is not decoded once more.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=job_stacks
with_truth=
workloads=$BUILD_DIR/tests/workloads
cd "$dir" || exit 1

# job OUT RECORDING WHAT: stacks, all (with what counts), callgrind (alone), html (and folded), or time
job()
{
	mkdir -p "$1"
	printf 'version: 1\nroots: [%s.root]\nhost_root: false\nrecording: %s.data\nrun_record: %s/run.json\nsinks:\n' "$2" "$2" "$1"
	case $3 in
	callgrind) echo "- {name: callgrind, file: $1/callgrind}"; return ;;
	html)
		echo "- {name: html, file: $1/html}"
		echo "- {name: html, file: $1/html.room, with: {keep: 2048}}"
		echo "- {name: html, file: $1/html.few, with: {keep: 2048, stacks: 100}}"
		echo "- {name: folded, file: $1/folded.comm}"
		return ;;
	esac
	for by in comm process thread container none; do
		echo "- {name: folded, file: $1/folded.$by, with: {by: $by}}"
	done
	echo "- {name: flame, file: $1/flame}"
	echo "- {name: pprof, file: $1/pprof}"
	case $3 in
	time) echo "- {name: folded, file: $1/time, with: {weight: time}}" ;;
	all) printf -- '- {name: %s, file: '"$1"'/%s}\n' callgrind callgrind lcov lcov summary summary gap gap
		echo "- {name: counts, file: $1/counts, with: {by: process}}" ;;
	esac
}

# shards N NAME WHAT: what is in out is that of one machine, in whole. What the merge said goes to said.
shards()
{
	rm -rf out plan plan.shards plan.checkpoints
	job out "$2" "$3" >out.yaml
	expect 0 '' "$SBTRACE" job plan -n "$1" out.yaml -o plan
	expect 0 '' "$SBTRACE" job run plan --shard all
	expect 0 '' "$SBTRACE" job merge plan
	cat "$dir/err.txt" >>said
	rm -f out/run.json
	for file in out/*; do
		cmp "whole/${file#out/}" "$file" || fail "$2 ($3) in $1 shards: something else"
	done
}

# same NAME N...: the recording, in N shards, and its report in as many as came last; with sanitizers, in 7. What the
# merges said is in said.
same()
{
	name=$1
	shift
	[ -z "${SANITIZE:-}" ] || set -- 7
	rm -rf whole out
	job whole "$name" all >whole.yaml
	expect 0 '' "$SBTRACE" job run --jobs 1 whole.yaml
	rm whole/run.json
	[ "$(wc -l <whole/folded.comm)" -gt 10 ] || fail "$name: hardly a stack"
	: >said
	for n in "$@"; do
		shards "$n" "$name" all
		[ "$(ls whole | wc -l)" -eq "$(ls out | wc -l)" ] || fail "$name in $n shards: not all outputs"
	done
	shards "$n" "$name" callgrind
	job whole "$name" html >whole.yaml
	expect 0 '' "$SBTRACE" job run --jobs 1 whole.yaml
	rm whole/run.json
	cmp whole/html whole/html.room || fail "$name: with less room, a report is another one"
	cmp -s whole/html whole/html.few && fail "$name: no less is told than by default"
	shards "$n" "$name" html
}

record many -c 2 --mtc --psb-period 512 -- sh -c "ls /usr | sort | head -n 3; (ls / ; true) | cat" && same many 1 2 7 64
for n in 2 7; do [ -n "${SANITIZE:-}" ] || shards "$n" many html; done
grep 'once more' said && fail "ordinary calls were decoded once more"
# Results are a fraction of the flow.
shards 64 many stacks
sums=$(cat plan.shards/*.shard | wc -c)
job out many time >time.yaml
expect 0 '' "$SBTRACE" job plan -n 64 time.yaml -o flow
expect 0 '' "$SBTRACE" job run flow --shard all
flow=$(cat flow.shards/*.shard | wc -c)
[ $((2 * sums)) -lt "$flow" ] || fail "sums take $sums bytes, the flow $flow"
expect 0 '' "$SBTRACE" job merge flow
cmp whole/folded.comm out/folded.comm || fail "by instructions and by time: something else"

record stacks -c 2 --mtc --no-retcomp --psb-period 512 -- "$workloads/stacks" && same stacks 2 7 64
[ ! -x "$workloads/throws-static" ] ||
	{ record throws -c 1 --mtc --psb-period 512 -- "$workloads/throws-static" && same throws 7; }
for program in turns shuffle; do
	${CC:-cc} -D_GNU_SOURCE -g -O1 -finstrument-functions -fno-omit-frame-pointer -o "$program" \
		"$SOURCE_DIR/tests/workloads/$program.c" "$SOURCE_DIR/tests/workloads/stacks_note.c" || fail "$program"
	record "$program" -c 1 --mtc --psb-period 512 -- "./$program" && same "$program" 2 7 64
done
record lost -c 2 --mtc --overflow-every 2000 --psb-period 512 -- "$workloads/stacks" && same lost 7
corpus="kernel-pti user-threads"
[ -z "${SANITIZE:-}" ] || corpus=user-threads # the other one has 300,000 stacks
for name in $corpus; do
	[ -e "$CORPUS_DIR/$name/perf.data" ] || { echo "skipped: no $CORPUS_DIR/$name"; continue; }
	ln -s "$CORPUS_DIR/$name/perf.data" "$name.data"
	ln -s "$CORPUS_DIR/$name/root" "$name.root"
	same "$name" 7
	grep 'once more' said && fail "$name was decoded once more"
done
[ $failures -eq 0 ]
