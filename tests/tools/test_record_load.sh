#!/bin/sh
# A recording under load loses nothing: of 10,000 short processes each fork, exit and exec is there, and of each
# there is somebody who ran it. With rings that are too small for it, what was lost is counted, the same by us as by
# the records in the file. And a state that is taken while processes come and go all the time contradicts no record:
# each process is known before anything is told of it, or begins with a fork.
set -u
. "$SOURCE_DIR/tests/tools/record/live.sh"
bomb=$BUILD_DIR/tests/workloads/bomb

"$SBTRACE" record -a --sideband-only --ring 128M -o "$dir/bomb.data" -- "$bomb" 10000 64 >"$dir/out" 2>"$dir/log" ||
	fail "bomb: $(cat "$dir/log")"
read -r processes programs <"$dir/out"
grep -q ' 0 lost' "$dir/log" || fail "bomb: $(cat "$dir/log")"
"$SBTRACE" dump --sideband "$dir/bomb.data" >"$dir/bomb.text" 2>"$dir/account" || fail "dump: $(cat "$dir/account")"
perl "$SOURCE_DIR/tests/tools/record/children.pl" bomb "$processes" "$programs" <"$dir/bomb.text" || fail "bomb"

# A page for each CPU is not enough, when the recorder stands still.
"$SBTRACE" record -a --sideband-only --ring 4K -o "$dir/small.data" -- \
	sh -c "kill -STOP \$PPID; \"$bomb\" 1000 64; kill -CONT \$PPID" >"$dir/out" 2>"$dir/log" ||
	fail "small: $(cat "$dir/log")"
told=$(sed -n 's/.* \([0-9]*\) lost;.*/\1/p' "$dir/log")
"$SBTRACE" dump --sideband "$dir/small.data" >"$dir/small.text" 2>/dev/null
lost=$(awk -F '\t' '$5 ~ /^LOST / { sub(/.* lost /, "", $5); sum += $5 } END { print sum + 0 }' "$dir/small.text")
[ "$told" -gt 0 ] || fail "nothing was lost by a ring of a page"
[ "$told" -eq "$lost" ] || fail "$told lost by the recorder, $lost by the file"
grep -q 'larger rings' "$dir/log" || fail "no advice: $(cat "$dir/log")"

# It begins while the bomb burns, again and again.
"$bomb" 1000000 32 >"$dir/out" &
for i in 1 2 3; do
	"$SBTRACE" record -a --sideband-only --ring 128M --time 0.1 -o "$dir/amid.data" 2>"$dir/log" ||
		fail "amid: $(cat "$dir/log")"
	grep -q ' 0 lost' "$dir/log" || fail "amid: $(cat "$dir/log")"
	"$SBTRACE" dump --sideband "$dir/amid.data" >"$dir/amid.text" 2>/dev/null
	perl "$SOURCE_DIR/tests/tools/record/children.pl" known <"$dir/amid.text" || fail "amid, $i"
done
kill $! 2>/dev/null
wait
[ $failures -eq 0 ]
