#!/bin/sh
# The sink "script" beside perf script on the same recordings: the same lines, to the letter, for each
# instruction and each branch. Names are left out (of several names of a place each takes another one), times (a
# microsecond apart now and then), and the bytes of instructions that did not run, where tracing ends.
set -u
command -v perf >/dev/null || { echo "skipped: no perf here"; exit 77; }
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=script
workloads=$BUILD_DIR/tests/workloads
who=comm,pid,tid,cpu

# CPU after CPU; what is no line of trace (samples of cgroups, gaps) is left out, and blanks at the end.
by_cpu()
{
	grep -Ev '^#|\] +0( |$)' | sed 's/ *$//' | sort -s -t '[' -k 2,2.3
}

# compare NAME WHAT: $dir/perf and $dir/ours
compare()
{
	[ -s "$dir/ours" ] || fail "$1: no $2"
	if cmp -s "$dir/perf" "$dir/ours"; then
		echo "$1: $(wc -l <"$dir/ours") $2 as perf script prints them"
	else
		fail "$1: $2: perf script prints $(wc -l <"$dir/perf") lines, we $(wc -l <"$dir/ours")"
		diff "$dir/perf" "$dir/ours" | head -n 6
	fi
}

check()
{
	name=$1
	record "$@" || return
	insns=$who,flags,ip,insnlen,insn branches=$who,flags,ip,addr,dso
	for jobs in 1 3; do
		"$SBTRACE" replay --jobs $jobs --root "$dir/$name.root" \
			--sink script="$dir/insns.$jobs" --with fields=$insns \
			--sink script="$dir/branches.$jobs" --with every=branch --with fields=$branches \
			"$dir/$name.data" >"$dir/log" 2>&1 || fail "replay $name: $(cat "$dir/log")"
	done
	cmp "$dir/insns.1" "$dir/insns.3" && cmp "$dir/branches.1" "$dir/branches.3" || fail "$name: --jobs"
	[ -z "${SANITIZE:-}" ] || return # what perf prints does not depend on sanitizers
	perf script --itrace=i0ns -F $insns -i "$dir/$name.data" 2>/dev/null | by_cpu >"$dir/perf"
	by_cpu <"$dir/insns.1" >"$dir/ours"
	compare "$name" instructions
	perf script --itrace=b -F $branches -i "$dir/$name.data" 2>/dev/null | by_cpu >"$dir/perf"
	by_cpu <"$dir/branches.1" >"$dir/ours"
	compare "$name" branches
}

check pipeline -c 2 --mtc -- "$workloads/relay" 60
command_status=143 # raises SIGTERM at its end
check signal -c 2 --mtc -- "$workloads/sig"
command_status=0
check threads -c 4 --mtc --cyc --no-retcomp -- "$workloads/mt" 100

# What this perf script has no field for.
replay()
{
	"$SBTRACE" replay --root "$dir/threads.root" "$@" "$dir/threads.data" 2>"$dir/log" || fail "replay $*: $(cat "$dir/log")"
}

replay --sink script --with every=call --with fields=flags,callindent,ip | grep -q '^  call    .* main  ' ||
	fail "no call in main"
for syntax in 'att.*  push %rbp' 'intel.*  push rbp'; do
	replay --sink script --with fields=insn,asm --with disasm=${syntax%%.*} |
		grep -q "insn: 55${syntax#*.\*}$" || fail "assembly is not as in $syntax"
done
replay --sink script --with fields=ip,sym,srcline | grep -q ' main  .*/mt\.c:[0-9]*$' || fail "no source lines"
[ "$(replay --sink script --with every=block --with fields=ip | wc -l)" = \
	"$(replay --sink block | wc -l)" ] || fail "blocks"

# Mistakes are told.
for wrong in fields=ip,nothing every=line disasm=masm time=ms; do
	"$SBTRACE" replay --sink script --with $wrong "$dir/threads.data" >/dev/null 2>"$dir/log" && fail "$wrong was taken"
	grep -q "'${wrong#*=}'\|'nothing'" "$dir/log" || fail "$wrong: $(cat "$dir/log")"
done
[ $failures -eq 0 ]
