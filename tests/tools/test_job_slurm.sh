#!/bin/sh
# A real Slurm: three recordings in 40 shards give the bytes of one thread on one machine, for every sink, although
# three shards are killed, a node dies in the middle, and a result is cut short. What has no result, and only that, is
# submitted again.
set -u
[ -z "${SANITIZE:-}" ] || { echo "skipped: most of it is waiting; with sanitizers, tools/test_job_cluster"; exit 77; }
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=job_slurm
with_truth=
. "$SOURCE_DIR/tests/tools/slurm.sh"
cd "$dir" || exit 1

record one -c 2 --psb-period 512 -- sh -c 'cat /etc/passwd | sort | head -3; gzip -c /etc/passwd | wc -c' || exit 1
record two -c 2 --mtc --psb-period 512 --overflow-every 3000 -- sh -c 'cat /etc/passwd | sort; (echo b; true) | cat' || exit 1
record three -c 2 --psb-period 512 -- sh -c 'tac /etc/passwd | sort -r | tail -5' || exit 1

# job OUT: a job with every sink that there is, and a name that scripts have to quote.
job()
{
	mkdir "$1"
	printf 'version: 1\nroots: [one.root, two.root, three.root]\nhost_root: false\nsymbols: true\n'
	printf 'recordings: [one.data, two.data, three.data]\nrun_record: %s.run.json\n' "$1"
	printf 'cluster: {time: 30m, memory: 200M, throttle: 6, options: [--comment="of a test"]}\nsinks:\n'
	for sink in $sinks; do
		case $sink in
		bolt | autofdo) with=', with: {file: "*/libc.so*"}' ;;
		*) with= ;;
		esac
		printf -- '- {name: %s, file: "%s/{recording}.%s"%s}\n' "$sink" "$1" "$sink" "$with"
	done
}
sinks=$("$SBTRACE" replay --help | sed -n '/^sinks/,$s/^  \([a-z][a-z]*\) .*/\1/p')
[ "$(echo "$sinks" | wc -l)" -ge 18 ] || fail "sinks: $sinks"
job whole >whole.yaml
job sharded >sharded.yaml
"$SBTRACE" replay --jobs 1 whole.yaml >whole.log 2>&1 || fail "replay: $(cat whole.log)"
[ "$(find whole -type f | wc -l)" = $((3 * $(echo "$sinks" | wc -l))) ] || fail "outputs: $(ls whole)"

plan="a plan's file 100%"
results=$dir/$plan.shards
"$SBTRACE" job plan -n 40 sharded.yaml -o "$plan" || fail "plan"

# status PATTERN CODE: what job status says.
status()
{
	"$SBTRACE" job status "$plan" >status.log 2>&1
	code=$?
	[ $code = "$2" ] && grep -qE "$1" status.log || fail "job status: $code, no '$1' in: $(cat status.log)"
}

running()
{
	[ "$(squeue -h -r -t running -j "$array" -o %i | wc -l)" -ge "$1" ]
}

# Zero when what was cancelled has come to its end, which is some time after Slurm has been told to.
cancelled()
{
	! squeue -h -r -t running,completing -j "$array" -o %K | grep -qxF "$killed"
}

# Zero when the merge that was submitted last is at its end.
merge_ended()
{
	"$SBTRACE" job status "$plan" | grep -qE '^merge: .*: (COMPLETED|FAILED|CANCELLED)$'
}

dump()
{
	cat status.log
	squeue -r -t all
	tail -n 30 "$slurm"/slurmctld.log
	tail -n 5 "$results"/*.log
}

# ---- Killed, and a node that dies -------------------------------------------------------------------------------

status '^40 shards: 40 not submitted$' 1
: >"$slurm/hold"
"$SBTRACE" job submit --slurm "$plan" >submit.log 2>&1 || fail "submit: $(cat submit.log)"
array=$(sed -n 's/^40 tasks: job \([0-9]*\)$/\1/p' submit.log)
[ -n "$array" ] || { fail "submit: $(cat submit.log)"; exit 1; }
wait_for 300 running 4 || { dump; fail "four tasks do not run"; exit 1; }
status '^40 shards: 4 running, 36 waiting$' 3
status '^merge: .*: PENDING$' 3
"$SBTRACE" job submit --slurm "$plan" | grep -q '^nothing to be submitted: 0 of 40' || fail "what runs is submitted again"

# Two that run, and one that waits.
killed=$(squeue -h -r -t running -w n1 -j "$array" -o %K | sort -n)
[ "$(echo "$killed" | wc -l)" = 2 ] || { dump; fail "on n1 run: $killed"; exit 1; }
killed=$(printf '%s\n39\n' "$killed")
for task in $killed; do
	scancel "${array}_$task"
done
wait_for 100 cancelled || { dump; fail "what is cancelled goes on"; }
lost=$(squeue -h -r -t running -w n2 -j "$array" -o %K | wc -l)
[ "$lost" = 2 ] || fail "on n2 run $lost"
node_dies n2
rm "$slurm/hold"

wait_for 600 merge_ended || { dump; fail "no end"; exit 1; }
status '^40 shards: 37 done, 3 failed$' 1
for task in $killed; do
	status "^shard $task: no result( \\(Slurm's job ${array}_$task: CANCELLED\\))?\$" 1
done
[ "$(grep -c ': CANCELLED' status.log)" -ge 2 ] || fail "why there is no result: $(cat status.log)" # Slurm keeps two
status '^merge: .*: FAILED$' 1
[ -z "$(ls sharded)" ] || fail "outputs, although shards are missing: $(ls sharded)"
grep -q '3 of 40 shards' "$results"/slurm-merge-*.log || fail "the merge: $(cat "$results"/slurm-merge-*.log)"

# ---- Cut short, and once more -----------------------------------------------------------------------------------

cut=$(printf '%06d' 20)
echo "$killed" | grep -qx 20 && cut=$(printf '%06d' 21)
truncate -s -100 "$results/$cut.shard"
status '^40 shards: 36 done, 4 failed$' 1
status "/$cut.shard: .*(Slurm's job ${array}_${cut##*0000}: COMPLETED)" 1
"$SBTRACE" job submit --slurm "$plan" >submit.log 2>&1 || fail "submit: $(cat submit.log)"
grep -q '^4 tasks: job' submit.log || fail "submitted again: $(cat submit.log)"
"$SBTRACE" job status --wait "$plan" >status.log 2>&1 || { dump; fail "at the end: $(cat status.log)"; }
status '^40 shards: 40 done$' 0
status '^merge: .*: COMPLETED$' 0
[ "$("$SBTRACE" job status --json "$plan" | jq -r '.done, .merge.slurm' | tr '\n' ' ')" = '40 COMPLETED ' ] ||
	fail "$("$SBTRACE" job status --json "$plan")"
diff -rq whole sharded || fail "shards give something else"

[ $failures = 0 ]
