#!/bin/sh
# Software recordings replay to exactly what was executed: every line of the truth, per CPU, in every column
# but the time; time never goes back, and its distance to the truth is printed for each kind of timing.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=exact
workloads=$BUILD_DIR/tests/workloads

check()
{
	name=$1
	record "$@" || return
	"$SBTRACE" replay --root "$dir/$name.root" --no-host-root --sink insn="$dir/$name.flow" \
		--sink summary="$dir/$name.summary" "$dir/$name.data" >/dev/null 2>"$dir/$name.err" ||
		{ fail "replay $name: $(cat "$dir/$name.err")"; return; }
	"$BUILD_DIR/tests/lines" equal "$dir/$name.truth" "$dir/$name.flow" >"$dir/verdict" ||
		{ fail "$name: $(cat "$dir/verdict")"; return; }
	echo "$name: $(cat "$dir/verdict")"
	rm -rf "$dir/$name".*
}

# each TAG OPTIONS...: records and checks every small workload with these options.
each()
{
	tag=$1
	shift
	check "true$tag" "$@" -- /bin/true
	# shellcheck disable=SC2086 # a word, or none
	check "threads$tag" "$@" -- "$workloads/mt" $rounds
	check "forkdl$tag" "$@" -- "$workloads/forkdl"
	check "exec$tag" "$@" -- "$workloads/execer"
	command_status=143 # raises SIGTERM at its end
	check "signal$tag" "$@" -- "$workloads/sig"
	command_status=0
}

pipeline='cat /etc/passwd | sort | head -n 3 | wc -c'
rounds=100
[ -z "${EXACT_ALL:-}" ] || rounds=
script='my %h; $h{$_ % 7} += $_ for 1 .. 300; print join(",", map { "$_=$h{$_}" } sort keys %h), "\n"'

# With EXACT_ALL set, every workload with every number of CPUs and every set of options: some ten minutes. What is exact
# does not depend on sanitizers: with them, each option is there, but not with each of the others, and small workloads on two CPUs.
for cpus in 1 2 4; do
	[ $cpus -ne 2 ] && [ -n "${SANITIZE:-}" ] || each "-$cpus" -c $cpus --mtc
	if [ $cpus -eq 2 ] || [ -n "${EXACT_ALL:-}" ]; then
		check "pipeline-$cpus" -c $cpus --mtc -- sh -c "$pipeline"
	else
		check "relay-$cpus" -c $cpus --mtc -- "$workloads/relay" 100
	fi
	[ $cpus -eq 2 ] || [ -n "${EXACT_ALL:-}" ] || continue
	for retcomp in '' --no-retcomp; do
		for timing in '' --mtc '--mtc --cyc' --tnt64 '--mtc --tnt64' '--mtc --cyc --tnt64'; do
			tag=-$cpus$(echo "$retcomp $timing" | tr -d ' ')
			if [ -n "${EXACT_ALL:-}" ]; then
				# shellcheck disable=SC2086
				each "$tag" -c $cpus $retcomp $timing
				# shellcheck disable=SC2086
				check "pipeline$tag" -c $cpus $retcomp $timing -- sh -c "$pipeline"
			elif [ -z "${SANITIZE:-}" ] || [ -z "$retcomp" ] || [ "$timing" = '--mtc --cyc --tnt64' ]; then
				# shellcheck disable=SC2086
				check "threads$tag" -c $cpus $retcomp $timing -- "$workloads/mt" 100
			fi
		done
	done
done
check overflow -c 2 --mtc --overflow-every 2000 -- "$workloads/mt" 200
check psb -c 2 --mtc --psb-period 256 -- "$workloads/mt" 100
check perl -c 2 --mtc -- perl -e "$script"
[ $failures -eq 0 ]
