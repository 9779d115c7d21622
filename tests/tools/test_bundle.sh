#!/bin/sh
# Bundles: a replay from a bundle alone is, to the byte, the replay from where its files came from; what fails
# leaves nothing behind; what is there already is not copied again.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
workloads=$BUILD_DIR/tests/workloads

# expect STATUS PATTERN COMMAND...: the exit status, and what stdout and stderr together must match.
expect()
{
	want=$1 pattern=$2
	shift 2
	"$@" >"$dir/out" 2>"$dir/err"
	status=$?
	if [ $status -ne "$want" ] || { [ -n "$pattern" ] && ! cat "$dir/out" "$dir/err" | grep -Eq -- "$pattern"; }; then
		fail "$*: exit status $status, expected $want; output, expected to match '$pattern':"
		cat "$dir/out" "$dir/err"
	fi
}

# listing DIRECTORY: all that is in it, with sizes and sums.
listing()
{
	(cd "$1" && find . -printf '%p %y %s\n' | grep -v '^\. ' | sort && find . -type f -exec sha256sum {} + | sort)
}

# replayed NAME OPTIONS...: NAME.insn and NAME.summary.
replayed()
{
	out=$1
	shift
	expect 0 '' "$SBTRACE" replay --sink "insn=$dir/$out.insn" --sink "summary=$dir/$out.summary" "$@"
}

# same ONE OTHER: what replayed() wrote.
same()
{
	for sink in insn summary; do
		cmp "$dir/$1.$sink" "$dir/$2.$sink" || fail "$sink: $2 is not as $1"
	done
}

# bundled NAME RECORDING OPTIONS...: makes the bundle NAME, and replays from it.
bundled()
{
	name=$1 recording=$2
	shift 2
	expect 0 'files, 0 missing' "$SBTRACE" bundle -o "$dir/$name" "$@" "$recording"
	replayed "$name-roots" "$@" "$recording"
	replayed "$name-bundle" --bundle "$dir/$name" --no-host-root "$recording"
	same "$name-roots" "$name-bundle"
	[ -s "$dir/$name-roots.insn" ] || fail "$name: nothing was replayed"
}

# ---- The command line ---------------------------------------------------------------------------------------

expect 2 'which recording' "$SBTRACE" bundle -o "$dir/x"
expect 2 'where to' "$SBTRACE" bundle "$dir/probe.data"
expect 1 'no-such-file' "$SBTRACE" bundle -o "$dir/x" "$dir/no-such-file"
[ ! -e "$dir/x" ] || fail "a bundle of nothing"
# What was mapped behind the end of a recording that is cut off is in no bundle of it.
head -c $(($(wc -c <"$dir/probe.data") / 2)) "$dir/probe.data" >"$dir/half.data"
expect 0 'warning: .*half.data: offset .*: the data (are cut off here|end after)' "$SBTRACE" bundle -o "$dir/half" "$dir/half.data"
expect 2 'expected NAME=DIR' "$SBTRACE" bundle --container-root web -o "$dir/x" "$dir/probe.data"
expect 1 'this root is not there' "$SBTRACE" bundle --overlay "/:$dir/nowhere" -o "$dir/x" "$dir/probe.data"
mkdir "$dir/other"
echo hello >"$dir/other/file"
expect 1 'expected a bundle, or nothing' "$SBTRACE" bundle -o "$dir/other" "$dir/probe.data"
expect 1 'found no manifest.json' "$SBTRACE" replay --bundle "$dir/other" "$dir/probe.data"
[ "$(listing "$dir/other" | wc -l)" -eq 2 ] || fail "something was added to what is no bundle"

# ---- Recordings made here -----------------------------------------------------------------------------------

record forkdl -c 2 --mtc -- "$workloads/forkdl"
record pipe -c 2 --mtc -- sh -c 'cat /etc/passwd | head -n 3'

bundled here "$dir/forkdl.data"
bundled root "$dir/forkdl.data" --root "$dir/forkdl.root" --no-host-root

# What one that was killed has left - with a mark, and nobody holds it - goes when the next one begins.
mkdir "$dir/killed.tmp.a1B2c3" "$dir/killed.tmp.a1B2c3/sha256"
touch "$dir/killed.tmp.a1B2c3/.sbtrace-unfinished" "$dir/killed.tmp.a1B2c3/sha256/some"
expect 0 'files, 0 missing' "$SBTRACE" bundle -o "$dir/killed" "$dir/forkdl.data"
[ ! -e "$dir/killed.tmp.a1B2c3" ] || fail "a bundle that was killed is left"
touch "$dir/killed/.new-123"
expect 0 '; 0 copied' "$SBTRACE" bundle -o "$dir/killed" "$dir/forkdl.data"
[ "$(ls -A "$dir/killed" | grep -v '^manifest.json$\|^\.build-id$\|^sha256$')" = '' ] || fail "left in a bundle: $(ls -A "$dir/killed")"

# A second time, nothing is copied, and nothing changes.
listing "$dir/root" >"$dir/before"
expect 0 '; 0 copied, 0 bytes' "$SBTRACE" bundle -o "$dir/root" --root "$dir/forkdl.root" --no-host-root "$dir/forkdl.data"
listing "$dir/root" | cmp - "$dir/before" || fail "a second run changes the bundle"

# Two recordings in one bundle; the first is as it was.
expect 0 'files, 0 missing' "$SBTRACE" bundle -o "$dir/root" --root "$dir/pipe.root" --no-host-root --with-recording \
	"$dir/pipe.data"
replayed both-1 --bundle "$dir/root" "$dir/forkdl.data"
same root-roots both-1
replayed pipe --root "$dir/pipe.root" --no-host-root "$dir/pipe.data"
replayed both-2 --bundle "$dir/root" "$dir/pipe.data"
same pipe both-2
# The one that is in it need not be named.
replayed both-3 --bundle "$dir/root"
same pipe both-3
expect 0 '' "$SBTRACE" bundle -q -o "$dir/root" --with-recording --no-host-root "$dir/probe.data"
expect 1 'more than one recording' "$SBTRACE" replay --bundle "$dir/root"

# What is missing here is missing there, for the same reason. It is the C library that is cut: the loader calls it before any
# program, and behind a gap nothing more may be known of a program as short as these.
cp -r "$dir/pipe.root" "$dir/less"
find "$dir/less" -name cat -exec rm {} +
libc=$(find "$dir/less" -name 'libc.so.6')
head -c 10000 "$libc" >"$dir/cut" && mv "$dir/cut" "$libc"
expect 0 'missing: .*/cat.*not found' "$SBTRACE" bundle -o "$dir/some" --root "$dir/less" --no-host-root "$dir/pipe.data"
replayed less --root "$dir/less" --no-host-root "$dir/pipe.data"
grep -q 'binary-mismatch' "$dir/less.summary" || fail "a file that was cut is no mismatch"
replayed some --bundle "$dir/some" "$dir/pipe.data"
same less some

# Names that are in a separate file.
mkdir "$dir/program"
cp "$workloads/mt" "$dir/program/mt"
id=$(readelf -n "$workloads/mt" | sed -n 's/.*Build ID: //p')
if command -v objcopy >/dev/null && [ "$id" ]; then
	objcopy --only-keep-debug "$workloads/mt" "$dir/mt.debug"
	strip "$dir/program/mt"
	record stripped -- "$dir/program/mt"
	mkdir -p "$dir/stripped.root/usr/lib/debug/.build-id/$(echo "$id" | cut -c 1-2)"
	cp "$dir/mt.debug" "$dir/stripped.root/usr/lib/debug/.build-id/$(echo "$id" | sed 's|..|&/|').debug"
	bundled stripped "$dir/stripped.data" --root "$dir/stripped.root" --no-host-root
	replayed names --symbols --root "$dir/stripped.root" --no-host-root "$dir/stripped.data"
	replayed names-bundle --symbols --bundle "$dir/stripped" "$dir/stripped.data"
	same names names-bundle
	grep -q 'main+' "$dir/names-bundle.insn" || fail "the names of a stripped program are not there"
fi

# ---- Damage -------------------------------------------------------------------------------------------------

# A file of the bundle that is not whole is not taken: nothing is left of its code, its build-id is.
cp -r "$dir/here" "$dir/damaged"
for file in $(find "$dir/damaged" -name elf); do
	head -c 4000 "$file" >"$dir/cut" && cat "$dir/cut" >"$file"
done
replayed damaged --bundle "$dir/damaged" --no-host-root "$dir/forkdl.data"
[ ! -s "$dir/damaged.insn" ] || fail "instructions of files that are cut"
grep -q 'no-binary' "$dir/damaged.summary" || fail "files that are cut: no gap"
# It is made whole again.
expect 0 ' [1-9][0-9]* copied' "$SBTRACE" bundle -o "$dir/damaged" "$dir/forkdl.data"
replayed whole --bundle "$dir/damaged" "$dir/forkdl.data"
same here-roots whole

# manifest TEXT: the bundle "hostile" has this manifest.
manifest()
{
	rm -rf "$dir/hostile"
	mkdir "$dir/hostile"
	printf '%s' "$1" >"$dir/hostile/manifest.json"
}
manifest '{"version": 1, "files": ['
expect 1 'manifest.json: offset .*not JSON' "$SBTRACE" replay --bundle "$dir/hostile" "$dir/forkdl.data"
manifest '{"version": 2, "files": [], "missing": []}'
expect 1 'expected version 1, found 2' "$SBTRACE" replay --bundle "$dir/hostile" "$dir/forkdl.data"
manifest '{"version": 1, "files": [{"path": "/x"}], "missing": []}'
expect 1 'row 0 of "files": expected text for "file"' "$SBTRACE" replay --bundle "$dir/hostile" "$dir/forkdl.data"
manifest '{"version": 1, "files": {}, "missing": []}'
expect 1 'expected a list "files"' "$SBTRACE" bundle -o "$dir/hostile" "$dir/forkdl.data"
# A name that leads out of the bundle leads nowhere.
sed 's|"file": "\(.*\)"|"file": "../../here/\1"|' "$dir/here/manifest.json" >"$dir/out.json"
manifest "$(cat "$dir/out.json")"
replayed out --bundle "$dir/hostile" "$dir/forkdl.data"
[ ! -s "$dir/out.insn" ] || fail "files from outside of the bundle"
mkdir -p "$dir/deep/hostile"
cp "$dir/out.json" "$dir/deep/hostile/manifest.json"
replayed out --bundle "$dir/deep/hostile" "$dir/forkdl.data"
[ ! -s "$dir/out.insn" ] || fail "files from outside of the bundle"

# ---- Failure ------------------------------------------------------------------------------------------------

# No file may have more than 400 KiB: neither a half bundle nor a half-extended one.
rm -rf "$dir/hostile" "$dir/deep"
(
	trap '' XFSZ
	ulimit -f 800
	"$SBTRACE" bundle -o "$dir/new" "$dir/pipe.data" 2>"$dir/err"
) && fail "a file that was too large is no error"
grep -q 'cannot be copied' "$dir/err" || fail "what failed is not told: $(cat "$dir/err")"
left=$(find "$dir" -maxdepth 1 -name 'new*')
[ -z "$left" ] || fail "a bundle that failed left $left"
record mt -- "$workloads/mt"
rm -rf "$dir/small" && mkdir "$dir/small"
(
	trap '' XFSZ
	ulimit -f 800
	"$SBTRACE" bundle -o "$dir/small" "$dir/mt.data" 2>"$dir/err"
) && fail "a file that was too large is no error"
[ "$(find "$dir/small" | wc -l)" -eq 1 ] || fail "left in an empty directory: $(find "$dir/small")"
listing "$dir/some" >"$dir/before"
(
	trap '' XFSZ
	ulimit -f 800
	"$SBTRACE" bundle -q -o "$dir/some" "$dir/mt.data" 2>"$dir/err"
) && fail "a file that was too large is no error"
listing "$dir/some" | cmp - "$dir/before" || fail "an old bundle is not as it was"

# ---- Large recordings with known truth ----------------------------------------------------------------------

corpus=$CORPUS_DIR/user-pipe
if [ -d "$corpus" ]; then
	bundled pipe-corpus "$corpus/perf.data" --root "$corpus/root" --no-host-root
	[ "$(wc -l <"$dir/pipe-corpus-bundle.insn")" -eq 3906156 ] || fail "not all of user-pipe"
else
	echo "without the corpus: $corpus is not here"
fi

# The kernel's code goes with it, whether it lies beside the recording or was named.
corpus=$CORPUS_DIR/kernel-pti
if [ -d "$corpus" ]; then
	kcore=$corpus/perf.data/kcore_dir
	set -- --root "$corpus/root" --no-host-root
	expect 0 'files, ' "$SBTRACE" bundle -o "$dir/kernel" "$@" "$corpus/perf.data"
	expect 0 'files, ' "$SBTRACE" bundle -o "$dir/named" "$@" --kcore "$kcore/kcore" --kallsyms "$kcore/kallsyms" \
		"$corpus/perf.data/data"
	expect 0 '' "$SBTRACE" replay --sink "block=$dir/kernel.block" --sink "summary=$dir/kernel.summary" "$@" "$corpus/perf.data"
	rm -rf "$dir/away" && mkdir "$dir/away"
	cp "$corpus/perf.data/data" "$dir/away/perf.data" && ln "$dir/away/perf.data" "$dir/away/data"
	expect 0 '' "$SBTRACE" replay --symbols --sink "summary=$dir/kernel.names" "$@" "$corpus/perf.data"
	grep -q 'kernel.kallsyms' "$dir/kernel.names" || fail "no names of the kernel"
	for recording in kernel/perf.data named/data; do
		expect 0 '' "$SBTRACE" replay --bundle "$dir/${recording%/*}" --symbols --sink "summary=$dir/away.names" \
			"$dir/away/${recording#*/}"
		cmp "$dir/kernel.names" "$dir/away.names" || fail "names from the bundle $recording"
		expect 0 '' "$SBTRACE" replay --bundle "$dir/${recording%/*}" --sink "block=$dir/away.block" \
			--sink "summary=$dir/away.summary" "$dir/away/${recording#*/}"
		cmp "$dir/kernel.block" "$dir/away.block" || fail "blocks from the bundle $recording"
		cmp "$dir/kernel.summary" "$dir/away.summary" || fail "the summary from the bundle $recording"
	done
	grep -q 'no-kernel' "$dir/kernel.summary" && fail "gaps in the kernel"
fi
[ $failures -eq 0 ]
