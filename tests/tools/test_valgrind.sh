#!/bin/sh
# Replays under Valgrind: no error, no leak.
set -u
command -v valgrind >/dev/null || { echo "skipped: no valgrind here"; exit 77; }
[ -z "$SANITIZE" ] || { echo "skipped: built with sanitizers"; exit 77; }
. "$SOURCE_DIR/tests/tools/recordings.sh"

# under KINDS WORDS...: of so many kinds of leaks, there are none.
under()
{
	kinds=$1
	shift
	if valgrind --leak-check=full --show-leak-kinds="$kinds" --errors-for-leak-kinds="$kinds" --error-exitcode=9 \
		"$SBTRACE" "$@" >"$dir/out" 2>"$dir/err"; then
		grep 'ERROR SUMMARY' "$dir/err"
	else
		fail "$*: $(cat "$dir/err")"
	fi
}

record true -c 2 --mtc --overflow-every 3000 -- /bin/true
cat >"$dir/job.yaml" <<EOF
version: 1
roots: [$dir/true.root]
recording: $dir/true.data
sinks:
- {name: insn, file: $dir/flow}
- {name: summary, file: $dir/summary}
EOF
# The last session of a process is left to the kernel, and still reachable. The same again, where it is not.
under definite,indirect,possible replay "$dir/job.yaml"
under all job verify "$dir/job.yaml"
[ $failures -eq 0 ]
