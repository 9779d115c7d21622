#!/bin/sh
# Another reader of packets on the same file: what perf script -D prints of each packet (place, kind, values) is
# what sbtrace dump prints. In software recordings, with every kind of packet that they have.
set -u
command -v perf >/dev/null || { echo "skipped: no perf here"; exit 77; }
command -v perl >/dev/null || { echo "skipped: no perl here"; exit 77; }
. "$SOURCE_DIR/tests/tools/recordings.sh"
relay=$BUILD_DIR/tests/workloads/relay
as_perf=$SOURCE_DIR/tests/tools/dump/as_perf.pl

# compare NAME FILE KIND...: packets of these kinds must be there.
compare()
{
	name=$1 file=$2
	shift 2
	perf script -D -i "$file" 2>"$dir/err" | perl "$as_perf" perf |
		sort -n -k 1,1 -k 2,2 >"$dir/perf"
	"$SBTRACE" dump --no-pad --no-time "$file" 2>"$dir/account" | perl "$as_perf" dump >"$dir/ours"
	if cmp -s "$dir/perf" "$dir/ours"; then
		echo "$name: $(wc -l <"$dir/ours") packets as perf script says"
	else
		fail "$name: perf script gives $(wc -l <"$dir/perf") packets, dump $(wc -l <"$dir/ours")"
		diff "$dir/perf" "$dir/ours" | head -n 6
	fi
	for kind; do
		cut -d ' ' -f 3 "$dir/ours" | grep -qx "$kind" || fail "$name: no $kind"
	done
}

check()
{
	name=$1
	shift
	record "$name" "$@" && compare "$name" "$dir/$name.data" PSB PSBEND TSC MODE.Exec TIP.PGE TIP.PGD TIP TNT FUP
	rm -rf "$dir/$name".*
}

check pipeline -c 2 --mtc --cyc -- "$relay" 60
check retcomp -c 1 --mtc --no-retcomp -- /bin/true
check tnt64 -c 1 --tnt64 -- /bin/true
check overflow -c 2 --overflow-every 500 -- "$relay" 60
# A whole system: addresses of the kernel, PIP.
system=$CORPUS_DIR/kernel-pti/perf.data
[ -n "${SANITIZE:-}" ] || [ ! -e "$system" ] || compare kernel-pti "$system" PSB TNT TIP FUP MTC TMA CBR PIP
[ $failures -eq 0 ]
