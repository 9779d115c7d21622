# beside.pl PERFS OURS: both are what perf script prints of recordings of the same time, PERFS from within that of
# OURS. On each CPU, PERFS has to be a stretch of OURS. Mappings and names of before are compared for processes
# that both found and that did nothing in between.
#
# perf record sometimes (here once in some 100 times) writes what a ring holds twice, at the end of one round and in
# the next one: the same bytes, times to the nanosecond included. That counts once, in PERFS; not in OURS.
use strict;
use warnings;

# [cpu][n] = { time, text }, and what was before: pid -> text -> 1.
sub load {
	my ($name, $may_repeat) = @_;
	my (%cpu, %before, %seen);
	my $repeated = 0;
	open my $file, '<', $name or die "$name: $!\n";
	while (<$file>) {
		next if /COMM: kworker/; # the kernel makes their names up anew each time
		next unless /^\s*(.*?)\s+(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d+):\s+PERF_RECORD_(\S+)\s*(.*?)\s*$/;
		my ($tid, $cpu, $time, $type, $rest) = ($2, $3, $4 * 1000000000 + $5, $6, $7);
		my $text = "$type $rest";
		if ($time) {
			next unless $type =~ /^(?:SWITCH|COMM|FORK|EXIT|MMAP2)/;
			# Who it is about stands in front, by number: the name is the reader's guess.
			if ($may_repeat && $seen{"$cpu $time $tid $text"}++) {
				++$repeated;
				next;
			}
			push @{ $cpu{ $cpu + 0 } }, { time => $time, text => "$tid $text" };
		} elsif ($type =~ /^MMAP2/ && $rest =~ m{^(\d+)/}) {
			my $pid = $1;
			# Build-ids of files that are deleted meanwhile are known to us alone.
			$text =~ s/ @ (\S+) [^\]]*\]/ @ $1]/;
			$before{$pid}{$text} = 1 unless $text =~ /\[vsyscall\]/;
		} elsif ($type =~ /^COMM/ && $text =~ m{:(\d+)/(\d+)$} && $1 == $2) {
			$before{$1}{$text} = 1;
		}
	}
	print "$repeated records are in $name twice\n" if $repeated;
	return (\%cpu, \%before);
}

my ($perfs, $perfs_before) = load($ARGV[0], 1);
my ($ours, $ours_before) = load($ARGV[1], 0);
my $failures = 0;

sub fail {
	print "FAILED: @_\n";
	++$failures;
}

# A thread that has ended loses its number when its parent takes note of it, which may be between one event's
# record of a switch and the other's: that says -1.
sub alike {
	my ($perf, $our) = @_;
	return 1 if $perf eq $our;
	return 0 unless $perf =~ /SWITCH/ && $our =~ /SWITCH/ && "$perf $our" =~ /-1/;
	my @perf = $perf =~ /(-?\w+)/g;
	my @our = $our =~ /(-?\w+)/g;
	return @perf == @our && !grep { $perf[$_] ne $our[$_] && $perf[$_] ne '-1' && $our[$_] ne '-1' } 0 .. $#perf;
}

# Where the stretch begins: at the first place, near in time, from which all is alike.
sub find {
	my ($cpu, $perf, $our) = @_;
	my $far;
	for my $begin (0 .. $#$our) {
		next if $our->[$begin]{time} < $perf->[0]{time} - 1000000;
		last if $our->[$begin]{time} > $perf->[0]{time} + 1000000;
		next unless alike($perf->[0]{text}, $our->[$begin]{text});
		my $alike = 0;
		++$alike while $alike < @$perf && $begin + $alike < @$our &&
		    alike($perf->[$alike]{text}, $our->[$begin + $alike]{text});
		return 1 if $alike == @$perf;
		$far = [ $begin, $alike ] if !$far || $alike > $far->[1];
	}
	return fail("CPU $cpu: perf's first record is not in ours: $perf->[0]{text}") unless $far;
	my ($begin, $alike) = @$far;
	fail("CPU $cpu: after $alike of ", scalar @$perf, " records perf has '$perf->[$alike]{text}' at ",
	    "$perf->[$alike]{time}, we have '", $our->[$begin + $alike]{text} // 'nothing', "' at ",
	    $our->[$begin + $alike]{time} // '-');
	return 0;
}

my ($compared, $execs) = (0, 0);
for my $cpu (sort keys %$perfs) {
	find($cpu, $perfs->{$cpu}, $ours->{$cpu} // []);
	$compared += @{ $perfs->{$cpu} };
	$execs += grep { $_->{text} =~ /COMM exec/ } @{ $perfs->{$cpu} };
}
fail("only $compared records, $execs execs") if $compared < 1000 || $execs < 48;

# Who did something between the two looks is not compared.
my %busy;
for my $records (values %$ours) {
	for (@$records) {
		$busy{$1} = 1 if $_->{text} =~ m{^-?\d+ (?:COMM|MMAP2)\D*(\d+)/};
		$busy{$1} = 1 if $_->{text} =~ m{^-?\d+ (?:COMM).*:(\d+)/\d+$};
		$busy{$1} = 1 if $_->{text} =~ m{^-?\d+ (?:FORK|EXIT)\((\d+):};
	}
}
# What perf says of a process of before. The names of the files of one that has another root begin with that root,
# as we see it in /proc; the kernel's own records, and ours, have what the process calls them.
sub by_perf {
	my ($perf, $our) = @_;
	my ($theirs, $ours) = map { (sort grep { m{^MMAP2 .*: \S+ /} } keys %$_)[0] // '' } $perf, $our;
	my ($long, $short) = map { m{: \S+ (/.*)$} ? $1 : '' } $theirs, $ours;
	my $size = length($long) - length($short);
	return keys %$perf unless $short && $size > 0 && substr($long, $size) eq $short;
	my $root = substr $long, 0, $size;
	return map { s{^(MMAP2 .*: \S+ )\Q$root\E/}{$1/}r } keys %$perf;
}

my ($same, $differ) = (0, 0);
for my $pid (sort keys %$perfs_before) {
	next if $busy{$pid} || !$ours_before->{$pid};
	my $a = join "\n", sort(by_perf($perfs_before->{$pid}, $ours_before->{$pid}));
	my $b = join "\n", sort keys %{ $ours_before->{$pid} };
	if ($a eq $b) {
		++$same;
	} else {
		++$differ;
		fail("process $pid was before, by perf:\n$a\nby us:\n$b") if $differ < 3;
	}
}
fail("no process of before could be compared") unless $same;
print "$compared records on ", scalar keys %$perfs, " CPUs, $execs execs: in both, in the same order; ",
    "$same processes of before alike\n" unless $failures;
exit($failures ? 1 : 0);
