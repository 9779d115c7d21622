# test_smoke.sh - does the benchmark run: is every row there, did both libraries count the same? Says nothing
# about speed. Told by its environment what to test: BUILD_DIR, SOURCE_DIR.
. "$SOURCE_DIR/tests/tools/checks.sh"

# has PATTERN: is there such a row, with figures?
has()
{
	grep -Eq "^\| $1 \|.*[0-9)] \| (ns|s|MiB)" "$dir/table" || fail "no row $1"
}

CORPUS_DIR=$dir/none TMPDIR=$dir sh "$SOURCE_DIR/tests/bench/run" "$BUILD_DIR" --no-build --quick --rounds 1 \
	--json "$dir/rows.json" >"$dir/table" 2>"$dir/log" || fail "exit status $?"

for measure in 'pt_pkt_next' 'pt_insn_next' 'pt_blk_next, warm' 'pt_blk_next, cold' 'pt_blk_run, warm'; do
	has "$measure \| made-up jumps"
done
for face in pt_blk_next pt_blk_run; do
	for sections in '1 section' '64 sections' '1024 sections'; do
		has "$face, round robin \| $sections"
	done
	has "$face, to one section \| 64 sections"
	has "$face, to one section \| 1024 sections"
done
has 'pt_blk_set_image, swap \| 2 images of 16 sections'
has 'pt_blk_set_image, swap \| 2 images of 10,016 mappings'
has 'sideband only \| 20000 records'
if grep -q 'no recording' "$dir/log"; then
	echo "without rows about recordings: no ptrace here"
else
	has 'pt_blk_run, warm \| here-true'
	has 'replay --sink summary \| here-pipe'
	has 'replay --sink summary \| here-pipe@3'
	has 'peak memory \| here-pipe@3'
	grep -q '^| replay --jobs 2 | here-pipe@3 |' "$dir/table" || fail "no row replay --jobs 2"
fi
grep -q 'counts differ' "$dir/table" && fail "the libraries counted differently"
grep -q '"rows"' "$dir/rows.json" || fail "no JSON"

# One machine and its shards, in turns; that their outputs are the same is checked there.
if "$BUILD_DIR/tools/sbtrace" record --software --mtc --copy-root "$dir/root" -o "$dir/perf.data" -- true \
	>"$dir/record" 2>&1; then
	TMPDIR=$dir sh "$SOURCE_DIR/tests/bench/shards" "$BUILD_DIR" --no-build --recording "$dir/perf.data" \
		--root "$dir/root" --megabytes 0 --shards 2 --rounds 2 --only summary >"$dir/shards" 2>>"$dir/log" ||
		fail "shards: exit status $?"
	grep -Eq '^\| `summary` \| [0-9. /]+ \([0-9]+ MiB\) \|.* \| [0-9.]+ / [0-9.]+ \| [0-9.]+ \|' "$dir/shards" ||
		fail "no row summary of shards"
	cat "$dir/shards" >>"$dir/table"
fi

sh "$SOURCE_DIR/tests/bench/run" "$BUILD_DIR" --no-build --quick --only 'no such row' >"$dir/none.out" 2>&1 &&
	fail "a pattern without rows is no error"

if [ "$failures" -gt 0 ]; then
	cat "$dir/table" "$dir/log"
	exit 1
fi
