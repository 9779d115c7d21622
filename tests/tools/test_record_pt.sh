#!/bin/sh
# Intel PT, where there is none: what sbtrace record asks of the kernel on a machine that sysfs says has it, call by
# call (record/fake_pt.c notes them, and lets them succeed): the event's attributes, that its ring is mapped before
# its buffer for trace, whose place the ring's page tells, that the sideband writes into the same ring, and the order
# in which all is started and stopped. And that the trace that comes - of a made-up processor - is in the file, byte
# by byte, with the clock's parameters: for a whole trace, for snapshots, for threads.
set -u
. "$SOURCE_DIR/tests/tools/record/live.sh"
. "$SOURCE_DIR/tests/tools/sysfs_tree.sh"
fake=$BUILD_DIR/tests/fake_pt
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" # which cannot be traced

sysfs=$dir/sysfs
for generation in broadwell skylake alderlake; do
	sysfs_tree "$SOURCE_DIR/tests/data/sysfs/$generation" "$dir/$generation/bus/event_source/devices"
	mkdir -p "$dir/$generation/devices/system/cpu"
	echo 0 | tee "$dir/$generation/devices/system/cpu/online" >"$dir/$generation/devices/system/cpu/possible"
done
sysfs=$dir/skylake
# PSB, PSBEND, and PAD up to 32.
printf '\002\202\002\202\002\202\002\202\002\202\002\202\002\202\002\202\002\043' >"$dir/packets"

# faked NAME OPTIONS...: NAME.data and NAME.log.
faked()
{
	name=$1
	shift
	"$fake" "$dir/$name.log" "$dir/packets" "$(cat "$sysfs/bus/event_source/devices/intel_pt/type")" "$SBTRACE" record --sysfs "$sysfs" -o "$dir/$name.data" "$@" \
		2>"$dir/$name.err" || { fail "$name: $(cat "$dir/$name.err")"; return 1; }
	# Whether this kernel has cgroup-switches is not the question here.
	grep -v ' cgroup-switches ' "$dir/$name.log" | grep -vE '^ioctl 2 ' >"$dir/$name.calls"
}

# config EVENT: as sbtrace events says, which is held against perf record -vv by test_events_perf.
config()
{
	"$SBTRACE" events --sysfs "$sysfs" --encode "$1" | awk '$1 == "config" { print $2 }'
}

# trace NAME: the bytes of CPU 0.
trace()
{
	"$BUILD_DIR/tests/pt_bytes" "$dir/$1.data" 0 "$dir/$1.pt" >"$dir/$1.info" || fail "$1: $(cat "$dir/$1.info")"
}

expect_calls()
{
	cmp -s "$dir/expected" "$dir/$1.calls" || { fail "$1: other calls"; diff "$dir/expected" "$dir/$1.calls"; }
}

# ---- A whole trace ------------------------------------------------------------------------------------------

for sysfs in "$dir/broadwell" "$dir/skylake" "$dir/alderlake"; do
	faked whole -a -e intel_pt//u --ring 64K --aux 256K -- sleep 0.2 || continue
	cat >"$dir/expected" <<END
open 0 intel_pt cpu=0 target=all cloexec config=$(config intel_pt//u) period=1 sample_type=IP,TID,TIME,CPU,IDENTIFIER, \
disabled=1 inherit=0 sample_id_all=1 exclude_user=0 exclude_kernel=1 aux_watermark=65536 tracking=000000
mmap 0 ring pages=1+16 prot=3 shared=1 offset=0
mmap 0 aux size=262144 prot=3 offset=69632 page_says=69632+262144
open 1 dummy cpu=0 target=all cloexec config=0x9 period=1 sample_type=IP,TID,TIME,CPU,IDENTIFIER, \
disabled=1 inherit=0 sample_id_all=1 exclude_user=0 exclude_kernel=1 aux_watermark=0 tracking=111111
ioctl 1 SET_OUTPUT 0
ioctl 1 ENABLE
ioctl 0 ENABLE
ioctl 0 DISABLE
ioctl 1 DISABLE
END
	expect_calls whole
	type=$(cat "$sysfs/bus/event_source/devices/intel_pt/type")
	trace whole
	size=$(wc -c <"$dir/whole.pt")
	said=$(sed -n 's/.*: \([0-9]*\) bytes of trace.*/\1/p' "$dir/whole.err")
	if [ "$size" -lt 96 ] || [ "$size" -ne "$said" ]; then fail "$size bytes of trace, $said said"; fi
	[ $((size % 32)) -eq 0 ] || fail "$size bytes are no multiple of what was traced"
	"$SBTRACE" dump --no-pad "$dir/whole.data" 2>"$dir/account" >"$dir/packets.out" || fail "dump: $(cat "$dir/account")"
	[ "$(grep -c ' psb ' "$dir/packets.out")" -eq $((size / 32)) ] || fail "other packets than were traced"
done
sysfs=$dir/skylake

# By perf: the clock's parameters, and all AUXTRACE records one behind the other.
if command -v perf >/dev/null; then
	perf script -D -i "$dir/whole.data" >"$dir/perf" 2>"$dir/perf.err" </dev/null
	for line in "PMU Type *$type" 'Time Shift *31' 'Time Muliplier *1022611261' 'Time Zero *5000' 'Cap Time Zero *1' \
		'Have sched_switch *3' 'Snapshot mode *0' 'Per-cpu maps *1' 'MTC bit *0x200'; do
		grep -aqE "^ *$line\$" "$dir/perf" || fail "perf does not say $line"
	done
	perl -ne 'next unless /PERF_RECORD_AUXTRACE size: (\S+) +offset: (\S+)/;
		print "a gap at $at\n" if hex $2 != $at; $at += hex $1;
		END { print "AUXTRACE holds $at of '"$size"' bytes\n" if $at != '"$size"' }' "$dir/perf" >"$dir/gaps"
	[ ! -s "$dir/gaps" ] || fail "$(cat "$dir/gaps")"
fi

# ---- Snapshots ----------------------------------------------------------------------------------------------

# The buffer is read-only: so the kernel overwrites. It has come round one and a half times, so all of it is new;
# and the event is at rest while it is read.
faked snapshot -a -e intel_pt//u --ring 64K --aux 16K --snapshot -- sleep 0.2
grep -q '^mmap 0 aux size=16384 prot=1 offset=69632 page_says=69632+16384$' "$dir/snapshot.calls" ||
	fail "snapshot: $(grep aux "$dir/snapshot.calls")"
grep -q 'aux_watermark=[1-9]' "$dir/snapshot.calls" && fail "a watermark for snapshots"
trace snapshot
[ "$(wc -c <"$dir/snapshot.pt")" -eq 16384 ] || fail "a snapshot of $(wc -c <"$dir/snapshot.pt") bytes"
"$SBTRACE" dump --no-pad "$dir/snapshot.data" 2>"$dir/account" >"$dir/packets.out"
[ "$(grep -c ' psb ' "$dir/packets.out")" -eq 512 ] || fail "snapshot: $(grep -c ' psb ' "$dir/packets.out") PSBs"

# Two, asked for through a FIFO.
mkfifo "$dir/ctl"
{ sleep 0.3; echo snapshot; sleep 0.2; echo snapshot; sleep 0.2; echo quit; } >"$dir/ctl" &
faked snapshots -a -e intel_pt//u --ring 64K --aux 16K --snapshot --control "$dir/ctl"
wait
grep -q ', 2 snapshots' "$dir/snapshots.err" || fail "two snapshots: $(cat "$dir/snapshots.err")"
grep '^ioctl 0' "$dir/snapshots.calls" | tr '\n' ' ' >"$dir/order"
[ "$(cat "$dir/order")" = "ioctl 0 ENABLE ioctl 0 DISABLE ioctl 0 ENABLE ioctl 0 DISABLE ioctl 0 ENABLE ioctl 0 DISABLE " ] ||
	fail "snapshots: $(cat "$dir/order")"

# Two, asked for by a signal, each of which is obeyed when it comes.
faked signals -a -e intel_pt//u --ring 64K --aux 16K --snapshot -- \
	sh -c 'sleep 0.3; kill -USR2 $PPID; sleep 0.3; kill -USR2 $PPID; sleep 0.3'
grep -q ', 2 snapshots' "$dir/signals.err" || fail "SIGUSR2: $(cat "$dir/signals.err")"
grep '^ioctl 0' "$dir/signals.calls" | tr '\n' ' ' | cmp -s - "$dir/order" || fail "SIGUSR2: $(grep '^ioctl' "$dir/signals.calls")"
trace signals
[ "$(wc -c <"$dir/signals.pt")" -eq 32768 ] || fail "SIGUSR2: snapshots of $(wc -c <"$dir/signals.pt") bytes"

# Start and stop: the sideband goes on.
{ sleep 0.3; echo start; sleep 0.2; echo stop; sleep 0.1; echo start; sleep 0.1; echo quit; } >"$dir/ctl" &
faked paused -a -e intel_pt//u --ring 64K --aux 16K --paused --control "$dir/ctl"
wait
grep '^ioctl [01] [ED]' "$dir/paused.calls" | tr '\n' ' ' >"$dir/order"
[ "$(cat "$dir/order")" = "ioctl 1 ENABLE ioctl 0 ENABLE ioctl 0 DISABLE ioctl 0 ENABLE ioctl 0 DISABLE ioctl 1 DISABLE " ] ||
	fail "paused: $(cat "$dir/order")"

# More at once than there is room for: that is counted, and told.
cp "$dir/packets" "$dir/few"
head -c 5000 /dev/zero >>"$dir/packets"
faked full -a -e intel_pt//u --ring 64K --aux 4K -- sleep 0.2
cp "$dir/few" "$dir/packets"
grep -q ' 0 bytes of trace; [1-9][0-9]* times trace was lost' "$dir/full.err" || fail "full: $(cat "$dir/full.err")"

# What is not said about buffers is as the manual has it: 8M for records, 4M for trace, and of that a quarter at a time.
faked usual -a -e intel_pt//u -- sleep 0.1
grep -q '^mmap 0 ring pages=1+2048 ' "$dir/usual.calls" || fail "usual: $(grep ring "$dir/usual.calls")"
grep -q '^mmap 0 aux size=4194304 ' "$dir/usual.calls" || fail "usual: $(grep aux "$dir/usual.calls")"
grep -q 'aux_watermark=1048576' "$dir/usual.calls" || fail "usual: $(grep watermark "$dir/usual.calls")"

# ---- A command ----------------------------------------------------------------------------------------------

# Its event is inherited, and of the thread; the sideband is everybody's.
faked command -e intel_pt//u --ring 64K --aux 16K -- sleep 0.1
grep -q '^open 0 intel_pt cpu=0 target=thread-0 .* inherit=1 ' "$dir/command.calls" || fail "command: $(head -1 "$dir/command.calls")"
grep -q '^open 1 dummy cpu=0 target=all .* inherit=0 ' "$dir/command.calls" || fail "command: $(sed -n 4p "$dir/command.calls")"

# ---- Threads, on all CPUs ------------------------------------------------------------------------------------

# Per CPU: the first thread's event has the ring and the buffer for trace, those of the other threads, and of children
# that are there, write into it, and so does the sideband, which is everybody's. It is enabled first, and disabled last.
cpus=0
taskset -c 1 true 2>/dev/null && cpus="0 1" && echo 0-1 >"$sysfs/devices/system/cpu/online" &&
	echo 0-1 >"$sysfs/devices/system/cpu/possible"
"$BUILD_DIR/tests/workloads/still" 3 "$dir" &
still=$!
while [ ! -e "$dir/there" ] && kill -0 $still; do sleep 0.02; done

# names NAME: the calls, with EVENT.CPU.TARGET in place of numbers, without attributes.
names()
{
	awk '$1 == "open" { name[$2] = $3 "." substr($4, 5) "." substr($5, 8); print "open", name[$2]; next }
		$1 == "mmap" { print "mmap", $3, name[$2]; next }
		$1 == "ioctl" { print $3, name[$2] ($4 == "" ? "" : " " name[$4]); next }
		{ print }' "$dir/$1.log" | grep -v ' cgroup-switches\.' >"$dir/$1.names"
}

# expect_targets NAME INHERIT TARGET...: that it was so for these targets.
expect_targets()
{
	name=$1 inherit=$2
	shift 2
	names "$name"
	{
		for cpu in $cpus; do
			ring=intel_pt.$cpu.$1
			for target in "$@"; do
				echo "open intel_pt.$cpu.$target"
				if [ "$target" = "$1" ]; then
					printf 'mmap ring %s\nmmap aux %s\n' "$ring" "$ring"
				else
					echo "SET_OUTPUT intel_pt.$cpu.$target $ring"
				fi
			done
			printf 'open dummy.%s.all\nSET_OUTPUT dummy.%s.all %s\n' "$cpu" "$cpu" "$ring"
		done
		for cpu in $cpus; do echo "ENABLE dummy.$cpu.all"; done
		for order in ENABLE DISABLE; do
			for cpu in $cpus; do for target in "$@"; do echo "$order intel_pt.$cpu.$target"; done; done
		done
		for cpu in $cpus; do echo "DISABLE dummy.$cpu.all"; done
	} >"$dir/expected"
	cmp -s "$dir/expected" "$dir/$name.names" || { fail "$name: other calls"; diff "$dir/expected" "$dir/$name.names"; }
	# All of them ask for the same.
	grep '^open [0-9]* intel_pt ' "$dir/$name.log" | sed 's/^open [0-9]* \(.*\) cpu=[0-9]* target=[^ ]*/\1/' | sort -u >"$dir/attrs"
	echo "intel_pt cloexec config=$(config intel_pt//u) period=1 sample_type=IP,TID,TIME,CPU,IDENTIFIER, disabled=1" \
		"inherit=$inherit sample_id_all=1 exclude_user=0 exclude_kernel=1 aux_watermark=4096 tracking=000000" |
		cmp - "$dir/attrs" || fail "$name: $(cat "$dir/attrs")"
	# Rings and buffers of all CPUs are alike.
	[ "$(grep -c "^mmap [0-9]* aux size=16384 prot=3 offset=69632 page_says=69632+16384\$" "$dir/$name.log")" -eq \
		"$(echo "$cpus" | wc -w)" ] || fail "$name: $(grep aux "$dir/$name.log")"
	for cpu in $cpus; do
		"$BUILD_DIR/tests/pt_bytes" "$dir/$name.data" "$cpu" "$dir/$name.pt" >"$dir/$name.info" ||
			fail "$name: $(cat "$dir/$name.info")"
		[ "$(wc -c <"$dir/$name.pt")" -ge 32 ] || fail "$name: no trace of CPU $cpu"
	done
}

faked threads -p $still -e intel_pt//u --ring 64K --aux 16K --time 0.3
expect_targets threads 1 thread-0 thread-1 thread-2 thread-3
faked thread -t $still -e intel_pt//u --ring 64K --aux 16K --time 0.3
expect_targets thread 0 thread-0
faked everybody -a -e intel_pt//u --ring 64K --aux 16K --time 0.3
expect_targets everybody 0 all
# Of one CPU alone: the other one has the sideband.
if [ "$cpus" = "0 1" ]; then
	faked one -a -e intel_pt//u:cpu=1 --ring 64K --aux 16K --time 0.3
	names one
	cat >"$dir/expected" <<END
open dummy.0.all
mmap ring dummy.0.all
open intel_pt.1.all
mmap ring intel_pt.1.all
mmap aux intel_pt.1.all
open dummy.1.all
SET_OUTPUT dummy.1.all intel_pt.1.all
ENABLE dummy.0.all
ENABLE dummy.1.all
ENABLE intel_pt.1.all
DISABLE intel_pt.1.all
DISABLE dummy.0.all
DISABLE dummy.1.all
END
	cmp -s "$dir/expected" "$dir/one.names" || { fail "one CPU: other calls"; diff "$dir/expected" "$dir/one.names"; }
	"$BUILD_DIR/tests/pt_bytes" "$dir/one.data" 1 "$dir/one.pt" >"$dir/one.info" || fail "one CPU: $(cat "$dir/one.info")"
	[ "$(wc -c <"$dir/one.pt")" -ge 32 ] || fail "one CPU: no trace"
fi
for place in /sys/fs/cgroup/perf_event /sys/fs/cgroup; do
	[ -f $place/cgroup.procs ] && mkdir "$place/sbtrace-test-$$" 2>/dev/null || continue
	faked group --cgroup "/sbtrace-test-$$" -e intel_pt//u --ring 64K --aux 16K --time 0.3
	rmdir "$place/sbtrace-test-$$"
	expect_targets group 0 cgroup
	break
done

# Told to start and to stop, with two snapshots: each time all of them, the threads of each CPU together.
{ sleep 0.3; echo start; sleep 0.1; echo snapshot; sleep 0.1; echo quit; } >"$dir/ctl" &
faked again -p $still -e intel_pt//u --ring 64K --aux 16K --snapshot --paused --control "$dir/ctl"
names again
grep -E '^(EN|DIS)ABLE intel_pt' "$dir/again.names" >"$dir/order"
for order in ENABLE DISABLE ENABLE DISABLE; do
	for cpu in $cpus; do for i in 0 1 2 3; do echo "$order intel_pt.$cpu.thread-$i"; done; done
done | cmp - "$dir/order" || fail "again: $(cat "$dir/order")"
: >"$dir/end"
wait
grep -h '^wrong' "$dir"/*.log && fail "something that the kernel would refuse"

# ---- An old kernel ------------------------------------------------------------------------------------------

# What it does not know is not asked of it, and the user hears of it. Build-ids that its records do not have are in
# the header, of files that were mapped meanwhile.
old()
{
	FAKE_OLD=1 "$fake" "$dir/old.log" "$dir/packets" 8 "$SBTRACE" record -a --sideband-only -o "$dir/old.data" -- \
		ls / 2>"$dir/old.err" >"$dir/out"
}
old || fail "old: $(cat "$dir/old.err")"
grep -q 'does not tell us of: namespaces, kernel symbols, BPF programs, cgroups, cgroup ids, text pokes, build-ids, lost' \
	"$dir/old.err" || fail "old: $(cat "$dir/old.err")"
"$SBTRACE" dump --sideband --json "$dir/old.data" 2>"$dir/account" >"$dir/old.text" || fail "old: $(cat "$dir/account")"
grep '"type":"MMAP2"' "$dir/old.text" | grep -v '"time":0,' | grep '/ls"' | grep -q '"ino":[1-9]' ||
	fail "old: ls was mapped with a build-id, or not at all"
if command -v perf >/dev/null; then
	ls=$(readlink -f "$(command -v ls)")
	id=$(readelf -n "$ls" | sed -n 's/.*Build ID: //p')
	perf buildid-list -i "$dir/old.data" 2>"$dir/err" | grep -q "^$id .*/ls\$" ||
		fail "old: $(perf buildid-list -i "$dir/old.data" 2>&1 | head -n 5), $id is expected"
	[ ! -s "$dir/err" ] || fail "old: perf says $(cat "$dir/err")"
fi

# ---- CPUs that go while their events are opened ---------------------------------------------------------------

# offline CPU FROM COUNT NAME OPTIONS...: as faked, where so many opens find the CPU offline.
offline()
{
	FAKE_OFFLINE="$1 $2 $3"
	export FAKE_OFFLINE
	shift 3
	faked "$@"
	unset FAKE_OFFLINE
}

# came_back NAME: that CPU 1 went is said once, that it came, too; then all its events are started.
came_back()
{
	[ "$(grep -c 'CPU 1 went offline: it is not recorded until it comes back' "$dir/$1.err")" -eq 1 ] &&
		grep -q 'CPU 1 came: ' "$dir/$1.err" || fail "$1: $(cat "$dir/$1.err")"
	awk '$1 == "open" && $4 == "cpu=1" { name[$2] = $3; next }
		$1 == "ioctl" && $3 == "ENABLE" && name[$2] { print name[$2] }' "$dir/$1.log" | grep -v cgroup | sort -u | xargs >"$dir/started"
	[ "$(cat "$dir/started")" = "$2" ] || fail "$1: started on CPU 1: $(cat "$dir/started")"
}

if [ "$cpus" = "0 1" ]; then
	# Before its first event, and between its first and its second one: with a trace, and without.
	offline 1 0 2 early -a -e intel_pt//u --ring 64K --aux 16K --time 1.5
	came_back early 'dummy intel_pt'
	offline 1 1 2 between -a -e intel_pt//u --ring 64K --aux 16K --time 1.5
	came_back between 'dummy intel_pt'
	offline 1 1 2 sideband -a --sideband-only --ring 64K --time 1.5
	came_back sideband dummy
	"$SBTRACE" dump --sideband --json "$dir/sideband.data" 2>"$dir/account" >"$dir/sideband.text" || fail "sideband: $(cat "$dir/account")"
	for cpu in $cpus; do
		grep -q "\"type\":\"SWITCH_CPU_WIDE\".*\"cpu\":$cpu," "$dir/sideband.text" || fail "nobody switches on CPU $cpu"
	done
	# It does not come back.
	offline 1 1 1000000 away -a -e intel_pt//u --ring 64K --aux 16K --time 1.5
	[ "$(grep -c 'CPU 1 went offline' "$dir/away.err")" -eq 1 ] || fail "away: $(cat "$dir/away.err")"
	grep -q ' came: ' "$dir/away.err" && fail "away: $(cat "$dir/away.err")"
	trace away
	[ "$(wc -c <"$dir/away.pt")" -ge 32 ] || fail "away: no trace of CPU 0"
	# While it is found out what the kernel knows: another one is asked.
	offline 0 3 1000000 probed -a --sideband-only --ring 64K --time 0.1
	grep -q 'CPU 0 went offline' "$dir/probed.err" || fail "probed: $(cat "$dir/probed.err")"
	grep -q 'does not tell us of' "$dir/probed.err" && fail "probed: $(cat "$dir/probed.err")"
	grep -q '^open [0-9]* dummy cpu=0 ' "$dir/probed.log" && fail "probed: CPU 0 is recorded"
	grep -q '^open [0-9]* dummy cpu=1 ' "$dir/probed.log" || fail "probed: CPU 1 is not"
fi
# A PMU that there is not is another matter.
FAKE_LACKS=1 "$fake" "$dir/lacks.log" "$dir/packets" 8 "$SBTRACE" record --sysfs "$sysfs" -a -e intel_pt//u -o "$dir/lacks.data" \
	-- true 2>"$dir/lacks.err" && fail "a trace without a PMU"
grep -q 'this machine cannot record it on CPU 0 (No such device)' "$dir/lacks.err" || fail "lacks: $(cat "$dir/lacks.err")"
grep -h '^wrong' "$dir"/*.log && fail "something that the kernel would refuse"

# Two traces are one too many; and what this generation lacks is refused.
"$SBTRACE" record --sysfs "$sysfs" -a -e intel_pt//u -e intel_pt//k -o "$dir/two.data" -- true 2>"$dir/err" &&
	fail "two traces are fine"
grep -q 'one event that traces' "$dir/err" || fail "two traces: $(cat "$dir/err")"
"$SBTRACE" record --sysfs "$sysfs" -a -e intel_pt/ptw/u -o "$dir/two.data" -- true 2>"$dir/err" && fail "ptw on skylake"
grep -q 'no ptw' "$dir/err" || fail "ptw: $(cat "$dir/err")"
# Here there is none, or it can be recorded.
for event in '' '-e intel_pt//u'; do
	# shellcheck disable=SC2086
	"$SBTRACE" record --sysfs "$dir" -a $event -o "$dir/none.data" -- true 2>"$dir/err" && fail "no PT, and no complaint"
	grep -q 'no Intel PT; --sideband-only .* --software' "$dir/err" || fail "no PT $event: $(cat "$dir/err")"
done
ls "$dir"/*.tmp.* "$dir/two.data" "$dir/none.data" 2>/dev/null && fail "something is left"
[ $failures -eq 0 ]
