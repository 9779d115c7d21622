#!/bin/sh
# Shards of a job that only counts add up: each output is, with any number of shards, that of one machine; what lacks, or was cut
# short, is refused, and made again alone.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=job_shard_counts
with_truth=

cat >"$dir/program.c" <<'END'
#include <stdio.h>

static int is_odd(int n) { return n & 1; }

int main(void)
{
	int odd = 0;

	for (int i = 0; i < 200; i++)
		if (is_odd(i))
			odd++;
	printf("%d\n", odd);
	return 0;
}
END
${CC:-cc} -g -O0 -o "$dir/program" "$dir/program.c" || exit 1
record many -c 2 --mtc --psb-period 512 -- sh -c "ls /usr | sort | head -n 3; (\"$dir\"/program; true) | cat" || exit 1
cd "$dir" || exit 1

# job OUT SINK...: each is NAME or NAME/SETTING; what each writes is OUT/NAME or OUT/NAME.SETTING.
job()
{
	out=$1
	shift
	mkdir -p "$out"
	printf 'version: 1\nroots: [many.root]\nhost_root: false\nsymbols: true\nrecording: many.data\nrun_record: %s/run.json\nsinks:\n' "$out"
	for sink in "$@"; do
		case $sink in
		*/*) echo "- {name: ${sink%/*}, file: $out/${sink%/*}.${sink#*/}, with: {by: ${sink#*/}}}" ;;
		*) echo "- {name: $sink, file: $out/$sink}" ;;
		esac
	done
}

# same N SINK...: in N shards, they are what one machine writes.
same()
{
	n=$1
	shift
	rm -rf out plan plan.shards plan.checkpoints
	job out "$@" >out.yaml
	expect 0 '' "$SBTRACE" job plan -n "$n" out.yaml -o plan
	expect 0 '' "$SBTRACE" job run plan --shard all
	expect 0 '' "$SBTRACE" job merge plan
	rm -f out/run.json
	for file in out/*; do
		cmp "$file" "whole/${file#out/}" || fail "$n shards of $*: something else"
	done
}

all='counts lcov bolt autofdo tally tally/line tally/block summary'
# shellcheck disable=SC2086 # words
job whole $all counts/process >whole.yaml
expect 0 '' "$SBTRACE" job run --jobs 1 whole.yaml
rm whole/run.json
for file in whole/*; do
	[ -s "$file" ] || fail "nothing is counted: $file"
done

for n in 1 2 7 64; do
	# shellcheck disable=SC2086 # words
	same "$n" $all
done
for sink in $all; do
	same 7 "$sink"
done
for n in 2 7 64; do
	same "$n" counts/process
done
# shellcheck disable=SC2086 # words
same 7 $all counts/process
printf -- '- {name: jsonl, file: out/jsonl}\n' >more
cat out.yaml more >flow.yaml
expect 0 '' "$SBTRACE" job plan -n 7 flow.yaml -o flow
expect 0 '' "$SBTRACE" job run flow --shard all
flow=$(cat flow.shards/*.shard | wc -c)
same 7 counts
sums=$(cat plan.shards/*.shard | wc -c)
[ "$sums" -lt "$flow" ] || fail "sums take $sums bytes, the flow $flow"

# A result that was cut short, or is missing, is refused by its number; made again alone, all is as before.
truncate -s -300 plan.shards/000003.shard
expect 1 '000003.shard' "$SBTRACE" job merge plan
rm plan.shards/000005.shard
expect 1 '2 of 7 shards have no result that can be merged: run them again \(--shard 3,5\)' "$SBTRACE" job merge plan
expect 0 '' "$SBTRACE" job run plan --shard 3,5
rm -f out/*
expect 0 '' "$SBTRACE" job merge plan
cmp out/counts whole/counts || fail "shards that were made again: something else"
[ $failures -eq 0 ]
