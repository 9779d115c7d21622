#!/bin/sh
# Folded stacks and flame graphs: all instructions of the account are in them, whatever they are grouped by; a
# function's are those that it and its callees ran; a flame graph works in a browser.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=flame
workloads=$BUILD_DIR/tests/workloads

replay()
{
	name=$1
	shift
	"$SBTRACE" replay --root "$dir/$name.root" --no-host-root "$@" "$dir/$name.data" 2>"$dir/err" ||
		fail "replay $*: $(cat "$dir/err")"
}

record stacks -c 2 --mtc -- "$workloads/stacks" || exit 1
record mt -c 2 --mtc -- "$workloads/mt" 100 || exit 1
for name in stacks mt; do
	replay $name --jobs 1 --sink summary --sink folded="$dir/$name.comm" --sink folded="$dir/$name.process" \
		--with by=process --sink folded="$dir/$name.thread" --with by=thread --sink folded="$dir/$name.none" \
		--with by=none --sink folded="$dir/$name.time" --with weight=time --sink folded="$dir/$name.container" \
		--with by=container --sink flame="$dir/$name.svg" --sink flame="$dir/$name.time.svg" --with weight=time \
		>"$dir/summary"
	replay $name --jobs 3 --sink folded="$dir/again" --sink flame="$dir/again.svg"
	cmp "$dir/again" "$dir/$name.comm" && cmp "$dir/again.svg" "$dir/$name.svg" ||
		fail "$name: other bytes with more jobs"
	total=$(awk '$1 == "total" { print $2; exit }' "$dir/summary")
	for by in comm process thread none container; do
		sum=$(awk '{ s += $NF } END { printf "%d\n", s }' "$dir/$name.$by")
		[ "$sum" = "$total" ] || fail "$name by $by: $sum instructions, $total in the account"
		[ "$(sed 's/ [0-9]*$//' "$dir/$name.$by" | sort | uniq -d | wc -l)" -eq 0 ] ||
			fail "$name by $by: a stack comes twice"
	done
done

# By thread: what the summary says of each.
awk '/^ +[0-9]+ +[0-9]+  mt/ { print $2, $4 } /^ +[0-9]+  mt +[0-9]+ +[0-9]+$/ && NF == 4 { print $1, $3 }' \
	"$dir/summary" | sort >"$dir/expected"
sed 's/^mt ([0-9]*\/\([0-9]*\));.* \([0-9]*\)$/\1 \2/' "$dir/mt.thread" |
	awk '{ s[$1] += $2 } END { for (t in s) printf "%s %d\n", t, s[t] }' | sort >"$dir/got"
[ "$(wc -l <"$dir/got")" -eq 5 ] || fail "five threads: $(cat "$dir/got")"
while read -r line; do
	grep -q "^$line\$" "$dir/expected" || fail "by thread: $line, the summary has $(tr '\n' ',' <"$dir/expected")"
done <"$dir/got"

grep -q ';work;fibonacci' "$dir/mt.comm" || fail "no fibonacci below work"
time=$(awk '{ s += $NF } END { printf "%d\n", s }' "$dir/mt.time")
[ "$time" -gt 0 ] || fail "no time"

# Options are checked.
"$SBTRACE" replay --sink folded --with by=colour "$dir/mt.data" 2>"$dir/err" && fail "by=colour"
grep -q 'expected one of comm, process, thread, container, none' "$dir/err" || fail "by=colour: $(cat "$dir/err")"

[ -z "${SANITIZE:-}" ] || { [ $failures -eq 0 ]; exit; } # what a browser shows, it shows without sanitizers, too
if command -v node >/dev/null && command -v chromium >/dev/null; then
	for name in stacks:coroutines stacks:main mt:fibonacci; do
		node "$SOURCE_DIR/tests/tools/flame_in_browser.mjs" "$dir/${name%:*}.svg" "$dir/${name%:*}.comm" "${name#*:}" ||
			fail "${name%:*}.svg in a browser"
	done
else
	[ $failures -eq 0 ] || exit 1
	echo "skipped: a flame graph in a browser: no node or no chromium"
	exit 77
fi
[ $failures -eq 0 ]
