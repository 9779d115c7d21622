# children.pl bomb PROCESSES PROGRAMS: reads what sbtrace dump --sideband prints. The process that became
# `bomb` has started so many others, each of which ran and ended, and so many of which ran a program.
#
# children.pl known: whoever does something once the state is complete - behind the first round - is known: from the
# state, or by a fork. And nobody is started who lives already.
use strict;
use warnings;

my ($mode, $processes, $programs) = @ARGV;
my (@records, $complete);
while (<STDIN>) {
	next unless /^0x([0-9a-f]+)\t\S+\t(\S+)\t(\S+)\t([A-Z0-9_]+) ?(.*)/;
	my ($offset, $who, $time, $type, $text) = (hex $1, $2, $3, $4, $5);
	$complete //= $offset if $type eq 'FINISHED_ROUND';
	next unless $who =~ m{^(-?\d+)/(-?\d+)$};
	my %record = (offset => $offset, pid => $1, tid => $2, time => $time, type => $type, fields => {});
	$record{fields}{$1} = $2 while $text =~ /\G\s*(pid|tid|ppid|ptid) (-?\d+)/gc;
	$record{fields}{exec} = $text =~ /\bexec\b.*name|name.*" exec/ ? 1 : 0;
	$record{fields}{name} = $1 if $text =~ /name "([^"]*)"/;
	$record{fields}{in} = $text =~ /^in\b/;
	push @records, \%record;
}
# In order of time; those of before in the order in which they stand.
my @order = sort { $records[$a]{time} <=> $records[$b]{time} || $a <=> $b } 0 .. $#records;
my $failures = 0;

sub fail {
	print "FAILED: @_\n" if ++$failures <= 5;
}

sub bomb {
	my ($bomb, %child);
	for my $i (@order) {
		my ($record, $f) = ($records[$i], $records[$i]{fields});
		my $type = $record->{type};
		if ($type eq 'COMM' && $f->{exec}) {
			$bomb = $f->{pid} if $f->{name} eq 'bomb';
			$child{ $f->{pid} }{exec} = 1 if $child{ $f->{pid} };
		} elsif ($type eq 'FORK' && defined $bomb && $f->{ppid} == $bomb) {
			fail("$f->{pid} is started twice") if $child{ $f->{pid} };
			$child{ $f->{pid} } = {};
		} elsif ($type eq 'EXIT' && $child{ $f->{pid} }) {
			$child{ $f->{pid} }{ended} = 1;
		} elsif ($type eq 'SWITCH_CPU_WIDE' && $f->{in} && $child{ $record->{pid} }) {
			$child{ $record->{pid} }{ran} = 1;
		}
	}
	return fail('there is no bomb') unless defined $bomb;
	my $count = keys %child;
	my %had;
	for my $child (values %child) {
		++$had{$_} for keys %$child;
	}
	fail("$count forks of $processes") if $count != $processes;
	fail("$had{$_} of $processes processes have $_") for grep { ($had{$_} // 0) != $processes } qw(ended ran);
	fail(($had{exec} // 0), " execs of $programs") if ($had{exec} // 0) != $programs;
	print "$count processes, each forked, run and ended, $had{exec} execs\n" unless $failures;
}

sub known {
	my (%lives, %known, $late, $forks);
	for my $i (@order) {
		my ($record, $f) = ($records[$i], $records[$i]{fields});
		my $type = $record->{type};
		if ($type eq 'FORK') {
			fail("$f->{tid} is started at $record->{time}, and lives") if $lives{ $f->{tid} } && $record->{time};
			$lives{ $f->{tid} } = $known{ $f->{tid} } = 1;
			++$forks if $record->{time};
			next;
		}
		my $tid = $type =~ /^(?:COMM|EXIT|MMAP2|NAMESPACES)$/ ? $f->{tid} : $record->{tid};
		if ($record->{offset} > $complete && $tid > 0) {
			++$late;
			fail("$type of $tid at $record->{time}, of whom nothing is known") unless $known{$tid};
		}
		# It still has to be switched out.
		delete $lives{$tid} if $type eq 'EXIT';
	}
	fail('too little happened') unless $late && $forks;
	print "$late records and $forks forks, all of them of threads that are known\n" unless $failures;
}

$mode eq 'bomb' ? bomb() : known();
exit($failures ? 1 : 0);
