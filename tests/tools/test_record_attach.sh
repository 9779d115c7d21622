#!/bin/sh
# A recorder is attached to a process that begins threads and processes all the time: none is missed. A recording of
# the whole machine tells which there were. By hand, more often: ATTACH_RUNS=100 ctest -R test_record_attach
set -u
. "$SOURCE_DIR/tests/tools/record/live.sh"
storm=$BUILD_DIR/tests/workloads/storm

# The storm goes on until the recorder has begun, and for a while.
cat >"$dir/attach" <<'END'
"$1" 500 "$2/begun" &
storm=$!
echo $storm >"$2/pid"
{
	until "$SBTRACE" dump --sideband "$2"/one.data.tmp.* 2>/dev/null | grep -q '	FINISHED_ROUND' || [ -e "$2/over" ]; do
		sleep 0.02
	done
	: >"$2/begun"
} &
sleep "0.0$3"
"$SBTRACE" record -q --sideband-only -p $storm -o "$2/one.data"
: >"$2/over"
wait
END
run=0
while [ $run -lt "${ATTACH_RUNS:-3}" ]; do
	i=$((run * 4 % 9 + 1))
	run=$((run + 1))
	rm -f "$dir/begun" "$dir/over"
	"$SBTRACE" record -q -a --sideband-only --ring 32M -o "$dir/all.data" -- sh "$dir/attach" "$storm" "$dir" $i \
		2>"$dir/err" || fail "recording: $(cat "$dir/err")"
	for name in all one; do
		"$SBTRACE" dump --sideband "$dir/$name.data" 2>/dev/null >"$dir/$name.text"
	done
	perl -e 'use strict; use warnings;
		my ($pid, $all, $one) = @ARGV;
		sub load {
			open my $file, "<", $_[0] or die;
			my @tasks;
			while (<$file>) {
				my @field = split /\t/;
				push @tasks, [ $field[3], $1, $2, $3, $4 ] if @field > 4 && $field[3] ne "0" &&
				    $field[4] =~ /^(FORK|EXIT) pid (\d+) tid (\d+) ppid (\d+)/;
			}
			return sort { $a->[0] <=> $b->[0] } @tasks;
		}
		my @told = load($one);
		my (%told, %tree, $count, $missed);
		$told{"$_->[1] $_->[3]"} = 1 for @told;
		$tree{$pid} = 1;
		for (load($all)) {
			my ($time, $type, $of, $tid, $parent) = @$_;
			$tree{$of} = 1 if $type eq "FORK" && $tree{$parent};
			next if !$tree{$of} || $time < $told[0][0];
			++$count;
			++$missed if !$told{"$type $tid"};
		}
		die "$missed of $count forks and exits are missed\n" if $missed;
		die "it was over before\n" if !$count;' "$(cat "$dir/pid")" "$dir/all.text" "$dir/one.text" || fail "attached after 0.0$i s"
done
[ $failures -eq 0 ]
