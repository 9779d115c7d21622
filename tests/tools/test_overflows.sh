#!/bin/sh
# Overflows in software recordings: each of them is a gap, of the thread that lost something, also where that, or the
# program, ends inside of one. All that was not lost is there.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=overflows
workloads=$BUILD_DIR/tests/workloads

# ends_in_one NAME: whether the last packet of a CPU's trace is that of an overflow.
ends_in_one()
{
	"$SBTRACE" dump "$dir/$1.data" 2>/dev/null | awk '
		/^# cpu/ { if (last == "ovf") found = 1; last = ""; next }
		$2 != "pad" && $2 != "tsc" && $2 != "tma" { last = $2 }
		END { exit last != "ovf" && !found }'
}

# strangers NAME: how many gaps are of another thread than the one that ran last before them on their CPU.
strangers()
{
	awk -F '\t' '
		NR == FNR { n = ++count[$1]; time[$1, n] = $4; tid[$1, n] = $3; next }
		{
			while (at[$1] < count[$1] && time[$1, at[$1] + 1] <= $4) at[$1]++
			wrong += tid[$1, at[$1]] != $3
		}
		END { print wrong + 0 }' "$dir/$1.truth" "$dir/$1.gaps"
}

check()
{
	name=$1
	record "$@" || return
	"$SBTRACE" replay --root "$dir/$name.root" --no-host-root --sink insn="$dir/$name.flow" --sink gap="$dir/$name.gaps" \
		"$dir/$name.data" >"$dir/$name.log" 2>&1 || { fail "replay $name: $(cat "$dir/$name.log")"; return; }
	told=$(sed -nE 's/.* lost in ([0-9]+) overflows?\).*/\1/p' "$dir/$name.err")
	gaps=$(cut -f 8 "$dir/$name.gaps" | grep -cx overflow)
	[ "$told" -eq "$gaps" ] || fail "$name: $gaps gaps, but: $(cat "$dir/$name.err")"
	[ "$gaps" -eq "$(wc -l <"$dir/$name.gaps")" ] || fail "$name: other gaps: $(cat "$dir/$name.log")"
	"$BUILD_DIR/tests/lines" equal "$dir/$name.truth" "$dir/$name.flow" >"$dir/verdict" || fail "$name: $(cat "$dir/verdict")"
	wrong=$(strangers "$name")
	[ "$wrong" -eq 0 ] || fail "$name: $wrong gaps of another thread"
	! ends_in_one "$name" || ends=$((ends + 1))
	echo "$name: $gaps gaps"
	rm -rf "$dir/$name".*
}

# Without CYC packets, time stands still behind an overflow, and a switch may come before it goes on: what tells who
# runs is the overflow's own time.
# With so little trace between them, most instructions are lost: three of four programs end in an overflow.
ends=0
for seed in 1 2 3 4; do
	check "solo$seed" --seed $seed --overflow-every 16 -- "$workloads/solo"
	check "threads$seed" -c 2 --mtc --seed $seed --overflow-every 16 -- "$workloads/mt" 20
done
check shared --mtc --cyc --psb-period 256 --overflow-every 40 -- "$workloads/mt" 20
check exec -c 2 --mtc --overflow-every 16 -- "$workloads/execer"
check forks -c 2 --mtc --cyc --overflow-every 16 -- "$workloads/forkdl"
command_status=143
check signal -c 2 --mtc --cyc --overflow-every 16 -- "$workloads/sig"
[ $ends -gt 0 ] || fail "no trace ends in an overflow"
echo "$ends recordings end in an overflow"
[ $failures -eq 0 ]
