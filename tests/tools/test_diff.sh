#!/bin/sh
# sbtrace diff: two recordings of a program with different arguments differ in what the arguments make it do, as the
# truth of both has it.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"

command -v jq >/dev/null || { echo "skipped: no jq here"; exit 77; }
cat >"$dir/program.c" <<'EOF'
#include <stdio.h>
#include <string.h>

static int __attribute__((noinline)) once(int n)
{
	return n + 1;
}

static int __attribute__((noinline)) loop(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += i;
	return sum;
}

static int __attribute__((noinline)) other(int n)
{
	return n - 1;
}

int main(int argc, char **argv)
{
	int sum = 0;

	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "once"))
			sum += once(i);
		else if (!strcmp(argv[i], "other"))
			sum += other(i);
		else
			sum += loop(*argv[i] - '0');
	return sum == 12345;
}
EOF
"${CC:-cc}" -O0 -g -fno-pie -no-pie "$dir/program.c" -o "$dir/program" || exit 1
record a -- "$dir/program" once 3 || exit 1
record b -- "$dir/program" other 9 5 || exit 1
# Both copies hold the same files.
compare()
{
	"$SBTRACE" diff --root "$dir/a.root" --no-host-root --file '*/program' "$@" 2>"$dir/log" ||
		fail "diff $*: $(cat "$dir/log")"
}

# ---- Functions ----------------------------------------------------------------------------------------------

compare --json --most 0 "$dir/a.data" "$dir/b.data" >"$dir/functions"
is()
{
	found=$(jq -c "$2" "$dir/$1")
	[ "$found" = "$3" ] || fail "$1: $2: $found, expected $3"
}
is functions '[.only_a[].function]' '["once"]'
is functions '[.only_b[].function]' '["other"]'
is functions '[.moved[] | select(.function == "loop") | .a_calls, .b_calls]' '[1,2]'
# In the truth, instructions of a function are those at its addresses.
truth_of()
{
	nm -S "$dir/program" | awk -v name="$2" '$4 == name { print $1, $2 }' >"$dir/range"
	perl -e '
		my ($range, $truth) = @ARGV;
		open my $in, "<", $range or die;
		my ($begin, $size) = map { hex } split " ", <$in>;
		my $n = 0;
		open $in, "<", $truth or die;
		while (<$in>) { my $ip = hex((split)[4]); $n++ if $ip >= $begin && $ip < $begin + $size; }
		print $n;' "$dir/range" "$dir/$1.truth"
}
for name in loop main; do
	is functions "[.moved[] | select(.function == \"$name\") | .a, .b]" "[$(truth_of a $name),$(truth_of b $name)]"
done
is functions '.only_a[0] | .a' "$(truth_of a once)"
is functions '[.by, .only_a[0].file]' "[\"function\",\"$dir/program\"]"

# ---- Lines and blocks ---------------------------------------------------------------------------------------

line()
{
	grep -n "$1" "$dir/program.c" | head -1 | cut -d: -f1
}
compare --json --most 0 --by line "$dir/a.data" "$dir/b.data" >"$dir/lines"
is lines '[.only_a[].line] | contains(['"$(line 'return n + 1'),$(line 'sum += once')"'])' true
is lines '[.only_b[].line] | contains(['"$(line 'return n - 1'),$(line 'sum += other')"'])' true
is lines "[.moved[] | select(.line == $(line 'sum += i;')) | .a, .b]" '[3,14]'
is lines "[.moved[] | select(.line == $(line 'for (int i = 0')) | .a, .b]" '[4,16]'

compare --json --most 0 --by block "$dir/a.data" "$dir/b.data" >"$dir/blocks"
# Each instruction of a block ran so often, in each of both.
jq -r '(.only_a + .only_b + .moved)[] | [.begin, .end, .a, .b] | @tsv' "$dir/blocks" >"$dir/ranges"
for side in a b; do
	cut -f 5 "$dir/$side.truth" | sort | uniq -c
	echo
done >"$dir/truth"
perl -e '
	my ($ranges, $truth) = @ARGV;
	my (@count, @rows, $wrong);
	open my $in, "<", $truth or die;
	my $side = 0;
	while (<$in>) { my ($n, $ip) = split; if (defined $n) { $count[$side]{hex $ip} = $n } else { $side++ } }
	my %all = map { $_ => 1 } map { keys %{$count[$_]} } 0, 1;
	open $in, "<", $ranges or die;
	while (<$in>) { push @rows, [split]; }
	for my $ip (keys %all) {
		next if $ip < 0x401000 || $ip >= 0x500000;
		my ($row) = grep { $ip >= $_->[0] && $ip < $_->[1] } @rows;
		my @is = map { $count[$_]{$ip} // 0 } 0, 1;
		my @said = $row ? @$row[2, 3] : (1, 1);
		next if $row ? "@is" eq "@said" : $is[0] == $is[1];
		printf "%x: @is, told @said\n", $ip if $wrong++ < 5;
	}
	exit($wrong || @rows < 5);' "$dir/ranges" "$dir/truth" >"$dir/log" || fail "blocks: $(cat "$dir/log")"

# ---- Text, tallies ------------------------------------------------------------------------------------------

compare "$dir/a.data" "$dir/b.data" >"$dir/text"
grep -q '^only in A: 1$' "$dir/text" && grep -q "^ *$(truth_of a once)  once ($dir/program)\$" "$dir/text" ||
	fail "text: $(cat "$dir/text")"
grep -q "^ *$(truth_of a loop) *$(truth_of b loop) + *[0-9]*  loop " "$dir/text" || fail "text: $(cat "$dir/text")"
compare "$dir/a.data" "$dir/a.data" >"$dir/same"
[ "$(grep -c 'only in\|in both' "$dir/same")" -eq 0 ] && grep -q '^[1-9][0-9]* functions equal$' "$dir/same" ||
	fail "the same: $(cat "$dir/same")"

for by in function line block; do
	for side in a b; do
		"$SBTRACE" replay --root "$dir/a.root" --no-host-root --sink tally="$dir/$side.$by" --with by=$by \
			--with file='*/program' "$dir/$side.data" 2>"$dir/log" || fail "tally: $(cat "$dir/log")"
	done
	"$SBTRACE" diff --json --most 0 "$dir/a.$by" "$dir/b.$by" | jq 'del(.a, .b)' >"$dir/of_tallies"
	jq 'del(.a, .b)' "$dir/${by}s" | cmp - "$dir/of_tallies" || fail "tallies by $by differ otherwise than recordings"
done
"$SBTRACE" diff "$dir/a.function" "$dir/b.line" >"$dir/log" 2>&1 && fail "a function is no line"
grep -q 'is by line, while .* is by function' "$dir/log" || fail "kinds: $(cat "$dir/log")"

# Options hold for tallies as well, or are refused.
printf 'sbtrace-tally\t1\tfunction\n/bin/a\tf\t0\t0\t3\t1\n/bin/b\tg\t0\t0\t5\t1\n' >"$dir/two"
printf 'sbtrace-tally\t1\tfunction\n' >"$dir/none.function"
"$SBTRACE" diff --json --file '*/b' "$dir/two" "$dir/none.function" >"$dir/narrow"
is narrow '[.only_a[] | .function]' '["g"]'
"$SBTRACE" diff --by line "$dir/two" "$dir/none.function" >"$dir/log" 2>&1 && fail "--by line of functions"
grep -q 'two: is by function, not by line as asked for' "$dir/log" || fail "--by line: $(cat "$dir/log")"
"$SBTRACE" diff --file '*/b' "$dir/a.line" "$dir/a.line" >"$dir/log" 2>&1 && fail "--file of lines"
grep -q 'a.line: is by line, and does not tell which file that ran in' "$dir/log" || fail "--file: $(cat "$dir/log")"
for filter in '--cpu 0' '--comm sh' '--time 5,'; do
	# shellcheck disable=SC2086
	"$SBTRACE" diff $filter "$dir/two" "$dir/two" >"$dir/log" 2>&1 && fail "$filter of tallies"
	grep -q 'two: is, as .*two, what sink tally wrote, and does not tell CPUs' "$dir/log" || fail "$filter: $(cat "$dir/log")"
done

# What is no tally any more.
damaged()
{
	sed "$1" "$dir/a.function" >"$dir/damaged"
	"$SBTRACE" diff "$dir/damaged" "$dir/a.function" >"$dir/log" 2>&1 && fail "taken: $1"
	grep -q "$2" "$dir/log" || fail "$1: $(cat "$dir/log")"
}
damaged '3s/	[0-9]*$//' 'line 3: expected six columns'
damaged '3s/[0-9]*$/99999999999999999999/' 'line 3: expected six columns'
damaged '1s/function/procedure/' 'line 1: expected function, line or block'
damaged '2{h;d};3G' 'rows are not in order'

# Addresses of the kernel are beyond what JSON's integers hold.
printf 'sbtrace-tally\t1\tblock\n[kernel]\tf\tffffffff81000000\tffffffff81000010\t3\t0\n' >"$dir/kernel"
printf 'sbtrace-tally\t1\tblock\n' >"$dir/nothing"
"$SBTRACE" diff --json "$dir/kernel" "$dir/nothing" >"$dir/kernels"
is kernels '[.only_a[0] | .begin, .end, .a]' '["18446744071578845184","18446744071578845200",3]'

"$SBTRACE" diff "$dir/a.data" >"$dir/log" 2>&1
[ $? -eq 2 ] || fail "one recording alone: $(cat "$dir/log")"
"$SBTRACE" diff "$dir/a.data" "$dir/none" >"$dir/log" 2>&1
[ $? -eq 1 ] && grep -q "none" "$dir/log" || fail "no recording: $(cat "$dir/log")"

[ $failures -eq 0 ]
