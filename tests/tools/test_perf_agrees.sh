#!/bin/sh
# An independent decoder on the same file: perf script reads software recordings without a warning, and
# gives the same instructions of the same threads on the same CPUs.
set -u
[ -z "${SANITIZE:-}" ] || { echo "skipped: with sanitizers, tools/test_exact replays recordings of the same programs"; exit 77; }
command -v perf >/dev/null || { echo "skipped: no perf here"; exit 77; }
. "$SOURCE_DIR/tests/tools/recordings.sh"
workloads=$BUILD_DIR/tests/workloads

# "CPU pid/tid: event: ip" of perf script as our columns. Other events are samples that tell cgroups.
perf_columns()
{
	sed -En 's,^ *(-?[0-9]+)/(-?[0-9]+) +\[0*([0-9]+)\] +instructions[:a-z]* +([0-9a-f]+) *$,\3\t\1\t\2\t\4,p' |
		awk -F '\t' -v OFS='\t' '{ sub(/^0+/, "", $4); print }' | sort -s -n -k 1,1
}

check()
{
	name=$1
	record "$@" || return
	perf script --itrace=i0ns -F pid,tid,cpu,event,ip -i "$dir/$name.data" >"$dir/perf.out" 2>"$dir/perf.err"
	[ ! -s "$dir/perf.err" ] || fail "$name: perf script says: $(head -n 3 "$dir/perf.err")"
	perf_columns <"$dir/perf.out" >"$dir/perf"
	"$SBTRACE" replay --root "$dir/$name.root" --sink insn="$dir/$name.flow" "$dir/$name.data" >/dev/null ||
		fail "replay $name"
	columns_but_tsc "$dir/$name.flow" >"$dir/flow"
	if cmp -s "$dir/perf" "$dir/flow"; then
		echo "$name: $(wc -l <"$dir/flow") instructions as perf script says"
	else
		fail "$name: perf script gives $(wc -l <"$dir/perf") lines, replay $(wc -l <"$dir/flow")"
		diff "$dir/perf" "$dir/flow" | head -n 6
	fi
	rm -rf "$dir/$name".*
}

check true -c 1 -- /bin/true
check pipeline -c 2 --mtc -- "$workloads/relay" 60
check threads -c 4 --mtc -- "$workloads/mt" 100
check retcomp -c 2 --mtc --cyc --no-retcomp -- "$workloads/mt" 100
check tnt64 -c 2 --tnt64 -- "$workloads/mt" 100
command_status=143 # raises SIGTERM at its end
check signal -c 2 --mtc -- "$workloads/sig"
command_status=0
check forkdl -c 2 --mtc -- "$workloads/forkdl"
[ $failures -eq 0 ]
