#!/bin/sh
# sbtrace dump from outside: exit statuses, what goes where, what the account says; JSON that another program
# reads; and every recording that is there, without damage.
set -u

. "$SOURCE_DIR/tests/tools/checks.sh"
cd "$dir" || exit 1

# expect STATUS PATTERN ARGUMENTS...: the exit status of sbtrace dump, and an extended regular expression that
# what it writes to stderr must match.
expect()
{
	want=$1 pattern=$2
	shift 2
	"$SBTRACE" dump "$@" >out 2>err
	status=$?
	if [ $status -ne "$want" ] || ! grep -Eq -- "$pattern" err; then
		fail "dump $*: exit status $status, expected $want; stderr, expected to match '$pattern':"
		cat err
	fi
}

# lines TEXT...: what standard output must hold, whole lines.
lines()
{
	printf '%s\n' "$@" | cmp -s - out || { fail "expected $*, found:"; cat out; }
}

# bytes FILE HEX...: printf(1) of dash knows octal only.
bytes()
{
	file=$1
	shift
	for byte in $(echo "$@" | tr -d ' ' | sed 's/../& /g'); do
		printf "\\$(printf %03o "0x$byte")"
	done >"$file"
}

psb=02820282028202820282028202820282
bytes good $psb 0223 2d0100 00
bytes late 8286 $psb 0223
bytes bad $psb 0223 0201 00 $psb 0223
bytes cut $psb 1905
bytes none 00000000
: >empty

# ---- The command line

expect 2 'which trace\?'
expect 2 'one trace is enough' good bad
expect 2 "unknown option '--jsno'; did you mean '--json'" --jsno good
expect 2 '--from is not before --to' --from 5 --to 0x5 good
expect 2 "no records are called 'COMN'; did you mean 'COMM'" --sideband --type MMAP2,comn good
expect 2 'add --sideband' --type MMAP2 good
expect 2 'about packets' --sideband --no-pad good
expect 1 'good: .*PERFILE2' --sideband good
expect 2 "--cpu-model: expected 2 numbers with '/'" --cpu-model 6 good
expect 2 "--cpu-model: expected a number" --cpu-model 6/x good
expect 2 "--cpu-model: no processor" --cpu-model 6/1 good
expect 2 "--cpuid-0x15: expected 2 numbers with ','" --cpuid-0x15 1,2,3 good
expect 2 "--mtc-freq: expected a number from 0 to 15" --mtc-freq 16 good
expect 1 'no-such-file: No such file' no-such-file
expect 1 'empty: is empty' empty
expect 1 'a perf.data begins' /dev/null
expect 1 'not a perf.data' /dev/zero
expect 1 'raw trace, which does not know of CPUs' --cpu 0 good
"$SBTRACE" dump --help >out || fail "help"
grep -q -- '--cpuid-0x15 EAX,EBX' out || fail "help does not tell of --cpuid-0x15"

# ---- What it says of a trace, and its exit status

expect 0 '^sbtrace dump: 22 bytes of trace = 22 in 4 packets \+ 0 left out in 0 places$' -q good
[ ! -s out ] || fail "packets in spite of --quiet"
expect 0 '= 18 in 2 packets \+ 2 left out in 1 place$' -q late
lines '00000000  skipped      before the first PSB: 2 bytes left out'
expect 0 '= 20 in 4 packets \+ 0 left out' -q --no-sync late
expect 1 '= 36 in 4 packets \+ 3 left out in 1 place$' -q bad
lines '00000012  error        unknown packet: 3 bytes left out'
expect 1 '= 36 in 4 packets' -q --raw bad
lines '00000012  020100                            error        unknown packet: 3 bytes left out'
expect 1 '= 36 in 4 packets' -q --json --raw bad
lines '{"offset":18,"size":3,"error":"unknown packet","bytes":"020100"}'
expect 0 '= 18 in 2 packets \+ 0 left out in 0 places \+ 21 not asked for$' -q --from 21 bad
expect 1 '= 16 in 1 packet \+ 2 left out' -q cut
expect 1 '= 0 in 0 packets \+ 4 left out in 1 place$' -q none
lines '00000000  error        no PSB: 4 bytes left out'

expect 0 '' --no-time --from 0x10 --to 21 good
lines '00000010  psbend                                                        -' \
	'00000012  tip          ipc=1 ????????????0001                           0000000000000001'

# ---- Files appear whole, a reader may go away

expect 0 '' -o file good
[ ! -s out ] || fail "-o, but standard output has something"
"$SBTRACE" dump good 2>/dev/null | cmp -s - file || fail "-o: other content"
[ ! -e file.tmp ] || fail "file.tmp: left"
expect 1 'nowhere/file: cannot be written' -o nowhere/file good
i=0
{ printf '' ; while [ $i -lt 9 ]; do cat bad; i=$((i + 1)); done; } >long
for n in 1 2 3 4; do cat long long long long long long long long long >longer; mv longer long; done
{ "$SBTRACE" dump long 2>err; echo $? >status; } | head -n 1 >first
[ ! -s err ] || fail "a reader who goes away: $(cat err)"
[ "$(cat status)" = 0 ] || fail "status $(cat status) when the reader went away"

# ---- A recording that holds no trace, and one that is cut

printf 'PERFILE2 and nothing else' >broken
expect 1 'broken' broken
if "$SBTRACE" record --software -c 2 -o perf.data -- /bin/true >/dev/null 2>&1; then
	expect 0 'bytes of trace' perf.data
	head -n 1 out | grep -qx '# cpu [01]' || fail "no heading"
	expect 1 'holds no trace of CPU 7' --cpu 7 perf.data
	head -c $(($(wc -c <perf.data) / 2)) perf.data >cut.data
	expect 1 'bytes of trace' -q cut.data
else
	echo "no recordings here: not tried"
fi

# ---- All recordings that are there

if command -v jq >/dev/null; then
	"$SBTRACE" dump --json bad 2>/dev/null >bad.json
	[ "$(jq -c 'keys_unsorted' bad.json | sort | uniq -c | tr -s ' ' | tr '\n' ';')" = \
		' 1 ["offset","size","error"]; 4 ["offset","size","name","fields","ip","tsc"];' ] ||
		fail "keys: $(jq -c keys_unsorted bad.json)"
else
	echo "no jq here: JSON is not read"
fi

# The account of the last dump, as "TOTAL = THE SUM OF ITS PARTS".
balance()
{
	tail -n 1 err | awk '{ sum = $8 + $13; for (i = 16; i <= NF; i++) if ($i == "+") sum += $(i + 1); print $3, sum }'
}

for file in "$CORPUS_DIR"/*/perf.data "$CORPUS_DIR"/*/*.pt "$CORPUS_DIR"/*/pt.bin; do
	[ -e "$file" ] || continue
	expect 0 '' -q "$file"
	set -- $(balance)
	[ $# -eq 2 ] && [ "$1" -eq "$2" ] || fail "$file: the account: $(tail -n 1 err)"
	grep -q error out && fail "$file: $(head -n 3 out)"
done

# A recording and the same trace as raw files: the same lines. What the raw file lacks is said by options.
name=$CORPUS_DIR/user-threads
if [ -e "$name/perf.data" ]; then
	for cpu in 0 1 2; do
		"$SBTRACE" dump --no-pad --cpu $cpu "$name/perf.data" 2>/dev/null | grep -v '^#' >recording
		"$SBTRACE" dump --no-pad --cpu-model 6/85/4 --mtc-freq 3 --nom-freq 21 --cpuid-0x15 2,168 \
			"$name/cpu$cpu.pt" 2>/dev/null >raw
		[ -s raw ] && cmp -s recording raw || fail "user-threads, CPU $cpu: recording and raw trace differ"
	done
	# One line of JSON for each line of text, with the same content.
	if command -v jq >/dev/null; then
		"$SBTRACE" dump --json --cpu 1 "$name/perf.data" 2>/dev/null |
			jq -r '[.offset, .name, .ip // "-", .tsc // "-"] | @tsv' >json || fail "jq"
		"$SBTRACE" dump --cpu 1 "$name/perf.data" 2>/dev/null | grep -v '^#' |
			awk '{ ip = $(NF - 1); if (ip != "-") { sub(/^0*/, "", ip); ip = "0x" (ip == "" ? 0 : ip) }
				print $1 "\t" $2 "\t" ip "\t" $NF }' >text
		cut -f 2- json >json.rest
		cut -f 2- text | cmp -s - json.rest || fail "text and JSON differ"
		[ "$(cut -f 1 json | tail -n 1)" -eq $((0x$(cut -f 1 text | tail -n 1))) ] || fail "offsets differ"
	fi
fi

[ $failures -eq 0 ]
