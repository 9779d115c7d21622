#!/bin/sh
# Containers for real: processes in cgroups and namespaces of their own, with files of their own, are recorded in
# software and replayed. Every instruction of the truth comes out, though /bin/place is another program in each
# of them; and each filter gives exactly the part of the truth that is the container's.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
[ "$(id -u)" -eq 0 ] || { echo "skipped: containers take root"; exit 77; }
unshare --pid --mount --fork true 2>/dev/null || { echo "skipped: namespaces cannot be made here"; exit 77; }
workloads=$BUILD_DIR/tests/workloads
id=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef

cgroups=
for place in /sys/fs/cgroup /sys/fs/cgroup/unified; do
	[ -z "$cgroups" ] && [ -f $place/cgroup.procs ] && mkdir "$place/sbtrace-test-$$" 2>/dev/null &&
		cgroups=$place/sbtrace-test-$$
done
cleanup()
{
	[ -z "$cgroups" ] || rmdir "$cgroups"/docker-$id.scope "$cgroups" 2>/dev/null
	rm -rf "$dir"
}
trap cleanup EXIT
[ -z "$cgroups" ] || mkdir "$cgroups/docker-$id.scope"

# ---- The containers -----------------------------------------------------------------------------------------

# An overlay whose upper layer replaced the program; a plain directory; one for chroot alone.
mkdir -p "$dir/lower/bin" "$dir/upper/bin" "$dir/work" "$dir/merged" "$dir/plain/bin" "$dir/chroot/bin"
cp "$workloads/place1" "$dir/lower/bin/place"
cp "$workloads/place2" "$dir/upper/bin/place"
cp "$workloads/place3" "$dir/plain/bin/place"
cp "$workloads/place4" "$dir/chroot/bin/place"

overlay=1
unshare --mount mount -t overlay overlay -o "lowerdir=$dir/lower,upperdir=$dir/upper,workdir=$dir/work" "$dir/merged" \
	2>/dev/null || overlay=
mounted="overlay lowerdir=$dir/lower,upperdir=$dir/upper,workdir=$dir/work $dir/merged"
[ -n "$overlay" ] || { echo "no overlayfs here: a directory is in its place"; mounted="bind $dir/upper $dir/merged"; }

# Who is where is noted by those concerned: "WHAT PID NAMESPACE". /proc is the one outside. Both containers wait for each
# other, so that their namespaces have different numbers.
box=$workloads/box
cat >"$dir/all" <<END
'$box' unshare note '$dir/notes' overlay namespace '$dir/one' await '$dir/other' $mounted chroot '$dir/merged' exec /bin/place &
'$box' unshare note '$dir/notes' plain namespace '$dir/other' await '$dir/one' chroot '$dir/plain' exec /bin/place &
[ -z "$cgroups" ] || '$box' note '$dir/notes' cgroup join '$cgroups/docker-$id.scope/cgroup.procs' \\
	run '$workloads/place1' , exec '$workloads/place1'
'$box' chroot '$dir/chroot' exec /bin/place
wait
END

lean "$SBTRACE" record --software -c 2 --mtc -o "$dir/all.data" --truth "$dir/truth" -- sh "$dir/all" >"$dir/out" \
	2>"$dir/err" || fail "record: $(cat "$dir/err")"
said=$(sort "$dir/out" | tr -d '\n')
[ "$said" = 11234 ] || [ -z "$cgroups$said" ] || [ -z "$cgroups" ] || fail "the programs said $said"

note() { awk -v what="$1" -v column="$2" '$1 == what { gsub(/[^0-9]/, "", $column); print $column }' "$dir/notes"; }
overlay_pid=$(note overlay 2) overlay_ns=$(note overlay 3)
plain_pid=$(note plain 2) plain_ns=$(note plain 3)
[ -n "$overlay_ns" ] && [ -n "$plain_ns" ] && [ "$overlay_ns" != "$plain_ns" ] || fail "the notes: $(cat "$dir/notes")"

# ---- Replays ------------------------------------------------------------------------------------------------

# replay OPTIONS...: into flow, without times, and summary
replay()
{
	"$SBTRACE" replay --root "$dir/chroot" --container-root "$overlay_ns=$dir/upper:$dir/lower" \
		--container-root "$plain_ns=$dir/plain" "$@" --sink insn="$dir/insn" --sink summary="$dir/summary" \
		"$dir/all.data" >/dev/null 2>"$dir/err" || fail "replay $*: $(cat "$dir/err")"
	columns_but_tsc "$dir/insn" >"$dir/flow"
}

# same WHAT: the flow is what was expected
same()
{
	if cmp -s "$dir/expected" "$dir/flow"; then
		echo "$1: $(wc -l <"$dir/flow") instructions as expected"
		[ -s "$dir/flow" ] || fail "$1: nothing at all"
	else
		fail "$1: $(wc -l <"$dir/expected") lines were expected, $(wc -l <"$dir/flow") came"
		diff "$dir/expected" "$dir/flow" | head -n 6
	fi
}

of_pids() { awk -F '\t' -v pids=" $* " 'index(pids, " " $2 " ")' "$dir/all_truth"; }

columns_but_tsc "$dir/truth" >"$dir/all_truth"
cp "$dir/all_truth" "$dir/expected"
replay
same "all"
grep -q '^(outside)' "$dir/summary" || fail "no table of containers: $(cat "$dir/summary")"

# With the files of another container, it does not come out: that they are told apart is what this test is about.
"$SBTRACE" replay --root "$dir/plain" --sink insn="$dir/insn" --no-host-root "$dir/all.data" >/dev/null 2>&1
columns_but_tsc "$dir/insn" | cmp -s - "$dir/all_truth" && fail "the wrong files do as well"

# In namespaces of their own, processes are from their first instruction on, with their children.
pids_in() { awk -F '\t' '{ print $2 }' "$dir/flow" | sort -un | tr '\n' ' '; }
replay --container "$overlay_ns"
of_pids "$(pids_in)" >"$dir/expected"
same "overlay"
pids_in | grep -qw "$overlay_pid" || fail "the overlay's process is $overlay_pid, not one of $(pids_in)"
pids_in | grep -qw "$plain_pid" && fail "the other container is in it"
grep -Eq "^$overlay_ns +namespace +- " "$dir/summary" || fail "no line for $overlay_ns: $(cat "$dir/summary")"

replay --container "$plain_ns"
of_pids "$(pids_in)" >"$dir/expected"
same "directory"
pids_in | grep -qw "$plain_pid" || fail "the directory's process is $plain_pid, not one of $(pids_in)"
replay --container "${plain_ns%?}?" --container "$overlay_ns" --comm place
[ "$(pids_in)" = "$(printf '%s\n' "$overlay_pid" "$plain_pid" | sort -n | tr '\n' ' ')" ] ||
	fail "place ran as $overlay_pid and $plain_pid, not as $(pids_in)"

# A process that moves to a cgroup is in the container from then on, and so are its children.
if [ -n "$cgroups" ]; then
	pid=$(note cgroup 2)
	replay --container 0123456789ab
	pids=$(pids_in)
	awk -F '\t' -v pid="$pid" '$2 == pid' "$dir/flow" >"$dir/moved"
	of_pids "$pid" >"$dir/before_and_after"
	count=$(wc -l <"$dir/moved")
	# From each CPU a part that ends with the process.
	[ "$count" -gt 1000 ] && [ "$count" -lt "$(wc -l <"$dir/before_and_after")" ] || fail "$count instructions in the cgroup"
	tid_order() { awk -F '\t' -v pid="$pid" '$2 == pid { print $4 "\t" $5 }' "$1" | sort -s -n -k 1,1 | cut -f 2; }
	tid_order "$dir/truth" | tail -n "$count" >"$dir/expected"
	awk -F '\t' -v pid="$pid" '$2 == pid { print $4 "\t" $5 }' "$dir/insn" | sort -s -n -k 1,1 | cut -f 2 >"$dir/flow"
	sort "$dir/expected" >"$dir/expected.sorted"
	sort "$dir/flow" >"$dir/flow.sorted"
	cmp -s "$dir/expected.sorted" "$dir/flow.sorted" || fail "what the process did last is not what it did in the cgroup"
	echo "cgroup: the last $count instructions of process $pid"
	grep -Eq "^0123456789ab +docker +- " "$dir/summary" || fail "no line for docker: $(cat "$dir/summary")"
	replay --cgroup '*/docker-*.scope'
	[ "$(pids_in)" = "$pids" ] || fail "--cgroup gives $(pids_in), --container $pids"
	replay --cgroup '/nowhere'
	[ ! -s "$dir/flow" ] || fail "somebody was nowhere"
else
	echo "no cgroup file system of version 2 to write to: cgroups are left out"
fi

# A name that no container has is told.
"$SBTRACE" replay --container nobody "$dir/all.data" 2>&1 >/dev/null | grep -q "no container matches 'nobody'" ||
	fail "a wrong name is not told"

# perf sees the same records without complaint.
if command -v perf >/dev/null; then
	perf script -D --no-itrace -i "$dir/all.data" 2>/dev/null | grep -c 'PERF_RECORD_NAMESPACES' >"$dir/count"
	[ "$(cat "$dir/count")" -ge 6 ] || fail "perf sees $(cat "$dir/count") NAMESPACES records"
fi
[ $failures -eq 0 ]
