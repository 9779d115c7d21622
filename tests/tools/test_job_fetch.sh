#!/bin/sh
# Recordings at URLs, fetched by range with the job's commands: whole or in shards, they give the bytes of a file
# here; a shard asks for what its part needs; and whatever goes wrong with a command is told.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=job_fetch
with_truth=

# Chunks of 64 KiB, padded; PSBs are many, so that seams are everywhere.
record seams -c 2 --mtc --cyc --psb-period 2048 --overflow-every 30000 -- \
	sh -c 'i=0; while [ $i -lt 300 ]; do i=$((i+1)); case $i in *00) echo $i | cat >/dev/null;; esac; done' || exit 1
cd "$dir" || exit 1
mkdir store local
cp seams.data store/a.data
cp seams.data local/a.data
size=$(wc -c <store/a.data)

# ---- The store ----------------------------------------------------------------------------------------------------

# Logs what it is asked for; what goes wrong is said by the file "mode".
cat >store.sh <<END
#!/bin/sh
dir=$dir
END
cat >>store.sh <<'END'
echo "$*" >>"$dir/log"
mode=
[ ! -e "$dir/mode" ] || read -r mode <"$dir/mode"
file=$dir/store/${2##*/}
bytes() { dd if="$file" bs=64K iflag=skip_bytes,count_bytes skip="$1" count="$2" status=none; }
case $1:$mode in
size:text) echo "about a megabyte" ;;
size:size-hangs) echo $$ >"$dir/hanging"; exec sleep 1000 ;;
size:absent) echo "no such bucket" >&2; exit 4 ;;
size:*) echo "$(wc -c <"$file") \"$(cksum <"$file" | cut -d ' ' -f 1)\"" ;;
range:fails) bytes "$3" 10; echo "connection reset by" >&2; echo "peer" >&2; exit 7 ;;
range:short) bytes "$3" $(($4 - 1)) ;;
range:long) bytes "$3" "$4"; echo ;;
range:killed) kill -9 $$ ;;
range:hangs | range:range-hangs) echo $$ >"$dir/hanging"; bytes "$3" 10; exec sleep 1000 ;;
range:changes) bytes "$3" "$4"; [ -e "$dir/was" ] || { printf x >>"$file"; touch "$dir/was"; } ;;
range:*) bytes "$3" "$4" ;;
esac
END
chmod +x store.sh

# asked: how many bytes were asked for since the log was emptied.
asked()
{
	awk '/^range/ { sum += $4 } END { print sum + 0 }' log
}

sinks="block gap summary tally folded perfetto callgrind"

# job FILE OUT RECORDING [LINE...]
job()
{
	file=$1
	out=$2
	mkdir -p "$out"
	{
		printf 'version: 1\nroots: [seams.root]\nhost_root: false\nsymbols: true\nrecording: "%s"\n' "$3"
		shift 3
		[ $# -eq 0 ] || printf '%s\n' "$@"
		printf 'run_record: %s/run.json\nsinks:\n' "$out"
		for sink in $sinks; do
			echo "- {name: $sink, file: \"$out/{number}.$sink\"}"
		done
	} >"$file"
}

fetch='fetch: {size: [./store.sh, size, "{url}"], range: [./store.sh, range, "{url}", "{offset}", "{length}"], piece: 16K, timeout: 100s}'
job whole.yaml whole local/a.data
expect 0 '' "$SBTRACE" job run --jobs 1 whole.yaml
rm whole/run.json

# ---- The same bytes -----------------------------------------------------------------------------------------------

url="store://bucket/a.data?b=*[1]"
ln store/a.data 'store/a.data?b=*[1]'
job out.yaml out "$url" "$fetch"
expect 0 '' "$SBTRACE" job check out.yaml
# All at once, with several threads, from another directory, with pieces as they were recorded.
for options in '--jobs 1' '--jobs 3'; do
	: >log
	(cd / && "$SBTRACE" job run $options "$dir/out.yaml") >out.txt 2>&1 || fail "job run $options: $(cat out.txt)"
	diff -rq -x run.json out whole || fail "fetched with $options, something else comes out"
	[ "$(asked)" -le $((size * 5 / 4)) ] || fail "$(asked) bytes are asked for, of $size"
done
grep -q '"version"' out/run.json || fail "no version in the run record: $(cat out/run.json)"
expect 0 '' "$SBTRACE" job verify out.yaml
sed 's/piece: 16K/piece: 8M/' out.yaml >large.yaml
expect 0 '' "$SBTRACE" job run large.yaml
diff -rq -x run.json out whole || fail "fetched in large pieces, something else comes out"

for n in 12; do
	rm -rf out plan plan.shards
	mkdir out
	: >log
	expect 0 '' "$SBTRACE" job plan -n $n out.yaml -o plan
	[ "$(asked)" -lt $((size * 3 / 4)) ] || fail "$(asked) bytes are asked for to plan $n shards of $size bytes"
	: >log
	expect 0 '' "$SBTRACE" job run plan --shard all -j 3
	expect 0 '' "$SBTRACE" job merge plan
	rm -f out/run.json
	diff -rq out whole || fail "$n shards give something else"
done

# ---- What a shard asks for ----------------------------------------------------------------------------------------

# The ends of the recording are what the merge asks for: the rest is in the checkpoint.
: >log
expect 0 '' "$SBTRACE" job merge plan
sideband=$(asked)
[ "$sideband" -lt 32768 ] && [ "$(grep -c '^range' log)" -le 3 ] ||
	fail "the merge, which has a checkpoint, asks for $sideband bytes of $size: $(cat log)"
for shard in 2 5 9; do
	: >log
	expect 0 '' "$SBTRACE" job run plan --shard $shard --again
	trace=$(($(asked) - sideband))
	# Its part, and on each side some pieces of 16 KiB, where it goes on until it meets the next one.
	[ "$trace" -gt 0 ] && [ "$trace" -le $((size / 12 + 12 * 16384)) ] ||
		fail "shard $shard asks for $trace bytes of trace, of $size in 12 shards"
	awk '/^range/ && $4 > 65536 && $3 > 4096 { exit 1 }' log || fail "pieces are too large: $(cat log)"
done

# ---- Mistakes -----------------------------------------------------------------------------------------------------

# said MODE PATTERN: with the store in that mode, a shard fails so.
said()
{
	echo "$1" >mode
	expect 1 "$2" "$SBTRACE" job run plan --shard 3 --again
	rm mode
}
said fails "$(basename "$url" | sed 's/[]?*[]/\\&/g'): offset 0x0: the command '.*/store.sh' failed with status 7, after 10 of [0-9]+ bytes; it said: connection reset by peer"
said short "store.sh' ended well, but too early, after [0-9]+ of [0-9]+ bytes"
said long "store.sh' goes on printing, after ([0-9]+) of [0-9]+ bytes"
said killed "store.sh' was ended by signal 9, after 0 of [0-9]+ bytes"
echo fails >mode
expect 1 "'.*/store.sh' failed with status 7" "$SBTRACE" job run out.yaml
echo absent >mode
expect 1 "'.*/store.sh' failed with status 4, .*; it said: no such bucket" "$SBTRACE" job plan out.yaml -o other
echo text >mode
expect 1 "expected the size in bytes from the command '.*store.sh', .*; found 'about a megabyte'" "$SBTRACE" job plan out.yaml -o other
echo hangs >mode
sed 's/timeout: 100s/timeout: 5s/' out.yaml >late.yaml
expect 1 "store.sh' was not done in 5 seconds and was killed, after 10 of [0-9]+ bytes" "$SBTRACE" job run late.yaml
# An interrupt ends the command, too: of what opens a recording, of what plans, and of what the run record asks.
interrupted()
{
	rm -f hanging
	"$SBTRACE" job "$@" out.yaml >out.txt 2>&1 & pid=$!
	while [ ! -s hanging ] && kill -0 $pid 2>/dev/null; do sleep 0.1; done
	[ -s hanging ] || fail "job $*: it does not ask: $(cat out.txt)"
	kill -TERM $pid
	wait $pid
	[ $? -eq 143 ] || fail "job $* is not ended by the signal: $(cat out.txt)"
	kill -0 "$(cat hanging)" 2>/dev/null && fail "job $*: the command goes on"
	grep -q interrupted out.txt || fail "job $*: nothing said of the interruption: $(cat out.txt)"
}
rm -f other
for mode in size-hangs range-hangs; do
	echo $mode >mode
	interrupted run
	interrupted plan -o other
	[ ! -e other ] || fail "a plan, interrupted"
done
rm mode

# Another object under the same name: of another size, version, or only other bytes.
cp store/a.data kept
printf x >>store/a.data
expect 1 "it has $((size + 1)) bytes now, as the command '.*store.sh' says; when the plan was made it had $size" "$SBTRACE" job run plan --shard 3 --again
expect 1 "it has $((size + 1)) bytes now" "$SBTRACE" job merge plan
cat kept >store/a.data
spoil store/a.data $((size / 2))
expect 1 'its version is "[0-9]*" now, .*; when the plan was made it was "[0-9]*"' "$SBTRACE" job run plan --shard 3 --again
cat kept >store/a.data
# While it is read.
rm -f was
echo changes >mode
expect 1 "it has $((size + 1)) bytes now, .*; when it was opened it had $size" "$SBTRACE" job run plan --shard 3 --again
rm -f mode
cat kept >store/a.data
expect 0 '' "$SBTRACE" job run plan --shard 3 --again
rm -rf out
mkdir out
expect 0 '' "$SBTRACE" job merge plan
rm -f out/run.json
diff -rq out whole || fail "after all that, something else comes out"

# A store that tells no version: other bytes show where they are no trace.
printf '#!/bin/sh\nexec wc -c <"%s/store/a.data"\n' "$dir" >size.sh
chmod +x size.sh
sed 's/\[.\/store.sh, size, "{url}"\]/[.\/size.sh, "{url}"]/' out.yaml >plain.yaml
expect 0 '' "$SBTRACE" job plan -n 4 plain.yaml -o unversioned
grep -q '"version": "' unversioned && fail "a version comes from nowhere"
spoil store/a.data $((size - 1))
expect 1 'is not what it was when its checkpoint was made' "$SBTRACE" job run unversioned --shard 1
cat kept >store/a.data

# ---- Forms of recordings ------------------------------------------------------------------------------------------

gzip -c kept >store/packed.data
job packed.yaml out store://x/packed.data "$fetch"
expect 1 'packed with gzip, so ranges of it cannot be read alone' "$SBTRACE" job plan packed.yaml -o other
if [ -r "$CORPUS_DIR/user-pipe/perf.data" ]; then
	sinks="block gap summary folded"
	cp "$CORPUS_DIR/user-threads-overflow/perf.data" store/b.data
	ln -sf "$CORPUS_DIR/user-threads-overflow/root" broot
	for recording in store/b.data store://bucket/b.data; do
		rm -rf out
		job corpus.yaml out $recording "$fetch"
		sed -i 's/seams.root/broot/' corpus.yaml
		if [ $recording = store/b.data ]; then
			expect 0 '' "$SBTRACE" job run corpus.yaml
			mv out corpus
		else
			expect 0 '' "$SBTRACE" job plan -n 5 corpus.yaml -o corpus.plan
			expect 0 '' "$SBTRACE" job run corpus.plan --shard all
			expect 0 '' "$SBTRACE" job merge corpus.plan
			diff -rq -x run.json out corpus || fail "the corpus' recording gives something else"
		fi
	done
else
	echo "skipped: no corpus"
fi

[ $failures -eq 0 ]
