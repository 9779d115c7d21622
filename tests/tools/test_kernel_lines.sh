#!/bin/sh
# Lines of source of the kernel: of a vmlinux that was moved, and of modules, whose files are relocatable. The truth
# is addr2line's, of files that are made here; and of a recorded module, a debug file whose lines are known.
set -u

. "$SOURCE_DIR/tests/tools/checks.sh"
at=$BUILD_DIR/tests/line_at
flags='-g -O1 -ffreestanding -fno-pic -fno-pie -mcmodel=kernel -fno-asynchronous-unwind-tables -fcf-protection=none'
# All addresses begin with ffffffff: shells have 63 bits.
kernel=81000000       # as it is linked; it stood
shift=$((0x1c600000)) # so much above
base=c0407000

mkdir -p "$dir/src" "$dir/perf.data/kcore_dir" "$dir/root" "$dir/ids"
cd "$dir/src" || exit 1
cat >one.c <<'END'
int two(int n);
int sum(const int *of, int n)
{
	int total = 0;

	for (int i = 0; i < n; i++)
		total += of[i] > 3 ? two(of[i]) : of[i] * 7;
	return total;
}
__attribute__((section(".init.text"))) int start(int n)
{
	return two(n) + 5;
}
END
cat >two.c <<'END'
__attribute__((cold, noinline, section(".text.unlikely"))) static int seldom(int n)
{
	n ^= 77;
	return n * n + 3;
}
__attribute__((noinline)) int two(int n)
{
	if (n > 1000)
		return seldom(n) + 1;
	return n - 1;
}
__attribute__((section(".exit.text"))) int end(int n)
{
	return n + 12;
}
END
for name in one two; do
	# shellcheck disable=SC2086 # words
	"${CC:-cc}" $flags -c $name.c -o $name.o || fail "$name.c"
done

# addr2line's answers as ours.
known()
{
	sed -e 's/ (discriminator.*//' -e 's/.*:[?0]$/-/'
}

# ---- A module -------------------------------------------------------------------------------------------------

# Where the kernel puts sections of code: "NAME ADDRESS SIZE", in hexadecimal.
places()
{
	next=$((0x$base))
	readelf -SW "$1" | sed 's/^ *\[ *\([0-9]*\)\]/\1/' | awk '$3 == "PROGBITS" && / AX / { print $2, $6, $NF }' |
		while read -r name size align; do
			case $name in .init*) continue ;; esac
			next=$(((next + align - 1) / align * align))
			printf '%s ffffffff%x %x\n' "$name" $next $((0x$size))
			next=$((next + 0x$size))
		done
}

ld -r --build-id=sha1 one.o two.o -o "$dir/root/sample.ko"
places "$dir/root/sample.ko" >layout
[ "$(wc -l <layout)" -eq 3 ] || fail "sections: $(cat layout)"
# The kernel's memory.
awk 'BEGIN { print "SECTIONS {" } { printf "%s 0x%s : { *(%s) }\n", $1, $2, $1 }
	END { print ".init.text 0xffffffffc0500000 : { *(.init.text) }\n}" }' layout >script
ld -e 0 -T script "$dir/root/sample.ko" -o "$dir/perf.data/kcore_dir/kcore" || fail "kcore"

# The recording: two mappings of the kernel, in a raw pair's sideband, with the trailer that these have.
perl -e '
	sub mmap {
		my ($begin, $size, $offset, $name) = @_;
		$name .= "\0" x (8 - length($name) % 8);
		my $body = pack("l<2Q<3", -1, 0, $begin, $size, $offset) . $name . pack("l<2Q<3", -1, 0, 0, 0, 0);
		return pack("L<S<2", 1, 1, 8 + length $body) . $body;
	}
	my ($text, $module) = map { hex } @ARGV;
	print mmap($text, 0x10000, $text, "[kernel.kallsyms]_text"), mmap($module, 0x3000, 0, "[sample]");' \
	"$(printf 'ffffffff%x' $((0x$kernel + shift)))" ffffffff$base >"$dir/perf.data/cpu0.pevent" 2>"$dir/log" || fail "$(cat "$dir/log")"
: >"$dir/perf.data/cpu0.pt"

# Each byte of the code: "ADDRESS FILE:LINE".
while read -r name begin size; do
	seq 0 $((0x$size - 1)) | awk '{ printf "0x%x\n", $1 }' | addr2line -e "$dir/root/sample.ko" -j "$name" |
		known | awk '{ print NR - 1, $0 }' |
		while read -r offset line; do
			printf 'ffffffff%x %s\n' $((0x${begin#ffffffff} + offset)) "$line"
		done
done <layout >expected
cut -d' ' -f1 expected >addresses
[ "$(grep -c "$dir/src/" expected)" -ge 60 ] || fail "addr2line: $(head -3 expected)"

# lines_are WHAT OPTIONS...: what is expected comes out.
lines_are()
{
	what=$1
	shift
	"$at" -r "$dir/perf.data" "$@" "$dir/root" <addresses >ours 2>log || fail "$what: $(cat log)"
	diff expected ours >log || fail "$what: $(head -6 log)"
}
nothing_is()
{
	what=$1
	shift
	"$at" -r "$dir/perf.data" "$@" "$dir/root" <addresses 2>&1 | grep -v ' -$' >log && fail "$what: $(head -3 log)"
}
lines_are "a module"
xz -k "$dir/root/sample.ko" && mv "$dir/root/sample.ko" whole.ko
lines_are "a packed module"
rm "$dir/root/sample.ko.xz"
objcopy --compress-debug-sections whole.ko "$dir/root/sample.ko"
lines_are "a module with compressed lines"

# Stripped, with its lines elsewhere.
id=$(readelf -n whole.ko | awk '/Build ID/ { print $3 }')
below=$dir/ids/$(echo "$id" | cut -c1-2)
debug=$below/$(echo "$id" | cut -c3-).debug
mkdir -p "$below"
objcopy --only-keep-debug whole.ko "$debug"
strip --strip-debug -o "$dir/root/sample.ko" whole.ko
nothing_is "a stripped module"
lines_are "a debug file" -D "$dir/ids"
objcopy --compress-debug-sections "$debug" && lines_are "a compressed debug file" -D "$dir/ids"

# Another build of it: the kernel's memory has other bytes.
cp whole.ko "$dir/root/sample.ko"
sed -i 's/return n - 1/return n - 2/' two.c
# shellcheck disable=SC2086
"${CC:-cc}" $flags -c two.c -o other.o && ld -r --build-id=sha1 one.o other.o -o "$dir/root/sample.ko"
nothing_is "another build"

# Damaged lines: nothing happens.
seed=1
while [ $seed -le 20 ]; do
	perl -e '
		my ($file, $seed) = @ARGV;
		srand $seed;
		local $/;
		open my $in, "<", $file or die;
		my $bytes = <$in>;
		my ($first) = (`readelf -SW $file` =~ /\.debug_info\s+PROGBITS\s+\S+\s+(\S+)/);
		substr($bytes, hex($first) + int rand(length($bytes) - hex($first)), 1) = chr int rand 256 for 1 .. 1 + $seed % 7;
		print $bytes;' whole.ko $seed >"$dir/root/sample.ko"
	timeout 20 "$at" -r "$dir/perf.data" "$dir/root" <addresses >/dev/null 2>log
	status=$?
	[ $status -le 1 ] || fail "damaged with seed $seed: status $status: $(tail -3 log)"
	seed=$((seed + 1))
done

# ---- vmlinux --------------------------------------------------------------------------------------------------

rm "$dir/root/sample.ko"
ld --build-id=sha1 -e sum -Ttext=0xffffffff$kernel --defsym _text=0xffffffff$kernel -z max-page-size=4096 one.o two.o -o vmlinux ||
	fail "vmlinux"
objdump -d --no-show-raw-insn -j .text vmlinux | sed -n 's/^ *\(ffffffff[0-9a-f]*\):.*/\1/p' >linked
addr2line -e vmlinux <linked | known >lines
paste -d' ' linked lines | while read -r address line; do
	printf 'ffffffff%x %s\n' $((0x${address#ffffffff} + shift)) "$line"
done >expected
cut -d' ' -f1 expected >addresses
[ "$(grep -c "$dir/src/" expected)" -ge 20 ] || fail "addr2line on vmlinux: $(head -3 expected)"
lines_are "vmlinux" -v vmlinux
xz -k vmlinux && lines_are "a packed vmlinux" -v vmlinux.xz
nothing_is "no vmlinux"
id=$(readelf -n vmlinux | awk '/Build ID/ { print $3 }')
below=$dir/ids/$(echo "$id" | cut -c1-2)
mkdir -p "$below"
objcopy --only-keep-debug vmlinux "$below/$(echo "$id" | cut -c3-).debug"
strip --strip-debug -o stripped vmlinux
nothing_is "a stripped vmlinux" -v stripped
lines_are "the debug file of a vmlinux" -v stripped -D "$dir/ids"

# ---- Sinks, of a recorded module ------------------------------------------------------------------------------

recorded=$CORPUS_DIR/kernel-kaslr-modules
module=$recorded/root/mod/zsmalloc.ko
base=c04d7000
if [ ! -f "$module" ]; then
	echo "not tried: sinks, as there is no recording with modules in $recorded"
	[ $failures -eq 0 ]
	exit
fi
# A debug file in which each 16 bytes of .text are of a line of their own.
size=$((0x$(objdump -h "$module" | awk '$2 == ".text" { print $3 }')))
awk -v lines=$(((size + 15) / 16)) 'BEGIN { for (; lines; lines--) {
	for (i = 0; i < 15; i++) printf "nop;"; print "nop" } }' >lines.s
objcopy -O binary -j .note.gnu.build-id --set-section-flags .note.gnu.build-id=alloc "$module" note
id=$(readelf -n "$module" | awk '/Build ID/ { print $3 }')
below=$dir/ids/$(echo "$id" | cut -c1-2)
mkdir -p "$below"
as -g lines.s -o lines.o
objcopy --add-section .note.gnu.build-id=note lines.o "$below/$(echo "$id" | cut -c3-).debug" || fail "no debug file"

"$SBTRACE" replay --root "$recorded/root" --root "$recorded/root/mod" --no-host-root --build-id-dir "$dir/ids" --cpu 1 \
	--address "0xffffffff$base-$(printf '0xffffffff%x' $((0x$base + size)))" --sink insn=insn \
	--sink script=script --with fields=ip,srcline --sink lcov=lcov --sink tally=tally --with by=line \
	--sink callgrind=callgrind "$recorded/perf.data" >log 2>&1 || fail "replay: $(cat log)"

# "LINE COUNT" by the addresses that ran.
cut -f 5 insn | sort | uniq -c | while read -r count address; do
	echo "$(((0x${address#ffffffff} - 0x$base) / 16 + 1)) $count"
done | awk '{ count[$1] += $2 } END { for (line in count) print line, count[line] }' | sort >truth
cut -d' ' -f1 truth >ran
[ "$(wc -l <ran)" -ge 30 ] || fail "only $(wc -l <ran) lines ran"
sed -n 's/.*lines\.s:\([0-9]*\)$/\1/p' script | sort | uniq -c | awk '{ print $2, $1 }' | sort >ours
diff truth ours >log || fail "script: $(head -5 log)"
sed -n '/^SF:.*lines\.s$/,/^end/s/^DA:\([0-9]*\),[1-9].*/\1/p' lcov | sort >ours
diff ran ours >log || fail "lcov: $(head -5 log)"
grep -c '^DA:' lcov | grep -qx "$(((size + 15) / 16))" || fail "lcov has $(grep -c '^DA:' lcov) lines"
awk -F '\t' '/lines\.s/ { print $3 }' tally | sort >ours
diff ran ours >log || fail "tally: $(head -5 log)"
awk '/^fl=|^fi=|^fe=/ { here = /lines\.s/ || ($0 in known); if (here) known[$0] = 1; sub(/ .*/, ""); if (here) known[$0] = 1 }
	/^calls=/ { getline; next } here && /^[0-9]/ { count[$1] += $2 }
	END { for (line in count) print line, count[line] }' callgrind | sort >ours
diff truth ours >log || fail "callgrind: $(head -5 log)"

[ $failures -eq 0 ]
