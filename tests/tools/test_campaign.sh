#!/bin/sh
# tests/degraded/campaign.py --record: a program that is recorded on the spot, and what a replay makes of it once nothing is
# taken out and once something is. A replay that gives instructions to another process is found out, and what showed it is
# kept, so that it can be scored again.
set -u
python3 -c '' 2>/dev/null || { echo "skipped: no python3 here"; exit 77; }
. "$SOURCE_DIR/tests/tools/recordings.sh"
cd "$dir" || exit 1

campaign()
{
	python3 "$SOURCE_DIR/tests/degraded/campaign.py" "$@" >said 2>&1
}

campaign "$SBTRACE" --record --workloads "$BUILD_DIR/tests/workloads" --programs execer --seed 8 --count 2 ||
	fail "status $?: $(cat said)"
grep -q '^user-recorded-1: .*execer$' said || fail "not recorded: $(cat said)"
grep -q '^right user-recorded-1 seed=8 right 100.0 ' said || fail "nothing was taken out: $(cat said)"
[ "$(tail -n 1 said)" = '2 mixes, 0 wrong' ] || fail "$(cat said)"

# Ten instructions in the middle are said to be process 1's.
cat >liar <<END
#!/bin/sh
"$SBTRACE" "\$@" || exit
for word; do
	case \$word in insn=*) sed -i '1001,1010s/^\\([0-9]*\\)\\t[0-9]*/\\1\\t1/' "\${word#insn=}" ;; esac
done
END
chmod +x liar
campaign ./liar --record --workloads "$BUILD_DIR/tests/workloads" --programs execer --seed 8 --count 1 --keep kept
[ $? -eq 1 ] || fail "the liar was not found out: $(cat said)"
grep -q '^WRONG user-recorded-1 seed=8 .* other 0.0[0-9]* ' said || fail "the liar: $(cat said)"

# A block in the middle is left out, and no gap says so: no count is too high anywhere.
sed -i 's/case .*/case $word in jsonl=*) sed -i 101d "${word#jsonl=}" ;; esac/' liar
campaign ./liar --record --workloads "$BUILD_DIR/tests/workloads" --programs execer --seed 8 --count 1 --keep kept
[ $? -eq 1 ] || fail "who leaves out a block was not found out: $(cat said)"
grep -q '^WRONG user-recorded-1 seed=8 right 100.0 .* 1 made-up, 0 other$' said || fail "a block is left out: $(cat said)"
grep -q '^made-up: cpu ' kept/*.stretches.txt || fail "a block is left out: $(ls kept)"
CORPUS_DIR=$dir/kept campaign "$SBTRACE" --mix 'user-recorded-1 seed=8' || fail "what was kept: $(cat said)"
[ $failures -eq 0 ]
