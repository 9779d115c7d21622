#!/bin/sh
# Events of PMUs that sysfs describes are encoded as the installed perf encodes them, for three generations of
# processors: perf finds the same files in place of this machine's, and prints what it would ask the kernel for.
set -u
[ -z "${SANITIZE:-}" ] || { echo "skipped: with sanitizers, sb/test_event_encode encodes the same"; exit 77; }

command -v perf >/dev/null || exit 77
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. "$SOURCE_DIR/tests/tools/sysfs_tree.sh"
unshare -m true 2>/dev/null || { echo "skipped: no mount namespaces here"; exit 77; }

failures=0
compared=0
perf_words='type|config|config1|config2|exclude_user|exclude_kernel|exclude_hv|exclude_host'

# by_perf EVENT: what perf would ask for first; "refused" when it does not understand the event.
by_perf()
{
	unshare -m sh -c 'mount --bind "$1" /sys/bus/event_source/devices &&
		perf record -vv -o /dev/null -e "$2" true 2>&1' - "$dir/devices" "$1" |
		sed 's/{ bp_addr, config1 }/config1/; s/{ bp_len, config2 }/config2/' |
		awk '/^perf_event_attr:/ { on = 1; next } on && /^---/ { exit } on { print $1, $2 }' |
		grep -E "^($perf_words) " | sort
}

by_us()
{
	"$SBTRACE" events --sysfs "$dir/sys" --encode "$1" --target perf 2>"$dir/err" |
		grep -E "^($perf_words) " | awk '{ print $1, $2 }' | sort
}

compare()
{
	theirs=$(by_perf "$1")
	ours=$(by_us "$1" | grep -v '^config 0x0$')
	# It leaves out what is zero, and always leaves the hypervisor out.
	case $1 in
	*/)
		ours=$(printf '%s\n' "$ours" | grep -v exclude_hv)
		theirs=$(printf '%s\n' "$theirs" | grep -v exclude_hv)
		;;
	esac
	# Some perfs (6.1.187) set the lowest bit of a config that was given as a number: branches are off by that.
	case $1 in
	intel_pt/config=*)
		theirs=$(printf '%s\n' "$theirs" | sed '/^config 0x/s/1$/0/')
		;;
	esac
	compared=$((compared + 1))
	[ -n "$theirs" ] && [ "$theirs" = "$ours" ] && return
	echo "$machine: $1: perf has"
	echo "$theirs"
	echo "and sbtrace"
	echo "$ours"
	cat "$dir/err"
	failures=$((failures + 1))
}

for machine in broadwell skylake alderlake; do
	rm -rf "$dir/devices" "$dir/sys"
	mkdir -p "$dir/devices" "$dir/sys/bus/event_source"
	sysfs_tree "$SOURCE_DIR/tests/data/sysfs/$machine" "$dir/devices"
	ln -s "$dir/devices" "$dir/sys/bus/event_source/devices"
	for event in intel_pt// intel_pt//u intel_pt//k intel_pt//uk intel_pt/tsc/u intel_pt/tsc=0/u \
		intel_pt/noretcomp/u intel_pt/noretcomp=1,tsc=1/k intel_pt/branch=0/u intel_pt/pt=1,branch=1/u \
		intel_pt/config=0x400/u intel_pt/config=0x400,noretcomp/u; do
		compare "$event"
	done
	[ "$machine" = broadwell ] && continue
	for event in intel_pt/cyc/u intel_pt/cyc,cyc_thresh=4/u intel_pt/cyc=1,mtc=0/u intel_pt/mtc=0/k \
		intel_pt/mtc_period=0/u intel_pt/mtc_period=6/u intel_pt/mtc_period=9/u intel_pt/psb_period=0/u \
		intel_pt/psb_period=5/u intel_pt/mtc,mtc_period=3,psb_period=2,cyc/u intel_pt/cyc_thresh=0/u; do
		compare "$event"
	done
	[ "$machine" = alderlake ] && for event in intel_pt/ptw/u intel_pt/ptw,fup_on_ptw/u intel_pt/pwr_evt/u \
		intel_pt/pwr_evt,branch=0/u intel_pt/event/u intel_pt/notnt/u intel_pt/event,notnt,noretcomp/k \
		intel_pt/ptw,branch=0,tsc=0,mtc=0/u; do
		compare "$event"
	done
	[ "$machine" = skylake ] && for event in cpu/cpu-cycles/u cpu/instructions/k cpu/event=0xc0,umask=0x1,cmask=1,inv/u \
		cpu/mem-loads/u cpu/event=0x3c,edge/u cpu/config=0x1c2,config1=7/u uncore_imc_0/clockticks/ \
		uncore_imc_0/event=1,filter=0x5a/ uncore_imc_0/one-core,filter=3/ software/config=9/u; do
		compare "$event"
	done
done

echo "$compared events compared, $failures unlike"
[ "$failures" -eq 0 ] && [ "$compared" -ge 40 ]
