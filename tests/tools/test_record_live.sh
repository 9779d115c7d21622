#!/bin/sh
# Whom a recording is of, how it ends, and what it says when it cannot: processes with what they start, threads, a
# control group, a command; limits, signals, a FIFO, a command that cannot be run, a recorder that is killed; CPUs
# that go and come; the kernel's code beside it. A recording is whole, or it is not there.
set -u
. "$SOURCE_DIR/tests/tools/record/live.sh"
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" # some are short of files

# recorded NAME OPTIONS...: NAME.data, of the sideband.
recorded()
{
	name=$1
	shift
	"$SBTRACE" record --sideband-only -o "$dir/$name.data" "$@" >"$dir/$name.out" 2>"$dir/$name.err"
}

# comms NAME: who ran a program, in order.
comms()
{
	"$SBTRACE" dump --sideband "$dir/$1.data" 2>"$dir/account" |
		sed -n 's/.*\tCOMM pid [0-9]* tid [0-9]* exec name "\(.*\)"$/\1/p' | tr '\n' ' '
	grep -q damage "$dir/account" && fail "$1: $(cat "$dir/account")"
}

# refused TEXT COMMAND...: fails, says so, and leaves nothing.
refused()
{
	text=$1
	shift
	"$@" >"$dir/refused.out" 2>"$dir/refused.err" && fail "not refused: $*"
	grep -q "$text" "$dir/refused.err" || fail "'$text' is not in '$(cat "$dir/refused.err")'"
	ls "$dir"/none* 2>/dev/null && fail "left by: $*"
}

# ---- Of whom ------------------------------------------------------------------------------------------------

# A command, and what it starts; its exit status is ours.
recorded command -- sh -c '(ls / | wc -l) >/dev/null; exec sh -c "exit 7"'
[ $? -eq 7 ] || fail "the status of the command: $(cat "$dir/command.err")"
[ "$(comms command | tr ' ' '\n' | sort | xargs)" = "ls sh sh wc" ] || fail "command: $(comms command)"

# A process and what it starts, also what it has started before; until they end.
cat >"$dir/two.sh" <<'END'
(: >"$1/started"; while [ ! -e "$1/stop" ]; do sleep 0.01; done; ls / >/dev/null) &
while [ ! -e "$1/stop" ]; do sleep 0.01; done
wc -l /dev/null >/dev/null
wait
END
sh "$dir/two.sh" "$dir" &
two=$!
while [ ! -e "$dir/started" ]; do sleep 0.01; done
recorded process -p $two &
recorder=$!
begun "$dir/process.data" $recorder
: >"$dir/stop"
wait $recorder || fail "process: $(cat "$dir/process.err")"
wait
case $(comms process) in
*ls*) ;;
*) fail "what was started before is missed: $(comms process)" ;;
esac
case $(comms process) in
*wc*) ;;
*) fail "the process is missed: $(comms process)" ;;
esac

# A thread, and nothing that it starts.
rm "$dir/stop"
sh "$dir/two.sh" "$dir" &
two=$!
recorded thread -t $two &
recorder=$!
begun "$dir/thread.data" $recorder
: >"$dir/stop"
wait $recorder || fail "thread: $(cat "$dir/thread.err")"
wait
[ -z "$(comms thread)" ] || fail "a thread alone: $(comms thread)"
"$SBTRACE" dump --sideband "$dir/thread.data" 2>/dev/null | grep -q "	$two/$two	[0-9]*	SWITCH " || fail "the thread never ran"

# A process whose first thread has ended, of which /proc shows no mappings; in software, too, where it maps code then.
mkdir "$dir/headless"
"$BUILD_DIR/tests/workloads/headless" "$dir/headless" &
headless=$!
while [ ! -e "$dir/headless/headless" ] && kill -0 $headless 2>/dev/null; do sleep 0.02; done
recorded headless -p $headless --time 0.2 || fail "headless: $(cat "$dir/headless.err")"
: >"$dir/headless/end"
wait $headless
rm "$dir/headless/headless"
"$SBTRACE" record --software -q -o "$dir/beheaded.data" --truth "$dir/truth" --copy-root "$dir/root" -- \
	"$BUILD_DIR/tests/workloads/headless" "$dir/headless" || fail "headless in software"
for name in headless beheaded; do
	"$SBTRACE" dump --sideband "$dir/$name.data" 2>/dev/null | grep -q 'MMAP2 pid.* build_id .*/libm\.so' ||
		fail "$name: $("$SBTRACE" dump --sideband "$dir/$name.data" 2>/dev/null | grep MMAP2)"
done
"$SBTRACE" replay --sink insn="$dir/flow" "$dir/beheaded.data" >"$dir/account" 2>&1 || fail "headless: $(cat "$dir/account")"
cut -f 1,2,3,5 "$dir/truth" >"$dir/truth.cut"
cut -f 1,2,3,5 "$dir/flow" | cmp - "$dir/truth.cut" || fail "headless: the replay in software is not what ran"

# A control group: who is in it.
cgroup=
for place in /sys/fs/cgroup/perf_event /sys/fs/cgroup /sys/fs/cgroup/unified; do
	[ -z "$cgroup" ] && [ -f $place/cgroup.procs ] && mkdir "$place/sbtrace-test-$$" 2>/dev/null &&
		cgroup=$place/sbtrace-test-$$
done
if [ -n "$cgroup" ]; then
	: >"$dir/rounds"
	sh -c "echo \$\$ >$cgroup/cgroup.procs; while [ ! -e $dir/seen ]; do ls / >/dev/null; echo >>$dir/rounds; sleep 0.01; done" &
	member=$!
	recorded cgroup --cgroup "/sbtrace-test-$$" --control "$dir/ctl" &
	recorder=$!
	begun "$dir/cgroup.data" $recorder
	# One round begins and ends behind this.
	rounds=$(wc -l <"$dir/rounds")
	while [ "$(wc -l <"$dir/rounds")" -lt $((rounds + 2)) ]; do sleep 0.02; done
	: >"$dir/seen"
	wait $member
	echo quit >"$dir/ctl"
	wait $recorder || fail "cgroup: $(cat "$dir/cgroup.err")"
	case $(comms cgroup) in
	*ls*) ;;
	*) fail "cgroup: $(comms cgroup)" ;;
	esac
	# Who is removed is not waited for.
	recorded gone --cgroup "/sbtrace-test-$$" &
	recorder=$!
	begun "$dir/gone.data" $recorder
	rmdir "$cgroup"
	wait $recorder || fail "a cgroup that goes: $(cat "$dir/gone.err")"
else
	echo "left out: no control group can be made here"
fi
refused 'no such cgroup\|no hierarchy' "$SBTRACE" record --sideband-only --cgroup /none -o "$dir/none.data"

# Samples of an event, with the sideband.
"$SBTRACE" record -a -e cpu-clock -o "$dir/samples.data" --time 0.3 2>"$dir/err" || fail "cpu-clock: $(cat "$dir/err")"
"$SBTRACE" dump --sideband "$dir/samples.data" 2>/dev/null | grep -q '	SAMPLE ' || fail "no samples"

# ---- How it ends --------------------------------------------------------------------------------------------

# What shells start in the background ignores SIGINT, and what nohup starts SIGHUP.
for signal in INT TERM HUP; do
	perl -e '$SIG{$_} = "DEFAULT" for qw(INT HUP TERM); exec @ARGV' "$SBTRACE" record -a --sideband-only -o "$dir/$signal.data" 2>"$dir/err" &
	recorder=$!
	begun "$dir/$signal.data" $recorder
	kill -s $signal $recorder
	wait $recorder || fail "$signal: $(cat "$dir/err")"
	[ -f "$dir/$signal.data" ] || fail "$signal: nothing"
done
# SIGUSR2 ends nothing: it asks for a snapshot, of which there is none without a trace.
"$SBTRACE" record -a --sideband-only -o "$dir/usr2.data" 2>"$dir/err" &
recorder=$!
begun "$dir/usr2.data" $recorder
kill -s USR2 $recorder
while ! grep -q 'nothing to take a snapshot of' "$dir/err" && kill -0 $recorder 2>/dev/null; do sleep 0.02; done
kill -s TERM $recorder
wait $recorder || fail "USR2: $(cat "$dir/err")"
[ -f "$dir/usr2.data" ] || fail "USR2: nothing"
# The command is ended with it.
"$SBTRACE" record -a --sideband-only -o "$dir/sleep.data" -- sh -c "echo \$\$ >$dir/pid; exec sleep 100" 2>"$dir/err" &
recorder=$!
while [ ! -s "$dir/pid" ] && kill -0 $recorder; do sleep 0.01; done
kill -s TERM $recorder
wait $recorder || fail "TERM with a command: $(cat "$dir/err")"
lives "$(cat "$dir/pid")" && fail "the command goes on"

# Killed: a temporary name that says so, which reads as an interrupted recording; the command never hangs.
"$SBTRACE" record -a --sideband-only -o "$dir/killed.data" 2>/dev/null &
recorder=$!
begun "$dir/killed.data" $recorder
kill -KILL $recorder
wait $recorder 2>/dev/null
[ ! -e "$dir/killed.data" ] || fail "killed, and whole"
"$SBTRACE" dump --sideband "$dir/killed.data".tmp.* 2>/dev/null | grep -q '	FINISHED_INIT' || fail "killed: nothing to be read"
# The next one of that name takes it away; but not what another one is just writing.
left=$(ls -d "$dir/killed.data".tmp.*)
"$SBTRACE" record -a --sideband-only -o "$dir/killed.data" 2>"$dir/other.err" &
recorder=$!
while [ -e "$left" ] && kill -0 $recorder 2>/dev/null; do sleep 0.02; done
begun "$dir/killed.data" $recorder
grep -q 'killed.data.tmp.* is removed: a recording that was killed has left it' "$dir/other.err" ||
	fail "not removed: $(cat "$dir/other.err")"
recorded killed -a -- true || fail "beside another one: $(cat "$dir/killed.err")"
grep -q 'is removed' "$dir/killed.err" && fail "removed while it is written"
kill -s TERM $recorder
wait $recorder || fail "beside another one: $(cat "$dir/other.err")"

# The disk is full: what was recorded is kept. Of the command alone: what others do must not fill it before that begins.
recorded room -- true || fail "room: $(cat "$dir/room.err")"
room=$(($(stat -c %s "$dir/room.data") / 512 + 512))
(
	trap '' XFSZ
	ulimit -f $room
	exec "$SBTRACE" record --sideband-only -o "$dir/full.data" -- sh -c 'while :; do /bin/true; done'
) 2>"$dir/full.err" && fail "a full disk: no error"
grep -q 'File too large' "$dir/full.err" || fail "a full disk: $(cat "$dir/full.err")"
grep -q 'is kept, .*full.data.interrupted' "$dir/full.err" || fail "a full disk, not kept: $(cat "$dir/full.err")"
[ ! -e "$dir/full.data" ] || fail "a full disk, and whole"
"$SBTRACE" dump --sideband "$dir/full.data.interrupted" 2>/dev/null | grep -q '	FINISHED_INIT' || fail "a full disk: nothing to be read"

# In software, nothing is left, and nobody stays stopped.
for after in 0.05 0.2 0.4; do
	"$SBTRACE" record --software -q -o "$dir/software.data" -- sh -c "echo \$\$ >$dir/pid; while :; do ls / >/dev/null; done" \
		>/dev/null 2>&1 &
	recorder=$!
	sleep $after
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	ls "$dir"/software.data* 2>/dev/null && fail "left by --software that was killed"
	i=0
	while [ $i -lt 100 ] && [ -s "$dir/pid" ] && lives "$(cat "$dir/pid")"; do
		sleep 0.1
		i=$((i + 1))
	done
	[ $i -lt 100 ] || { fail "the command of --software outlives it"; kill -KILL "$(cat "$dir/pid")"; }
	rm -f "$dir/pid"
done

# A command that does not care is killed when it is said twice; the recording is there by then.
: >"$dir/stubborn.err"
"$SBTRACE" record --sideband-only -o "$dir/stubborn.data" -- sh -c "trap '' TERM; : >$dir/trapped; while :; do sleep 0.1; done" \
	2>"$dir/stubborn.err" &
recorder=$!
while [ ! -e "$dir/trapped" ] && kill -0 $recorder; do sleep 0.01; done
kill -s TERM $recorder
while ! grep -q 'does not end, and is waited for' "$dir/stubborn.err" && kill -0 $recorder 2>/dev/null; do sleep 0.05; done
"$SBTRACE" dump --sideband "$dir/stubborn.data" >/dev/null 2>&1 || fail "stubborn: the recording is not there"
kill -s TERM $recorder
wait $recorder || fail "stubborn: $(cat "$dir/stubborn.err")"

# By size: not before the file has it, and as soon as it does; the command ends then.
"$SBTRACE" record -q -a --sideband-only --time 0.01 -o "$dir/size.data" || fail "size"
limit=$((($(wc -c <"$dir/size.data") / 1024 + 1024) * 1024))
"$SBTRACE" record -a --sideband-only --ring 512K --size $limit -o "$dir/size.data" -- sh -c "echo \$\$ >$dir/pid; while :; do /bin/true; done" 2>"$dir/err"
[ $? -eq 143 ] || fail "size: $(cat "$dir/err")"
size=$(wc -c <"$dir/size.data")
# More than a limit by what the rings hold, at most; and some at the end.
if [ "$size" -lt $limit ] || [ "$size" -gt $((limit + (2 * $(getconf _NPROCESSORS_CONF) + 2) * 512 * 1024)) ]; then
	fail "size: $size bytes, $limit are expected"
fi
lives "$(cat "$dir/pid")" && fail "size: the command goes on"
# By time: records are of no less, and the command ends then, too.
"$SBTRACE" record -a --sideband-only --time 0.5 -o "$dir/time.data" -- sh -c "echo \$\$ >$dir/pid; exec sleep 100" 2>"$dir/err"
[ $? -eq 143 ] || fail "time: $(cat "$dir/err")"
lives "$(cat "$dir/pid")" && fail "time: the command goes on"
"$SBTRACE" dump --sideband "$dir/time.data" 2>/dev/null |
	awk -F '\t' '$5 ~ /^SWITCH/ { if (!first) first = $4; last = $4 } END { exit !(last - first > 400000000 && last - first < 20e9) }' ||
	fail "time: other than half a second"
# By a FIFO that it makes.
"$SBTRACE" record -a --sideband-only --control "$dir/ctl" -o "$dir/fifo.data" 2>"$dir/err" &
recorder=$!
while [ ! -p "$dir/ctl" ]; do sleep 0.01; done
printf 'nonsense\nquit\n' >"$dir/ctl"
wait $recorder || fail "FIFO: $(cat "$dir/err")"
grep -q "'nonsense' is no command" "$dir/err" || fail "FIFO: $(cat "$dir/err")"
[ ! -e "$dir/ctl" ] || fail "the FIFO is left"

# ---- What cannot be -----------------------------------------------------------------------------------------

refused 'cannot be run: No such file' "$SBTRACE" record -a --sideband-only -o "$dir/none.data" -- /nonexistent
refused 'no process 4194303' "$SBTRACE" record --sideband-only -p 4194303 -o "$dir/none.data"
refused 'no thread 4194303' "$SBTRACE" record --sideband-only -t 4194303 -o "$dir/none.data"
refused 'event not found' "$SBTRACE" record -a -e no-such-event -o "$dir/none.data" -- true
refused 'a power of two' "$SBTRACE" record -a --sideband-only --ring 3000 -o "$dir/none.data" -- true
refused 'is a directory' "$SBTRACE" record -a --sideband-only -o "$dir" -- true
refused 'of whom' "$SBTRACE" record --sideband-only -o "$dir/none.data"
refused 'is enough' "$SBTRACE" record --sideband-only -a -p 1 -o "$dir/none.data"
refused 'No such file' "$SBTRACE" record -a --sideband-only -o "$dir/none/none.data" -- true
# What is no file stays what it is.
mkfifo "$dir/pipe"
ln -s pipe "$dir/to-pipe"
ln -s nowhere "$dir/to-nowhere"
for mode in '-a --sideband-only' --software; do
	# shellcheck disable=SC2086 # words
	{
		refused 'no regular file' "$SBTRACE" record $mode -o "$dir/pipe" -- true
		refused 'no regular file' "$SBTRACE" record $mode -o "$dir/to-pipe" -- true
		refused 'to-nowhere: a recording cannot be written there' "$SBTRACE" record $mode -o "$dir/to-nowhere" -- true
		refused 'standard output' "$SBTRACE" record $mode -o - -- true
		: >"$dir/place.data"
		ln -sf place.data "$dir/to-place"
		"$SBTRACE" record -q $mode -o "$dir/to-place" -- true || fail "through a link, $mode"
	}
	[ -p "$dir/pipe" ] && [ -L "$dir/to-pipe" ] && [ -L "$dir/to-nowhere" ] && [ -L "$dir/to-place" ] ||
		fail "replaced by $mode"
	"$SBTRACE" dump --sideband "$dir/place.data" >/dev/null 2>&1 || fail "nothing at the end of the link, $mode"
done
# Each event takes a file; these are not enough.
refused 'more files are needed\|Too many open files' \
	sh -c "ulimit -n 8; exec \"\$@\"" sh "$SBTRACE" record -a --sideband-only -o "$dir/none.data" --time 0.1
# In software, too: it is refused, or all is there, the names of programs and the build-ids of files.
for files in 6 7 8 9; do
	if sh -c "ulimit -n $files; exec \"\$@\"" sh "$SBTRACE" record --software -q -o "$dir/few.data" -- true 2>"$dir/err"; then
		[ "$(comms few)" = 'true ' ] || fail "$files files: programs: $(comms few)"
		"$SBTRACE" dump --sideband "$dir/few.data" 2>/dev/null | grep "MMAP2 .*build_id .*/true" | grep -q . || fail "$files files: no build-id"
		rm "$dir/few.data"
	else
		grep -q 'Too many open files' "$dir/err" || fail "$files files: $(cat "$dir/err")"
		[ ! -e "$dir/few.data" ] || fail "$files files: refused, and something is left"
	fi
done
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 1 ]; then
	mkdir "$dir/nobody" && chown 65534 "$dir/nobody" && chmod 755 "$dir"
fi
if [ -d "$dir/nobody" ] && setpriv --reuid 65534 --clear-groups "$SBTRACE" --version >/dev/null 2>&1; then
	refused 'perf_event_paranoid' setpriv --reuid 65534 --clear-groups \
		"$SBTRACE" record -a --sideband-only -o "$dir/nobody/none.data" -- true
	# But own processes may be.
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
		setpriv --reuid 65534 --clear-groups "$SBTRACE" record --sideband-only -o "$dir/nobody/own.data" -- ls / \
			>/dev/null 2>"$dir/err" || fail "own processes: $(cat "$dir/err")"
		grep -q 'set-user-ID' "$dir/err" && fail "own processes: $(cat "$dir/err")"
		refused 'with the modifier u' setpriv --reuid 65534 --clear-groups \
			"$SBTRACE" record -e page-faults -o "$dir/nobody/none.data" -- true
		setpriv --reuid 65534 --clear-groups "$SBTRACE" record -q -e page-faults:u -o "$dir/nobody/user.data" -- true \
			2>"$dir/err" || fail "user space: $(cat "$dir/err")"
		# Of memory that may be locked, a ring takes more than there is: one of a size that is wanted cannot be had.
		refused 'a ring of 16384 KiB cannot be had for CPU [0-9]* (Operation not permitted): .*perf_event_mlock_kb' \
			setpriv --reuid 65534 --clear-groups sh -c 'ulimit -l 64; exec "$@"' sh \
			"$SBTRACE" record --sideband-only --ring 16M -o "$dir/nobody/none.data" -- true
		# Who gains privileges goes on unseen; that is told.
		cp "$(command -v sleep)" "$dir/privileged" && chmod 4755 "$dir/privileged"
		if grep -q '^NoNewPrivs:[[:space:]]*1' /proc/self/status; then
			echo "left out: nobody gains privileges here (no_new_privs)"
		elif findmnt -T "$dir" -o OPTIONS -n 2>/dev/null | grep -q nosuid; then
			echo "left out: nobody gains privileges here (nosuid)"
		else
			setpriv --reuid 65534 --clear-groups "$SBTRACE" record --sideband-only -o "$dir/nobody/suid.data" -- \
				sh -c "\"$dir/privileged\" 0.01; ls /" >/dev/null 2>"$dir/err" || fail "set-user-ID: $(cat "$dir/err")"
			grep -q 'set-user-ID.*: 1 (the first: privileged)' "$dir/err" || fail "set-user-ID: $(cat "$dir/err")"
		fi
	fi
fi

# ---- CPUs that go, and come back ----------------------------------------------------------------------------

cpus=$dir/sysfs/devices/system/cpu
mkdir -p "$cpus"
cp /sys/devices/system/cpu/possible "$cpus"
cp /sys/devices/system/cpu/online "$cpus"
# said TEXT: waits until the recorder has.
said()
{
	while ! grep -q "$1" "$dir/cpus.err" 2>/dev/null && kill -0 $recorder 2>/dev/null; do sleep 0.05; done
}
if taskset -c 1 true 2>/dev/null; then
	# Room for much: perf tells of what is lost, as it is where others keep the machine busy.
	"$SBTRACE" record -a --sideband-only --ring 32M --sysfs "$dir/sysfs" --control "$dir/ctl" -o "$dir/cpus.data" 2>"$dir/cpus.err" &
	recorder=$!
	while [ ! -p "$dir/ctl" ]; do sleep 0.05; done
	taskset -c 1 true
	echo 0 >"$cpus/online.new"
	mv "$cpus/online.new" "$cpus/online"
	said 'CPU 1 went offline'
	cp /sys/devices/system/cpu/online "$cpus/online.new"
	mv "$cpus/online.new" "$cpus/online"
	said 'CPU 1 came'
	taskset -c 1 true
	echo quit >"$dir/ctl"
	wait $recorder || fail "CPUs: $(cat "$dir/cpus.err")"
	grep -q 'CPU 1 came' "$dir/cpus.err" || fail "CPUs: $(cat "$dir/cpus.err")"
	# Its records are of two events, both of which the file knows.
	"$SBTRACE" dump --sideband --json "$dir/cpus.data" 2>"$dir/account" >"$dir/cpus.text" ||
		fail "CPUs: $(cat "$dir/account")"
	ids=$(sed -n 's/.*"type":"SWITCH_CPU_WIDE".*"cpu":1,.*"id":\([0-9]*\),.*/\1/p' "$dir/cpus.text" | sort -u | wc -l)
	[ "$ids" -eq 2 ] || fail "CPU 1: $ids identifiers"
	if command -v perf >/dev/null; then
		perf script -i "$dir/cpus.data" --show-switch-events >/dev/null 2>"$dir/err" </dev/null
		[ ! -s "$dir/err" ] || fail "CPUs: perf script: $(cat "$dir/err")"
	fi
fi

# ---- The kernel's code --------------------------------------------------------------------------------------

if [ ! -r /proc/kcore ]; then
	refused 'the kernel.s code cannot be copied (--kcore): ' \
		"$SBTRACE" record -a --sideband-only --kcore -o "$dir/none.data" -- true
fi
refused 'it is there already' "$SBTRACE" record -a --sideband-only --kcore -o "$dir/size.data" -- true
# Of a kernel as another machine had it.
kernel=$CORPUS_DIR/kernel-kaslr-modules/perf.data/kcore_dir
if [ -f "$kernel/kcore" ]; then
	mkdir "$dir/proc"
	ln -s "$kernel/kcore" "$kernel/kallsyms" "$kernel/modules" "$dir/proc"
	recorded kernel -a --kcore --proc "$dir/proc" -- true || fail "kcore: $(cat "$dir/kernel.err")"
	for name in kallsyms modules; do
		cmp -s "$kernel/$name" "$dir/kernel.data/kcore_dir/$name" || fail "another $name"
	done
	segments()
	{
		readelf -lW "$1" | awk '$1 == "LOAD" { print $2, $3, $5 }'
	}
	# Each segment of ours holds what theirs has at these addresses.
	segments "$dir/kernel.data/kcore_dir/kcore" >"$dir/ours"
	segments "$kernel/kcore" >"$dir/theirs"
	perl -e 'use strict; use warnings; no warnings "portable";
		my ($ours, $theirs, $copy, $kcore) = @ARGV; my $bytes = 0;
		sub load { open my $f, "<", $_[0] or die; return map { [map { hex($_) } split] } <$f> }
		sub at { my ($file, $at, $size) = @_; open my $f, "<:raw", $file or die; seek $f, $at, 0; read $f, (my $b), $size; return $b }
		my @theirs = load($theirs);
		for my $o (load($ours)) {
			for my $t (@theirs) {
				my $from = $o->[1] > $t->[1] ? $o->[1] : $t->[1];
				my ($oe, $te) = ($o->[1] + $o->[2], $t->[1] + $t->[2]);
				my $to = $oe < $te ? $oe : $te;
				next unless $from < $to;
				at($copy, $o->[0] + $from - $o->[1], $to - $from) eq at($kcore, $t->[0] + $from - $t->[1], $to - $from)
					or die sprintf "other bytes at %x\n", $from;
				$bytes += $to - $from;
			}
		}
		$bytes > 10 << 20 or die "$bytes bytes\n"' \
		"$dir/ours" "$dir/theirs" "$dir/kernel.data/kcore_dir/kcore" "$kernel/kcore" || fail "kcore"
	"$SBTRACE" dump --sideband "$dir/kernel.data" 2>/dev/null | grep -c ' kernel filename "\[[a-z0-9_]*\]"' >"$dir/modules"
	[ "$(cat "$dir/modules")" -eq "$(wc -l <"$kernel/modules")" ] || fail "$(cat "$dir/modules") modules"
	[ "$(ls -A "$dir/kernel.data" | xargs)" = "data kcore_dir" ] || fail "also in it: $(ls -A "$dir/kernel.data")"

	# Killed: a directory with another name, which reads as an interrupted recording; the next one removes it.
	"$SBTRACE" record -a --sideband-only --kcore --proc "$dir/proc" -o "$dir/halfway.data" 2>"$dir/err" &
	recorder=$!
	begun "$dir/halfway.data" $recorder
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	left=$(ls -d "$dir/halfway.data".tmp.*)
	[ ! -e "$dir/halfway.data" ] || fail "killed, and whole"
	"$SBTRACE" dump --sideband "$left" 2>/dev/null | grep -q '	FINISHED_INIT' || fail "killed with kcore: nothing to be read"
	recorded halfway -a --kcore --proc "$dir/proc" -- true || fail "after one that was killed: $(cat "$dir/halfway.err")"
	[ ! -e "$left" ] || fail "$left is still there"
	grep -q "${left##*/} is removed" "$dir/halfway.err" || fail "nobody says so: $(cat "$dir/halfway.err")"
	# Killed early, while the kernel's modules are read.
	mkfifo "$dir/modules.fifo"
	rm "$dir/proc/modules"
	ln -s "$dir/modules.fifo" "$dir/proc/modules"
	"$SBTRACE" record -a --sideband-only --kcore --proc "$dir/proc" -o "$dir/early.data" 2>"$dir/err" &
	recorder=$!
	while ! ls -d "$dir/early.data".tmp.* >/dev/null 2>&1 && kill -0 $recorder; do sleep 0.02; done
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	rm "$dir/proc/modules"
	ln -s "$kernel/modules" "$dir/proc/modules"
	recorded early -a --kcore --proc "$dir/proc" -- true || fail "early: $(cat "$dir/early.err")"
fi

# ---- How far it is ------------------------------------------------------------------------------------------

# A line each two seconds when it is asked for; nothing by itself where there is no terminal, nor with -q.
"$SBTRACE" record -a --sideband-only --progress --time 2.2 -o "$dir/far.data" 2>"$dir/err" || fail "progress: $(cat "$dir/err")"
grep -q '^[0-9]* records, 0 lost, [0-9.]* MB$' "$dir/err" || fail "progress: $(cat "$dir/err")"
"$SBTRACE" record -a --sideband-only --time 2.2 -o "$dir/far.data" 2>"$dir/err" || fail "progress: $(cat "$dir/err")"
grep -q ' MB$' "$dir/err" && fail "progress without a terminal"
if command -v script >/dev/null; then
	# terminal COMMAND: what it writes to a terminal, with line feeds for carriage returns.
	terminal()
	{
		script -qec "$1" "$dir/terminal" >/dev/null </dev/null
		tr '\r' '\n' <"$dir/terminal"
	}
	terminal "$SBTRACE record -a --sideband-only --time 0.5 -o $dir/far.data" | grep -q '^[0-9]* records, 0 lost, ' ||
		fail "no progress on a terminal: $(cat "$dir/terminal")"
	work="sh -c 'i=0; while [ \$i -lt 15 ]; do i=\$((i+1)); done'"
	terminal "$SBTRACE record --software -o $dir/far.data -- $work >/dev/null" |
		grep -q '^[0-9.]* M instructions, 1 processes, [0-9.]* MB of trace' ||
		fail "no progress in software: $(cat "$dir/terminal")"
	for silent in '-q -o FAR -- WORK >/dev/null' '-o FAR -- WORK'; do
		terminal "$SBTRACE record --software $(echo "$silent" | sed "s|FAR|$dir/far.data|; s|WORK|$work|")" |
			grep -q ' MB of trace' && fail "progress in between: $silent"
	done
else
	echo "left out: no terminal without script(1)"
fi

# ---- All that a replay needs --------------------------------------------------------------------------------

recorded bundled --bundle "$dir/bundle" -- ls / || fail "bundle: $(cat "$dir/bundled.err")"
grep -q '"/.*/ls"' "$dir/bundle/manifest.json" || fail "ls is not in the bundle"

ls "$dir"/*.tmp.* 2>/dev/null && fail "something is left"
[ $failures -eq 0 ]
