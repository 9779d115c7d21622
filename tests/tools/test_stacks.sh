#!/bin/sh
# Call stacks are those that the programs noted themselves, at each entry of a function, over longjmp, exceptions,
# tail calls, trampolines, signals and coroutines; where they are not, they were said to be a guess. Guesses are
# few: only where the trace has nothing that tells.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
with_truth=
workloads=$BUILD_DIR/tests/workloads

# check NAME MOST PROGRAM OPTIONS...: records the program; at most so many percent of stacks are guessed.
check()
{
	name=$1
	most=$2
	program=$3
	shift 3
	record "$name" "$@" -- "$program" || return
	"$BUILD_DIR/tests/call_events" "$dir/$name.data" "$dir/$name.root" "$dir/$name.out" >"$dir/got" 2>"$dir/sums" ||
		{ fail "$name: $(cat "$dir/sums")"; return; }
	echo "$name $*: $(cat "$dir/sums")"
	paste -d '|' "$dir/$name.out" "$dir/got" | awk -F '|' -v most="$most" '
		/\?$/ { guessed++; next }
		$1 != $2 { if (wrong++ < 3) print NR ": noted " $1 ", concluded " $2 }
		END {
			print NR " stacks, " guessed + 0 " of them guessed, " wrong + 0 " others are wrong"
			exit wrong || NR < 50 || guessed * 100 > most * NR
		}' || fail "$name $*: the stacks are not as noted"
	# Whatever is not known is a guess, and each instruction belongs to one function.
	WITHOUT_SYMBOLS=1 "$BUILD_DIR/tests/call_events" "$dir/$name.data" "$dir/$name.root" "$dir/$name.out" \
		>/dev/null 2>"$dir/sums" || fail "$name without symbols: $(cat "$dir/sums")"
}

# take_turns NAME MOST RIGHT PROGRAM...: of its stacks, at most so many percent are guessed, and at least so many percent
# of the guesses are right. Who switched to whom is not noted: what counts is the stack that runs, from the function that
# it began with.
take_turns()
{
	name=$1
	most=$2
	right=$3
	shift 3
	record "$name" -c 1 --mtc -- "$@" || return
	"$BUILD_DIR/tests/call_events" "$dir/$name.data" "$dir/$name.root" "$dir/$name.out" >"$dir/got" 2>"$dir/sums" ||
		{ fail "$name: $(cat "$dir/sums")"; return; }
	paste -d '|' "$dir/$name.out" "$dir/got" | awk -F '|' -v name="$name" -v most="$most" -v right="$right" '
		{
			guess = sub(/ \?$/, "", $2)
			same = substr(" " $2, length($2) - length($1) + 1) == " " $1
			last = split($1, noted, " ")
			at = split($2, got, " ")
			out_of_step += noted[last] != got[at]
		}
		guess { guessed++; guessed_right += same; next }
		!same { if (wrong++ < 3) print NR ": noted " $1 ", concluded " $2 }
		END {
			print name ": " NR " stacks that take turns, " guessed + 0 " of them guessed, " guessed_right + 0 \
				" rightly so, " wrong + 0 " others are wrong"
			if (out_of_step)
				print out_of_step " lines are not of the same function"
			exit wrong || out_of_step || NR < 200 || guessed * 100 > most * NR || guessed_right * 100 < right * guessed
		}' || fail "$*: the stacks are not as noted"
}

check stacks 10 "$workloads/stacks" -c 2 --no-retcomp
if [ -x "$workloads/throws" ]; then
	check throws 0 "$workloads/throws" -c 1 --mtc
else
	echo "skipped: no compiler of C++ here"
fi
shared=stacks # not of those above, which are this build's
# As each compiler makes them, whichever made this build. More than -O1 of gcc makes copies of functions. Where all
# switch at one place, what is not right was said to be a guess; where each has a place of its own, nothing is guessed.
compilers='gcc clang'
[ -z "${SANITIZE:-}" ] || compilers=gcc # the build's own are clang's
for cc in $compilers; do
	command -v $cc >/dev/null || { echo "skipped: no $cc here"; continue; }
	[ $cc = gcc ] && level=-O1 || level=-O2
	for program in stacks turns shuffle; do
		$cc -D_GNU_SOURCE -g $level -finstrument-functions -fno-omit-frame-pointer -foptimize-sibling-calls \
			-o "$dir/$program-$cc" "$SOURCE_DIR/tests/workloads/$program.c" \
			"$SOURCE_DIR/tests/workloads/stacks_note.c" || fail "$cc $program"
	done
	check "stacks-$cc" 10 "$dir/stacks-$cc" -c 1 --mtc
	take_turns "turns-$cc" 25 60 "$dir/turns-$cc"
	take_turns "shuffle-$cc" 100 50 "$dir/shuffle-$cc"
	take_turns "places-$cc" 0 0 "$dir/shuffle-$cc" own
done
record lost -c 2 --mtc --overflow-every 2000 -- "$workloads/stacks" &&
	"$BUILD_DIR/tests/call_events" "$dir/lost.data" "$dir/lost.root" >/dev/null || fail "with overflows"

# Whole systems, when they are here: of their calls, nearly all return to where they came from, however often
# threads, the kernel and its interrupts take turns.
# whole NAME MOST: at most so many transfers that are no calls, returns or the like.
whole()
{
	recording=$CORPUS_DIR/$1
	[ -e "$recording" ] || { echo "skipped: no $recording"; return; }
	"$BUILD_DIR/tests/call_events" "$recording/perf.data" "$recording/root" /dev/null >/dev/null 2>"$dir/sums" ||
		{ fail "$1: $(cat "$dir/sums")"; return; }
	echo "$1: $(cat "$dir/sums")"
	sed 's/.*; //' "$dir/sums" | awk -v most="$2" '{ exit !($2 > 600000 && $4 + $6 + $10 <= most && $8 < $2 / 2000) }' ||
		fail "$1: too many doubts"
	deepest=$(sed 's/.*deepest \([0-9]*\);.*/\1/' "$dir/sums")
	[ "$deepest" -lt 64 ] || fail "$1: stacks grow to $deepest"
	sed 's/;.*//' "$dir/sums" | awk '{ exit !($5 * 100 < $2) }' || fail "$1: too much is a guess"
}
whole kernel-pti 3
whole kernel-kaslr-modules 10
[ $failures -eq 0 ]
