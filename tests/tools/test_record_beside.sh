#!/bin/sh
# Beside another recorder: while a parallel build runs, sbtrace record and perf record both record the whole machine.
# perf script reads both without a warning, and on each CPU the records of perf's file - switches, names, forks,
# exits, mappings - are a stretch of ours, one by one and in the same order. None is lost. Processes that were there
# before have the same names and mappings in both.
set -u
. "$SOURCE_DIR/tests/tools/record/live.sh"
command -v perf >/dev/null || { echo "skipped: no perf here"; exit 77; }
command -v make >/dev/null || { echo "skipped: no make here"; exit 77; }

# A build of 16 programs, four at a time: compilers, assemblers and linkers come and go.
mkdir "$dir/build"
i=0
while [ $i -lt 16 ]; do
	printf '#include <stdio.h>\nint main(void) { return puts("%d") < 0; }\n' $i >"$dir/build/p$i.c"
	i=$((i + 1))
done
{
	printf 'all:'
	for source in "$dir"/build/*.c; do printf ' %s' "${source%.c}"; done
	printf '\n%%: %%.c\n\t@cc -o $@ $< && $@ >/dev/null\n'
} >"$dir/build/Makefile"

both()
{
	"$SBTRACE" record -a --sideband-only --ring 64M -o "$dir/ours.data" -- perf record -a -e dummy:u --switch-events \
		--buildid-mmap -m 64M -o "$dir/perfs.data" -- make -s -B -j4 -C "$dir/build" 2>"$dir/log"
}

# texts NAME: what perf says of the file, of each CPU in order of time.
texts()
{
	perf script --ns -i "$dir/$1.data" --show-task-events --show-mmap-events --show-switch-events --show-lost-events \
		</dev/null >"$dir/$1.all" 2>"$dir/$1.err" || fail "perf script $1"
	grep -v '^$' "$dir/$1.err" | head -n 3 >"$dir/$1.warnings"
}

warned()
{
	[ ! -s "$dir/$1.warnings" ] || fail "perf script $1 warns: $(cat "$dir/$1.warnings")"
}

# compared: 0: they are alike, or cannot be compared, since perf lost records where others left it no time.
compared()
{
	both || fail "recording: $(cat "$dir/log")"
	grep -q ' 0 lost' "$dir/log" || fail "ours: $(grep lost "$dir/log")"
	texts perfs
	texts ours
	if grep -q 'PERF_RECORD_LOST' "$dir/perfs.all"; then
		echo "perf lost records: $(grep -c 'PERF_RECORD_LOST' "$dir/perfs.all") times"
		return 2
	fi
	perl "$SOURCE_DIR/tests/tools/record/beside.pl" "$dir/perfs.all" "$dir/ours.all" || return 1
}

for i in 1 2 3 4; do
	compared
	status=$?
	[ $status -eq 2 ] || break
done
[ $status -eq 0 ] || [ $status -eq 2 ] || fail "the two differ"
warned ours
grep -q 'PERF_RECORD_LOST' "$dir/perfs.all" && echo "left out: perf lost records" || warned perfs

# Ours by our own reader: as many records of each type as perf counts.
"$SBTRACE" dump --sideband "$dir/ours.data" >"$dir/dump" 2>"$dir/account" || fail "dump: $(cat "$dir/account")"
perf script -D -i "$dir/ours.data" 2>/dev/null </dev/null | grep -ao 'PERF_RECORD_[A-Z0-9_]*' | sort | uniq -c |
	sed 's/^ *\([0-9]*\) PERF_RECORD_/\1 /' | sort >"$dir/counts.perf"
sed '1,/^# records by type/d; /^# .* total$/d; s/^# *//' "$dir/dump" | sort | cmp -s "$dir/counts.perf" - ||
	fail "dump counts other records than perf script"
# And a replay takes it, though there is nothing to decode.
"$SBTRACE" replay "$dir/ours.data" >"$dir/replay" 2>&1 || fail "replay: $(head -n 3 "$dir/replay")"
ls "$dir"/*.tmp.* >/dev/null 2>&1 && fail "something is left: $(ls "$dir"/*.tmp.*)"
[ $failures -eq 0 ]
