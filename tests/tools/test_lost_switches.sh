#!/bin/sh
# Records of switches are taken out of recordings at random, as degrade.py does: what other records and addresses leave
# in doubt then comes as nobody's or as a gap, and not as another's. Who has the same code at the same addresses is
# what that is about: siblings by fork, threads, and processes of one program where addresses are not random.
set -u
perl -e 1 2>/dev/null || { echo "skipped: no perl here"; exit 77; }
python3 -c 1 2>/dev/null || { echo "skipped: no python3 here"; exit 77; }
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=lost_switches

# check PERCENT LOST SEED: at least so many percent of the lines come, and no other ones.
check()
{
	python3 "$SOURCE_DIR/tests/degraded/degrade.py" "$dir/$name.data" "$dir/lost.data" "switch=$2" "seed=$3" \
		2>/dev/null || fail "$name: degrade.py"
	for jobs in 1 3; do
		"$SBTRACE" replay --root "$dir/$name.root" --no-host-root -j "$jobs" --sink insn="$dir/lines" \
			--sink summary="$dir/summary" "$dir/lost.data" >/dev/null 2>&1 || fail "$name: replay -j $jobs"
		cat "$dir/lines" "$dir/summary" | sha256sum
	done | uniq | wc -l | grep -qx 1 || fail "$name: who ran depends on the number of jobs"
	set -- "$1" "$2" "$3" $(wrong) "$(wc -l <"$dir/lines")"
	# In a hundred thousand, one may be: when somebody came and went between two others without a trace.
	[ $(($4 * 100000)) -le "$5" ] || fail "$name, $2 of the switches lost, seed $3: $4 of $5 lines are another's"
	[ $(($6 * 100)) -ge $(($5 * $1)) ] || fail "$name, $2 of the switches lost, seed $3: $6 of $5 lines"
	echo "$name, $2 of the switches lost, seed $3: $6 of $5 lines, $4 another's"
}

record siblings -c 3 --mtc --cyc -- sh -c 'for i in 1 2 3; do (a=0; while [ $a -lt 8 ]; do a=$((a+1)); done) & done
	wait' || exit 1
check 90 0.02 2
check 60 0.1 3
check 30 0.3 4

if setarch -R true 2>/dev/null; then
	record alike -c 2 --mtc -- setarch -R sh -c "'$BUILD_DIR/tests/workloads/place1' & '$BUILD_DIR/tests/workloads/place1' & (exit 1) & wait" || exit 1
	check 90 0.02 5
	check 30 0.3 6
fi

# degraded NAME HOW...: the corpus' recording is in $at; without what is taken out, in $dir/NAME.data. False: it is not there.
degraded()
{
	at=${CORPUS_DIR:-}/$1 to=$dir/$1.data
	shift
	[ -r "$at/perf.data/data" ] && [ -z "${SANITIZE:-}" ] || { echo "skipped: $to: no corpus, or sanitizers"; return 1; }
	rm -rf "$to"
	cp -r "$at/perf.data" "$to"
	chmod -R u+w "$to"
	python3 "$SOURCE_DIR/tests/degraded/degrade.py" "$at/perf.data/data" "$to/data" "$@" 2>/dev/null || fail "degrade.py $to"
}

# no_blocks_of_others: of $dir/blocks, none is given to another one than in $dir/whole, and less than a 50th is nobody's.
no_blocks_of_others()
{
	paste "$dir/whole" "$dir/blocks" | awk -F '\t' '{ blocks++; elsewhere += $5 != $12 || $1 != $8 }
		$10 == -1 { unsure++; next }
		$2 != $9 || $3 != $10 { others++ }
		END { print elsewhere + 0, others + 0, unsure + 0, blocks + 0 }' >"$dir/counts"
	read -r elsewhere others unsure blocks <"$dir/counts"
	echo "the kernel's blocks: $others of $blocks are another's, $unsure nobody's"
	[ "$blocks" -gt 1000000 ] && [ "$elsewhere" -eq 0 ] && [ "$others" -eq 0 ] &&
		[ $((unsure * 50)) -lt "$blocks" ] ||
		fail "the kernel's blocks: $others of $blocks are another's, $unsure nobody's, $elsewhere elsewhere"
}

# Threads of one process in user space, where the kernel is traced: who ran is told by their lines, which are counted by
# thread and address. Whose the kernel's lines are, which the truth does not say, the whole recording's replay does: it
# sees each switch, and has a record of each.
kernel()
{
	pid=119 cpu=1
	degraded kernel-kaslr-modules switch=0.1 || return
	"$SBTRACE" replay --root "$at/root" --no-host-root --cpu $cpu --sink insn="$dir/lines" \
		--sink block="$dir/blocks" "$to" >/dev/null 2>&1 || fail "the kernel's threads: replay"
	"$SBTRACE" replay --root "$at/root" --no-host-root --cpu $cpu --sink block="$dir/whole" "$at/perf.data" \
		>/dev/null 2>&1 || fail "the kernel's threads: replay of what is whole"
	zstd -dcq "$at/truth.cpu$cpu.tsv.zst" | awk -F '\t' -v pid=$pid '$2 == pid { print "truth", $3, $NF }' >"$dir/truth"
	awk -F '\t' -v pid=$pid '$2 == pid && $3 != -1 && $NF !~ /^ffff/ { print "flow", $3, $NF }' "$dir/lines" |
		cat "$dir/truth" - | awk '$1 == "truth" { ran[$2, $3]++; seen++ }
		$1 == "flow" { lines++; if (ran[$2, $3]-- <= 0) others++ }
		END { print others + 0, lines + 0, seen + 0 }' >"$dir/counts"
	read -r others lines seen <"$dir/counts"
	echo "the kernel's threads: $others of $lines lines are another's, of $seen in the truth"
	[ "$seen" -gt 20000 ] && [ "$lines" -gt 20000 ] && [ "$others" -eq 0 ] ||
		fail "the kernel's threads: $others of $lines lines are another's, of $seen"
	no_blocks_of_others
}
kernel

# Nor may it depend on who decodes which piece: where time stands still and records are missing, more than the place in
# the schedule tells where a thread has come to.
jobs()
{
	degraded kernel-pti strip=mtc,cyc || return
	"$SBTRACE" replay --root "$at/root" --no-host-root --sink block="$dir/whole" "$to" >/dev/null 2>&1 ||
		fail "workers: replay with all switches"
	degraded kernel-pti strip=mtc,cyc switch=0.1
	for jobs in 1 3 2 4 3; do
		"$SBTRACE" replay --jobs $jobs --root "$at/root" --no-host-root --sink block=/dev/stdout "$to" \
			2>/dev/null | md5sum >"$dir/sum.$jobs"
		cmp "$dir/sum.1" "$dir/sum.$jobs" || fail "$jobs workers give other blocks than one"
	done
	"$SBTRACE" replay --root "$at/root" --no-host-root --sink block="$dir/blocks" "$to" >/dev/null 2>&1 || fail "workers: replay"
	awk -F '\t' 'NR == FNR { ran[$2, $3, $5]++; next }
		{ blocks++ }
		$3 == -1 { unsure++; next }
		ran[$2, $3, $5]-- <= 0 { others++ }
		END { print others + 0, unsure + 0, blocks + 0 }' "$dir/whole" "$dir/blocks" >"$dir/counts"
	read -r others unsure blocks <"$dir/counts"
	echo "without MTC and CYC: $others of $blocks blocks are another's, $unsure nobody's"
	[ "$others" -eq 0 ] && [ $((unsure * 10)) -lt "$blocks" ] ||
		fail "without MTC and CYC: $others of $blocks blocks are another's, $unsure nobody's"
}
jobs

# Bursts of lost records take those of patches (TEXT_POKE) along: which code the kernel had then, the trace tells. Where
# it does not, that is a gap, and small; nothing comes that never ran, whoever decodes which piece.
patches()
{
	degraded kernel-kaslr-modules burst=5,20 || return
	for jobs in 1 3; do
		"$SBTRACE" replay --jobs $jobs --root "$at/root" --no-host-root --cpu 3 --sink block="$dir/blocks" \
			--sink summary="$dir/summary" "$to" >/dev/null 2>&1 || fail "patches: replay --jobs $jobs"
		cat "$dir/blocks" "$dir/summary" | md5sum
	done | uniq | wc -l | grep -qx 1 || fail "patches: $jobs workers give others than one"
	"$SBTRACE" replay --root "$at/root" --no-host-root --cpu 3 --sink block="$dir/whole" "$at/perf.data" >/dev/null 2>&1 ||
		fail "patches: replay of what is whole"
	awk -F '\t' 'NR == FNR { ran[$5] += $7; all += $7; next }
		{ ran[$5] -= $7; came += $7 }
		END { for (ip in ran) if (ran[ip] < 0) made -= ran[ip]
			printf "%d %d\n", made, came * 1000 / all }' "$dir/whole" "$dir/blocks" >"$dir/counts"
	read -r made came <"$dir/counts"
	skipped=$(awk '$1 == "lost-patch" { print $3 }' "$dir/summary")
	wrong=$(awk '$1 == "decode-error" { print $3 }' "$dir/summary")
	echo "without records of patches: $came of 1000 instructions, $made never ran; gaps of ${skipped:-0} bytes, errors ${wrong:-0}"
	[ "$made" -eq 0 ] && [ "$came" -ge 990 ] && [ "${skipped:-0}" -gt 0 ] && [ "${skipped:-0}" -lt 1000 ] && [ -z "$wrong" ] ||
		fail "without records of patches: $came of 1000 instructions, $made never ran; gaps of ${skipped:-0} bytes, errors ${wrong:-0}"
}
patches

# All records of switches are lost, and times are known by MTC packets far apart: somebody comes and goes between two
# others without a trace. Lines are counted by thread and address.
nobody_told()
{
	at=${CORPUS_DIR:-}/user-pipe
	[ -r "$at/perf.data" ] && [ -z "${SANITIZE:-}" ] || { echo "skipped: all switches lost: no corpus, or sanitizers"; return; }
	python3 "$SOURCE_DIR/tests/degraded/degrade.py" "$at/perf.data" "$dir/lost.data" switch=1 time=7 seed=2711084 \
		2>/dev/null || fail "degrade.py"
	"$SBTRACE" replay --root "$at/root" --no-host-root --cpu 0 --sink insn="$dir/lines" "$dir/lost.data" >/dev/null 2>&1 ||
		fail "all switches lost: replay"
	zstd -dcq "$at/truth.cpu0.tsv.zst" >"$dir/truth"
	awk -F '\t' 'NR == FNR { ran[$2, $3, $NF]++; next }
		$3 == -1 { next }
		{ lines++ }
		ran[$2, $3, $NF]-- <= 0 { others++ }
		END { print others + 0, lines + 0 }' "$dir/truth" "$dir/lines" >"$dir/counts"
	read -r others lines <"$dir/counts"
	echo "all switches lost: $others of $lines lines are another's"
	[ "$lines" -gt 1000000 ] && [ "$others" -eq 0 ] || fail "all switches lost: $others of $lines lines are another's"
}
nobody_told
[ $failures -eq 0 ]
