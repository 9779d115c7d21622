#!/bin/sh
# Two containers have other files at the same paths: functions have the names of the own container's program, and
# code that a process made is that of its own dump, although the other one's is called alike.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
workload=$BUILD_DIR/tests/workloads/jit

unshare -mpf mount --bind "$dir" "$dir" 2>"$dir/log" || { echo "skipped: no namespaces here: $(cat "$dir/log")"; exit 77; }

place=$dir/place
mkdir "$place"
# program CONTAINER FUNCTION: its code is the same.
program()
{
	mkdir -p "$dir/$1/dumps"
	cat >"$dir/$1.c" <<-END
	int $2(int n);
	__attribute__((noinline)) int $2(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
	int main(void) { return $2(1) != 2; }
	END
	"${CC:-cc}" -O1 -o "$dir/$1/prog" "$dir/$1.c" || exit 1
}
program one in_the_first
program two in_the_other
box=$BUILD_DIR/tests/workloads/box
cat >"$dir/both" <<END
container() { '$box' unshare bind '$dir'/\$1 '$place' namespace '$dir'/id-\$1 run '$place/prog' , await '$dir'/id-\$2 \\
	run '$workload' '$place/dumps' \$3 , linger; }
container one two now &
container two one late
wait
END
lean "$SBTRACE" record --software -c 2 --mtc --cyc -o "$dir/c.data" --truth "$dir/truth" -- sh "$dir/both" >"$dir/out" 2>"$dir/err" ||
	{ cat "$dir/err"; exit 1; }
columns_but_tsc "$dir/truth" >"$dir/expected"
one=$(cat "$dir/id-one") two=$(cat "$dir/id-two")
ls "$dir/one/dumps" >"$dir/dumps-one"
ls "$dir/two/dumps" >"$dir/dumps-two"
grep -q 'jit-[0-9]*\.dump' "$dir/dumps-one" || fail "no dump"
for container in one two; do
	mkdir -p "$dir/root-$container$place"
	cp -r "$dir/$container"/* "$dir/root-$container$place"
done

"$SBTRACE" replay --symbols --sink insn="$dir/flow" --sink summary="$dir/summary" --container-root "$one=$dir/root-one" \
	--container-root "$two=$dir/root-two" "$dir/c.data" >"$dir/out" 2>"$dir/err" || fail "$(cat "$dir/err")"
columns_but_tsc "$dir/flow" | cmp - "$dir/expected" || { fail "not what was executed"; cat "$dir/summary"; }

# names CONTAINER: which functions of the program ran in it.
names()
{
	"$SBTRACE" replay --symbols --container "$1" --sink insn="$dir/names" --container-root "$one=$dir/root-one" \
		--container-root "$two=$dir/root-two" "$dir/c.data" >"$dir/out" 2>"$dir/err" || fail "$(cat "$dir/err")"
	grep -o 'in_the_[a-z]*' "$dir/names" | sort -u
}
[ "$(names "$one")" = in_the_first ] || fail "the first container: $(names "$one")"
[ "$(names "$two")" = in_the_other ] || fail "the other container: $(names "$two")"

# A dump that only the other container has is nobody else's.
rm -r "$dir/root-two$place/dumps"
"$SBTRACE" replay --sink insn="$dir/flow" --sink summary="$dir/summary" --container-root "$one=$dir/root-one" \
	--container-root "$two=$dir/root-two" "$dir/c.data" >"$dir/out" 2>"$dir/err" || fail "$(cat "$dir/err")"
grep -q 'anonymous' "$dir/summary" || fail "no gap where the dump is missing"
"$BUILD_DIR/tests/lines" among 3000 "$dir/truth" "$dir/flow" >"$dir/verdict" || fail "$(cat "$dir/verdict")"
[ $failures -eq 0 ]
