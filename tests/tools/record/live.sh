# live.sh - for tests that record the machine as it runs: sourced, not run.
#
# Leaves the test with status 77 where the kernel does not let us.

. "$SOURCE_DIR/tests/tools/checks.sh"

# begun FILE PID: waits until the recorder PID, which writes FILE, has told of the state and records.
begun()
{
	while kill -0 "$2" 2>/dev/null; do
		"$SBTRACE" dump --sideband "$1".tmp.* 2>/dev/null | grep -q '	FINISHED_ROUND' && break
		sleep 0.02
	done
}

# lives PID: also a process that nobody has waited for yet is none.
lives()
{
	[ -e "/proc/$1/stat" ] && ! grep -q ') Z' "/proc/$1/stat"
}

if ! "$SBTRACE" record -a --sideband-only -o "$dir/probe.data" -- true >"$dir/probe.log" 2>&1; then
	cat "$dir/probe.log"
	grep -Eqi 'paranoid|permitted|no sideband|not implemented' "$dir/probe.log" && { echo "skipped: no perf events here"; exit 77; }
	exit 1
fi
