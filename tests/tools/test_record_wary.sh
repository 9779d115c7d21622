#!/bin/sh
# A program that is recorded in software does what it does otherwise: tests/workloads/wary.c looks for what a tracer
# might change. And what it maps that is no file, or has no name, does no harm to the copies.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
wary=$BUILD_DIR/tests/workloads/wary

"$wary" || fail "wary by itself: exit status $?"
for way in "" --single-step; do
	# A file that grows for ever would end here.
	# shellcheck disable=SC2086
	(ulimit -f 20000 && "$SBTRACE" record --software -q $way --truth "$dir/truth" --copy-root "$dir/root" -o "$dir/data" \
		-- "$wary") || fail "wary${way:+ with $way}: exit status $?"
	"$SBTRACE" dump --sideband "$dir/data" | grep 'COMM pid' >"$dir/names"
	for name in oneself another; do
		grep -q "name \"$name\"" "$dir/names" || fail "$way: nobody is called $name"
	done
	[ "$(awk '/another/ { print $6 != $8 }' "$dir/names")" = 1 ] || fail "$way: the wrong thread has the name"
	"$SBTRACE" replay --root "$dir/root" --no-host-root --sink insn="$dir/flow" --sink summary="$dir/summary" "$dir/data" ||
		fail "$way: replay"
	grep -q 'the account balances' "$dir/summary" || fail "$way: the account does not balance"
	"$BUILD_DIR/tests/lines" right "$(awk '/^gaps/ { inside = 1 } inside && $1 == "total" { print $2 }' "$dir/summary")" \
		"$dir/truth" "$dir/flow" >"$dir/verdict" || fail "$way: $(cat "$dir/verdict")"
done
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	# Who may not look into map_files cannot have what has no name: all else is copied.
	mkdir "$dir/nobody" && chown 65534 "$dir" "$dir/nobody"
	(cd "$dir/nobody" && setpriv --reuid 65534 --clear-groups "$SBTRACE" record --software -q --copy-root root -o data -- "$wary") ||
		fail "as nobody: exit status $?"
	[ -e "$dir/nobody/root$wary" ] || fail "as nobody: wary was not copied"
fi
[ $failures -eq 0 ]
