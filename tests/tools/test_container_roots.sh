#!/bin/sh
# Two containers have different files at the same path, and each gets its own: every instruction that was
# executed comes out, from directories, from layers, and from a bundle of both.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"

unshare -mpf mount --bind "$dir" "$dir" 2>"$dir/log" || { echo "skipped: no namespaces here: $(cat "$dir/log")"; exit 77; }

place=$dir/place
mkdir "$place" "$dir/one" "$dir/two"
cp /bin/true "$dir/one/prog"
cp /bin/echo "$dir/two/prog"
# container ONE OTHER: has its own files at the place, says its id, and waits for the other one, so that both are
# there at the same time.
box=$BUILD_DIR/tests/workloads/box
cat >"$dir/both" <<END
container() { '$box' unshare bind '$dir'/\$1 '$place' namespace '$dir'/id-\$1 await '$dir'/id-\$2 \\
	run '$place/prog' something , linger; }
container one two &
container two one
wait
END
lean "$SBTRACE" record --software -c 2 -o "$dir/c.data" --truth "$dir/truth" -- sh "$dir/both" >"$dir/out" 2>"$dir/err" ||
	{ cat "$dir/err"; exit 1; }
grep -q something "$dir/out" || fail "the programs did not run"
columns_but_tsc "$dir/truth" >"$dir/expected"
one=$(cat "$dir/id-one") two=$(cat "$dir/id-two")
[ "$one" != "$two" ] || fail "both have the id $one"

# right NAME OPTIONS...: the replay is what was executed.
right()
{
	name=$1
	shift
	"$SBTRACE" replay --sink insn="$dir/$name.insn" --sink summary="$dir/$name.summary" "$@" "$dir/c.data" \
		>"$dir/out" 2>"$dir/err" || fail "$name: $(cat "$dir/err")"
	columns_but_tsc "$dir/$name.insn" | cmp - "$dir/expected" || {
		fail "$name: not what was executed"
		cat "$dir/$name.summary"
	}
}

mkdir -p "$dir/root-one$place" "$dir/root-two$place" "$dir/upper$place" "$dir/lower$place"
cp "$dir/one/prog" "$dir/root-one$place"
cp "$dir/two/prog" "$dir/root-two$place"
right directories --container-root "$one=$dir/root-one" --container-root "$two=$dir/root-two"

# As layers: what the lower one has is another container's.
cp "$dir/one/prog" "$dir/upper$place"
cp "$dir/two/prog" "$dir/lower$place"
right layers --container-root "$one=$dir/upper:$dir/lower" --container-root "$two=$dir/lower"
cmp "$dir/directories.insn" "$dir/layers.insn" || fail "layers: other lines"

# In a bundle, both are there.
"$SBTRACE" bundle -q -o "$dir/bundle" --container-root "$one=$dir/root-one" --container-root "$two=$dir/root-two" \
	"$dir/c.data" || fail "no bundle"
right bundle --bundle "$dir/bundle" --no-host-root
cmp "$dir/directories.insn" "$dir/bundle.insn" || fail "bundle: other lines"
cmp "$dir/directories.summary" "$dir/bundle.summary" || fail "bundle: another summary"

# A job says the same.
cat >"$dir/job.yaml" <<END
version: 1
recording: c.data
container_roots: {$one: root-one, $two: [lower]}
sinks: [{name: insn, file: job.insn}]
END
"$SBTRACE" replay "$dir/job.yaml" || fail "the job"
cmp "$dir/directories.insn" "$dir/job.insn" || fail "job: other lines"

# Without its root, a container's file is not there, or is somebody else's that does not fit: never wrong code.
mkdir -p "$dir/root-both$place"
cp "$dir/one/prog" "$dir/root-both$place"
"$SBTRACE" replay --sink insn="$dir/none.insn" --root "$dir/root-both" --container-root "$two=$dir/root-one/tmp" \
	"$dir/c.data" 2>"$dir/err"
grep -q 'no-binary\|binary-mismatch' "$dir/err" || fail "no gap: $(cat "$dir/err")"
[ $failures -eq 0 ]
