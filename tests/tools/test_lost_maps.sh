#!/bin/sh
# Records of mappings are taken out of a recording, one by one: what stood there is concluded from the addresses
# that were executed, and comes out as if nothing was missing; else it is a gap. Nothing is made up: what no process
# executed at an address does not come.
set -u
perl -e 1 2>/dev/null || { echo "skipped: no perl here"; exit 77; }
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=lost_maps
with_truth=

# without OFFSET...: lost.data, without the records at these offsets, which become LOST_SAMPLES of nothing.
without()
{
	cp "$dir/$name.data" "$dir/lost.data"
	for offset; do
		perl -e 'open F, "+<:raw", $ARGV[0] or die; seek F, hex $ARGV[1], 0; print F pack "V", 13;
			seek F, 8 + hex $ARGV[1], 0; print F pack "Q", 0' "$dir/lost.data" "$offset"
	done
}

# replay FILE: into lines and summary.
replay()
{
	"$SBTRACE" replay --root "$dir/$name.root" --no-host-root -j "$jobs" --sink insn="$dir/lines" \
		--sink summary="$dir/summary" "$1" >/dev/null 2>&1 || fail "replay $1"
}

# check WHAT EXPECTED PATTERN: the present lines are all there, and the pattern in the summary; or there is a gap, and no
# line is new.
check()
{
	if [ "$(cut -f 1-3,5 "$dir/lines" | sha256sum)" = "$whole" ]; then
		grep -Eq "$3" "$dir/summary" || fail "$1: $3 is not in the summary: $(cat "$dir/summary")"
		right=$((right + 1))
	else
		echo "$1: $(grep -A9 '^gaps' "$dir/summary" | tr -s ' \n' ' ')"
		[ "$2" = gap ] || fail "$1: not all came back: $(sed -n '/^gaps/,$p' "$dir/summary")"
		grep -Eq '^  not-mapped +[1-9]' "$dir/summary" || fail "$1: no gap: $(cat "$dir/summary")"
		cut -f 1-3,5 "$dir/lines" | sort -u | comm -13 "$dir/known" - >"$dir/new"
		[ ! -s "$dir/new" ] || fail "$1: made up: $(head -n 3 "$dir/new")"
	fi
}

right=0 jobs=2
record pipeline -c 2 --mtc -- sh -c 'ls / | sort | head -n 3' || exit 1
replay "$dir/$name.data"
whole=$(cut -f 1-3,5 "$dir/lines" | sha256sum)
cut -f 1-3,5 "$dir/lines" | sort -u >"$dir/known"
grep -q 'mapped without a record' "$dir/summary" && fail "nothing is missing, and yet: $(cat "$dir/summary")"

"$SBTRACE" dump --sideband --type MMAP2 "$dir/$name.data" 2>/dev/null | grep 'filename "/' |
	sed -E 's/^(0x[0-9a-f]+)\t.*filename "([^"]*)".*/\1 \2/' >"$dir/maps"
total=$(wc -l <"$dir/maps")
[ "$total" -ge 12 ] || fail "only $total mappings in $name"
while read -r offset file; do
	without "$offset"
	replay "$dir/lost.data"
	# A library that others have, too; or a program, which has the process's name. The shell's is that of a link.
	expected=gap
	[ "$(grep -c " $file\$" "$dir/maps")" -gt 1 ] && expected=whole
	case $file in
	*/dash | */bash | */sh) ;;
	*/bin/*) expected=whole ;;
	esac
	check "$file" $expected ''
done <"$dir/maps"
echo "$right of $total lost mappings are concluded"

# A program of which not even the name is known: it is where others are.
comm=$("$SBTRACE" dump --sideband --type COMM "$dir/$name.data" 2>/dev/null |
	sed -n 's/^\(0x[0-9a-f]*\).*exec name "sort".*/\1/p')
sed -n 's/ .*bin\/sort$//p' "$dir/maps" >"$dir/offset"
perl -e 'open F, "+<:raw", $ARGV[0] or die; seek F, 16 + hex $ARGV[1], 0; print F "nosuch\0"' "$dir/$name.data" "$comm" ||
	fail "COMM record at '$comm'"
without "$(cat "$dir/offset")"
replay "$dir/lost.data"
check "sort by another name" whole '^ *[0-9]+ *[0-9a-f]+ /.*bin/sort$'

# All libraries of one process, and its program; told in the summary; by any number of threads.
sort=$(sed -n 's/ .*bin\/sort$//p' "$dir/maps")
libc=$(sed -n 's/ .*libc[.-].*//p' "$dir/maps" | tail -n 1)
without "$sort" "$libc"
for jobs in 1 3; do
	replay "$dir/lost.data"
	check "sort and a libc" whole '^ *[0-9]+ *[0-9a-f]+ /.*bin/sort$'
	cat "$dir/lines" "$dir/summary" | sha256sum
done | uniq | wc -l | grep -qx 1 || fail "what is concluded depends on the number of threads"

[ $failures -eq 0 ]
