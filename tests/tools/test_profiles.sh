#!/bin/sh
# Profiles for compilers and optimisers, each taken by its consumer: perf2bolt and llvm-bolt, create_gcov and gcc.
# What they make of them is held against the truth of the recording. Consumers that are not here are not tried.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=profiles

cat >"$dir/program.c" <<'EOF'
#include <stdio.h>
#include <stdlib.h>

static int table[256];

static int __attribute__((noinline)) cold(int n)
{
	fprintf(stderr, "cold %d\n", n);
	return n;
}

static int __attribute__((noinline)) mix(int n)
{
	if (n == 123456)
		return cold(n);
	if (n & 1)
		return n * 3 + 1;
	switch (n % 7) {
	case 0: return n + 1;
	case 1: return n - 2;
	case 2: return n / 3;
	case 3: return n ^ 5;
	case 5: return n * 7;
	default: return n + 2;
	}
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000, sum = 0;

	for (int i = 0; i < n; i++) {
		sum += mix(sum + i);
		table[i & 255] = sum & 0xffff;
		if (i % 100 == 50)
			qsort(table, 256 < i ? 256 : i, 4, compare);
	}
	printf("%d\n", sum);
	return 0;
}
EOF

# profile NAME SINK FLAGS...: builds NAME, records it, and writes NAME.SINK.
profile()
{
	name=$1
	sink=$2
	shift 2
	gcc -O2 "$@" "$dir/program.c" -o "$dir/$name" || { fail "gcc $*"; return 1; }
	record "$name" -- "$dir/$name" 1000 || return 1
	for jobs in 1 2; do
		"$SBTRACE" replay --root "$dir/$name.root" --no-host-root --jobs $jobs --sink "$sink=$dir/$name.$sink$jobs" \
			--with file="*/$name" "$dir/$name.data" 2>"$dir/log" || fail "replay $name: $(cat "$dir/log")"
	done
	mv "$dir/$name.${sink}1" "$dir/$name.$sink"
	cmp "$dir/$name.$sink" "$dir/$name.${sink}2" || fail "$sink depends on the number of jobs"
	[ -s "$dir/$name.$sink" ] || fail "$sink: nothing"
}

# ---- BOLT ---------------------------------------------------------------------------------------------------

bolt()
{
	profile bolted bolt -fno-pie -no-pie -Wl,--emit-relocs || return
	[ -z "${SANITIZE:-}" ] || return 0 # the consumers have no sanitizers
	"$perf2bolt" -pa -p "$dir/bolted.bolt" -o "$dir/fdata" "$dir/bolted" >"$dir/log" 2>&1 ||
		{ fail "perf2bolt: $(tail -3 "$dir/log")"; return; }
	grep -q 'mismatching disassembled function contents: [0-9]* (0.0%)' "$dir/log" || fail "perf2bolt: $(grep mism "$dir/log")"
	# Branches that perf2bolt takes for taken in mix() are so many pairs of instructions in the truth, which is at
	# the addresses of the file. What it derives of straight ways is there, too: conditional jumps not taken.
	nm "$dir/bolted" >"$dir/symbols"
	perl -e '
		my ($symbols, $truth, $fdata) = @ARGV;
		my (%begin, %pair, $last, $rows, $wrong);
		open my $in, "<", $symbols or die;
		while (<$in>) { my ($address, $type, $name) = split; $begin{$name} = hex $address; }
		open $in, "<", $truth or die;
		while (<$in>) { my $ip = hex((split)[4]); $pair{"$last $ip"}++ if $last; $last = $ip; }
		open $in, "<", $fdata or die;
		while (<$in>) {
			my (undef, $name, $from, undef, $to_name, $to, undef, $count) = split;
			next if $name ne "mix/1" || $to_name !~ /^(mix\/1|main)$/;
			my $pair = ($begin{mix} + hex $from) . " " . ($begin{$to_name =~ s/\/.*//r} + hex $to);
			$rows++;
			next if $count == ($pair{$pair} // 0);
			print $_, "expected ", $pair{$pair} // 0, "\n";
			$wrong = 1;
		}
		print "$rows rows\n";
		exit($wrong || $rows < 15);' "$dir/symbols" "$dir/bolted.truth" "$dir/fdata" >"$dir/log" ||
		fail "fdata: $(tail -3 "$dir/log")"
	"$llvm_bolt" "$dir/bolted" -o "$dir/optimised" --data="$dir/fdata" --reorder-blocks=ext-tsp \
		--reorder-functions=hfsort --split-functions --dyno-stats >"$dir/log" 2>&1 ||
		{ fail "llvm-bolt: $(tail -3 "$dir/log")"; return; }
	grep -q 'taken branches (-' "$dir/log" || fail "llvm-bolt: no fewer branches are taken"
	[ "$("$dir/optimised" 5000)" = "$("$dir/bolted" 5000)" ] || fail "the optimised program does not run right"
	echo "bolt: $(grep -m1 'taken branches (-' "$dir/log")"
}

# Called by the name that says what it is to do.
perf2bolt=$(ls /usr/lib/llvm-*/bin/perf2bolt 2>/dev/null | tail -1)
llvm_bolt=${perf2bolt%/*}/llvm-bolt
if [ -n "$perf2bolt" ] && command -v gcc perl >/dev/null; then
	bolt
else
	echo "not tried: perf2bolt, gcc or perl are not here"
fi

# ---- AutoFDO ------------------------------------------------------------------------------------------------

# autofdo NAME FLAGS: calls of mix() and compare() as the profile and the compiler have them.
autofdo()
{
	name=$1
	shift
	# What create_gcov reads best.
	profile "$name" autofdo -gdwarf-4 "$@" || return
	[ -z "${SANITIZE:-}" ] || return 0
	create_gcov --binary="$dir/$name" --profile="$dir/$name.autofdo" --profiler=text --gcov="$dir/$name.gcov" \
		--gcov_version=1 >"$dir/log" 2>&1 || { fail "create_gcov: $(tail -3 "$dir/log")"; return; }
	"$SBTRACE" replay --root "$dir/$name.root" --no-host-root --sink counts="$dir/counts" --with file="*/$name" \
		"$dir/$name.data" 2>"$dir/log"
	address=$(nm "$dir/$name" | awk '$3 == "compare" { sub(/^0+/, "", $1); print $1 }')
	compared=$(awk -v address="$address" '$1 == "insn" && $3 "" == address "" { print $4 }' "$dir/counts")
	[ "${compared:-0}" -gt 1000 ] || fail "$name: compare() ran ${compared:-0} times"
	dump_gcov --gcov_version=1 "$dir/$name.gcov" >"$dir/dump"
	grep -q '^mix total:[0-9]* head:1000$' "$dir/dump" || fail "$name: mix: $(grep ^mix "$dir/dump")"
	# Its second line, which is all that it does.
	sed -n '/^compare /,/^[a-z]/p' "$dir/dump" | grep -q "^ *2: $compared\$" ||
		fail "$name: compare() ran $compared times: $(grep -A3 ^compare "$dir/dump")"
	grep -q ' mix:1000$' "$dir/dump" || fail "$name: no call of mix() is known"
	echo "autofdo: $(grep -c total: "$dir/dump") functions"
	# Version 12 of gcc changed how it reads strings, and create_gcov did not.
	command -v gcc-11 >/dev/null || { echo "not tried: gcc-11 is not here"; return; }
	(cd "$dir" && gcc-11 -O2 -fauto-profile="$dir/$name.gcov" -fdump-tree-optimized-blocks-details=optimised.dump program.c \
		-o again) >"$dir/log" 2>&1 || fail "gcc: $(tail -3 "$dir/log")"
	grep -q 'count:* 1000 (auto FDO)' "$dir/optimised.dump" || fail "$name: the compiler has no count of mix()"
	grep -q "count:* $compared (auto FDO)" "$dir/optimised.dump" || fail "$name: the compiler has no count of compare()"
	[ "$("$dir/again" 5000)" = "$("$dir/$name" 5000)" ] || fail "the optimised program does not run right"
}

if command -v create_gcov gcc >/dev/null; then
	autofdo independent -pie -fpie
	autofdo placed -no-pie -fno-pie
else
	echo "not tried: create_gcov or gcc are not here"
fi

[ $failures -eq 0 ]
