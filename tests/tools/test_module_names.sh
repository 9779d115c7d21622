#!/bin/sh
# Names of kernel modules' functions when the recording has no kallsyms: from NAME.ko, laid out as the kernel does
# it. The truth is what kallsyms of the same recording says. Where nothing proves a file, there are no names.
set -u

recorded=$CORPUS_DIR/kernel-kaslr-modules
if [ ! -f "$recorded/perf.data/kcore_dir/kallsyms" ]; then
	echo "skipped: no recording with modules in $recorded"
	exit 77
fi
. "$SOURCE_DIR/tests/tools/checks.sh"

# names RECORDING MODULES: "ADDRESS NAME+OFFSET MODULE" of each instruction that ran in a module, once, in $dir/names. The CPUs
# are those where most of it did; with sanitizers, the one where all three modules ran.
cpus="1 2 3" least=1490
[ -z "${SANITIZE:-}" ] || cpus=1 least=390
names()
{
	for cpu in $cpus; do
		"$SBTRACE" replay --root "$recorded/root" --root "$2" --no-host-root --symbols --no-demangle --cpu $cpu \
			--address 0xffffffffc04d7000-0xffffffffc04fe000 --sink insn="$dir/insn" "$1" >"$dir/log" 2>&1 ||
			fail "replay of $1: $(cat "$dir/log")"
		cut -f 5-7 "$dir/insn"
	done | sort -u >"$dir/names"
}

# same WHAT: they are those that are expected.
same()
{
	diff "$dir/expected" "$dir/names" >"$dir/log" || fail "$1: $(head -6 "$dir/log")"
}

names "$recorded/perf.data" "$recorded/root/mod"
mv "$dir/names" "$dir/expected"
[ "$(grep -c '+0x' "$dir/expected")" -ge $least ] || fail "only $(wc -l <"$dir/expected") places with kallsyms"

mkdir -p "$dir/perf.data/kcore_dir" "$dir/mod"
cp "$recorded/perf.data/data" "$dir/perf.data"
cp "$recorded/perf.data/kcore_dir/kcore" "$dir/perf.data/kcore_dir"
names "$dir/perf.data" "$recorded/root/mod"
same "without kallsyms"

# The kernel's names alone do not make the modules' go away.
grep -v '\[' "$recorded/perf.data/kcore_dir/kallsyms" >"$dir/perf.data/kcore_dir/kallsyms"
names "$dir/perf.data" "$recorded/root/mod"
same "kallsyms without modules"
rm "$dir/perf.data/kcore_dir/kallsyms"

# Packed, as distributions have them.
cp "$recorded/root/mod"/*.ko "$dir/mod"
chmod -R u+w "$dir/mod"
gzip "$dir/mod/loop.ko"
xz "$dir/mod/zram.ko"
zstd -q --rm "$dir/mod/lz4_compress.ko"
names "$dir/perf.data" "$dir/mod"
same "packed"

# Another build, be it by one byte that the kernel did not write: no names of this module, all of the others.
begin=$(objdump -h "$dir/mod/zsmalloc.ko" | awk '$2 == ".text" { print $6 }')
at=$(nm "$dir/mod/zsmalloc.ko" | awk '$3 == "zs_create_pool" { print $1 }')
printf '\220' | dd of="$dir/mod/zsmalloc.ko" bs=1 seek=$((0x$begin + 0x$at + 5)) conv=notrunc 2>/dev/null
names "$dir/perf.data" "$dir/mod"
sed -i -E 's/^(ffffffffc04d[7-9a-d]...\t).*/\1-\t-/' "$dir/expected" # from zsmalloc's base, 0x7000 bytes
grep -q "	-	-$" "$dir/expected" || fail "nothing of zsmalloc ran"
same "another build"

# With nothing to hold the files against.
rm "$dir/perf.data/kcore_dir/kcore"
names "$dir/perf.data" "$recorded/root/mod"
[ "$(grep -c '+0x' "$dir/names")" -eq 0 ] || fail "without a proof: $(head -3 "$dir/names")"

[ $failures -eq 0 ]
