#!/bin/sh
# go tool pprof takes the profile; instructions of each function are those of the truth, and stacks are those of the
# program.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"

go=$(command -v go || ls /usr/lib/go-*/bin/go 2>/dev/null | tail -1)
[ -n "$go" ] || { echo "skipped: no go here"; exit 77; }
export HOME="$dir" GOFLAGS=-mod=mod GOTOOLCHAIN=local PPROF_BINARY_PATH="$dir"

cat >"$dir/program.c" <<'EOF'
static int __attribute__((noinline)) leaf(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += i;
	return sum;
}

static int __attribute__((noinline)) left(int n)
{
	return leaf(n) + 1;
}

static int __attribute__((noinline)) right(int n)
{
	return leaf(2 * n) + leaf(n);
}

int main(int argc, char **argv)
{
	(void)argv;
	return left(50 * argc) + right(100) == 1;
}
EOF
"${CC:-cc}" -O0 -fno-pie -no-pie "$dir/program.c" -o "$dir/program" || exit 1
record program -- "$dir/program" || exit 1
for jobs in 1 3; do
	"$SBTRACE" replay --root "$dir/program.root" --no-host-root --jobs $jobs --sink pprof="$dir/profile$jobs" \
		"$dir/program.data" 2>"$dir/log" || fail "replay: $(cat "$dir/log")"
done
cmp "$dir/profile1" "$dir/profile3" || fail "the profile depends on the number of jobs"
gzip -t "$dir/profile1" || fail "the profile is not packed with gzip"

"$go" tool pprof -top -nodecount=0 -nodefraction=0 -edgefraction=0 "$dir/profile1" >"$dir/top" 2>"$dir/log" ||
	fail "pprof -top: $(cat "$dir/log")"
total=$(wc -l <"$dir/program.truth")
grep -q "^Showing nodes accounting for $total, 100% of $total total" "$dir/top" || fail "not all $total: $(head -4 "$dir/top")"
# own NAME: instructions at the function's addresses in the truth.
own()
{
	nm -S "$dir/program" | awk -v name="$1" '$4 == name { print $1, $2 }' >"$dir/range"
	perl -e '
		my ($range, $truth) = @ARGV;
		open my $in, "<", $range or die;
		my ($begin, $size) = map { hex } split " ", <$in>;
		my $n = 0;
		open $in, "<", $truth or die;
		while (<$in>) { my $ip = hex((split)[4]); $n++ if $ip >= $begin && $ip < $begin + $size; }
		print $n;' "$dir/range" "$dir/program.truth"
}
leaf=$(own leaf)
left=$(own left)
right=$(own right)
for name in leaf left right main; do
	flat=$(awk -v name=$name '$6 == name { print $1 }' "$dir/top")
	[ "$flat" = "$(own $name)" ] || fail "$name: $flat instructions, expected $(own $name)"
done
all=$(awk '$6 == "main" { print $4 }' "$dir/top")
[ "$all" = $((leaf + left + right + $(own main))) ] || fail "main with all that it calls: $all"

# Stacks: leaf() ran in left() and in right(), in a thread of the program's name.
"$go" tool pprof -raw "$dir/profile1" >"$dir/raw" 2>"$dir/log" || fail "pprof -raw: $(cat "$dir/log")"
grep -q 'comm:\[program\]' "$dir/raw" || fail "no label of the process's name"
"$go" tool pprof -peek '^leaf$' "$dir/profile1" >"$dir/peek" 2>/dev/null
for caller in left right; do
	grep -q "^ *[0-9]* *[0-9.]*% |   $caller\$" "$dir/peek" || fail "no call by $caller: $(cat "$dir/peek")"
done
in_left=$(awk '$NF == "left" { print $1 }' "$dir/peek")
in_right=$(awk '$NF == "right" { print $1 }' "$dir/peek")
[ $((in_left + in_right)) -eq "$leaf" ] || fail "leaf() by its callers: $in_left, $in_right of $leaf"

[ $failures -eq 0 ]
