#!/bin/sh
# sbtrace dump --sideband: what is asked for is a part of the whole; text, JSON and counts agree; a recording that is
# cut gives what is there, and says where it ends.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=dump_records
with_truth=
record pipeline -c 2 -- sh -c 'ls / | sort | wc -l' || exit 1
recording=$dir/pipeline.data

# dump OPTIONS...: to $dir/out without the counts, which go to $dir/counts.
dump()
{
	"$SBTRACE" dump --sideband "$@" >"$dir/all" 2>"$dir/err" || fail "dump $*: $(cat "$dir/err")"
	grep -v '^#' "$dir/all" >"$dir/out"
	grep '^#' "$dir/all" >"$dir/counts"
}

# same WHAT: $dir/out is $dir/expected, and as many are counted.
same()
{
	cmp -s "$dir/out" "$dir/expected" || { fail "$1:"; diff "$dir/expected" "$dir/out" | head -n 4; }
	[ "$(awk '$3 == "total" { print $2 }' "$dir/counts")" = "$(wc -l <"$dir/expected")" ] ||
		fail "$1: $(tail -n 1 "$dir/counts")"
}

dump "$recording"
cp "$dir/out" "$dir/whole"
cp "$dir/counts" "$dir/whole.counts"
cp "$dir/whole" "$dir/expected"
same 'all records'
[ "$(wc -l <"$dir/whole")" -gt 100 ] || fail "only $(wc -l <"$dir/whole") records"
[ "$(cut -f 5 "$dir/whole" | grep -c '^MMAP2 ')" = "$(awk '$3 == "MMAP2" { print $2 }' "$dir/counts")" ] || fail "MMAP2: $(cat "$dir/counts")"

dump -q "$recording"
cmp -s "$dir/all" "$dir/whole.counts" || fail "-q: $(cat "$dir/all")"

dump --type mmap2,COMM --type FORK "$recording"
awk -F '\t' '$5 ~ /^(MMAP2|COMM|FORK) /' "$dir/whole" >"$dir/expected"
same '--type'
grep -Eq "; [0-9]+ not asked for" "$dir/err" || fail "--type: $(cat "$dir/err")"

dump --cpu 1 "$recording"
awk -F '\t' '$2 == 1 || $5 ~ /^AUXTRACE .* cpu 1$/' "$dir/whole" >"$dir/expected"
same '--cpu 1'

middle=$(sed -n 50p "$dir/whole" | cut -f 1)
dump --from "$middle" "$recording"
tail -n +50 "$dir/whole" >"$dir/expected"
same '--from'
dump --to "$middle" "$recording"
head -n 49 "$dir/whole" >"$dir/expected"
same '--to'

dump --raw --type COMM "$recording"
grep -Evq ' bytes ([0-9a-f]{16})+$' "$dir/out" && fail "--raw: $(head -n 1 "$dir/out")"

"$SBTRACE" dump --sideband -o "$dir/file" "$recording" 2>/dev/null || fail "-o"
cat "$dir/whole" "$dir/whole.counts" | cmp -s - "$dir/file" || fail "-o: another text"

if command -v jq >/dev/null; then
	"$SBTRACE" dump --sideband --json "$recording" >"$dir/json" 2>/dev/null
	jq -r 'select(.type) | [.offset, .cpu // "-", .time // "-", .type] | @tsv' "$dir/json" >"$dir/json.tsv"
	awk -F '\t' '{ sub(/ .*/, "", $5); print $2, $4, $5 }' "$dir/whole" >"$dir/expected"
	cut -f 2- "$dir/json.tsv" | tr '\t' ' ' | cmp -s - "$dir/expected" || fail "text and JSON differ"
	[ "$(jq -r 'select(.total).total' "$dir/json")" = "$(wc -l <"$dir/whole")" ] || fail "JSON counts $(tail -n 1 "$dir/json")"
	[ "$(jq -r 'select(.type == "COMM" and .fields.exec).fields.name' "$dir/json" | sort -u | tr '\n' ' ')" = 'ls sh sort wc ' ] || fail "JSON: names"
else
	echo "no jq here: JSON is not read"
fi

# The code of BPF programs, from the header.
tail -c +2 "$SOURCE_DIR/tests/fuzz/corpus/perfdata/file-bpf" >"$dir/bpf.data"
"$SBTRACE" dump --sideband --raw "$dir/bpf.data" >"$dir/out" 2>/dev/null
program='# BPF program 7 function 0 addr 0xffffffffc0001000 size 0x3 tag 0707070707070707 name "first" bytes 900f05'
grep -qxF "$program" "$dir/out" || fail "no BPF program: $(grep BPF "$dir/out")"
"$SBTRACE" dump --sideband --json "$dir/bpf.data" 2>/dev/null |
	grep -qF '{"bpf_program":7,"function":0,"addr":"0xffffffffc0001000","size":3,"tag":"0707070707070707","name":"first"}' ||
	fail "JSON: no BPF program"
for part in '--type COMM' '--to 300' -q; do
	# shellcheck disable=SC2086
	"$SBTRACE" dump --sideband $part "$dir/bpf.data" 2>/dev/null | grep BPF && fail "$part: a BPF program"
done

# Cut inside of the 50th record.
head -c $((middle + 4)) "$recording" >"$dir/cut.data"
"$SBTRACE" dump --sideband "$dir/cut.data" >"$dir/out" 2>"$dir/err" && fail "a cut recording is fine"
head -n 49 "$dir/whole" >"$dir/expected"
grep -v '^#' "$dir/out" | cmp -s - "$dir/expected" || fail "cut: $(wc -l <"$dir/out") lines"
grep -Eq "cut\.data: offset $middle: .*(ends|end) " "$dir/err" || fail "cut: $(cat "$dir/err")"
[ $failures -eq 0 ]
