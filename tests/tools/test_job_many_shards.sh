#!/bin/sh
# Merging many shards: of however many CPUs and shards, only some files are open at a time, also where the process may
# have few; memory does not grow with their number; the bytes are those of the job as a whole.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=job_many_shards
with_truth=

# More programs at a time than there are CPUs, or some of these have nothing to do.
record many -c 10 --mtc --psb-period 256 -- sh -c 'cat /etc/passwd | cat | cat | cat | cat | tac | cat | cat | cat | cat | sort -r | tail -n 1' || exit 1
cd "$dir" || exit 1

# job OUT: the outputs in OUT/, one of each kind: in the order of streams, in the order of time, sums, and calls.
job()
{
	mkdir -p "$1"
	printf 'version: 1\nroots: [many.root]\nhost_root: false\nsymbols: true\nrecording: many.data\nrun_record: %s/run.json\nsinks:\n' "$1"
	for sink in block jsonl summary tally folded counts; do
		echo "- {name: $sink, file: $1/$sink}"
	done
}

job whole >whole.yaml
expect 0 '' "$SBTRACE" job run --jobs 1 whole.yaml
rm whole/run.json

# shards N: what comes out of N shards; $peak: memory of the merge, in KiB; 0: nobody can tell.
shards()
{
	rm -rf out plan plan.shards plan.checkpoints
	job out >out.yaml
	expect 0 '' "$SBTRACE" job plan -n "$1" out.yaml -o plan
	expect 0 '' "$SBTRACE" job run plan --shard all
	# A few less where one would begin where another one does.
	nshards=$(ls plan.shards/*.shard | wc -l)
	[ "$nshards" -le "$1" ] && [ "$nshards" -ge $(($1 * 9 / 10)) ] || fail "$1 shards: $(ls plan.shards | wc -l) files"
	merge "$1"
}

# merge N [LIMIT]: with so many files open at most.
merge()
{
	rm -rf out
	mkdir out
	if [ -x /usr/bin/time ]; then
		(ulimit -n "${2:-1024}" && /usr/bin/time -f %M -o peak "$SBTRACE" job merge plan) >log 2>&1 || fail "merge of $1, ${2:-1024} files: $(cat log)"
	else
		(ulimit -n "${2:-1024}" && "$SBTRACE" job merge plan) >log 2>&1 || fail "merge of $1, ${2:-1024} files: $(cat log)"
		echo 0 >peak
	fi
	peak=$(tail -n 1 peak)
	rm -f out/run.json
	diff -rq out whole || fail "$1 shards, ${2:-1024} files: something else"
}

shards 40
few=$peak
shards 160
[ -n "$SANITIZE" ] || [ "$peak" -le $((few + few / 4 + 2048)) ] || fail "merging takes $peak KiB for 160 shards, $few for 40"
echo "merging: $few KiB for 40 shards, $peak for 160"

# Of the results of ten CPUs, eight are open at a time: there are binaries that want to be opened, too.
! command -v jq >/dev/null || [ "$(jq '.recordings[0].parts | length' plan)" -ge 10 ] || fail "not enough streams"
merge 160 32
[ $failures -eq 0 ]
