#!/bin/sh
# Programs and libraries that were built anew since they were recorded: build-ids tell. What ran in them is a gap
# (binary-mismatch), never the new code; all else comes out as before, and all of it where the old files are found.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
cd "$dir" || exit 1

# build NUMBER: prog and libpart.so as of then, in that folder. Their mappings are of the same sizes whatever NUMBER is.
build()
{
	mkdir -p "$1"
	cat >part.c <<-END
	int part(int n)
	{
		int sum = 0;
		for (int i = 0; i < n; i++)
			sum += $([ "$1" = 1 ] && echo 'i & 1 ? n : i' || echo 'i & 2 ? i : n');
		return sum;
	}
	END
	cat >prog.c <<-END
	#include <stdio.h>
	int part(int n);
	int main(int argc, char **argv)
	{
		(void)argv;
		for (int i = 0; i < argc + 20; i++)
			if ($([ "$1" = 1 ] && echo 'i % 3' || echo '!(i % 5)'))
				printf("%d\n", part(i));
	}
	END
	"$CC" -O1 -shared -fPIC -Wl,--build-id part.c -o "$1/libpart.so" &&
		"$CC" -O1 -Wl,--build-id prog.c -o "$1/prog" -L"$1" -lpart -Wl,-rpath,"$dir/now" || exit 1
}

# The files NAME... of build NUMBER are those that there are now, as a linker leaves them: under a new inode.
now()
{
	number=$1
	shift
	mkdir -p now
	for file in "$@"; do
		rm -f "now/$file"
		cp -p "$number/$file" "now/$file"
	done
}

# replay NAME RECORDING OPTIONS...
replay()
{
	name=$1 recording=$2
	shift 2
	"$SBTRACE" replay --sink insn="$name.flow" --sink gap="$name.gaps" --sink summary="$name.summary" "$@" "$recording" \
		>"$name.out" 2>&1 || fail "$name: $(cat "$name.out")"
	grep -q 'the account balances' "$name.summary" || fail "$name: the account does not balance"
}

is_whole()
{
	[ ! -s "$1.gaps" ] || fail "$1: gaps: $(cat "$1.gaps")"
	columns_but_tsc "$2" >truth.columns
	columns_but_tsc "$1.flow" | cmp -s - truth.columns || fail "$1: not what ran"
}

# only_mismatch NAME TRUTH [ELSE]: all gaps are of that (or match ELSE), there are some, and every line is right.
only_mismatch()
{
	[ -s "$1.flow" ] || fail "$1: nothing is left"
	grep -q 'binary-mismatch.*build-id recorded [0-9a-f]\{40\}, found [0-9a-f]\{40\} in .*now/' "$1.gaps" || fail "$1: no such gap"
	grep -v -e binary-mismatch -e "${3:-binary-mismatch}" "$1.gaps" && fail "$1: other gaps"
	"$BUILD_DIR/tests/lines" among 1000 "$2" "$1.flow" >verdict || fail "$1: $(cat verdict)"
}

build 1
build 2
now 1 prog libpart.so
"$SBTRACE" record --software --mtc --cyc --no-retcomp -o one.data --truth one.truth -- ./now/prog >/dev/null 2>err || fail "record: $(cat err)"
"$SBTRACE" dump --sideband one.data 2>/dev/null | grep -q "$(readelf -n 1/prog | sed -n 's/.*Build ID: //p')" ||
	fail "prog has no build-id in the recording"
replay same one.data
is_whole same one.truth

now 2 prog
replay program one.data
only_mismatch program one.truth
now 1 prog
now 2 libpart.so
replay library one.data
only_mismatch library one.truth
grep -q libpart.so library.gaps || fail "the gap does not name the library"

# Built anew, and the same came out: that is no other program.
build 1
now 1 prog libpart.so
replay again one.data
is_whole again one.truth

# The old ones are found elsewhere, below a root or by their build-ids.
now 2 prog libpart.so
mkdir -p "old$dir/now"
cp 1/prog 1/libpart.so "old$dir/now"
replay old one.data --root old
is_whole old one.truth
for file in prog libpart.so; do
	id=$(readelf -n 1/$file | sed -n 's/.*Build ID: //p')
	mkdir -p "ids/$(echo "$id" | cut -c 1-2)"
	cp 1/$file "ids/$(echo "$id" | sed 's|..|&/|')"
done
replay ids one.data --build-id-dir ids
is_whole ids one.truth

# Built anew between two runs of one recording: each process has its own.
now 1 prog libpart.so
"$SBTRACE" record --software --mtc --cyc -o two.data --truth two.truth -- \
	sh -c './now/prog; rm now/prog now/libpart.so; cp 2/prog 2/libpart.so now; ./now/prog' >/dev/null 2>err ||
	fail "record: $(cat err)"
replay second two.data
# Who was called there returns to where nobody was seen to call.
only_mismatch second two.truth 'compressed return without call'
replay both two.data --root old
is_whole both two.truth
[ $failures -eq 0 ]
