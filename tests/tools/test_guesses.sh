#!/bin/sh
# Confidence is shown, in every output that has call stacks: one and the same program switches between stacks that nothing
# tells apart, so that who goes on is a guess; or at a place of its own for each stack, so that nothing is. What is a
# guess is marked in each output as its consumer sees it, and nothing is marked where there is none.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"

${CC:-cc} -D_GNU_SOURCE -g -O1 -finstrument-functions -fno-omit-frame-pointer -o "$dir/program" \
	"$SOURCE_DIR/tests/workloads/shuffle.c" "$SOURCE_DIR/tests/workloads/stacks_note.c" || exit 1
record guessed -c 1 --mtc -- "$dir/program" || exit 1
record sure -c 1 --mtc -- "$dir/program" own || exit 1

go=$(command -v go || ls /usr/lib/go-*/bin/go 2>/dev/null | tail -1)

# has COMMAND: whether it is here.
has()
{
	[ -n "$1" ] && command -v "$1" >/dev/null && return
	[ -e "$dir/skipped.$row" ] || echo "skipped: $row: its reader is not here"
	: >"$dir/skipped.$row"
	return 1
}

# How many guesses each output shows in the file $1. A row of the table: its name, the sink with its options, what is counted.
script() { grep -c ' (?)' "$1"; }
jsonl() { jq -s '[.[] | select(.type == "call" and .unsure)] | length' "$1"; }
perfetto() { has protoc && protoc --decode=Trace -I "$SOURCE_DIR/tests/data" perfetto_subset.proto <"$1" | grep -c 'name: "guess"'; }
chrome() { jq '[(.traceEvents? // .)[] | select(.args.guess == true)] | length' "$1"; }
folded() { grep -c ' (?)' "$1"; }
flame() { grep -c '<title>.*: a guess (' "$1"; }
callgrind() { has callgrind_annotate && callgrind_annotate "$1" 2>/dev/null | sed -n 's/.*Guesses: \([0-9]*\) of.*/\1/p'; }
pprof() { has "$go" && HOME=$dir "$go" tool pprof -raw "$1" 2>/dev/null | grep -c 'stack:\[guess\]'; }
sqlite() { has sqlite3 && sqlite3 "$1" 'SELECT count(*) FROM call WHERE guess'; }
# Every fourth, from the third on, of a tree's numbers: 2 is a guess.
html()
{
	sed -n '/<script type="application\/json" id="data">/,/<\/script>/p' "$1" | sed 's/<script[^>]*>//; s/<\/script>//' |
		jq '[.trees[].nodes | to_entries[] | select(.key % 4 == 2 and .value >= 2)] | length'
}

rows='
script    script --with every=call --with fields=tid,flags,callindent,sym
jsonl     jsonl --with calls=yes
perfetto  perfetto
chrome    chrome
folded    folded
flame     flame
callgrind callgrind
pprof     pprof
sqlite    sqlite
html      html
'
echo "$rows" | sed '/^$/d' >"$dir/rows"
while read -r row sink options; do
	for recording in guessed sure; do
		# shellcheck disable=SC2086 # options are several words
		"$SBTRACE" replay --root "$dir/$recording.root" --no-host-root --sink "$sink=$dir/$recording.$row" $options \
			"$dir/$recording.data" >"$dir/log" 2>&1 </dev/null || fail "$row: $(cat "$dir/log")"
		$row "$dir/$recording.$row" >"$dir/count.$recording.$row" </dev/null
	done
	[ -e "$dir/skipped.$row" ] && continue
	guessed=$(cat "$dir/count.guessed.$row")
	sure=$(cat "$dir/count.sure.$row")
	echo "$row: $guessed guesses, and ${sure:-0} where there are none"
	[ "${guessed:-0}" -gt 0 ] || fail "$row shows no guess"
	[ "${sure:-0}" -eq 0 ] || fail "$row shows guesses where there are none"
done <"$dir/rows"

# What shows each call, shows as many of them.
for row in chrome sqlite jsonl; do
	[ -e "$dir/skipped.perfetto" ] || [ -e "$dir/skipped.$row" ] ||
		cmp "$dir/count.guessed.perfetto" "$dir/count.guessed.$row" || fail "perfetto and $row differ"
done
[ $failures -eq 0 ]
