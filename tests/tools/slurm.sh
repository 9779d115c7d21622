# slurm.sh - a Slurm of the test's own: munged, slurmctld and the nodes n1 and n2, all here and below $dir/slurm, with
# two CPUs each. Sourced behind recordings.sh; leaves the test with status 77 where there is no Slurm, or none can run.
#
# A task of a node that died waits for cred_expire seconds before it runs again.
#
# Tasks wait while $dir/slurm/hold is there: what is to be seen running is still running when it is looked at.

for tool in munged slurmctld slurmd sbatch squeue scancel scontrol; do
	command -v $tool >/dev/null || { echo "skipped: Slurm is not installed ($tool)"; exit 77; }
done
slurm=$dir/slurm
mkdir "$slurm"
unset SLURM_JOB_ID SLURM_ARRAY_TASK_ID

# wait_for SECONDS COMMAND...: until the command succeeds.
wait_for()
{
	slurm_left=$(($1 * 5))
	shift
	until "$@"; do
		slurm_left=$((slurm_left - 1))
		[ $slurm_left -gt 0 ] || return 1
		sleep 0.2
	done
}

# processes NAME=VALUE: of this Slurm, those that also have the variable.
slurm_processes()
{
	grep -lzxF -- "SLURM_CONF=$slurm/slurm.conf" /proc/[0-9]*/environ 2>/dev/null | while read -r environ; do
		[ $# = 0 ] || grep -qzxF -- "$1" "$environ" 2>/dev/null || continue
		pid=${environ#/proc/}
		echo "${pid%/environ}"
	done
}

slurm_is_gone()
{
	[ -z "$(slurm_processes)" ]
}

slurm_stop()
{
	for slurm_signal in TERM KILL; do
		for pid in $(slurm_processes); do
			kill -$slurm_signal "$pid" 2>/dev/null
		done
		wait_for 10 slurm_is_gone && break
	done
	slurm_munged=$(cat "$slurm/munged.pid" 2>/dev/null) && kill "$slurm_munged" 2>/dev/null &&
		wait_for 10 sh -c "! kill -0 $slurm_munged 2>/dev/null"
}

# node_dies NODE: with all that runs on it, and Slurm gets to know.
node_dies()
{
	dying=
	for pid in $(slurm_processes "SLURMD_NODENAME=$1"); do
		# Whoever is above it would tell Slurm what became of it, and so goes first.
		while [ "${pid:-1}" -gt 1 ] && [ "$pid" != "$(cat "$slurm/slurmd.$1.pid")" ]; do
			dying="$pid $dying"
			pid=$(awk '$1 == "PPid:" { print $2 }' "/proc/$pid/status" 2>/dev/null)
		done
	done
	dying="$(cat "$slurm/slurmd.$1.pid") $dying"
	# shellcheck disable=SC2086 # words
	kill -KILL $dying 2>/dev/null
	scontrol update "nodename=$1" state=down reason=test
}

slurm_nodes_are_idle()
{
	[ "$(sinfo -h -N -o '%t' 2>/dev/null | grep -c '^idle')" = 2 ]
}

slurm_fails()
{
	tail -n 5 "$slurm"/*.log
	echo "skipped: Slurm does not start here: $*"
	exit 77
}

trap 'slurm_stop; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

slurm_port=$((20000 + $$ % 3000 * 4))
cat >"$slurm/slurm.conf" <<END
ClusterName=sbtrace
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$slurm_port
AuthType=auth/munge
AuthInfo=socket=$slurm/munge.sock,cred_expire=30
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool.%n
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/slurmd.%n.pid
SlurmctldLogFile=$slurm/slurmctld.log
SlurmdLogFile=$slurm/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
TaskProlog=$slurm/prolog
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=600
MessageTimeout=60
BatchStartTimeout=300
KillWait=2
MinJobAge=3600
NodeName=n[1-2] NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=[$((slurm_port + 1))-$((slurm_port + 2))] CPUs=2 RealMemory=1000
PartitionName=all Nodes=n[1-2] Default=YES MaxTime=60 State=UP
END
cat >"$slurm/prolog" <<END
#!/bin/sh
left=3000
while [ -e "$slurm/hold" ] && [ \$left -gt 0 ]; do
	left=\$((left - 1))
	sleep 0.2
done
END
chmod +x "$slurm/prolog"
mkdir "$slurm/state" "$slurm/spool.n1" "$slurm/spool.n2"
(umask 077 && head -c 128 /dev/urandom >"$slurm/munge.key")
munged --force --key-file="$slurm/munge.key" --socket="$slurm/munge.sock" --pid-file="$slurm/munged.pid" \
	--log-file="$slurm/munged.log" --seed-file="$slurm/munged.seed" >"$slurm/start.log" 2>&1 || slurm_fails munged
export SLURM_CONF="$slurm/slurm.conf"
slurmctld -i >"$slurm/start.log" 2>&1 || slurm_fails slurmctld
for slurm_node in n1 n2; do
	slurmd -N $slurm_node >"$slurm/start.log" 2>&1 || slurm_fails "slurmd of $slurm_node"
done
wait_for 60 slurm_nodes_are_idle || slurm_fails "the nodes are not idle: $(sinfo -N)"
