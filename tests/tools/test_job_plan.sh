#!/bin/sh
# Jobs in shards: however many, in whatever order, killed or run twice, they give the bytes of the job as a whole,
# for every sink; what is missing, cut short or foreign is named.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=job_plan
with_truth=

# The sinks that take no file of their own, and those that do.
all_sinks="insn block gap summary script counts lcov tally folded flame chrome perfetto html callgrind pprof jsonl"

# job FILE OUT ROOT RECORDING...: a job with all sinks.
job()
{
	file=$1
	out=$2
	root=$3
	shift 3
	mkdir -p "$out"
	{
		printf 'version: 1\nroots: [%s]\nhost_root: false\nsymbols: true\nrun_record: %s/run.json\nrecordings:\n' "$root" "$out"
		printf -- '- %s\n' "$@"
		echo 'sinks:'
		for sink in $all_sinks; do
			echo "- {name: $sink, file: \"$out/{number}.$sink\"}"
		done
		for sink in bolt autofdo; do
			echo "- {name: $sink, file: \"$out/{number}.$sink\", with: {file: \"*/libc.so*\"}}"
		done
	} >"$file"
}

# shards N OUT REFERENCE OPTIONS...: out.yaml in N shards gives what is in REFERENCE.
shards()
{
	count=$1
	reference=$2
	rm -rf out plan plan.shards
	mkdir out
	expect 0 '' "$SBTRACE" job plan -n "$count" out.yaml -o plan
	expect 0 '' "$SBTRACE" job run plan --shard all -j 3
	expect 0 '' "$SBTRACE" job merge plan
	rm -f out/run.json
	diff -rq out "$reference" || fail "$count shards give something else"
}

# Many PSBs, so that seams are everywhere: in calls, between interrupts, beside overflows and switches.
record seams -c 2 --mtc --psb-period 512 --overflow-every 3000 -- sh -c 'echo a; (echo b; true) | cat; cat </dev/null' || exit 1
record late -c 1 -- /bin/true || exit 1
cd "$dir" || exit 1
mkdir in
cp seams.data in/a.data
cp late.data in/b.data
job whole.yaml whole "seams.root, late.root" 'in/*.data'
job out.yaml out "seams.root, late.root" 'in/*.data'
expect 0 '' "$SBTRACE" job run --jobs 1 whole.yaml
rm whole/run.json
[ "$(find whole -type f -size +0 | wc -l)" -ge 30 ] || fail "outputs: $(ls -l whole)"
several="1 7 64"
numbers="1 2 7 64"
[ -z "${SANITIZE:-}" ] || { several="1 7"; numbers="2 64"; }
for n in $numbers; do
	shards $n whole
done

# ---- Those who only count -----------------------------------------------------------------------------------------

# counts FILE OUT BY: a job whose sinks take flow that was added up by shards, but for "line".
counts()
{
	mkdir -p "$2"
	cat >"$1" <<-END
	version: 1
	roots: [seams.root, late.root]
	host_root: false
	symbols: true
	recordings: [in/a.data, in/b.data]
	run_record: $2/run.json
	sinks:
	- {name: summary, file: "$2/{number}.summary", with: {functions: 1000}}
	- {name: gap, file: "$2/{number}.gap"}
	- {name: tally, file: "$2/{number}.tally", with: {by: $3}}
	END
}
for by in function block line; do
	counts by.yaml counted-$by $by
	expect 0 '' "$SBTRACE" job run --jobs 1 by.yaml
	for n in $several; do
		rm -rf out plan plan.shards
		counts out.yaml out $by
		expect 0 '' "$SBTRACE" job plan -n $n out.yaml -o plan
		expect 0 '' "$SBTRACE" job run plan --shard all -j 3
		expect 0 '' "$SBTRACE" job merge plan
		diff -rq -x run.json out counted-$by || fail "counts by $by, in $n shards, are something else"
		[ $n -gt 1 ] || wc -c <plan.shards/000000.shard >$by.size
	done
done
[ "$(cat function.size)" -lt "$(cat line.size)" ] || fail "sums are as large as flow: $(cat function.size line.size)"
cmp counted-block/1.summary counted-function/1.summary || fail "summaries differ"
job out.yaml out "seams.root, late.root" 'in/*.data'

# ---- One after the other, killed, twice -------------------------------------------------------------------------

rm -rf out plan plan.shards
mkdir out
# How many there are may be one less than what is asked for, as PSBs stand.
for n in 9 10 11; do
	rm -rf plan plan.shards plan.checkpoints
	expect 0 '' "$SBTRACE" job plan -n $n out.yaml -o plan
	count=$(grep -oE '"shards": [0-9]+' plan | grep -oE '[0-9]+')
	[ "$count" -ne 9 ] || break
done
[ "$count" -eq 9 ] || fail "shards in the plan: $count"
expect 1 '9 of 9 shards .*--shard 0-8\)' "$SBTRACE" job merge plan
for i in 8 3 0; do
	expect 0 '' "$SBTRACE" job run plan --shard $i
done
cp plan.shards/000003.shard three
expect 0 '' "$SBTRACE" job run plan --shard 3
expect 0 '' "$SBTRACE" job run plan --shard 3 --again
cmp three plan.shards/000003.shard || fail "a shard that is run twice gives something else"
expect 1 '6 of 9 shards .*--shard 1-2,4-7\)' "$SBTRACE" job merge plan
grep -q 'plan.shards/000002.shard: is not there' err.txt || fail "the missing file is not named: $(cat err.txt)"
[ -z "$(ls out)" ] || fail "outputs, although shards are missing: $(ls out)"
for delay in 0.001 0.01 0.03; do
	"$SBTRACE" job run plan --shard 1-2,4-7 --again >/dev/null 2>&1 &
	sleep $delay
	kill -9 $!
	wait $!
done
"$SBTRACE" job run plan --shard 1-4 --again 2>err1.txt & first=$!
"$SBTRACE" job run plan --shard 2-7 --again 2>err2.txt & second=$!
wait $first || fail "two at a time: $(cat err1.txt)"
wait $second || fail "two at a time: $(cat err2.txt)"
(cd / && "$SBTRACE" job merge "$dir/plan") || fail "merge in another directory"
rm -f out/run.json
diff -rq out whole || fail "shards one after the other give something else"

# ---- The run record ---------------------------------------------------------------------------------------------

# By what the plan knows of recordings, or by their sums, as without shards.
"$SBTRACE" job merge plan >/dev/null 2>err1.txt || fail "merge: $(cat err1.txt)"
grep -q '"sample"' out/run.json || fail "nothing is said of recordings: $(cat out/run.json)"
grep -q '"input"' out/run.json && fail "recordings have sums that nobody asked for"
expect 0 'all is the same' "$SBTRACE" job verify out.yaml
expect 0 '' "$SBTRACE" job merge plan --sums
sum=$(sha256sum in/a.data | cut -d' ' -f1)
grep -q "\"a.data\": \"$sum\"" out/run.json || fail "no sum $sum: $(cat out/run.json)"
rm -f out/run.json

# ---- Checkpoints ------------------------------------------------------------------------------------------------

# Without one, or with a broken one, all records are read, and nothing else changes.
[ -s plan.checkpoints ] || fail "there are no checkpoints"
mv plan.checkpoints kept
expect 0 'note: all records .*plan.checkpoints: cannot be opened' "$SBTRACE" job run plan --shard 3 --again
cmp three plan.shards/000003.shard || fail "without a checkpoint, a shard is something else"
head -c 300 kept >plan.checkpoints
expect 0 'note: all records .*plan.checkpoints: .*expected [0-9]+ bytes of a checkpoint' "$SBTRACE" job run plan --shard 3 --again
cmp three plan.shards/000003.shard || fail "with a checkpoint that is cut, a shard is something else"
cp kept plan.checkpoints
printf 'something else' | dd of=plan.checkpoints bs=1 seek=600 conv=notrunc 2>/dev/null
expect 0 'note: all records .*no checkpoint: .*damaged' "$SBTRACE" job run plan --shard 3 --again
cmp three plan.shards/000003.shard || fail "with a damaged checkpoint, a shard is something else"
mv kept plan.checkpoints

# ---- What is wrong with results ---------------------------------------------------------------------------------

cp -r plan.shards good
head -c 1000 good/000005.shard >plan.shards/000005.shard
expect 1 '--shard 5\)' "$SBTRACE" job merge plan
grep -q '000005.shard: offset 0x3e8: .*ends here' err.txt || fail "cut short: $(cat err.txt)"
: >plan.shards/000005.shard
expect 1 '000005.shard.*ends here' "$SBTRACE" job merge plan
cp good/000004.shard plan.shards/000005.shard
expect 1 '000005.shard: expected the result of shard 5' "$SBTRACE" job merge plan
cp whole/1.insn plan.shards/000005.shard
expect 1 '000005.shard: .*found something else' "$SBTRACE" job merge plan
expect 0 '' "$SBTRACE" job plan -n 3 out.yaml -o other
expect 0 '' "$SBTRACE" job run other --shard 1
cp other.shards/000001.shard plan.shards/000001.shard
expect 1 '000001.shard: expected the result of the plan' "$SBTRACE" job merge plan
cp good/* plan.shards
# Of the first one, nothing is left to another.
printf 'something else' | dd of=plan.shards/000000.shard bs=1 seek=100 conv=notrunc 2>/dev/null
expect 1 '000000.shard: offset 0x[0-9a-f]+: .*damaged' "$SBTRACE" job merge plan
expect 0 '' "$SBTRACE" job run plan --shard all
expect 0 '' "$SBTRACE" job merge plan

# ---- What is wrong with plans -----------------------------------------------------------------------------------

sed 's/"shards": 9/"shards": 8/' plan >changed
expect 1 'its hash is not' "$SBTRACE" job run changed --shard 1
expect 1 'there is no shard 9: the last one is 8' "$SBTRACE" job run plan --shard 2,9
expect 2 "expected a list of shards such as 0-7,12, found '3-'" "$SBTRACE" job run plan --shard 3-
expect 1 'expected "format"|no plan' "$SBTRACE" job merge out.yaml
expect 2 'which plan' "$SBTRACE" job merge
expect 2 'where is the plan' "$SBTRACE" job plan out.yaml
printf 'version: 1\nrecording: "-"\n' >pipe.yaml
expect 1 'name a file' "$SBTRACE" job plan pipe.yaml -o pipe.plan
printf 'something else' | dd of=in/b.data bs=1 seek=3000 conv=notrunc 2>/dev/null
expect 1 'in/b.data: .*is not what it was' "$SBTRACE" job run plan --shard 8 --again
cp late.data in/b.data

# ---- What a job has besides sinks -------------------------------------------------------------------------------

# both NAME LINES: the job with these lines gives the same in shards, and the same status.
both()
{
	rm -rf whole2 out plan plan.shards
	job one.yaml whole2 "seams.root, late.root" 'in/*.data'
	job out.yaml out "seams.root, late.root" 'in/*.data'
	printf '%s\n' "$2" | tee -a one.yaml >>out.yaml
	"$SBTRACE" job run --jobs 1 one.yaml >/dev/null 2>err1.txt
	whole_status=$?
	expect 0 '' "$SBTRACE" job plan -n 5 out.yaml -o plan
	expect 0 '' "$SBTRACE" job run plan --shard all
	"$SBTRACE" job merge plan >/dev/null 2>err2.txt
	got=$?
	[ $got -eq $whole_status ] || fail "$1: $got instead of $whole_status: $(cat err2.txt)"
	rm -f whole2/run.json out/run.json
	diff -rq whole2 out || fail "$1: shards give something else"
}
tsc=$(sed -n 9000p whole/1.insn | cut -f 4)
pid=$(sed -n 9000p whole/1.insn | cut -f 2)
both cpu 'cpu: [1]'
both pid "pid: [$pid]"
both time "time: {from: \"$tsc\"}"
both function 'function: ["_dl*"]'
both strict 'strict: true'
printf 'no recording' >in/c.data
both on_error 'on_error: skip'
grep -q 'passed over' err2.txt || fail "nothing is passed over: $(cat err2.txt)"
job out.yaml out "seams.root" 'in/*.data'
expect 1 'in/c.data' "$SBTRACE" job plan out.yaml -o plan

# ---- The corpus -------------------------------------------------------------------------------------------------

all_sinks="block gap summary counts folded perfetto"
for name in user-true user-pipe user-threads-overflow kernel-pti; do
	[ $name != kernel-pti ] || all_sinks="gap summary counts folded"
	corpus=$CORPUS_DIR/$name
	[ -z "${SANITIZE:-}" ] || continue
	[ -r "$corpus/perf.data" ] || { echo "skipped: no corpus, $name"; continue; }
	rm -rf corpus out
	job whole.yaml corpus "$corpus/root" "$corpus/perf.data"
	job out.yaml out "$corpus/root" "$corpus/perf.data"
	"$SBTRACE" job run --jobs 1 whole.yaml >/dev/null 2>&1 || fail "corpus $name"
	rm corpus/run.json
	shards 13 corpus
done

[ $failures -eq 0 ]
