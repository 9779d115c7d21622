#!/bin/sh
# The stacks of goroutines are those that Go's runtime tells the program itself, however they take turns, on whichever
# threads and CPUs; where they are not, they were said to be a guess.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
with_truth=
shared=goroutines

go=$(command -v go || ls /usr/lib/go-*/bin/go 2>/dev/null | tail -1)
[ -n "$go" ] || { echo "skipped: no go here"; exit 77; }
HOME=$dir GOCACHE=$dir/cache GOFLAGS='' "$go" build -o "$dir/goroutines" "$SOURCE_DIR/tests/workloads/goroutines.go" || exit 1

# conclude NAME OPTIONS... -- COMMAND...: records it; what is concluded at each call of mark() goes to $dir/got, what the
# program noted to $dir/NAME.out.
conclude()
{
	name=$1
	record "$@" || return 1
	"$BUILD_DIR/tests/call_events" "$dir/$name.data" "$dir/$name.root" "$dir/$name.out" >"$dir/all" 2>"$dir/sums" ||
		{ fail "$name: $(cat "$dir/sums")"; return 1; }
	mark=$(awk '{ print $NF; exit }' "$dir/$name.out")
	awk -v mark="$mark" '$NF == mark || ($NF == "?" && $(NF - 1) == mark)' "$dir/all" >"$dir/got"
	[ "$(wc -l <"$dir/got")" -eq "$(wc -l <"$dir/$name.out")" ] || fail "$name: $(wc -l <"$dir/got") calls"
}
# in_order NAME: line by line. Mostly a tenth to a fifth of the stacks are guesses; but Go's runtime takes the turn away
# after 10 ms of the real time, of which single steps take all the more where the machine is busy, and several that lost it
# in one function wait alike: half of them were guesses then, the more the busier. Before there is a second goroutine (the
# first 15 stacks), hardly anybody else could go on: at most half of these are guesses, and of all, a quarter is none.
in_order()
{
	paste -d '|' "$dir/$1.out" "$dir/got" | awk -F '|' '
		/\?$/ { guessed++; alone += NR <= 15; next }
		$1 != $2 { if (wrong++ < 3) print NR ": noted " $1 ", concluded " $2 }
		END {
			print NR " stacks, " guessed + 0 " of them guessed, " alone + 0 " of those without a choice, " \
				wrong + 0 " others are wrong"
			exit wrong || NR < 40 || alone > 7 || guessed > NR * 3 / 4
		}' || fail "$1: the stacks are not as noted"
}

export GODEBUG=asyncpreemptoff=1
conclude turns -c 1 --mtc -- "$dir/goroutines" && in_order turns

# On two CPUs, the order of what is close in time is not known; nor is it when a turn may end within mark(). But each
# stack that is no guess was there, and as often.
# in_any_order NAME
in_any_order()
{
	grep -v '?$' "$dir/got" | sort >"$dir/sure"
	sort "$dir/$1.out" | comm -23 "$dir/sure" - >"$dir/wrong"
	echo "$1: $(wc -l <"$dir/sure") of $(wc -l <"$dir/got") are no guess, $(wc -l <"$dir/wrong") of them wrong"
	[ ! -s "$dir/wrong" ] && [ "$(wc -l <"$dir/sure")" -gt 5 ] || fail "$1: not noted: $(head -3 "$dir/wrong")"
}
conclude cpus -c 2 --mtc -- "$dir/goroutines" && in_any_order cpus
unset GODEBUG
conclude preempted -c 1 --mtc -- "$dir/goroutines" && in_any_order preempted
[ $failures -eq 0 ]
