#!/bin/sh
# What batch systems are given for a plan: the scripts and manifests are as the job says, and when they are run, by hand
# and not by a batch system, they give what the job gives as a whole. And what Slurm answers is understood, with
# programs in Slurm's place that say what a test needs. A real Slurm is test_job_slurm's.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=job_cluster
with_truth=
cd "$dir" || exit 1

record small -c 2 --psb-period 512 -- "$BUILD_DIR/tests/workloads/relay" 100 || exit 1
mkdir traces bin
mv small.data small.root traces
echo hello >traces/not-a-plan

# Slurm's programs: sbatch notes down what it gets, the others say what is in files.
cat >bin/sbatch <<'END'
#!/bin/sh
[ ! -f "$FAKE/sbatch.fails" ] || exit 3
for script; do :; done
number=$(($(cat "$FAKE/number" 2>/dev/null || echo 100) + 1))
echo $number >"$FAKE/number"
cp "$script" "$FAKE/$number.sbatch"
echo "$@" >"$FAKE/$number.arguments"
echo "$number;somewhere"
END
for tool in squeue sacct; do
	printf '#!/bin/sh\n[ ! -f "$FAKE/%s.fails" ] || exit 1\ncat "$FAKE/%s.txt" 2>/dev/null\nexit 0\n' $tool $tool >bin/$tool
done
printf '#!/bin/sh\necho "$@" >>"$FAKE/scancel.log"\n' >bin/scancel
chmod +x bin/*
export PATH="$dir/bin:$PATH" FAKE="$dir"

# expect STATUS PATTERN ACTION...: of sbtrace job.
expect()
{
	status=$1
	pattern=$2
	shift 2
	"$SBTRACE" job "$@" >out.txt 2>err.txt
	got=$?
	[ $got = "$status" ] || fail "job $* gives $got: $(cat out.txt err.txt)"
	cat out.txt err.txt | grep -qE -- "$pattern" || fail "job $*: no '$pattern' in: $(cat out.txt err.txt)"
}

# plan NAME CLUSTER: traces/NAME, in about 10 shards, of a job with that cluster.
plan()
{
	printf 'version: 1\nrecording: small.data\nroots: [small.root]\nhost_root: false\ncluster: {%s}\nsinks:\n' "$2" \
		>"traces/$1.yaml"
	printf -- '- {name: %s, file: "%s.%s"}\n' insn "$1" insn summary "$1" summary >>"traces/$1.yaml"
	(cd traces && "$SBTRACE" job plan -n 10 "$1.yaml" -o "$1") || fail "plan $1"
	count=$(grep -oE '"shards": [0-9]+' "traces/$1" | grep -oE '[0-9]+')
	[ "$count" -ge 8 ] || fail "plan $1 has $count shards"
}

# is_right NAME: its outputs are those of the job as a whole.
is_right()
{
	for sink in insn summary; do
		cmp "traces/whole.$sink" "traces/$1.$sink" || fail "$1: another $sink"
		rm -f "traces/$1.$sink"
	done
}

plan whole ''
(cd traces && "$SBTRACE" replay --jobs 1 whole.yaml) || fail "whole"

# ---- Scripts for Slurm ------------------------------------------------------------------------------------------

plan keys 'time: 90m, memory: 1500M, cpus: 2, throttle: 4, tasks: 3, partition: "a,b", account: c, options: [--qos=low, -v]'
expect 0 '' submit --slurm --dry-run traces/keys
for line in time=90 mem=1500M cpus-per-task=2 'array=0-2%4' partition=a,b account=c qos=low requeue; do
	grep -qx -- "#SBATCH --$line" out.txt || fail "no --$line in: $(cat out.txt)"
done
[ "$(grep -c '^#SBATCH -v$' out.txt)" = 2 ] || fail "options of both: $(cat out.txt)"
expect 0 '#SBATCH --time=2880' submit --slurm --dry-run --time 2d --memory 1G --throttle 1 --partition=d traces/keys
for line in mem=1024M 'array=0-2%1' partition=d account=c; do
	grep -qx -- "#SBATCH --$line" out.txt || fail "no --$line in place of the plan's: $(cat out.txt)"
done
[ ! -e traces/keys.shards ] && [ ! -e number ] || fail "something was submitted"

# Three tasks for all shards. The one in the middle has not run yet when the others are at their end.
expect 0 '^3 tasks: job 101$' submit --slurm traces/keys
grep -q '^merge: job 102$' out.txt || fail "no merge: $(cat out.txt)"
grep -q -- '--dependency=afterany:101 .*/merge.sbatch' 102.arguments || fail "merge: $(cat 102.arguments)"
for task in 0 2; do
	SLURM_ARRAY_TASK_ID=$task sh 101.sbatch || fail "task $task"
done
sh 102.sbatch 2>err.txt && fail "the merge says nothing"
grep -q 'have no result' err.txt || fail "the merge: $(cat err.txt)"
printf '101_0|COMPLETED\n101_1|RUNNING\n101_2|COMPLETED\n102|PENDING\n' >squeue.txt
expect 3 ' 4 running$' status traces/keys
expect 0 '^nothing to be submitted' submit --slurm traces/keys
printf '101_0|COMPLETED\n101_1|TIMEOUT\n101_2|COMPLETED\n102|PENDING\n' >squeue.txt
expect 1 "^shard 4: no result \\(Slurm's job 101_1: TIMEOUT\\)$" status traces/keys
expect 0 '^1 task: job 103$' submit --slurm traces/keys
grep -qx '#SBATCH --array=1%4' 103.sbatch || fail "submitted again: $(cat 103.sbatch)"
grep -q -- '--dependency=afterany:103 ' 104.arguments || fail "merge: $(cat 104.arguments)"
[ "$(cat scancel.log)" = 102 ] || fail "the merge that waits: $(cat scancel.log)"
printf '103_1|PENDING\n104|PENDING\n' >squeue.txt
expect 3 ' 4 waiting$' status traces/keys
SLURM_ARRAY_TASK_ID=1 sh 103.sbatch || fail "task 1"
expect 3 'merge: .* 104: PENDING' status traces/keys
sh 104.sbatch || fail "merge"
is_right keys

# Slurm has forgotten all, but its accounting has not.
: >squeue.txt
printf '101_0|COMPLETED\n101_1|CANCELLED by 0\n101_[3-7]|PENDING\n101_2.batch|FAILED\n103_1|OUT_OF_MEMORY\n104|COMPLETED\n' >sacct.txt
expect 0 '^merge: .* 104: COMPLETED$' status traces/keys
rm traces/keys.shards/000005.shard
expect 1 "^shard 5: no result \\(Slurm's job 103_1: OUT_OF_MEMORY\\)$" status traces/keys
expect 1 '"job": "103_1"' status --json traces/keys
: >sacct.fails
expect 1 '^shard 5: no result$' status traces/keys

# ---- When Slurm does not answer ---------------------------------------------------------------------------------

: >squeue.fails
expect 1 'squeue: does not know what runs: exit status 1' submit --slurm traces/keys
expect 1 'squeue: does not know' status traces/keys
rm squeue.fails sacct.fails
: >sbatch.fails
expect 1 'shards.sbatch: was not submitted: sbatch ends with status 3' submit --slurm traces/keys
rm sbatch.fails
(PATH=/nowhere "$SBTRACE" job submit --slurm traces/keys) 2>err.txt && fail "without Slurm"
grep -q 'squeue: cannot be run: No such file' err.txt || fail "without Slurm: $(cat err.txt)"
[ "$(cat number)" = 104 ] || fail "something was submitted"
echo '{"format": "x"}' >traces/keys.shards/submissions.json
expect 1 'submissions.json: expected "format": "sbtrace submissions 1", found x' status traces/keys
echo '[' >traces/keys.shards/submissions.json
expect 1 'submissions.json: line [12]: ' submit --slurm traces/keys
echo '{"format": "sbtrace submissions 1", "submissions": [{"array": "1"}]}' >traces/keys.shards/submissions.json
expect 1 'expected submissions with "array" and "shards_per_task"' status traces/keys

expect 2 'where to: --slurm or --kubernetes\?' submit traces/keys
expect 2 'where to' submit --slurm --kubernetes traces/keys
expect 2 'which plan' status
expect 2 'expected a time such as 30m' submit --slurm --time 30 traces/keys
expect 2 'the name of a partition' submit --slurm --partition 'a b' traces/keys
expect 1 'no plan' status traces/not-a-plan
expect 1 'does not say which image has sbtrace' submit --kubernetes traces/whole

# ---- Kubernetes -------------------------------------------------------------------------------------------------

# run_pods MANIFEST: what its pods would run, here; all indices, and then the merge.
run_pods()
{
	pods=$(jq '.items[0].spec.completions' "$1")
	for index in $(seq 0 $((pods - 1))); do
		jq -r '.items[0].spec.template.spec.containers[0].command[2]' "$1" >pod.sh
		JOB_COMPLETION_INDEX=$index sh pod.sh || fail "pod $index"
	done
	jq -r '.items[1].spec.template.spec.containers[0].command[2]' "$1" >pod.sh
	sh pod.sh >pod.txt || fail "pod that merges"
}

ln -s "$SBTRACE" bin/sbtrace
rm -f squeue.txt sacct.txt
plan pods "time: 4h, memory: 2G, throttle: 5, kubernetes: {image: \"r.example/sbtrace:1\", namespace: n, claim: c, mount: $dir/traces/}"
expect 0 '"kind": "List"' submit --kubernetes traces/pods
cp out.txt manifest.json
if command -v jq >/dev/null; then
	[ "$(jq -c '.items[0].spec | [.completions, .parallelism, .completionMode]' manifest.json)" = "[$count,5,\"Indexed\"]" ] ||
		fail "manifest: $(cat manifest.json)"
	[ "$(jq -c '.items[0].spec.template.spec | [.activeDeadlineSeconds, .containers[0].resources.limits.memory, .volumes[0].persistentVolumeClaim.claimName, .containers[0].volumeMounts[0].mountPath]' manifest.json)" = \
		"[14400,\"2147483648\",\"c\",\"$dir/traces/\"]" ] || fail "pods: $(cat manifest.json)"
	run_pods manifest.json
	is_right pods
	rm traces/pods.shards/000002.shard traces/pods.shards/000006.shard
	expect 0 '"completions": 2' submit --kubernetes traces/pods
	cp out.txt again.json
	run_pods again.json
	is_right pods
else
	echo "note: without jq, pods are not run"
fi
plan elsewhere "kubernetes: {image: i, claim: c, mount: /nowhere}"
expect 1 "traces/elsewhere is not below /nowhere, where pods see the volume" submit --kubernetes traces/elsewhere
plan alone 'tasks: 2, kubernetes: {image: i}'
expect 0 '"completions": 2' submit --kubernetes traces/alone
cp out.txt alone.json

cat >validate.py <<'END'
import sys, json, jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft7Validator.check_schema(schema)
for path in sys.argv[2:]:
    for error in jsonschema.Draft7Validator(schema).iter_errors(json.load(open(path))):
        print("%s: %s: %s" % (path, "/".join(map(str, error.path)), error.message))
END
if python3 -c 'import jsonschema' 2>/dev/null; then
	python3 validate.py "$SOURCE_DIR/tests/data/kubernetes-job.schema.json" manifest.json again.json alone.json >wrong.txt 2>&1
	[ ! -s wrong.txt ] || fail "manifests: $(cat wrong.txt)"
	# Mistakes that it must see.
	for change in s/completionMode/completionmode/ s/\"Indexed\"/\"indexed\"/ s/\"Never\"/\"Always\"/ 's/"completions": 10/"completions": "10"/' \
		s/claimName/claim/ 's/"2147483648"/2147483648/' 's/"name": "shards"/"name": "Shards_"/'; do
		sed "$change" manifest.json >wrong.json
		python3 validate.py "$SOURCE_DIR/tests/data/kubernetes-job.schema.json" wrong.json 2>&1 | grep -q wrong.json ||
			cmp -s manifest.json wrong.json || fail "the schema lets pass $change"
	done
else
	echo "note: without python3-jsonschema, manifests are not checked"
fi

# Kubernetes' own description: what fields there are, of what types, and which must be there.
models=${KUBERNETES_MODELS:-$SOURCE_DIR/build/npm/kubernetes/package/dist/gen/models}
if [ -r "$models/V1JobSpec.js" ]; then
	python3 "$SOURCE_DIR/tests/tools/kubernetes_models.py" "$models" manifest.json again.json alone.json >wrong.txt 2>&1
	[ ! -s wrong.txt ] || fail "manifests: $(cat wrong.txt)"
	for change in s/completionMode/completionmode/ s/\"template\"/\"templates\"/ 's/"completions": 10/"completions": "10"/' \
		s/claimName/claim/ 's/"2147483648"/2147483648/' s/persistentVolumeClaim/persistentVolume/ s/batch.v1/batch\\/v2/; do
		sed "$change" manifest.json >wrong.json
		cmp -s manifest.json wrong.json && fail "$change changes nothing"
		python3 "$SOURCE_DIR/tests/tools/kubernetes_models.py" "$models" wrong.json 2>&1 | grep -q '^wrong.json: items' ||
			fail "Kubernetes' description lets pass $change"
	done
else
	echo "note: without the models of Kubernetes' client (.ci/setup), manifests are not checked against its description"
fi

[ $failures = 0 ]
