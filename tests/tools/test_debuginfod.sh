#!/bin/sh
# Files that are nowhere but on a server: debuginfod(8) on this machine serves what the recorded programs were, by the
# build-ids that perf wrote into the recording. A file of the right name and another build-id is never taken.
set -u
for tool in debuginfod debuginfod-find perf; do
	command -v $tool >/dev/null || { echo "skipped: no $tool here"; exit 77; }
done
. "$SOURCE_DIR/tests/tools/recordings.sh"
export HOME="$dir" DEBUGINFOD_CACHE_PATH="$dir/cache" DEBUGINFOD_TIMEOUT=30

record plain --mtc -- /bin/true || exit 1
perf inject -b --buildid-all -i "$dir/plain.data" -o "$dir/t.data" 2>"$dir/log" &&
	perf buildid-list -i "$dir/t.data" 2>>"$dir/log" | grep -q libc || {
	echo "skipped: perf does not write build-ids: $(cat "$dir/log")"
	exit 77
}

# Any free port: of a few, as the server does not choose one.
server=
for port in 28002 28013 28024 28035; do
	debuginfod -p $port -d :memory: -F "$dir/plain.root" >"$dir/server.log" 2>&1 &
	server=$!
	trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -rf "$dir"' EXIT
	export DEBUGINFOD_URLS="http://127.0.0.1:$port"
	id=$(perf buildid-list -i "$dir/t.data" | sed -n 's/ .*libc.*//p')
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		kill -0 $server 2>/dev/null || break
		rm -rf "$dir/cache"
		debuginfod-find executable "$id" >"$dir/log" 2>&1 && break 2
		sleep 1
	done
	kill $server 2>/dev/null
	server=
done
[ -n "$server" ] || { echo "skipped: no debuginfod server: $(tail -3 "$dir/server.log")"; exit 77; }
rm -rf "$dir/cache"

# replayed NAME OPTIONS...: NAME.insn.
replayed()
{
	name=$1
	shift
	"$SBTRACE" replay --no-host-root --sink insn="$dir/$name.insn" --sink summary="$dir/$name.summary" "$@" \
		"$dir/t.data" >/dev/null 2>"$dir/$name.err" || fail "$name: $(cat "$dir/$name.err")"
}

replayed root --root "$dir/plain.root"
columns_but_tsc "$dir/plain.truth" >"$dir/truth"
columns_but_tsc "$dir/root.insn" | cmp - "$dir/truth" || fail "not what was executed"
replayed none
[ ! -s "$dir/none.insn" ] || fail "instructions without files"
replayed server --debuginfod
cmp "$dir/root.insn" "$dir/server.insn" || { fail "other lines from the server"; cat "$dir/server.summary"; }
find "$dir/cache" -name executable | grep -q . || fail "the server was not asked"

# Another program of that name: a mismatch, or the right one from the server.
mkdir -p "$dir/wrong/usr/bin"
cp -r "$dir/plain.root/usr/lib" "$dir/wrong/usr"
cp /bin/echo "$dir/wrong/usr/bin/true"
replayed wrong --root "$dir/wrong"
grep -q 'binary-mismatch' "$dir/wrong.summary" || { fail "a wrong file was taken"; cat "$dir/wrong.summary"; }
grep -q 'build-id recorded' "$dir/wrong.summary" || fail "build-ids are not told"
replayed right --root "$dir/wrong" --debuginfod
cmp "$dir/root.insn" "$dir/right.insn" || fail "other lines with a wrong file there"

# Nobody is asked who was not named.
unset DEBUGINFOD_URLS
"$SBTRACE" replay --debuginfod "$dir/t.data" >"$dir/log" 2>&1
[ $? -eq 1 ] && grep -q 'names no server' "$dir/log" || fail "without a server: $(cat "$dir/log")"
[ $failures -eq 0 ]
