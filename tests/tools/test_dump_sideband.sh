#!/bin/sh
# Another reader of records on the same recording: what perf script -D prints of each record (place, size, type,
# CPU, time, fields, bytes) is what sbtrace dump --sideband prints, and there are as many of each type. On
# recordings that perf makes here, of this machine as it runs, and on those that are there.
set -u
command -v perf >/dev/null || { echo "skipped: no perf here"; exit 77; }
perl -MCpanel::JSON::XS -e 1 2>/dev/null || { echo "skipped: no perl here that reads JSON"; exit 77; }
as_perf=$SOURCE_DIR/tests/tools/dump/records_as_perf.pl
. "$SOURCE_DIR/tests/tools/checks.sh"
compared=0

# compare NAME FILE TYPE...: records of these types must be there. $shift is where offsets begin, - when they are
# not the same.
# $told is moved when perf shows the tracepoint of a sample only where a counter of its group went on (once in some
# thousand, one didn't): then it isn't compared.
shift=0 told=all
compare()
{
	name=$1 file=$2
	shift 2
	[ -z "${SANITIZE:-}" ] || { read_alone "$@"; return; }
	ours=$shift perfs=0
	[ "$shift" != - ] || perfs=-
	perf script -D -i "$file" 2>"$dir/err" </dev/null | perl "$as_perf" perf $perfs | sort -n >"$dir/perf"
	dump_json || return
	perl "$as_perf" dump "$ours" <"$dir/json" | sort -n >"$dir/ours"
	if [ "$told" = moved ]; then
		for listing in perf ours; do sed -i 's/ sched:sched_switch: [^\t]*//' "$dir/$listing"; done
	fi
	if cmp -s "$dir/perf" "$dir/ours"; then
		echo "$name: $(wc -l <"$dir/ours") records as perf script says"
	else
		fail "$name: perf script gives $(wc -l <"$dir/perf") records, dump $(wc -l <"$dir/ours")"
		head -n 3 "$dir/err"
		diff "$dir/perf" "$dir/ours" | cut -c 1-400 | head -n 6
	fi
	for type; do
		cut -f 3 "$dir/ours" | grep -qx "$type" || fail "$name: no $type"
	done
	check_text
	compared=$((compared + 1))
	rm -rf "${dir:?}"/*
}

# False: it cannot be read yet, and is left out.
dump_json()
{
	"$SBTRACE" dump --sideband --json --raw "$file" >"$dir/json" 2>"$dir/account" && return
	grep -q 'not read yet' "$dir/account" && { echo "left out: $name: $(cat "$dir/account")"; return 1; }
	fail "$name: $(cat "$dir/account")"
}

# The text has a line for each record, in the order of the file; their types are in $dir/names.
text_is_as_json()
{
	"$SBTRACE" dump --sideband "$file" 2>/dev/null >"$dir/text"
	grep -v '^#' "$dir/text" | cut -d ' ' -f 1 | awk -F '\t' '{ print $5 }' >"$dir/names"
	sed -n 's/^{"offset":.*"type":"\([A-Z0-9_]*\)","misc".*/\1/p' "$dir/json" | cmp -s - "$dir/names" ||
		fail "$name: text and JSON differ"
}

# With sanitizers, it is dump that is looked at: what perf says of these records does not depend on them.
read_alone()
{
	dump_json || return
	text_is_as_json
	for type; do
		grep -qx "$type" "$dir/names" || fail "$name: no $type"
	done
	compared=$((compared + 1))
	rm -rf "${dir:?}"/*
}

# Besides, the text counts what perf counts.
check_text()
{
	text_is_as_json
	cut -f 3 "$dir/perf" | sort | uniq -c | awk '{ print $1, $2 }' | sort >"$dir/counts.perf"
	sed '1,/^# records by type/d; /^# .* total$/d; s/^# *//' "$dir/text" | sort >"$dir/counts"
	cmp -s "$dir/counts.perf" "$dir/counts" || { fail "$name: counts"; diff "$dir/counts.perf" "$dir/counts"; }
}

# recorded NAME TYPES OPTIONS...: of the whole machine, while a few processes run. TYPES are words.
recorded()
{
	name=$1 types=$2
	shift 2
	if ! perf record -o "$dir/$name.data" "$@" -- sh -c 'ls / | sort | wc -l' >"$dir/out" 2>&1; then
		echo "left out: $name: perf record $*: $(grep -Evm 1 '^(Warning:)?$' "$dir/out")"
		return
	fi
	# shellcheck disable=SC2086 # one word per type
	compare "$name" "$dir/$name.data" $types
}

recorded switches 'COMM FORK MMAP2 SWITCH_CPU_WIDE ID_INDEX THREAD_MAP CPU_MAP' -a -e dummy:u --switch-events
recorded containers 'NAMESPACES COMM' -a -e dummy:u --switch-events --namespaces --all-cgroups
recorded one-process 'SWITCH COMM FORK EXIT MMAP2' -e dummy:u --switch-events
recorded build-ids 'MMAP2' -e dummy:u --buildid-mmap
recorded tracepoint SAMPLE -a -e sched:sched_switch
recorded tracepoints SAMPLE -a -e sched:sched_switch -e sched:sched_wakeup -g
recorded samples SAMPLE -e cpu-clock -F 5000 -d -W --phys-data --user-regs=ip,sp --intr-regs=ip --call-graph dwarf,256
told=moved
recorded groups SAMPLE -a -e '{sched:sched_switch,cpu-clock}:S'
told=all

recorded threads 'COMM SWITCH_CPU_WIDE' -a --threads -e dummy:u --switch-events
shift=-
recorded packed 'COMM SWITCH_CPU_WIDE' -a -z -e dummy:u --switch-events
recorded everything 'COMM SWITCH_CPU_WIDE NAMESPACES' -a -z --threads -e dummy:u --switch-events --namespaces --all-cgroups
shift=16
if perf record -a -e sched:sched_switch -e dummy:u --switch-events -o - -- sh -c 'ls / | sort >/dev/null' 2>"$dir/out" >"$dir/pipe.data"; then
	compare pipe "$dir/pipe.data" HEADER_ATTR HEADER_FEATURE TRACING_DATA SAMPLE SWITCH_CPU_WIDE
else
	echo "left out: pipe: $(head -n 1 "$dir/out")"
fi
shift=0

for file in "$CORPUS_DIR"/*/perf.data; do
	[ -e "$file" ] || continue
	name=${file%/perf.data}
	[ -z "${SANITIZE:-}" ] || case ${name##*/} in kernel-pti | user-threads) ;; *) continue ;; esac
	compare "${name##*/}" "$file" COMM MMAP2 AUXTRACE_INFO AUXTRACE AUX ITRACE_START TIME_CONV SWITCH_CPU_WIDE
done

[ $failures -eq 0 ] || exit 1
[ $compared -gt 0 ] || { echo "skipped: perf may not record here, and there are no recordings"; exit 77; }
