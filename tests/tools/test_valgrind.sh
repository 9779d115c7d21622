#!/bin/sh
# Replays under Valgrind: no error, no leak. What the last one of a process leaves to the kernel is still reachable; what
# the one before it used is not.
set -u
command -v valgrind >/dev/null || { echo "skipped: no valgrind here"; exit 77; }
[ -z "$SANITIZE" ] || { echo "skipped: built with sanitizers"; exit 77; }
. "$SOURCE_DIR/tests/tools/recordings.sh"

record true -c 2 --mtc --overflow-every 3000 -- /bin/true
cp "$dir/true.data" "$dir/again.data"
cat >"$dir/job.yaml" <<EOF
version: 1
roots: [$dir/true.root]
recordings: [$dir/true.data, $dir/again.data]
sinks:
- {name: insn, file: "$dir/flow.{number}"}
- {name: summary, file: "$dir/summary.{number}"}
EOF
if valgrind --leak-check=full --show-leak-kinds=definite,indirect,possible \
	--errors-for-leak-kinds=definite,indirect,possible --error-exitcode=9 \
	"$SBTRACE" replay "$dir/job.yaml" >"$dir/out" 2>"$dir/err"; then
	grep 'ERROR SUMMARY' "$dir/err"
else
	fail "$(cat "$dir/err")"
fi
[ $failures -eq 0 ]
