#!/bin/sh
# Jobs that run: many recordings, what is left of them when they are killed, going on, comparing, limits.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=job_run
with_truth=

no_temporaries()
{
	left=$(find . -name '*.tmp')
	[ -z "$left" ] || fail "$1: left behind: $left"
}

record one -c 2 -- /bin/true || exit 1
record two -c 2 --psb-period 512 -- /bin/echo hello || exit 1
record lossy --overflow-every 2000 -- /bin/echo lossy || exit 1
cd "$dir" || exit 1
mkdir in out
for i in 1 2 3; do
	cp one.data in/a$i.data
	cp two.data in/b$i.data
done
cat >job.yaml <<-END
	version: 1
	variables: {out: out}
	recordings: [in/a*.data, in/b*.data]
	roots: [one.root, two.root]
	host_root: false
	sinks:
	- {name: insn, file: "\${out}/{recording}.insn", symbols: true}
	- {name: block, file: "\${out}/{number}.block"}
	- {name: summary, file: "\${out}/{recording}.txt"}
END

# ---- All of it, and what it is ------------------------------------------------------------------------------

expect 0 '' "$SBTRACE" job check job.yaml
begin=$(date +%s%N)
expect 0 '' "$SBTRACE" job run --progress job.yaml
took=$((($(date +%s%N) - begin) / 1000000))
grep -q '^6/6 100% \[=*\] .* MB/s, 00:00 left$' err.txt || fail "no progress: $(cat err.txt)"
no_temporaries 'a job'
[ "$(find out -type f | wc -l)" -eq 19 ] || fail "files: $(ls out)"
cp -r out reference
"$SBTRACE" replay --root one.root --root two.root --no-host-root --symbols --sink insn=alone in/b2.data
cmp alone out/b2.insn || fail "a recording in a job gives something else"
cmp out/5.block reference/6.block || fail "equal recordings, other bytes"
if command -v jq >/dev/null; then
	[ "$(jq -r '.recordings[4].status' out/job.run.json)" = finished ] || fail "status in the run record"
	[ "$(jq -r '.recordings[4].outputs[0].sha256' out/job.run.json)" = \
		"$(sha256sum <out/b2.insn | cut -d' ' -f1)" ] || fail "SHA-256 of an output"
	[ "$(jq -r '.recordings[4].input."b2.data"' out/job.run.json)" = \
		"$(sha256sum <in/b2.data | cut -d' ' -f1)" ] || fail "SHA-256 of a recording"
	[ "$(jq -r '.recordings[4].account.instructions' out/job.run.json)" -eq "$(wc -l <out/b2.insn)" ] ||
		fail "the account in the run record"
fi

# What is shown is the same job.
"$SBTRACE" job show job.yaml >shown.yaml || fail "show"
"$SBTRACE" job show shown.yaml | cmp - shown.yaml || fail "what is shown is another job"
expect 0 '' "$SBTRACE" job run --jobs 1 shown.yaml
rm out/shown.run.json
rm -f reference/shown.run.json
diff -r out reference || fail "what is shown writes something else, or --jobs 1 does"

# ---- Filters ------------------------------------------------------------------------------------------------

record many -c 2 -- sh -c 'cat /etc/passwd | sort | head -3; echo end' || exit 1
"$SBTRACE" replay --root many.root --no-host-root --symbols --sink insn=all many.data

# same NAME OPTION VALUE KEY: a sink's own filter leaves what the option leaves.
same()
{
	"$SBTRACE" replay --root many.root --no-host-root "--$1" "$2" --symbols --sink insn=session many.data
	printf 'version: 1\nrecording: many.data\nroots: [many.root]\nhost_root: false\nsinks: [{name: insn, symbols: true, filter: {%s}}]\n' "$3" >filter.yaml
	"$SBTRACE" job run filter.yaml >own || fail "filter $3"
	cmp session own || fail "filter $3 is not --$1 $2"
	[ -s own ] && [ "$(wc -l <own)" -lt "$(wc -l <all)" ] || fail "filter $3 leaves all, or nothing"
}

pid=$("$SBTRACE" replay --root many.root --no-host-root many.data | awk '$3 == "sort" { print $1; exit }')
half=$(($(wc -l <all) / 2))
from=$(sed -n "$((half / 2))p" all | cut -f 4)
to=$(sed -n "${half}p" all | cut -f 4)
[ "$from" -lt "$to" ] || { keep=$from; from=$to; to=$keep; }
same pid "$pid" "pid: [$pid]"
same cpu 1 'cpu: [1]'
same comm 's*' 'comm: ["s*"]'
same time "$from,$to" "time: {from: $from, to: $to}"
same function '_dl_*' 'function: ["_dl_*"]'
same address 0x680000000000-0x800000000000 'address: [0x680000000000+0x180000000000]'

# And that is what these columns say.
awk -F '\t' '$6 ~ /^_dl_/' all >expected
"$SBTRACE" replay --root many.root --no-host-root --symbols --function '_dl_*' --sink insn=got many.data
cmp expected got || fail "--function is not what the column says"
# As text ("7e1234567890" is a number, too): libraries may be below 0x7f0000000000.
awk -F '\t' 'length($5) == 12 && $5 "" >= "680000000000" && $5 "" < "800000000000"' all >expected
cmp expected own || fail "--address is not what the column says"

# ---- Killed, and going on -----------------------------------------------------------------------------------

finished()
{
	[ -f out/job.run.json ] && grep -q "/in/$1.data\"" out/job.run.json
}

killed=0
kept=0
for round in 1 2 3 4 5 6 7 8; do
	rm -rf out
	mkdir out
	pause=$(awk -v at="$round" -v took="$took" 'BEGIN { printf "%.3f", (at - 0.5) / 8 * took / 1000 }')
	"$SBTRACE" job run job.yaml 2>err.txt &
	pid=$!
	sleep "$pause"
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
	[ $? -ne 137 ] || killed=$((killed + 1))
	# Only whole files, whenever that was.
	for file in out/*; do
		case $file in
		*.tmp | *.run.json | 'out/*') ;;
		*) cmp "$file" "reference/${file#out/}" || fail "killed after $pause s: half a file" ;;
		esac
	done
	before=
	for name in a1 a2 a3 b1 b2 b3; do
		finished $name && before="$before $(stat -c %i:%n out/$name.insn out/$name.txt)"
	done
	expect 0 '' "$SBTRACE" job run --resume job.yaml
	[ ! -s err.txt ] || fail "going on: $(cat err.txt)"
	for file in $before; do
		kept=$((kept + 1))
		[ "$(stat -c %i:%n "${file#*:}")" = "$file" ] || fail "written again: $file"
	done
	no_temporaries 'going on'
	diff -r out reference || fail "after a kill at $pause s: something else"
done
[ $killed -ge 3 ] || echo "note: only $killed of 8 were killed before they ended"
echo "killed $killed of 8; $kept files were not written again"

# What is not the same any more is done again.
expect 0 '' "$SBTRACE" job run --resume job.yaml
echo changed >>out/a2.txt
inode=$(stat -c %i out/b1.insn)
expect 0 '' "$SBTRACE" job run --resume job.yaml
diff -r out reference || fail "a changed output stays"
[ "$(stat -c %i out/b1.insn)" = "$inode" ] || fail "one changed, all done again"
expect 0 "all is done again, as 'sinks' is not the same" "$SBTRACE" job run --resume --sink gap=out/gaps.{number} job.yaml
rm out/gaps.*
expect 0 '' "$SBTRACE" job run job.yaml
diff -r out reference || fail "the same job once more"

# ---- Comparing ----------------------------------------------------------------------------------------------

expect 0 '^all is the same$' "$SBTRACE" job verify job.yaml
diff -r out reference || fail "verify changes what is there"
echo changed >>out/a2.txt
expect 1 'a2.data: .*/out/a2.txt as it is there is not the same as in the run record' "$SBTRACE" job verify job.yaml
cp reference/a2.txt out/a2.txt
sed 's/"instructions": [0-9]*/"instructions": 7/' reference/job.run.json >out/job.run.json
expect 1 'b3.data: the account is not the same as in the run record' "$SBTRACE" job verify job.yaml
sed "s/$(sha256sum <out/b3.insn | cut -c1-64)/0000/" reference/job.run.json >out/job.run.json
expect 1 'b3.data: .*/out/b3.insn is not the same' "$SBTRACE" job verify job.yaml
cp two.data in/a1.data
cp reference/job.run.json out/
expect 1 'a1.data: the recording is not the same' "$SBTRACE" job verify job.yaml
cp one.data in/a1.data
rm out/job.run.json
expect 1 'job.run.json: cannot be opened' "$SBTRACE" job verify job.yaml
echo '{"format": 1' >out/job.run.json
expect 1 'job.run.json: no run record: line [0-9]' "$SBTRACE" job verify job.yaml
expect 1 'job.run.json: no run record: line [0-9]' "$SBTRACE" job run --resume job.yaml
no_temporaries verify

# ---- Interrupted --------------------------------------------------------------------------------------------

mkfifo pipe
printf 'version: 1\nrecording: in/b1.data\nroots: [two.root]\nsinks: [{name: insn, file: pipe}, {name: block, file: stuck}]\n' >stuck.yaml
sleep 600 <pipe & # never reads: the job stands still, however long this takes
reader=$!
"$SBTRACE" job run stuck.yaml 2>err.txt &
pid=$!
while [ ! -e stuck.tmp ] && kill -0 $pid 2>/dev/null; do sleep 0.02; done
[ -e stuck.tmp ] || fail "it is not being written"
expect 1 'stuck: is being written by another run' "$SBTRACE" replay --root two.root --sink block=stuck in/b1.data
kill -TERM $pid
# It has been told before the reader goes.
while grep -qs '^ShdPnd:.*[1-9a-f]' /proc/$pid/status; do sleep 0.02; done
sleep 0.5
kill $reader 2>/dev/null
wait $pid
[ $? -eq 143 ] || fail "interrupted, but not ended by the signal: $(cat err.txt)"
grep -q interrupted err.txt || fail "nothing said of the interruption: $(cat err.txt)"
no_temporaries 'interrupted'
[ ! -e stuck ] || fail "half a file"
wait $reader 2>/dev/null

# ---- What goes wrong ----------------------------------------------------------------------------------------

rm -rf out
mkdir out
echo 'no recording' >in/a2.data
expect 1 'in/a2.data: ' "$SBTRACE" job run job.yaml
[ -e out/a1.insn ] && [ ! -e out/a3.insn ] || fail "on_error: fail: $(ls out)"
grep -q '"status": "failed"' out/job.run.json || fail "no failure in the run record"
(cat job.yaml; echo 'on_error: skip') >skip.yaml
expect 1 'passed over: .*in/a2.data: ' "$SBTRACE" job run skip.yaml
[ -e out/a3.insn ] && [ ! -e out/a2.insn ] && [ -e out/b3.insn ] || fail "on_error: skip: $(ls out)"
expect 0 'all is the same' "$SBTRACE" job verify skip.yaml
cp one.data in/a2.data
expect 1 'a2.data: the account is not the same' "$SBTRACE" job verify skip.yaml
rm in/a3.data
expect 1 'the number of recordings is not the same' "$SBTRACE" job verify skip.yaml
cp one.data in/a3.data
expect 0 '' "$SBTRACE" job run --resume job.yaml
cmp out/a2.insn reference/a2.insn || fail "a recording that was repaired"
no_temporaries 'a failure'

cp lossy.data in/
printf 'version: 1\nrecordings: [in/lossy.data, in/a1.data]\nroots: [one.root]\nstrict: [overflow]\nsinks: [{name: gap, file: "out/{recording}.gap"}]\n' >strict.yaml
rm -f out/*.gap
expect 3 'overflow.*--strict does not allow them' "$SBTRACE" job run strict.yaml
[ -e out/lossy.gap ] && [ ! -e out/a1.gap ] || fail "strict: $(ls out)"
grep -q '"status": "gaps"' out/strict.run.json || fail "no gaps in the run record"

printf 'version: 1\nrecording: in/a1.data\nroots: [one.root]\nlimits: {disk: 1K}\nsinks: [{name: insn, file: out/big}]\n' >disk.yaml
expect 1 "out/big: write failed: the job's limit of disk space is reached" "$SBTRACE" job run disk.yaml
[ ! -e out/big ] || fail "over the limit, but there"
no_temporaries 'a limit'
if [ -z "${SANITIZE:-}" ]; then
	printf 'version: 1\nrecording: in/a1.data\nroots: [one.root]\nlimits: {memory: 1M}\n' >memory.yaml
	expect 1 'out of memory|Cannot allocate' "$SBTRACE" job run memory.yaml
fi

# Standard output takes many recordings, and no run record.
printf 'version: 1\nrecordings: [in/a1.data, in/b1.data]\nroots: [one.root, two.root]\nsinks: [{name: block}]\n' >stdout.yaml
"$SBTRACE" job run stdout.yaml >both || fail "to standard output"
cat reference/1.block reference/4.block | cmp - both || fail "two recordings on standard output"
[ ! -e stdout.run.json ] || fail "a run record of nothing"

expect 2 "there is no action 'chekc'; did you mean 'check'" "$SBTRACE" job chekc job.yaml
expect 2 'which job' "$SBTRACE" job check
expect 1 'expected a job, whose name ends in' "$SBTRACE" job check one.data
expect 2 '--set x: there is no job' "$SBTRACE" replay --set x=1 one.data
expect 1 "--set uot: the job has no such variable; did you mean 'out'" "$SBTRACE" job check --set uot=1 job.yaml

[ $failures -eq 0 ]
