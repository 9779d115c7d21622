#!/bin/sh
# Lines of source, held against what llvm-symbolizer and nm say of the same files: each instruction's line, and each
# function's; of programs as compilers make them, compressed, stripped, of several directories.
set -u

. "$SOURCE_DIR/tests/tools/checks.sh"
at=$BUILD_DIR/tests/line_at
symbolizer=$(command -v llvm-symbolizer || command -v llvm-symbolizer-14)
[ -n "$symbolizer" ] || echo "not tried: llvm-symbolizer is not here"

mkdir -p "$dir/src/deep" "$dir/include"
cat >"$dir/include/shared.h" <<'EOF'
static inline int twice(int n)
{
	return n * 2;
}
EOF
cat >"$dir/src/main.c" <<'EOF'
#include <stdio.h>
#include "shared.h"
int other(int n);

static int sum(const int *of, int n)
{
	int total = 0;

	for (int i = 0; i < n; i++)
		total += of[i] > 3 ? twice(of[i]) : other(of[i]);
	return total;
}

int main(int argc, char **argv)
{
	int some[] = {1, 2, 3, 4, 5, argc};

	(void)argv;
	printf("%d\n", sum(some, 6));
	return 0;
}
EOF
cat >"$dir/src/deep/other.c" <<'EOF'
#include "shared.h"
__attribute__((noinline)) int other(int n)
{
	if (n > 2)
		return twice(n) + 1;
#line 100 "made/by/another.tool"
	return n - 1;
}
EOF
printf '.text\n.globl bare\nbare:\n\tnop\n\tret\n.section .note.GNU-stack\n' >"$dir/src/bare.s"

# same_lines NAME PROGRAM: the symbolizer and we say the same of each instruction of our functions. (addr2line of
# binutils 2.40 takes functions of headers for the source file's.)
same_lines()
{
	objdump -d --no-show-raw-insn "$2" | awk '/^[0-9a-f]+ </ { ours = $2 ~ /<(main|sum|other|twice|bare|_start)>/ }
		ours && /^ *[0-9a-f]+:/ { sub(/:.*/, ""); print $1 }' >"$dir/addresses"
	"$at" "$2" <"$dir/addresses" >"$dir/ours" || fail "$1: line_at"
	[ -n "$symbolizer" ] || return
	sed 's/^/0x/' "$dir/addresses" | "$symbolizer" --obj="$2" --functions=none --no-inlines | grep . |
		sed -e 's/:[0-9]*$//' -e 's/^??:.*/-/' -e 's/.*:0$/-/' | paste -d' ' "$dir/addresses" - >"$dir/theirs"
	diff "$dir/theirs" "$dir/ours" >"$dir/log" || fail "$1: $(head -6 "$dir/log")"
	known=$(grep -c "$dir" "$dir/ours")
	[ "$known" -ge 20 ] || fail "$1: only $known addresses have a line"
}

cd "$dir/src" || exit 1
sources="main.c deep/other.c bare.s"
for flags in '-O0' '-O2' '-O1 -gdwarf-4' '-O2 -ffunction-sections -Wl,--gc-sections' '-O0 -no-pie -fno-pie' \
	'-O1 -gz=zlib' '-O1 -g1' '-O2 -gsplit-dwarf' '-static -O1'; do
	# shellcheck disable=SC2086 # words
	"${CC:-cc}" -g $flags -I ../include $sources -o "$dir/program" 2>"$dir/log" ||
		{ echo "not tried: $flags: $(head -1 "$dir/log")"; continue; }
	same_lines "$flags" "$dir/program"
done

# Functions: where they begin, as nm knows it, and where the source has them.
"${CC:-cc}" -g -O0 -I ../include $sources -o "$dir/program"
"$at" -f "$dir/program" | sort >"$dir/ours"
for name in main sum other twice; do
	nm "$dir/program" | awk -v name=$name '$3 == name { sub(/^0+/, "", $1); print $1, $3 }'
done | while read -r address name; do
	case $name in
	main) where=src/main.c:14 ;;
	sum) where=src/main.c:5 ;;
	other) where=src/deep/other.c:2 ;;
	twice) where=src/../include/shared.h:1 ;;
	esac
	echo "$address $name $dir/$where"
done | sort >"$dir/expected"
[ "$(wc -l <"$dir/expected")" -eq 5 ] || fail "functions are missing"
diff "$dir/expected" "$dir/ours" >"$dir/log" || fail "functions: $(cat "$dir/log")"

# All lines: those that the compiler made code of.
"$at" -l "$dir/program" | sed -n "s,^[0-9a-f]* $dir/src/main.c:,,p" | sort -nu | tr '\n' ' ' >"$dir/ours"
# Clang has no code of their own for the braces that end a function.
case $(cat "$dir/ours") in
"6 7 9 10 11 12 15 16 19 20 21 " | "6 7 9 10 11 15 16 19 20 ") ;;
*) fail "lines: $(cat "$dir/ours")" ;;
esac

# A stripped file has its lines elsewhere, or none.
id=$(readelf -n "$dir/program" | awk '/Build ID/ { print $3 }')
address=$(nm "$dir/program" | awk '$3 == "main" { print $1 }')
line_of_main()
{
	echo "$address" | "$at" "$@" | cut -d' ' -f2
}
if [ -n "$id" ]; then
	below=$dir/lib/.build-id/$(echo "$id" | cut -c1-2)
	mkdir -p "$below"
	objcopy --only-keep-debug "$dir/program" "$below/$(echo "$id" | cut -c3-).debug"
	strip -o "$dir/stripped" "$dir/program"
	[ "$(line_of_main "$dir/stripped")" = - ] || fail "stripped: $(line_of_main "$dir/stripped")"
	[ "$(line_of_main -D "$dir/lib" "$dir/stripped")" = "$dir/src/main.c:15" ] || fail "debug file"
else
	echo "not tried: debug files, as there are no build-ids here"
fi

# Not files with DWARF, or DWARF that does not hold: nothing is known, and nothing happens.
[ "$(line_of_main "$dir/src/main.c")" = - ] || fail "a text"
size=$(wc -c <"$dir/program")
[ -n "$(command -v perl)" ] || size=0
seed=1
while [ $seed -le 60 ] && [ "$size" -gt 0 ]; do
	perl -e '
		my ($file, $seed) = @ARGV;
		srand $seed;
		local $/;
		open my $in, "<", $file or die;
		my $bytes = <$in>;
		# Most of the file is DWARF, and behind the code.
		my ($first) = (`readelf -SW $file` =~ /\.debug_aranges\s+PROGBITS\s+\S+\s+(\S+)/);
		for (1 .. 1 + $seed % 7) {
			substr($bytes, hex($first) + int rand(length($bytes) - hex($first)), 1) = chr int rand 256;
		}
		print $bytes;' "$dir/program" $seed >"$dir/damaged"
	for walk in '' -f -l; do
		# shellcheck disable=SC2086
		timeout 20 "$at" $walk "$dir/damaged" <"$dir/addresses" >/dev/null 2>"$dir/log"
		status=$?
		[ $status -le 1 ] || fail "damaged with seed $seed: status $status: $(tail -3 "$dir/log")"
	done
	seed=$((seed + 1))
done

[ $failures -eq 0 ]
