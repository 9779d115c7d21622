#!/bin/sh
# Timelines, for Chrome's tracing and Perfetto: they are what their schemas say, functions lie one in the other,
# each is there as often as it was entered; who ran on which CPU; gaps. And speedscope takes them.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=timelines
skipped=
workloads=$BUILD_DIR/tests/workloads
check=$SOURCE_DIR/tests/tools/timeline_check.pl

replay()
{
	name=$1
	shift
	"$SBTRACE" replay --root "$dir/$name.root" --no-host-root "$@" "$dir/$name.data" 2>"$dir/err" ||
		fail "replay $*: $(cat "$dir/err")"
}

decode()
{
	protoc --decode=Trace -I "$SOURCE_DIR/tests/data" perfetto_subset.proto <"$1" >"$2" || fail "protoc: $1"
	grep -qE '^ *[0-9]+[:  {]' "$2" && fail "$1 has fields that are not in the schema"
}

# entered FILE NAME...: how often functions were entered, and came again, of the events of the engine.
entered()
{
	awk '$3 == "enter" { $1 = $2 = $3 = $4 = ""; sub(/^ */, ""); sub(/ 0x[0-9a-f]*( unsure)?$/, ""); n[$0]++ }
		END { for (f in n) print f, n[f] }' "$1" | grep -v '^-' | LC_ALL=C sort
}

perl -MCpanel::JSON::XS -e 1 || { echo "skipped: no perl here that reads JSON"; exit 77; }
record mt -c 2 --mtc -- "$workloads/mt" 100 || exit 1
record stacks -c 2 --mtc --cyc -- "$workloads/stacks" || exit 1
record lost -c 2 --mtc --overflow-every 2000 -- "$workloads/mt" 100 || exit 1
for name in mt stacks lost; do
	replay $name --jobs 1 --sink chrome="$dir/$name.json" --sink perfetto="$dir/$name.pftrace" --sink gap="$dir/$name.gaps"
	replay $name --jobs 3 --sink chrome="$dir/again.json" --sink perfetto="$dir/again.pftrace"
	cmp "$dir/again.json" "$dir/$name.json" && cmp "$dir/again.pftrace" "$dir/$name.pftrace" ||
		fail "$name: other bytes with more jobs"
	perl "$check" chrome "$dir/$name.json" >"$dir/$name.chrome" ||
		fail "$name.json: $(grep WRONG "$dir/$name.chrome")"
	"$BUILD_DIR/tests/call_events" "$dir/$name.data" "$dir/$name.root" >"$dir/events" 2>/dev/null
	entered "$dir/events" >"$dir/entered"
	grep -v '^\[' "$dir/$name.chrome" | LC_ALL=C sort | cmp - "$dir/entered" ||
		fail "$name.json: not the functions that were entered"
	[ "$(wc -l <"$dir/entered")" -gt 20 ] || fail "$name: few functions"
	if command -v protoc >/dev/null; then
		decode "$dir/$name.pftrace" "$dir/decoded"
		perl "$check" perfetto "$dir/decoded" >"$dir/perfetto" ||
			fail "$name.pftrace: $(grep WRONG "$dir/perfetto")"
		cmp "$dir/perfetto" "$dir/$name.chrome" || fail "$name: other functions in the two timelines"
		[ "$(grep -c 'name: "overflow"' "$dir/decoded")" -eq "$(grep -c overflow "$dir/$name.gaps")" ] ||
			fail "$name: $(grep -c overflow "$dir/$name.gaps") gaps, not as many in the timeline"
	else
		skipped="no protoc"
	fi
done
grep -q overflow "$dir/lost.gaps" || fail "no gaps in the recording with overflows"
[ "$(grep -c '"name":"overflow"' "$dir/lost.json")" -eq "$(grep -c overflow "$dir/lost.gaps")" ] ||
	fail "lost.json: other gaps"

# Options: nothing deeper than asked for, nothing shorter.
replay mt --sink chrome="$dir/few.json" --with depth=4 --with min=1000
perl "$check" chrome "$dir/few.json" >"$dir/few" || fail "few.json: $(grep WRONG "$dir/few")"
[ "$(wc -c <"$dir/few.json")" -lt "$(wc -c <"$dir/mt.json")" ] || fail "depth and min leave nothing out"

# What they show, they show without sanitizers, too.
[ -z "${SANITIZE:-}" ] || { [ $failures -eq 0 ]; exit; }
speedscope=${SPEEDSCOPE:-$SOURCE_DIR/build/npm/node_modules/speedscope}
if [ -d "$speedscope" ] && command -v node >/dev/null && command -v chromium >/dev/null; then
	replay stacks --sink folded="$dir/stacks.folded"
	node "$SOURCE_DIR/tests/tools/speedscope.mjs" "$speedscope" "$dir/mt.json" "$dir/stacks.folded" ||
		fail "speedscope"
else
	skipped="speedscope, node or chromium is not here"
fi
[ $failures -eq 0 ] || exit 1
# All else went well, but a consumer is missing.
[ -z "$skipped" ] || { echo "skipped: $skipped"; exit 77; }
