#!/bin/sh
# A replay under Valgrind: no error, no leak.
set -u
command -v valgrind >/dev/null || { echo "skipped: no valgrind here"; exit 77; }
[ -z "$SANITIZE" ] || { echo "skipped: built with sanitizers"; exit 77; }
. "$SOURCE_DIR/tests/tools/recordings.sh"

record true -c 2 --mtc --overflow-every 3000 -- /bin/true
if valgrind --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all --error-exitcode=9 \
	"$SBTRACE" replay --root "$dir/true.root" --sink insn="$dir/flow" --sink summary="$dir/summary" "$dir/true.data" \
	>"$dir/out" 2>"$dir/err"; then
	grep 'ERROR SUMMARY' "$dir/err"
else
	fail "$(cat "$dir/err")"
fi
[ $failures -eq 0 ]
