#!/bin/sh
# BPF programs: one that is there before a recording begins, and one that comes and goes while it runs. Of both the
# records say where they are - of the first as perf record says it at the same time -, and their code is in the
# file, where perf finds it.
set -u
. "$SOURCE_DIR/tests/tools/record/live.sh"
command -v perf >/dev/null || { echo "skipped: no perf here"; exit 77; }
load=$BUILD_DIR/tests/load_bpf
# Programs go some time after they were closed: each has a name of its own.
"$load" "$dir/numbers" "${$}p" true
[ $? -ne 77 ] || { echo "skipped: BPF programs cannot be loaded, or are not compiled here"; exit 77; }
rm "$dir/numbers"

cat >"$dir/both" <<'END'
"$SBTRACE" record -a --sideband-only -o "$1/ours.data" -- "$2" "$1/numbers" "$3" sleep 0.3 2>"$1/ours.err" || exit 1
perf record -q -a -e dummy:u -o "$1/perfs.data" -- true 2>"$1/perfs.err"
END
"$load" "$dir/numbers" $$ sh "$dir/both" "$dir" "$load" "${$}d" || fail "recording: $(cat "$dir/ours.err")"
before=$(sed -n 1p "$dir/numbers") during=$(sed -n 2p "$dir/numbers")

# told NAME: what is said of programs, as of before the recording.
told()
{
	perf script -D -i "$dir/$1.data" 2>"$dir/$1.warnings" </dev/null |
		sed -n 's/^0 0 0x[0-9a-f]* \[0x[0-9a-f]*\]: \(PERF_RECORD_\(KSYMBOL\|BPF_EVENT\) .*\)/\1/p' | sort
	grep -v '^$' "$dir/$1.warnings" | head -n 1 >"$dir/warning"
	[ ! -s "$dir/warning" ] || fail "perf script warns of $1: $(cat "$dir/warning")"
}
told ours >"$dir/ours"
told perfs >"$dir/perfs"
grep -q "BPF_EVENT .* id $before\$" "$dir/ours" || fail "the program of before is not told of: $(cat "$dir/ours")"
# Others may come and go on this machine; ours is there both times.
address=$(sed -n 's/.*KSYMBOL addr \([0-9a-f]*\) .*_sbt_'$$'$/\1/p' "$dir/ours" | sort -u)
for file in ours perfs; do
	grep -E "id $before\$|_sbt_$$\$" "$dir/$file" >"$dir/$file.mine"
done
cmp -s "$dir/ours.mine" "$dir/perfs.mine" || { fail "perf says something else"; diff "$dir/ours.mine" "$dir/perfs.mine"; }
[ -n "$address" ] || fail "nobody knows where it is"

"$SBTRACE" dump --sideband "$dir/ours.data" 2>/dev/null >"$dir/dump"
[ "$(grep -c "	BPF_EVENT event_type 1 .* id $during " "$dir/dump")" -eq 1 ] || fail "the program that came is not told of once"
[ "$(grep -c "	BPF_EVENT event_type 2 .* id $during " "$dir/dump")" -eq 1 ] || fail "the program that went is not told of"
perf report -I --header-only -i "$dir/ours.data" 2>&1 </dev/null | grep 'bpf_prog_info' >"$dir/header"
for number in "$before" "$during"; do
	grep -qE "bpf_prog_info of id $number\$|bpf_prog_info $number:" "$dir/header" || fail "no code of $number: $(cat "$dir/header")"
done
[ $failures -eq 0 ]
