#!/bin/sh
# The sink "jsonl": each line is what its schema says, jq reads it and comes to the account's sums, names of any bytes
# are strings, and the number of jobs does not show.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=jsonl

odd=$(printf 'q"\\\377<\n')
cp /bin/true "$dir/$odd" || exit 1
record jsonl -c 2 --mtc -- sh -c "echo a | cat; '$dir/$odd'" || exit 1
replay()
{
	"$SBTRACE" replay --root "$dir/jsonl.root" "$@" 2>"$dir/log" || fail "replay $*: $(cat "$dir/log")"
}
for flow in run block none; do
	for jobs in 1 3; do
		replay --jobs $jobs --sink jsonl="$dir/$flow.$jobs" --with flow=$flow --with calls=yes "$dir/jsonl.data"
	done
	cmp "$dir/$flow.1" "$dir/$flow.3" || fail "$flow: --jobs"
done
head -c $(($(wc -c <"$dir/jsonl.data") * 7 / 10)) "$dir/jsonl.data" >"$dir/cut.data"
replay --sink jsonl="$dir/cut.1" "$dir/cut.data"
ninsn=$(wc -l <"$dir/jsonl.truth")

# sum FILE TYPE: of the instructions
sum()
{
	jq -s "map(select(.type == \"$2\").instructions) | add" "$dir/$1.1"
}
for of in 'run run' 'block block' 'none thread' 'none process' 'none summary'; do
	[ "$(sum ${of% *} ${of#* })" = "$ninsn" ] || fail "$of: $(sum ${of% *} ${of#* }) instructions, not $ninsn"
done
[ "$(jq -s 'map(select(.type == "leave" and .depth == 1).instructions) | add' "$dir/none.1")" = "$ninsn" ] ||
	fail "outermost functions do not have all instructions"
[ "$(grep -c '"type":"call"' "$dir/none.1")" = "$(grep -c '"type":"leave"' "$dir/none.1")" ] || fail "calls and leaves"
[ "$(jq -r 'select(.type == "process").comm' "$dir/none.1" | grep -cF 'q"\x5c\xff<')" = 1 ] || fail "the odd name"
grep -q '"type":"gap"' "$dir/cut.1" || fail "no gap"

# An overflow has no end: it is the moment behind which nothing is known.
record overflow -c 1 --mtc --overflow-every 2000 -- true || exit 1
"$SBTRACE" replay --root "$dir/overflow.root" --sink jsonl="$dir/overflow.1" "$dir/overflow.data" 2>"$dir/log" ||
	fail "overflow: $(cat "$dir/log")"
[ "$(jq -r 'select(.reason == "overflow") | "\(.tsc_from > 0) \(.time_from != null) \(.tsc_to) \(.time_to)"' "$dir/overflow.1" |
	sort -u)" = "true true 0 null" ] || fail "overflow: $(grep -m 1 '"type":"gap"' "$dir/overflow.1")"
grep -q '"type":"switch"' "$dir/run.1" || fail "no switch"

# Not all of a long file: what there is of each type, and the last lines.
command -v python3 >/dev/null && python3 -c 'import jsonschema' 2>/dev/null ||
	{ echo "skipped: no python3-jsonschema here"; # Switches are those of what is replayed: of a CPU; of a span, with the one before it.
grep '"type":"switch","cpu":1,' "$dir/run.1" >"$dir/expected"
replay --cpu 1 --sink jsonl="$dir/cpu" "$dir/jsonl.data"
grep '"type":"switch"' "$dir/cpu" | diff "$dir/expected" - || fail "--cpu 1: other switches"
middle=$(($(wc -l <"$dir/expected") / 2))
sed -n "$middle,$((middle + 1))p" "$dir/expected" >"$dir/two"
ns=$(sed -n '2s/.*"time":\([0-9]*\).*/\1/p' "$dir/two")
replay --cpu 1 --time "$((ns / 1000000000)).$(printf %09d $((ns % 1000000000 - 1000)))",$((ns / 1000000000)).$(printf %09d $((ns % 1000000000 + 1000))) \
	--sink jsonl="$dir/span" "$dir/jsonl.data"
grep '"type":"switch"' "$dir/span" | diff "$dir/two" - || fail "--time: other switches"
[ $failures -eq 0 ] && exit 77; exit 1; }
for file in run block none cut; do
	python3 - "$SOURCE_DIR/tools/sink/report/jsonl.schema.json" "$dir/$file.1" <<'EOF' || fail "$file: not as its schema says"
import collections, json, sys
import jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
check = jsonschema.Draft202012Validator(schema)
seen = collections.Counter()
for line in open(sys.argv[2], encoding="ascii"):
    value = json.loads(line)
    seen[value["type"]] += 1
    if seen[value["type"]] <= 500:
        check.validate(value)
print(dict(seen))
for wrong in ({"type": "run"}, {"type": "nothing"}, {**value, "more": 1}):
    try:
        check.validate(wrong)
    except jsonschema.ValidationError:
        continue
    sys.exit("the schema takes %s" % wrong)
EOF
done
[ $failures -eq 0 ]
