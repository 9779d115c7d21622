#!/bin/sh
# Call stacks are those that the programs noted themselves, at each entry of a function, over longjmp, exceptions,
# tail calls, trampolines, signals and coroutines; where they are not, they were said to be a guess. Guesses are
# few: only where the trace has nothing that tells.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
workloads=$BUILD_DIR/tests/workloads

# check NAME MOST OPTIONS...: records the workload of that name; at most so many percent of stacks are guessed.
check()
{
	name=$1
	most=$2
	shift 2
	record "$name" "$@" -- "$workloads/$name" || return
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

check stacks 20 -c 1 --mtc
check stacks 20 -c 2 --no-retcomp
if [ -x "$workloads/throws" ]; then
	check throws 0 -c 1 --mtc
else
	echo "skipped: no compiler of C++ here"
fi
# Where all switch at one place, nothing tells stacks apart: what is not right was said to be a guess. Who switched to whom
# is not noted: what counts is the stack that runs, from the function that it began with. FIXME: as clang compiles it, 17
# of 1,261 are wrong and not said to be guesses, all of the first rounds by swapcontext.
case $CC in
*clang*) wrong_most=20 ;;
*) wrong_most=0 ;;
esac
if record turns -c 1 --mtc -- "$workloads/turns" &&
	"$BUILD_DIR/tests/call_events" "$dir/turns.data" "$dir/turns.root" "$dir/turns.out" >"$dir/got" 2>"$dir/sums"; then
	paste -d '|' "$dir/turns.out" "$dir/got" | awk -F '|' -v most=$wrong_most '
		{ begins = $1; sub(/ .*/, "", begins); guess = sub(/ \?$/, "", $2) }
		guess { guessed++; next }
		substr($2, index($2, begins)) != $1 { if (wrong++ < 3) print NR ": noted " $1 ", concluded " $2 }
		END {
			print NR " stacks that take turns, " guessed + 0 " of them guessed, " wrong + 0 " others are wrong"
			exit wrong > most || NR < 200
		}' || fail "turns: the stacks are not as noted"
else
	fail "turns: $(cat "$dir/sums")"
fi
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
}
whole kernel-pti 3
whole kernel-kaslr-modules 10
[ $failures -eq 0 ]
