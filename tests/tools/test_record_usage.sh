#!/bin/sh
# What a user says to sbtrace record: options that would be passed over in silence, lists of events, an event of one
# CPU; what was recorded before; how a recording in software is ended; streams that are closed, signals that are
# ignored.
set -u
. "$SOURCE_DIR/tests/tools/record/live.sh"
cd "$dir" || exit 1
# Each instruction is single-stepped: programs that look for no locale execute two thirds.
export LC_ALL=C

# refused TEXT OPTIONS...: the command line makes no sense, and nothing is written.
refused()
{
	text=$1
	shift
	"$SBTRACE" record -o none.data "$@" >refused.out 2>refused.err
	[ $? -eq 2 ] || fail "not refused: $*: $(cat refused.err)"
	grep -q -e "$text" refused.err || fail "'$text' is not in '$(cat refused.err)'"
	ls none* 2>/dev/null && fail "left by: $*"
}

# ---- Options that say nothing together ------------------------------------------------------------------------

for option in '--cpus 2' '--seed 1' '--psb-period 512' --no-retcomp --mtc --cyc --tnt64 '--overflow-every 1000' '--truth t' \
	'--copy-root r' --single-step; do
	# shellcheck disable=SC2086 # words
	refused "${option%% *} goes with --software only" -a --sideband-only $option -- true
done
for option in '--bundle b' '--event cs' '--sysfs /sys' --kcore '--pid 1' '--time 3'; do
	# shellcheck disable=SC2086 # words
	refused "${option%% *} does not go with --software" --software $option -- true
done
refused 'sideband-only and --event exclude' -a --sideband-only -e cs -- true
refused '--paused needs --control' -a -e cs --paused -- true
refused 'are about a trace' -a -e cs --snapshot -- true
refused 'are about a trace' -a --sideband-only --aux 4M -- true

# ---- Events ---------------------------------------------------------------------------------------------------

# samples NAME: which events there are samples of, and on which CPUs.
samples()
{
	perf script -i "$1.data" -F cpu,event 2>/dev/null | awk '{ print $2, $1 }' | grep -v '^cgroup-switches' | sort -u
}
if command -v perf >/dev/null; then
	"$SBTRACE" record -q -a -e context-switches:k,cpu-clock:u -e page-faults:u -o list.data -- \
		sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done; ls /' >/dev/null || fail "a list of events"
	[ "$(samples list | cut -d : -f 1 | sort -u | xargs)" = 'context-switches cpu-clock page-faults' ] ||
		fail "a list of events: $(samples list)"
	# Of the last CPU alone, where all work is.
	last=$(($(getconf _NPROCESSORS_ONLN) - 1))
	"$SBTRACE" record -q -a -e cs:cpu=$last -o cpu.data -- sleep 0.3 || fail "cpu=$last"
	[ "$(samples cpu)" = "cs:cpu=$last: $(printf "[%03d]" $last)" ] || fail "cpu=$last: $(samples cpu)"
	"$SBTRACE" record -q -e page-faults:u:cpu=$last -o own.data -- taskset -c $last ls / >/dev/null || fail "cpu=$last of a command"
	[ "$(samples own)" = "page-faults:u:cpu=$last: $(printf "[%03d]" $last)" ] || fail "cpu=$last of a command: $(samples own)"
else
	echo "left out: no perf to look at samples"
fi
"$SBTRACE" record -a -e cs:cpu=4711 -o none.data -- true 2>err && fail "cpu=4711"
grep -q 'cs:cpu=4711: CPU 4711 is not online' err || fail "cpu=4711: $(cat err)"

# ---- What was recorded before ---------------------------------------------------------------------------------

# A recording that does not begin costs nothing; the next one becomes the old one.
for mode in --sideband-only --software; do
	echo older >perf.data.old
	echo old >perf.data
	"$SBTRACE" record $mode --nonsense -- true 2>/dev/null
	"$SBTRACE" record $mode -- ./nonexistent 2>/dev/null
	[ "$(cat perf.data perf.data.old | xargs)" = 'old older' ] || fail "lost by a recording that failed, $mode"
	"$SBTRACE" record -q $mode -- true || fail "$mode"
	[ "$(cat perf.data.old)" = old ] || fail "not kept, $mode"
	"$SBTRACE" dump --sideband perf.data >/dev/null 2>&1 || fail "no new one, $mode"
done

# ---- How it ends, in software ---------------------------------------------------------------------------------

# Everybody is asked to end, and the recording is whole.
for signal in INT TERM HUP; do
	rm -f started
	perl -e '$SIG{$_} = "DEFAULT" for qw(INT HUP TERM); exec @ARGV' "$SBTRACE" record --software -o ended.data -- \
		sh -c ': >started; sleep 100; :' 2>err &
	recorder=$!
	while [ ! -e started ] && kill -0 $recorder 2>/dev/null; do sleep 0.02; done
	kill -s $signal $recorder
	wait $recorder || fail "$signal: $(cat err)"
	"$SBTRACE" replay ended.data >account 2>&1 || fail "$signal: $(cat account)"
	grep -q 'the account balances' account || fail "$signal: $(cat account)"
	rm ended.data
done
# Who does not care is killed when it is said twice.
rm -f started
"$SBTRACE" record --software -o stubborn.data -- sh -c 'trap "" TERM; : >started; while :; do sleep 0.05; done' 2>err &
recorder=$!
while [ ! -e started ] && kill -0 $recorder 2>/dev/null; do sleep 0.02; done
kill -s TERM $recorder
sleep 0.3
kill -s TERM $recorder || fail "ended by one SIGTERM, which is ignored: $(cat err)"
wait $recorder || fail "stubborn: $(cat err)"
"$SBTRACE" dump --sideband stubborn.data >/dev/null 2>&1 || fail "stubborn: no recording"

# ---- What cannot be recorded in software ----------------------------------------------------------------------

# 32-bit code, where there is an assembler and a kernel for it.
cat >32.S <<'END'
.globl _start
_start:	movl $1, %eax
	xorl %ebx, %ebx
	int $0x80
END
if $CC -m32 -c 32.S -o 32.o 2>/dev/null && ld -m elf_i386 -o 32 32.o 2>/dev/null && ./32; then
	"$SBTRACE" record --software -o none.data -- ./32 2>err && fail "32-bit code is recorded"
	grep -q 'runs 32-bit code, which cannot be recorded' err || fail "32-bit code: $(cat err)"
	ls none* 2>/dev/null && fail "left by 32-bit code"
else
	echo "left out: 32-bit code does not run here"
fi
# Code that is changed without its mapping being touched: no guess is made.
cat >self.c <<'END'
#include <fcntl.h>
#include <unistd.h>

__attribute__((naked, noinline, aligned(64))) static int number(void)
{
	__asm__("mov $1, %eax; ret; .skip 32, 0x90; mov $2, %eax; ret");
}

int main(void)
{
	static const unsigned char jump[] = {0xeb, 0x24, 0x90, 0x90, 0x90, 0x90};
	const int fd = open("/proc/self/mem", O_RDWR), before = number();

	if (pwrite(fd, jump, sizeof(jump), (long)number) != sizeof(jump))
		return 3;
	return before != 1 || number() != 2;
}
END
if $CC -O1 -o self self.c 2>/dev/null && ./self; then
	"$SBTRACE" record --software -o none.data -- ./self 2>err && fail "code that changes is recorded"
	grep -q 'left the path from .*does its code change behind the tracer' err || fail "code that changes: $(cat err)"
	ls none* 2>/dev/null && fail "left by code that changes"
else
	echo "left out: nobody writes to its code here"
fi

# But code that may be executed alone, and not be read, is.
cat >only.c <<'END'
#include <string.h>
#include <sys/mman.h>

int main(void)
{
	static const unsigned char code[] = {0xb8, 1, 0, 0, 0, 0x83, 0xc0, 1, 0xc3}; /* mov $1, %eax; add $1, %eax; ret */
	unsigned char *place = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(place, code, sizeof(code));
	mprotect(place, 4096, PROT_EXEC);
	return ((int (*)(void))place)() != 2;
}
END
$CC -o only only.c || fail "only.c"
for mode in '' --single-step; do
	# shellcheck disable=SC2086 # words
	"$SBTRACE" record --software -q $mode -o only.data --truth only.truth -- ./only || fail "code that is executed alone: $?"
	[ "$(cut -f 5 only.truth | grep '^1000000' | xargs)" = '10000000 10000005 10000008' ] ||
		fail "code that is executed alone: $(cut -f 5 only.truth | grep '^1000000' | xargs)"
done
# A process that does not let us look into it any more; root may nevertheless.
cat >hide.c <<'END'
#include <sys/prctl.h>

int main(void)
{
	int sum = 0;

	prctl(PR_SET_DUMPABLE, 0);
	for (int i = 0; i < 100; i++)
		sum += i;
	return sum != 4950;
}
END
$CC -o hide hide.c || fail "hide.c"
as=
mkdir nobody
if [ "$(id -u)" -eq 0 ]; then
	as="setpriv --reuid 65534 --clear-groups"
	chown 65534 nobody && chmod 755 . hide
	"$SBTRACE" record --software -q -o seen.data -- ./hide || fail "root cannot record who hides"
fi
if $as "$SBTRACE" record --software -q -o nobody/own.data -- ./hide 2>err; then
	fail "who hides is recorded"
elif $as "$SBTRACE" --version >/dev/null 2>&1; then
	grep -q 'does not let itself be looked into any more' err || fail "who hides: $(cat err)"
else
	echo "left out: nobody may run $SBTRACE"
fi

# ---- What the shell has done before ---------------------------------------------------------------------------

# Who ignores SIGCHLD would not be told how the command ended.
for mode in --sideband-only --software; do
	perl -e '$SIG{CHLD} = "IGNORE"; exec @ARGV' "$SBTRACE" record -q $mode -o status.data -- sh -c 'exit 7'
	[ $? -eq 7 ] || fail "the status with SIGCHLD ignored, $mode"
done
# Nobody reads our messages any more, or a file may be no larger: that is no end in the middle. The command is told.
for mode in '-a --sideband-only --time 2.2' '--software -- sh -c "sleep 2.1; :"'; do
	eval "\"\$SBTRACE\" record --progress -o pipe.data $mode" 2>&1 | :
	"$SBTRACE" dump --sideband pipe.data >/dev/null 2>&1 || fail "nobody reads messages, $mode: no recording"
	rm -f pipe.data
done
"$SBTRACE" record -q --sideband-only -o pipe.data -- sh -c 'yes | :; kill -PIPE $$'
[ $? -eq 141 ] || fail "the command does not hear of SIGPIPE"
sh -c 'ulimit -f 1; exec "$@"' sh "$SBTRACE" record -a --sideband-only -o none.data -- true 2>err && fail "a file that may be no larger"
grep -q 'File too large' err || fail "a file that may be no larger: $(cat err)"
# Of what had begun, only what is told of is left.
for left in none*; do
	case $left in
	'none*') ;;
	none.data.interrupted) grep -q "$left" err || fail "nothing is told of $left" ;;
	*) fail "a file that may be no larger left $left" ;;
	esac
done
# A stream that is closed: what is opened has not its number, so that no message gets into the recording.
"$SBTRACE" record --software --progress -o closed.data -- sh -c 'sleep 2.1; :' 2>&- ||
	fail "without standard error"
"$SBTRACE" replay closed.data >account 2>&1 || fail "without standard error: $(cat account)"
grep -q 'the account balances' account || fail "without standard error: $(cat account)"
grep -q 'M instructions, ' closed.data && fail "messages in the recording"

[ $failures -eq 0 ]
