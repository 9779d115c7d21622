#!/bin/sh
# Filters of addresses, functions, CPUs and names leave call stacks right: what is counted has the stacks that it has
# without a filter. Where a sink cannot do that, all its functions are guesses.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=stack_filters
workloads=$BUILD_DIR/tests/workloads

replay()
{
	"$SBTRACE" replay --root "$dir/$name.root" --no-host-root "$@" "$dir/$name.data" 2>"$dir/err" ||
		fail "$name: replay $*: $(cat "$dir/err")"
}

# sum FILE...: of equal stacks.
sum()
{
	cat "$@" | awk '{ n = $NF; sub(/ [0-9]*$/, ""); sum[$0] += n } END { for (i in sum) print i, sum[i] }' | LC_ALL=C sort
}

# same WHAT LEFT RIGHT
same()
{
	[ -s "$2" ] || fail "$name: $1: nothing to compare"
	cmp -s "$2" "$3" || fail "$name: $1: $(diff "$2" "$3" | head -n 4)"
}

record stacks -c 2 --mtc --cyc -- "$workloads/stacks" || exit 1
record pipe -c 2 --mtc -- sh -c 'ls /usr | head -n 2' || exit 1
record mt -c 2 --mtc -- "$workloads/mt" 100 || exit 1
for name in stacks pipe mt; do
	replay --sink folded="$dir/all" --sink pprof="$dir/all.pb"
	sum "$dir/all" >"$dir/whole"

	# The innermost function of half of the stacks.
	pattern='[a-m]'
	replay --function "$pattern*" --sink folded="$dir/some" --sink flame="$dir/some.svg"
	sed 's/ (?)//g' "$dir/all" | grep -E ";$pattern[^;]* [0-9]*\$" >"$dir/left"
	sed 's/ (?)//g' "$dir/some" >"$dir/right"
	sum "$dir/left" | grep -vE ' 0$' >"$dir/expected"
	sum "$dir/right" >"$dir/got"
	[ $name = pipe ] || same "--function $pattern*" "$dir/expected" "$dir/got"

	# Two halves of all addresses, CPUs, or names are the whole, of instructions and of time. Programs are below that border,
	# libraries above, wherever address space layout randomisation puts them (they may be below 0x7f0000000000).
	cat >"$dir/job.yaml" <<END
version: 1
recording: $name.data
roots: [$name.root]
host_root: false
sinks:
- {name: folded, file: low, filter: {address: [0x1-0x680000000000]}}
- {name: folded, file: high, filter: {address: [0x680000000000-0xffffffffffffffff]}}
- {name: folded, file: cpu0, filter: {cpu: [0]}}
- {name: folded, file: cpu1, filter: {cpu: [1]}}
- {name: folded, file: name1, filter: {comm: ['s*']}}
- {name: folded, file: name2, filter: {comm: ['[!s]*']}}
- {name: folded, file: time, with: {weight: time}}
- {name: folded, file: time_low, with: {weight: time}, filter: {address: [0x1-0x680000000000]}}
- {name: folded, file: time_high, with: {weight: time}, filter: {address: [0x680000000000-0xffffffffffffffff]}}
END
	"$SBTRACE" job run "$dir/job.yaml" 2>"$dir/err" || fail "$name: job: $(cat "$dir/err")"
	for halves in 'low high' 'cpu0 cpu1' 'name1 name2'; do
		(cd "$dir" && sum $halves) >"$dir/got"
		same "$halves" "$dir/whole" "$dir/got"
	done
	[ -s "$dir/low" ] && [ -s "$dir/high" ] || fail "$name: not two halves"
	sum "$dir/time" >"$dir/whole"
	(cd "$dir" && sum time_low time_high) >"$dir/got"
	same 'time, by address' "$dir/whole" "$dir/got"
done

# Timelines show all functions with their places: under such a filter they are guesses.
replay --sink chrome="$dir/whole.json"
replay --function 'f*' --sink chrome="$dir/some.json"
[ "$(grep -c '"cat":"function"' "$dir/some.json")" -eq "$(grep -c '"guess":true' "$dir/some.json")" ] ||
	fail "a timeline with holes has functions that are no guess"
[ "$(grep -c '"guess":true' "$dir/whole.json")" -lt "$(grep -c '"cat":"function"' "$dir/whole.json")" ] ||
	fail "a whole timeline is all guesses"

# So are a script's, which are marked, and callgrind's calls, which says how many.
calls()
{
	replay --sink script --with every=call --with fields=callindent "$@" | grep -v -e '^#' -e '^ *$' >"$dir/calls"
	echo "$(grep -c '(?)' "$dir/calls") of $(wc -l <"$dir/calls")"
}
guesses()
{
	replay --sink callgrind "$@" | sed -n 's/^desc: Guesses: \([0-9]* of [0-9]*\) calls.*/\1/p'
}
for filter in --function=f* --address=0x1-0x680000000000; do
	for told in "$(calls "$filter")" "$(guesses "$filter")"; do
		[ "${told% of *}" -gt 0 ] && [ "${told% of *}" = "${told#* of }" ] || fail "$name: $filter: guesses: $told"
	done
done
told=$(calls)
[ "${told% of *}" -lt "${told#* of }" ] || fail "$name: guesses: $told"

# Where nothing is lost, and all calls return, there are none; behind lost trace there are.
cat >"$dir/plain.c" <<'END'
__attribute__((noinline)) static int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

int main(void)
{
	return fibonacci(15) == 610 ? 0 : 1;
}
END
"$CC" -O1 -fno-optimize-sibling-calls -static "$dir/plain.c" -o "$dir/plain" || exit 1
for name in plain lost; do
	record $name --mtc $([ $name = plain ] || echo --overflow-every 200) -- "$dir/plain" || exit 1
	told=$(calls)
	if [ $name = plain ]; then
		[ "${told% of *}" -eq 0 ] && [ -z "$(guesses)" ] || fail "plain: guesses: $told, $(guesses)"
	else
		grep -q '(?)' "$dir/calls" || fail "lost: no call is a guess"
		told=$(guesses)
		[ "${told% of *}" -gt 0 ] && [ "${told% of *}" -lt "${told#* of }" ] || fail "lost: guesses: $told"
	fi
done
[ $failures -eq 0 ]
