#!/bin/sh
# A job that writes all outputs there are, killed at 20 moments of its run: what is there is whole, and going on gives
# the same bytes as a run that nobody disturbed, without writing again what was finished.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=job_kill
with_truth=

record one -c 2 --mtc -- /bin/echo hello || exit 1
cd "$dir" || exit 1
cp one.data two.data
{
	printf 'version: 1\nrecordings: [one.data, two.data]\nroots: [one.root]\nhost_root: false\nsinks:\n'
	for sink in $("$SBTRACE" replay --help | sed -n '/^sinks/,$s/^  \([a-z]*\) .*/\1/p'); do
		echo "- {name: $sink, file: \"out/{recording}.$sink\"}"
	done
} >job.yaml
outputs=$(grep -c '^-' job.yaml)
[ "$outputs" -ge 16 ] || fail "only $outputs sinks"

mkdir out
begin=$(date +%s%N)
"$SBTRACE" job run job.yaml 2>err || fail "the job: $(cat err)"
took=$((($(date +%s%N) - begin) / 1000000))
[ "$(find out -type f | wc -l)" -eq $((2 * outputs + 1)) ] || fail "files: $(ls out)"
mv out reference
for sink in $(ls reference | sed -n 's/^one\.//p'); do
	case $sink in
	html | jsonl | sqlite) ;; # they tell which recording it is
	*) cmp "reference/one.$sink" "reference/two.$sink" || fail "$sink: equal recordings, other bytes" ;;
	esac
done

killed=0 kept=0 halves=0
for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	rm -rf out
	mkdir out
	"$SBTRACE" job run job.yaml 2>err &
	pid=$!
	sleep "$(awk -v seed="$round" -v took="$took" 'BEGIN { srand(seed); printf "%.3f", rand() * took / 1000 }')"
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
	[ $? -ne 137 ] || killed=$((killed + 1))
	for file in out/*; do
		case $file in
		*.tmp) halves=$((halves + 1)) ;;
		*.run.json | 'out/*') ;;
		*) cmp "$file" "reference/${file#out/}" || fail "round $round: half a file" ;;
		esac
	done
	before=
	if grep -qs '/one.data"' out/job.run.json; then
		before=$(stat -c %i:%n out/one.*)
	fi
	"$SBTRACE" job run --resume job.yaml 2>err || fail "round $round: going on: $(cat err)"
	for file in $before; do
		kept=$((kept + 1))
		[ "$(stat -c %i:%n "${file#*:}")" = "$file" ] || fail "round $round: written again: $file"
	done
	[ -z "$(find . -name '*.tmp')" ] || fail "round $round: left behind: $(find . -name '*.tmp')"
	diff -r out reference || fail "round $round: something else"
done
echo "killed $killed of 20, $took ms long; $halves files were halves, $kept were not written again"
[ $((killed + kept)) -gt 0 ] || fail "it was never killed, and never done"
[ $failures -eq 0 ]
