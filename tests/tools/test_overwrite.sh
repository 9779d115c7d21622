#!/bin/sh
# What is read is not written over: the recording, the job; nor is one file, or standard output, written by two. All of
# that is refused before anything runs.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"

record one -- /bin/true || exit 1
cd "$dir" || exit 1
cp one.data kept
ln -s one.data link.data
mkdir raw
cp one.data raw/data
printf 'version: 1\nrecording: one.data\nroots: [one.root]\nsinks: [{name: insn, file: flow.tsv}]\n' >job.yaml
cp job.yaml kept.yaml
ln -s job.yaml link.yaml
printf 'version: 1\nrecording: one.data\nroots: [one.root]\nsinks: [{name: insn}, {name: block, file: "-"}]\n' >two.yaml

# refused STATUS WHY COMMAND...: says so, and all is as it was.
refused()
{
	expect "$@"
	[ ! -s out.txt ] || fail "$*: it wrote: $(head -n 1 out.txt)"
	cmp one.data kept && cmp raw/data kept && cmp job.yaml kept.yaml && [ ! -e flow.tsv ] || fail "$*: it wrote"
}
replay="$SBTRACE replay --root one.root"
refused 1 'one.data is a recording: it would be overwritten' $replay --sink insn=one.data one.data
refused 1 './one.data is a recording' $replay --sink insn=./one.data one.data
refused 1 'link.data is a recording' $replay --sink insn=link.data one.data
refused 1 'one.data is a recording' $replay --sink insn=one.data link.data
refused 1 'raw/data is ' $replay --sink insn=raw/data raw
refused 1 'raw/new is in a recording' $replay --sink insn=raw/new raw
mv one.data flow.tsv.tmp # as flow.tsv is called while it is written
ln -s flow.tsv.tmp one.data
refused 1 'flow.tsv.tmp is a recording' $replay --sink insn=flow.tsv flow.tsv.tmp
mv flow.tsv.tmp one.data
# Nor are the files of its kernel, or of a bundle.
mkdir raw/kcore_dir
echo kept >raw/kcore_dir/kcore
refused 1 'raw/kcore_dir/kcore is in a recording' $replay --sink insn=raw/kcore_dir/kcore raw
"$SBTRACE" bundle -q --root one.root -o bundle one.data || fail "bundle: status $?"
refused 1 'bundle/manifest.json is in a bundle' "$SBTRACE" replay --bundle bundle --sink insn=bundle/manifest.json one.data
refused 1 'bundle/.build-id/new is in a bundle' "$SBTRACE" replay --bundle bundle --sink insn=bundle/.build-id/new one.data
# Nor are programs, which the recording maps; what an earlier run wrote beside them is.
program=one.root/$(cd one.root && find . -name 'true' -type f | head -n 1)
cp "$program" program.kept
refused 1 "$program is a program or a library: it would be overwritten" $replay --sink insn="$program" one.data
cmp "$program" program.kept || fail "a program was overwritten"
touch one.root/summary
expect 0 '' $replay --sink summary=one.root/summary one.data
# A link to what is not there yet, and what a file is called until it is whole, are files that are written, too.
ln -s flow.tsv link.tsv
mkfifo fifo
refused 1 'two sinks cannot both write to ./fifo' $replay --sink insn=fifo --sink block=./fifo one.data
cat fifo >read &
expect 0 '' $replay --sink insn=fifo one.data
wait $!
[ -s read ] || fail "nothing came through a pipe"
refused 1 'two sinks cannot both write to link.tsv' $replay --sink insn=flow.tsv --sink block=link.tsv one.data
refused 1 'flow.tsv.tmp is what flow.tsv is called until it is whole' $replay --sink insn=flow.tsv --sink block=flow.tsv.tmp one.data
refused 1 'flow.tsv is called flow.tsv.tmp until it is whole, and that is another one' \
	$replay --sink block=flow.tsv.tmp --sink insn=flow.tsv one.data
both='the sinks insn and block cannot both write to standard output: name a file for one of them'
refused 1 "^sbtrace replay: $both" $replay --sink insn --sink block one.data
refused 1 "^sbtrace replay: $both" $replay --sink insn=/dev/stdout --sink block one.data
refused 1 "^sbtrace replay: $both" $replay --sink insn=/dev/fd/1 --sink block=/dev/stdout one.data
refused 1 "two.yaml:4:23: $both" "$SBTRACE" job check two.yaml
refused 1 "two.yaml:4:23: $both" "$SBTRACE" job run two.yaml
for plan in job.yaml ./job.yaml link.yaml; do
	refused 1 "$plan is a file of this job: it would be overwritten" "$SBTRACE" job plan -o "$plan" job.yaml
done
refused 1 'one.data is a recording' "$SBTRACE" job plan -o one.data job.yaml
refused 1 'the plan and a sink cannot both write to flow.tsv' "$SBTRACE" job plan -o flow.tsv job.yaml
for what in '' --sideband --json; do
	refused 1 'one.data: is read: it would be overwritten' "$SBTRACE" dump $what -o one.data one.data
done
refused 1 'is read: it would be overwritten' "$SBTRACE" dump -o link.data one.data
refused 2 'the recording and --truth cannot both be written to one file' "$SBTRACE" record --software -o new --truth ./new -- true
refused 2 'copy-root needs a directory of its own' "$SBTRACE" record --software -o new --copy-root ./new -- true
[ ! -e new ] || fail "recorded all the same"
# What was printed to nobody is told.
if [ -e /dev/full ]; then
	"$SBTRACE" job plan -n 2 -o plan job.yaml || fail "plan: status $?"
	for command in --help --version events 'events --encode cycles' 'job --help' 'replay --help' 'job schema' \
		'job show job.yaml' 'job status plan' 'job status --json plan' 'job submit --slurm --dry-run plan' \
		'dump --sideband one.data' 'diff --root one.root one.data one.data'; do
		# shellcheck disable=SC2086
		"$SBTRACE" $command >/dev/full 2>err.txt && fail "$command, where nothing can be written: status 0"
		grep -q 'standard output: write failed: No space left on device' err.txt || fail "$command: $(cat err.txt)"
	done
fi
[ $failures -eq 0 ]
