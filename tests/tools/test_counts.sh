#!/bin/sh
# Exact counts of instructions and of the ways between them, held against the truth of software recordings: what
# each thread executed, one instruction after the other. Addresses become places in files by perf's word on
# mappings and readelf's on segments, not ours.
set -u
[ -z "${SANITIZE:-}" ] || { echo "skipped: with sanitizers, tools/test_job_shard_counts and tools/test_job_plan count"; exit 77; }
. "$SOURCE_DIR/tests/tools/recordings.sh"
workloads=$BUILD_DIR/tests/workloads

command -v perf >/dev/null || { echo "skipped: no perf here"; exit 77; }

# expected NAME: "insn FILE ADDRESS COUNT" and "pair FILE ADDRESS FILE ADDRESS COUNT" of the truth, in decimal.
expected()
{
	perf script -i "$dir/$1.data" --show-mmap-events --show-task-events -F comm 2>/dev/null >"$dir/events"
	sed -n 's/.*FORK(\([0-9]*\):[0-9]*):(\([0-9]*\):.*/\1 \2/p' "$dir/events" | awk '$1 != $2' >"$dir/forks"
	sed -n 's/.*MMAP2* \(-*[0-9]*\)\/.*\[\(0x[0-9a-f]*\)(\(0x[0-9a-f]*\)) @ \([0-9a-fx]*\) .*\]: ..x. \(.*\)/\1 \2 \3 \4 \5/p' \
		"$dir/events" >"$dir/maps"
	cut -d' ' -f5 "$dir/maps" | sort -u | while read -r file; do
		[ -f "$dir/$1.root$file" ] &&
			readelf -lW "$dir/$1.root$file" | awk -v file="$file" '$1 == "LOAD" && / R E / { print file, $2, $3, $5 }'
	done >"$dir/segments"
	perl -e '
		my ($maps, $forks, $segments, $truth) = @ARGV;
		my (%maps, %parent, %segments, %last, %insn, %pair, %known);
		open my $in, "<", $maps or die;
		while (<$in>) { my ($pid, @map) = split; push @{$maps{$pid}}, [map({ oct } @map[0 .. 2]), $map[3]]; }
		open $in, "<", $forks or die;
		while (<$in>) { my ($child, $parent) = split; $parent{$child} = $parent; }
		open $in, "<", $segments or die;
		while (<$in>) { my ($file, @at) = split; push @{$segments{$file}}, [map { hex } @at]; }
		sub place
		{
			my ($pid, $ip) = @_;
			for my $map (reverse @{$maps{$pid} // []}) {
				my ($begin, $size, $offset, $file) = @$map;
				next if $ip < $begin || $ip >= $begin + $size;
				my $at = $ip - $begin + $offset;
				for (@{$segments{$file} // []}) {
					return "$file\t" . ($at - $_->[0] + $_->[1]) if $at >= $_->[0] && $at < $_->[0] + $_->[2];
				}
				return "$file\t$at";
			}
			# A child has what its parent had mapped.
			return $parent{$pid} ? place($parent{$pid}, $ip) : "[unknown]\t$ip";
		}
		open $in, "<", $truth or die;
		while (<$in>) {
			my ($cpu, $pid, $tid, $tsc, $ip) = split;
			# Only the last mapping at an address counts: nothing is mapped twice here.
			my $place = $known{"$pid $ip"} //= place($pid, hex $ip);
			$insn{$place}++;
			$pair{"$last{$tid}\t$place"}++ if defined $last{$tid};
			$last{$tid} = $place;
		}
		print "insn\t$_\t$insn{$_}\n" for keys %insn;
		print "pair\t$_\t$pair{$_}\n" for keys %pair;' "$dir/maps" "$dir/forks" "$dir/segments" "$dir/$1.truth" >"$dir/expected"
}

# compare COUNTS: all that we count is so; what we do not tell as a way was straight on. A way that was interrupted
# right behind the branch counts, too, when execution came back: the truth has something else in between.
compare()
{
	perl -e '
		my ($expected, $counts) = @ARGV;
		my (%insn, %pair, %branch, %kind, $wrong, $ninsns, $nedges);
		open my $in, "<", $expected or die;
		while (<$in>) {
			chomp;
			my ($what, @of) = split /\t/;
			my $count = pop @of;
			($what eq "insn" ? \%insn : \%pair)->{join "\t", @of} = $count;
		}
		sub wrong { print "@_\n" if $wrong++ < 10; }
		open $in, "<", $counts or die;
		my @rows = map { chomp; [split /\t/] } <$in>;
		my %interrupted;
		for (@rows) { $interrupted{"$_->[2]\t$_->[3]"} += $_->[6] if $_->[0] eq "edge" && $_->[1] eq "async"; }
		for (@rows) {
			my @of = @$_;
			if ($of[0] eq "insn") {
				my $place = "$of[1]\t" . hex $of[2];
				wrong("insn", @of, "expected", $insn{$place} // 0) if ($insn{$place} // 0) != $of[3];
				delete $insn{$place};
				$ninsns++;
			} else {
				my $pair = "$of[2]\t" . hex($of[3]) . "\t$of[4]\t" . hex $of[5];
				my $more = $of[6] - ($pair{$pair} // 0);
				my $may = $of[1] eq "async" ? 0 : $interrupted{"$of[2]\t$of[3]"} // 0;
				wrong("edge", @of, "expected", $pair{$pair} // 0) if $more < 0 || $more > $may;
				delete $pair{$pair};
				$branch{"$of[2]\t" . hex $of[3]} = 1 if $of[1] ne "async";
				$kind{$of[1]} += $of[6];
				$nedges++;
			}
		}
		wrong("insn is missing:", $_) for keys %insn;
		for (keys %pair) {
			my ($file, $from, $to_file, $to) = split /\t/;
			wrong("edge is missing:", $_, $pair{$_}) if $file ne $to_file || $to <= $from || $to > $from + 15 ||
				$branch{"$file\t$from"};
		}
		print "$ninsns instructions, $nedges edges: ", join(", ", map { "$kind{$_} $_" } sort keys %kind), "\n";
		exit($wrong || !$ninsns || !$nedges);' "$dir/expected" "$1"
}

check()
{
	name=$1
	record "$@" || return
	for jobs in 1 3; do
		"$SBTRACE" replay --root "$dir/$name.root" --no-host-root --jobs $jobs --sink counts="$dir/$name.counts$jobs" \
			"$dir/$name.data" 2>"$dir/$name.err" || fail "replay $name: $(cat "$dir/$name.err")"
	done
	cmp "$dir/$name.counts1" "$dir/$name.counts3" || fail "$name: counts depend on the number of jobs"
	expected "$name"
	compare "$dir/$name.counts1" >"$dir/log" || fail "$name: $(cat "$dir/log")"
	echo "$name: $(tail -1 "$dir/log")"
}

check threads -c 2 --mtc -- "$workloads/mt" 100
check forkdl -c 2 --mtc -- "$workloads/forkdl"
check exec -c 2 --mtc -- "$workloads/execer"
command_status=143
check signal -c 2 --mtc -- "$workloads/sig"
command_status=0
check pipeline -c 4 --mtc -- sh -c 'cat /etc/passwd | tac | head -n 3 | wc -c'

# Each process by itself: what only its lines of the truth say. All of them together are what is counted of all.
"$SBTRACE" replay --root "$dir/pipeline.root" --no-host-root --jobs 2 --sink counts="$dir/by" --with by=process \
	"$dir/pipeline.data" 2>"$dir/err" || fail "by process: $(cat "$dir/err")"
cut -f 2- "$dir/by" | perl -F'\t' -lane '$n{join "\t", @F[0 .. $#F - 1]} += $F[-1]; END { print "$_\t$n{$_}" for keys %n }' |
	sort >"$dir/sum"
sort "$dir/pipeline.counts1" | cmp - "$dir/sum" || fail "the sum over all processes is not what all have"
processes=$(cut -f 1 "$dir/by" | sort -u)
[ "$(echo "$processes" | wc -l)" -eq 5 ] || fail "processes: $processes"
cut -f 1 "$dir/by" | sort -c -n || fail "not by process"
cp "$dir/pipeline.truth" "$dir/truth.all"
# The sum over all five is right; of the first and the last one, it is shown that each has its own.
for process in $(echo "$processes" | sed -n '1p;$p'); do
	awk -F '\t' -v process="$process" '$2 == process' "$dir/truth.all" >"$dir/pipeline.truth"
	expected pipeline
	grep "^$process	" "$dir/by" | cut -f 2- >"$dir/one"
	compare "$dir/one" >"$dir/log" || fail "process $process: $(cat "$dir/log")"
done

# The kernel's, which is at the addresses of the truth; interrupts lead to where the kernel takes them.
kernel=$CORPUS_DIR/kernel-kaslr-modules
if [ -f "$kernel/perf.data" ] || [ -d "$kernel/perf.data" ]; then
	"$SBTRACE" replay --root "$kernel/root" --no-host-root --sink counts="$dir/kernel" "$kernel/perf.data" 2>/dev/null
	zstd -dcq "$kernel"/truth.cpu*.tsv.zst | "$BUILD_DIR/tests/lines" count 4 | grep '^ffff' | sort >"$dir/expected"
	awk '$1 == "insn" && $2 == "[kernel]" { print $3, $4 }' "$dir/kernel" | sort | diff "$dir/expected" - >"$dir/log" ||
		fail "kernel: $(head -5 "$dir/log")"
	[ "$(wc -l <"$dir/expected")" -ge 100000 ] || fail "only $(wc -l <"$dir/expected") instructions of the kernel"
	[ "$(awk '$2 == "async" { print $6 }' "$dir/kernel" | sort -u | wc -l)" -le 12 ] || fail "interrupts go anywhere"
else
	echo "not tried: the kernel, as there is no recording in $kernel"
fi

# One file's alone.
"$SBTRACE" replay --root "$dir/threads.root" --no-host-root --sink counts="$dir/some" --with file='*/mt' \
	"$dir/threads.data" 2>/dev/null
grep '/mt	' "$dir/threads.counts1" | grep -P '^insn|^edge\t[a-z]*\t[^\t]*/mt\t' | cmp - "$dir/some" ||
	fail "only one file's"

[ $failures -eq 0 ]
