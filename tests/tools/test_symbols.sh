#!/bin/sh
# Names of functions, held against what others say of the same files: nm, objdump, addr2line, c++filt, perf. And
# where stripped files have theirs: debug files found by build-id or link, .gnu_debugdata.
set -u

. "$SOURCE_DIR/tests/tools/checks.sh"
at=$BUILD_DIR/tests/symbol_at

# ---- Files of this machine, against nm ------------------------------------------------------------------------

# nm_functions FILE [-D]: "ADDRESS SIZE NAME" of the functions that have a size; no versions. Weak variables of
# threads are W, too: their addresses are offsets, and small.
nm_functions()
{
	nm -S --defined-only ${2-} "$1" 2>/dev/null |
		awk 'NF == 4 && $1 > "0000000000000fff" && $3 ~ /^[tTwWi]$/ { sub(/@.*/, "", $4); print $1, $2, $4 }'
}

# begins_right FILE FUNCTIONS: at each function's address there is one of its names.
begins_right()
{
	cut -d' ' -f1 "$2" | sort -u | "$at" -m "$1" >"$dir/answers" || fail "symbol_at $1"
	awk 'NR == FNR { sub(/^0+/, "", $1); known[$1 " " $3 "+0x0"] = 1; next }
		!($0 in known) { print; wrong++ } END { exit wrong > 0 }' "$2" "$dir/answers" >"$dir/wrong" ||
		fail "$1: $(wc -l <"$dir/wrong") of $(wc -l <"$dir/answers") begin wrong: $(head -5 "$dir/wrong")"
}

# The compiler's own, so that C++ is among them.
libraries=$(ldd "$SBTRACE" | awk '$3 ~ /^\// { print $3 }')
checked=0
for file in $libraries "$("${CC:-cc}" -print-file-name=libstdc++.so.6)" /bin/bash /usr/bin/perl; do
	[ -f "$file" ] || continue
	{ nm_functions "$file"; nm_functions "$file" -D; } >"$dir/functions"
	[ -s "$dir/functions" ] || continue
	begins_right "$file" "$dir/functions"
	checked=$((checked + $(wc -l <"$dir/functions")))
done
nm_functions "$SBTRACE" >"$dir/functions"
begins_right "$SBTRACE" "$dir/functions"
[ "$checked" -ge 2000 ] || fail "only $checked functions of libraries were compared"

# ---- Within functions, against DWARF; linkage tables, against objdump -----------------------------------------

cat >"$dir/program.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __attribute__((noinline)) int hidden(int n) { return printf("%d\n", n); }
__attribute__((noinline)) int shown(int n) { return hidden(n) + (int)strlen(getenv("PATH")); }
__attribute__((weak, noinline)) int feeble(int n) { return shown(n) + 1; }
__asm__(".globl bare\n.text\nbare: nop\nnop\nret\n");
static int plain(int n) { return n; }
static int (*choose(void))(int) { return plain; }
int chosen(int n) __attribute__((ifunc("choose")));
int main(int argc, char **argv)
{
	qsort(argv, 0, sizeof(*argv), (int (*)(const void *, const void *))strcmp);
	return feeble(argc) + chosen(3);
}
END

# in_the_middle PROGRAM: where functions of the program are, by name, not at their first byte.
in_the_middle()
{
	for name in hidden shown feeble main; do
		nm -S "$1" | awk -v name=$name '$4 == name { print $1, $2, $4 }'
	done | while read -r begin size name; do
		printf '%x %s\n' $((0x$begin + 0x$size / 2)) "$name"
	done
}

# linkage_is_right PROGRAM: each entry that objdump knows by name has that name, in its first and last byte.
linkage_is_right()
{
	objdump -d --no-show-raw-insn -j .plt -j .plt.sec -j .plt.got "$1" 2>/dev/null |
		sed -n 's/^0*\([0-9a-f]*\) <\([A-Za-z_][A-Za-z0-9_]*\)\(@@*[A-Z][^@]*\)*@plt>:/\1 \2@plt/p' >"$dir/entries"
	[ -s "$dir/entries" ] || fail "no linkage table in $1"
	cut -d' ' -f1 "$dir/entries" | "$at" -m "$1" | sed 's/+0x0$//' >"$dir/answers"
	diff "$dir/entries" "$dir/answers" >"$dir/log" || fail "linkage of $1: $(head -5 "$dir/log")"
}

cc="${CC:-cc} -g -O1 -fno-inline -Wl,--build-id=sha1"
for flags in '-fcf-protection=none -Wl,-z,lazy' '-fcf-protection=full -Wl,-z,lazy' '-Wl,-z,now' \
	'-no-pie -fno-pie' '-fno-plt' '-static'; do
	# shellcheck disable=SC2086 # words
	$cc $flags "$dir/program.c" -o "$dir/program" >"$dir/log" 2>&1 || { echo "skipped: $flags"; continue; }
	in_the_middle "$dir/program" >"$dir/expected"
	[ "$(wc -l <"$dir/expected")" -eq 4 ] || fail "$flags: functions are missing"
	cut -d' ' -f1 "$dir/expected" >"$dir/addresses"
	"$at" "$dir/program" <"$dir/addresses" | sed 's/+.*//' | diff "$dir/expected" - >"$dir/log" ||
		fail "$flags: $(cat "$dir/log")"
	addr2line -f -e "$dir/program" <"$dir/addresses" | sed -n '1~2p' | paste -d' ' "$dir/addresses" - |
		diff "$dir/expected" - >/dev/null || fail "addr2line thinks otherwise"
	bare=$(nm "$dir/program" | awk '$3 == "bare" { print $1 }')
	[ "$(printf '%x' $((0x$bare + 2)) | "$at" "$dir/program" | cut -d' ' -f2)" = bare+0x2 ] || fail "$flags: bare"
	case $flags in
	-fno-plt | -static) ;;
	*) linkage_is_right "$dir/program" ;;
	esac
done
for file in $libraries /bin/bash; do
	objdump -h "$file" 2>/dev/null | grep -q ' \.plt' && linkage_is_right "$file"
done

# By offset in the file: the code segment says how offsets and addresses relate.
# shellcheck disable=SC2086
$cc "$dir/program.c" -o "$dir/program"
set -- $(readelf -lW "$dir/program" | awk '$1 == "LOAD" && / R E / { print $2, $3; exit }')
address=$(nm "$dir/program" | awk '$3 == "main" { print $1 }')
printf '%x\n' $((0x$address - $2 + $1)) | "$at" -o "$dir/program" | grep -q ' main+0x0$' || fail "by offset"

# ---- Stripped files -------------------------------------------------------------------------------------------

hidden=$(nm "$dir/program" | awk '$3 == "hidden" { print $1 }')
# name_in OPTIONS FILE: what is at hidden's address.
name_in()
{
	echo "$hidden" | "$at" "$@" | cut -d' ' -f2
}
is()
{
	[ "$2" = "$3" ] || fail "$1: $2, expected $3"
}
objcopy --only-keep-debug "$dir/program" "$dir/program.debug"
id=$(readelf -n "$dir/program" | awk '/Build ID/ { print $3 }')

mkdir -p "$dir/bin" "$dir/lib/.build-id/$(echo "$id" | cut -c1-2)"
strip -o "$dir/bin/program" "$dir/program"
is "stripped" "$(name_in "$dir/bin/program")" -
separate=$dir/lib/.build-id/$(echo "$id" | cut -c1-2)/$(echo "$id" | cut -c3-).debug
cp "$dir/program.debug" "$separate"
is "debug file by build-id" "$(name_in -D "$dir/lib" "$dir/bin/program")" hidden+0x0
mkdir -p "$dir/root/usr/lib" "$dir/root/bin"
cp "$dir/bin/program" "$dir/root/bin"
cp -R "$dir/lib" "$dir/root/usr/lib/debug"
is "debug file below a root" "$(name_in -R "$dir/root" /bin/program)" hidden+0x0
# shellcheck disable=SC2086
$cc -O2 "$dir/program.c" -o "$dir/other" && objcopy --only-keep-debug "$dir/other" "$separate"
is "debug file with another build-id" "$(name_in -D "$dir/lib" "$dir/bin/program")" -
rm "$separate"

objcopy -R .note.gnu.build-id --strip-all "$dir/program" "$dir/bin/linked"
objcopy --add-gnu-debuglink="$dir/program.debug" "$dir/bin/linked"
is "no debug file" "$(name_in "$dir/bin/linked")" -
cp "$dir/program.debug" "$dir/bin/program.debug"
is "debug file next to it" "$(name_in "$dir/bin/linked")" hidden+0x0
printf x >>"$dir/bin/program.debug"
is "debug file with another checksum" "$(name_in "$dir/bin/linked")" -
rm "$dir/bin/program.debug"
mkdir "$dir/bin/.debug" && cp "$dir/program.debug" "$dir/bin/.debug"
is "debug file in .debug" "$(name_in "$dir/bin/linked")" hidden+0x0
rm -r "$dir/bin/.debug"
rm -r "$dir/root/usr/lib/debug"
cp "$dir/bin/linked" "$dir/root/bin"
is "no debug file below the root" "$(name_in -R "$dir/root" /bin/linked)" -
mkdir -p "$dir/root/usr/lib/debug/bin" && cp "$dir/program.debug" "$dir/root/usr/lib/debug/bin"
is "debug file by path" "$(name_in -R "$dir/root" /bin/linked)" hidden+0x0

if command -v xz >/dev/null; then
	objcopy -S -K hidden "$dir/program.debug" "$dir/mini"
	xz "$dir/mini"
	objcopy --add-section .gnu_debugdata="$dir/mini.xz" "$dir/bin/program" "$dir/bin/mini"
	is ".gnu_debugdata" "$(name_in "$dir/bin/mini")" hidden+0x0
	head -c 100 "$dir/mini.xz" >"$dir/cut.xz"
	objcopy --add-section .gnu_debugdata="$dir/cut.xz" "$dir/bin/program" "$dir/bin/cut"
	is ".gnu_debugdata, cut off" "$(name_in "$dir/bin/cut")" -
else
	echo "not tried: .gnu_debugdata, as xz is not here"
fi

# ---- Names of C++, against c++filt ----------------------------------------------------------------------------

nm -D --defined-only "$("${CC:-cc}" -print-file-name=libstdc++.so.6)" 2>/dev/null | awk '{ print $3 }' |
	sed 's/@.*//' | grep '^_Z' | sort -u >"$dir/mangled"
[ -s "$dir/mangled" ] || echo "not tried: C++, as libstdc++ is not here"
"$at" -p - <"$dir/mangled" >"$dir/ours"
c++filt -i <"$dir/mangled" | diff - "$dir/ours" >"$dir/log" || fail "c++filt: $(head -4 "$dir/log")"

# ---- The kernel -----------------------------------------------------------------------------------------------

printf '0000000000000000 T _text\n0000000000000000 t do_one\n' >"$dir/kallsyms"
echo ffffffff81000000 | "$at" -k "$dir/kallsyms" 2>&1 | grep -q 'all addresses are zero.*kptr_restrict' ||
	fail "kallsyms of zeros"
echo 'no symbols here' >"$dir/kallsyms"
echo ffffffff81000000 | "$at" -k "$dir/kallsyms" 2>&1 | grep -q 'expected lines of an address' || fail "no kallsyms"

# The first byte of each function has one of its names.
recorded=$CORPUS_DIR/kernel-kaslr-modules
kallsyms=$recorded/perf.data/kcore_dir/kallsyms
if [ -f "$kallsyms" ]; then
	awk '$1 ~ /^ffff/ && $2 ~ /^[tTwW]$/ { print $1, 1, $3 }' "$kallsyms" >"$dir/functions"
	cut -d' ' -f1 "$dir/functions" | sort -u | "$at" -k "$kallsyms" >"$dir/answers"
	awk 'NR == FNR { known[$1 " " $3 "+0x0"] = 1; next } !($0 in known)' "$dir/functions" "$dir/answers" >"$dir/wrong"
	[ "$(wc -l <"$dir/answers")" -ge 40000 ] || fail "only $(wc -l <"$dir/answers") of the kernel's functions"
	[ ! -s "$dir/wrong" ] || fail "kallsyms: $(head -5 "$dir/wrong")"
	# Modules: the layout of sections that is worked out from the .ko is what the kernel had.
	while read -r module _ _ _ _ base; do
		grep -F "[$module]" "$kallsyms" | awk '$2 ~ /^[tTwW]$/ { print $1, 1, $3 }' >"$dir/functions"
		cut -d' ' -f1 "$dir/functions" | "$at" -M "$module,$base" "$recorded/root/mod/$module.ko" >"$dir/answers"
		# The kernel's table lacks the alias cleanup_module.
		awk 'NR == FNR { known[$1 " " $3 "+0x0"] = 1; next } !($0 in known) && !/ cleanup_module\+0x0$/' \
			"$dir/functions" "$dir/answers" >"$dir/wrong"
		[ -s "$dir/answers" ] || fail "no function of $module"
		[ ! -s "$dir/wrong" ] || fail "$module: $(head -5 "$dir/wrong")"
	done <"$recorded/perf.data/kcore_dir/modules"
else
	echo "not tried: kallsyms of a recording, as there is none in $recorded"
fi

# ---- A whole replay, against perf -----------------------------------------------------------------------------

# Where perf has a name, ours is the same, or another one of the same address; the offset in it is the same.
perf_agrees()
{
	recorded=$CORPUS_DIR/$1
	"$SBTRACE" replay --root "$recorded/root" --no-host-root --symbols --no-demangle --sink insn="$dir/insn" \
		"$recorded/perf.data" 2>/dev/null || fail "replay of $1"
	cut -f 5,6 "$dir/insn" | sort -u >"$dir/ours"
	perf script -i "$recorded/perf.data" --symfs "$recorded/root" --itrace=i0ns -F ip,sym,symoff 2>/dev/null |
		awk '{ print $1 "\t" $2 }' | sort -u >"$dir/perf"
	# Of linkage tables, objdump above is the better witness; labels without a size end differently.
	join -t "$(printf '\t')" "$dir/ours" "$dir/perf" | grep -Ev '@plt|	\[unknown\]|	_init\+' >"$dir/both"
	awk -F '\t' '{ split($2, a, "+"); split($3, b, "+"); named++; same += $2 == $3; moved += a[2] != b[2] }
		END { print named, same, moved; exit !(moved == 0 && named >= 100 && same >= 0.8 * named) }' \
		"$dir/both" >"$dir/log" ||
		fail "perf on $1 (named, same name, other offset): $(cat "$dir/log")"
}
if [ -d "$CORPUS_DIR/user-pipe" ] && command -v perf >/dev/null; then
	perf_agrees user-true
	perf_agrees user-pipe
else
	echo "not tried: perf, or recordings, are not here"
fi

[ $failures -eq 0 ]
