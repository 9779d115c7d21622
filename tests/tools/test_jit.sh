#!/bin/sh
# Code that a process makes, moves and overwrites: with its jitdump, a replay is the truth, line by line; with a
# dump that has no times, or not exact ones, or is cut off, or is missing, what comes out is right and the rest is a gap with a
# reason.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
workload=$BUILD_DIR/tests/workloads/jit
shared=jit
# Recordings tell where dumps are. They stay there: a file that is made here, for one of them, must not get the number of
# an inode that was recorded, with which it would be one that was written to since.
dumps=${SBTRACE_RECORDINGS:-$dir}/dumps

# replay NAME OPTIONS... RECORDING: into NAME.flow and NAME.summary.
replay()
{
	name=$1
	shift
	"$SBTRACE" replay --no-host-root --sink insn="$dir/$name.flow" --sink summary="$dir/$name.summary" "$@" \
		>/dev/null 2>"$dir/$name.err" || { fail "replay $name: $(cat "$dir/$name.err")"; return 1; }
}

is_truth()
{
	columns_but_tsc "$dir/$1.truth" >"$dir/truth"
	columns_but_tsc "$dir/$2.flow" >"$dir/flow"
	if cmp -s "$dir/truth" "$dir/flow"; then
		echo "$2: $(wc -l <"$dir/truth") instructions equal"
	else
		fail "$2: the flow is not the truth"
		diff "$dir/truth" "$dir/flow" | head -n 6
	fi
}

# is_right TRUTH FLOW [TICKS]: what is there of the flow is right, and some is missing. Times of cyc recordings are
# exact but for long stretches without a branch, where no packet comes.
is_right()
{
	"$BUILD_DIR/tests/lines" among "${3:-3000}" "$dir/$1.truth" "$dir/$2.flow" >"$dir/verdict" ||
		fail "$2: $(cat "$dir/verdict")"
	[ "$(wc -l <"$dir/$2.flow")" -lt "$(wc -l <"$dir/$1.truth")" ] || fail "$2: nothing is missing"
}

# says NAME TEXT: in the details of the gaps.
says()
{
	grep -q -- "$2" "$dir/$1.summary" || { fail "$1: no gap says '$2'"; grep -A 8 '^gaps' "$dir/$1.summary"; }
}

# --- Times of RDTSC: all kinds of timing that are exact, dumps written at once or in the end, and every
# instruction stepped.
run=0
for options in '-c 1 --mtc --cyc' '-c 2 --mtc' '-c 2 --mtc --psb-period 256' '-c 4 --mtc' '-c 1 --mtc --single-step'; do
	for how in now late; do
		case "$options $how" in
		*--single-step\ late | *256\ late | '-c 4 --mtc now') continue ;; # each of both is there three times and more
		esac
		run=$((run + 1))
		# With sanitizers, each option once.
		[ -z "${SANITIZE:-}" ] || case "$options $how" in
		'-c 1 --mtc --cyc late' | '-c 2 --mtc now') continue ;;
		esac
		mkdir -p "$dumps"
		# shellcheck disable=SC2086
		record jit$run $options -- "$workload" "$dumps" $how || continue
		grep -q ' pieces, 0 wrong' "$dir/jit$run.out" || fail "$options: $(cat "$dir/jit$run.out")"
		replay jit$run --jobs 1 --root "$dir/jit$run.root" "$dir/jit$run.data" && is_truth jit$run jit$run
		replay jobs --jobs 4 --root "$dir/jit$run.root" "$dir/jit$run.data"
		cmp -s "$dir/jit$run.flow" "$dir/jobs.flow" || fail "$options: more threads give another flow"
	done
done

# --- TSC packets alone do not say what ran first: some is missing, but nothing is wrong.
for how in now late; do
	record tsc-$how -c 1 -- "$workload" "$dumps" $how
	replay tsc --root "$dir/tsc-$how.root" "$dir/tsc-$how.data" && is_right tsc-$how tsc 20000
	says tsc "other code came there, and the trace's time does not say exactly when"
done

# --- A bundle has the dumps, like all that was mapped.
"$SBTRACE" bundle -q --root "$dir/jit1.root" --no-host-root -o "$dir/bundle" "$dir/jit1.data" 2>"$dir/err" ||
	fail "bundle: $(cat "$dir/err")"
replay bundle --bundle "$dir/bundle" "$dir/jit1.data" && is_truth jit1 bundle

# --- Names: those that the dump has, each from its first byte on.
"$SBTRACE" replay --no-host-root --root "$dir/jit1.root" --symbols --sink insn="$dir/names.flow" "$dir/jit1.data" \
	>/dev/null 2>"$dir/err" || fail "names: $(cat "$dir/err")"
awk -F '\t' '$7 ~ /^jit-.*\.dump$/ { sub(/\+0x/, "\t", $6); print $7 "\t" $6 }' "$dir/names.flow" >"$dir/named.lines"
cut -f 2 "$dir/named.lines" | sort -u >"$dir/names.used"
strings -a "$dir/jit1.root$dumps"/*.dump | sort -u | comm -23 "$dir/names.used" - >"$dir/names.wrong"
[ "$(wc -l <"$dir/names.used")" -ge 50 ] || fail "only $(wc -l <"$dir/names.used") names of code"
[ ! -s "$dir/names.wrong" ] || fail "names that no dump has: $(head -3 "$dir/names.wrong")"
begun=$(awk -F '\t' '$3 == "0"' "$dir/named.lines" | cut -f 1,2 | sort -u | wc -l)
[ "$begun" -eq "$(cut -f 1,2 "$dir/named.lines" | sort -u | wc -l)" ] || fail "only $begun names begin where code was entered"

# --- The same dumps by name; the roots have none.
copies=$dir/jit1.root$dumps
mkdir "$dir/named"
mv "$copies"/*.dump "$dir/named"
set --
for file in "$dir"/named/*.dump; do
	set -- "$@" --jitdump "$file"
done
replay named --root "$dir/jit1.root" "$@" "$dir/jit1.data" && is_truth jit1 named
printf 'version: 1\nrecording: %s\nroots: [%s]\njitdumps: [named/%s, named/%s]\n' "$dir/jit1.data" "$dir/jit1.root" \
	"$(basename "$2")" "$(basename "$4")" >"$dir/job.yaml"
replay job "$dir/job.yaml" && is_truth jit1 job

# --- None at all; with names.
replay none --root "$dir/jit1.root" "$dir/jit1.data" && is_right jit1 none
says none 'jit-[0-9]*.dump: not found'
pid=$(cut -f 2 "$dir/jit1.truth" | head -n 1)
mkdir -p "$dir/jit1.root/tmp"
echo "0 7fffffffffff whatever" >"$dir/jit1.root/tmp/perf-$pid.map"
replay names --root "$dir/jit1.root" "$dir/jit1.data" && is_right jit1 names
says names "its name is known from /tmp/perf-$pid.map (whatever), but not the code"
"$SBTRACE" bundle -q --root "$dir/jit1.root" --no-host-root -o "$dir/names" "$dir/jit1.data" 2>"$dir/err"
replay bundled --bundle "$dir/names" "$dir/jit1.data"
cmp "$dir/names.summary" "$dir/bundled.summary" || fail "the bundle has not the same names"
rm "$dir/jit1.root/tmp/perf-$pid.map"

# --- Cut off, as of a process that was killed: what was made before is known.
dump=$dir/named/jit-$pid.dump
target=$copies/jit-$pid.dump
for size in 40 200 2000 5000 $(($(wc -c <"$dump") - 400)); do
	head -c "$size" "$dump" >"$target"
	replay cut --root "$dir/jit1.root" "$dir/jit1.data" && is_right jit1 cut
	echo "cut at $size: $(wc -l <"$dir/cut.flow") instructions"
done
head -c 39 "$dump" >"$target"
replay cut --root "$dir/jit1.root" "$dir/jit1.data" && is_right jit1 cut
says cut "jit-$pid.dump: expected a jitdump header of 40 bytes, found 39"
"$SBTRACE" replay --jitdump "$target" "$dir/jit1.data" >/dev/null 2>"$dir/err"
[ $? -eq 1 ] || fail "a dump without a header is taken"
grep -q "jit-$pid.dump: offset 0x27: expected a jitdump header" "$dir/err" || fail "$(cat "$dir/err")"

# --- Another process' dump under this name.
other=$(find "$dir/named" -name '*.dump' ! -name "jit-$pid.dump")
cp "$other" "$target"
replay other --root "$dir/jit1.root" "$dir/jit1.data" && is_right jit1 other
says other 'another process wrote it'

# --- Times of CLOCK_MONOTONIC: what was overwritten cannot be known, all else is.
dumps=$dumps/clock
mkdir -p "$dumps"
record clock -c 1 --mtc --cyc -- "$workload" "$dumps" clock
replay clock --root "$dir/clock.root" "$dir/clock.data" && is_right clock clock
says clock 'several pieces of code were there'
replay none --root "$dir/jit1.root" "$dir/clock.data"
[ "$(wc -l <"$dir/clock.flow")" -gt "$(wc -l <"$dir/none.flow")" ] || fail "a dump without times is of no use"
[ $failures -eq 0 ]
