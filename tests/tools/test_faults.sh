#!/bin/sh
# Damage of all kinds: always a result or a clear error, gaps with a reason, an account that balances, and
# every line that is given is right. Never a signal.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=faults

# replay NAME OPTIONS... RECORDING: into NAME.flow and NAME.summary; the exit status must be 0 or 1, with a
# sentence for 1.
replay()
{
	name=$1
	shift
	rm -f "$dir/$name.flow" "$dir/$name.summary"
	"$SBTRACE" replay --sink insn="$dir/$name.flow" --sink summary="$dir/$name.summary" "$@" \
		>"$dir/$name.out" 2>"$dir/$name.err"
	status=$?
	[ $status -le 1 ] || { fail "$name: exit status $status: $(cat "$dir/$name.err")"; return 1; }
	if [ $status -eq 1 ]; then
		[ -s "$dir/$name.err" ] || fail "$name: exit status 1 without a word"
		return 1
	fi
	grep -q 'the account balances' "$dir/$name.summary" || fail "$name: the account does not balance"
}

# gap_count NAME [REASON]
gap_count()
{
	awk -v reason="${2:-total}" '/^gaps/ { inside = 1 } inside && $1 == reason { print $2; found = 1; exit }
		END { if (!found) print 0 }' "$dir/$1.summary"
}

lines_are_right()
{
	"$BUILD_DIR/tests/lines" right "$(gap_count "$1")" "$dir/rec.truth" "$dir/$1.flow" >"$dir/verdict" ||
		fail "$1: $(cat "$dir/verdict")"
}

record rec -c 2 --mtc --psb-period 512 -- /bin/true
root="--root $dir/rec.root --no-host-root"
size=$(wc -c <"$dir/rec.data")

# --- Cut off at every 1000th byte.
cuts=0 replayed=0
for cut in $(seq 0 1000 "$size"); do
	head -c "$cut" "$dir/rec.data" >"$dir/cut.data"
	cuts=$((cuts + 1))
	# shellcheck disable=SC2086
	replay cut $root "$dir/cut.data" && { lines_are_right cut; replayed=$((replayed + 1)); }
done
echo "cut at $cuts places: $replayed replayed in part, the others refused"
[ $replayed -gt 0 ] || fail "no recording that was cut off could be replayed"

# --- Random bytes in the trace and in the sideband.
damaged=0 gaps=0
for seed in $(seq 1 40); do
	cp "$dir/rec.data" "$dir/bad.data"
	awk -v seed="$seed" -v size="$size" 'BEGIN { srand(seed); for (i = 0; i < 6; i++)
		printf "%d %03o\n", 512 + int(rand() * (size - 512)), int(rand() * 256) }' |
	while read -r at byte; do
		# shellcheck disable=SC2059
		printf "\\$byte" | dd of="$dir/bad.data" bs=1 seek="$at" conv=notrunc status=none
	done
	# shellcheck disable=SC2086
	replay bad $root "$dir/bad.data" && gaps=$((gaps + $(gap_count bad)))
	damaged=$((damaged + 1))
done
echo "random bytes in $damaged copies: $gaps gaps reported"
[ $gaps -gt 0 ] || fail "no damage was noticed in $damaged damaged recordings"

# --- A binary that is not there, and one that is another.
true_path=$(find "$dir/rec.root" -type f -name true | head -n 1)
[ -n "$true_path" ] || fail "the recording's root has no true"
mv "$true_path" "$dir/true.kept"
# shellcheck disable=SC2086
if replay missing $root "$dir/rec.data"; then
	lines_are_right missing
	[ "$(gap_count missing no-binary)" -gt 0 ] || fail "a missing binary is not reported"
fi
head -c 4096 "$dir/true.kept" >"$true_path"
# shellcheck disable=SC2086
if replay other $root "$dir/rec.data"; then
	lines_are_right other
	[ "$(gap_count other binary-mismatch)" -gt 0 ] || fail "a binary of another size is not reported"
fi
rm -f "$true_path"
mkfifo "$true_path"
# shellcheck disable=SC2086
if replay fifo $root "$dir/rec.data"; then
	lines_are_right fifo
	[ "$(gap_count fifo)" -gt 0 ] || fail "a fifo in place of a binary is not reported"
fi
rm -f "$true_path"
mv "$dir/true.kept" "$true_path"

# --- Overflows.
record over -c 2 --mtc --overflow-every 700 -- /bin/true
cp "$dir/over.truth" "$dir/rec.truth"
replay over --root "$dir/over.root" --no-host-root "$dir/over.data" || fail "replay with overflows"
lines_are_right over
[ "$(gap_count over overflow)" -gt 0 ] || fail "overflows are not reported"
echo "overflows: $(gap_count over overflow) reported"
[ $failures -eq 0 ]
