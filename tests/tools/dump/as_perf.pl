# as_perf.pl - the output of `sbtrace dump --no-pad --no-time` as `perf script -D` would have said it, and the
# latter without what stands around it: a line "CPU OFFSET NAME VALUES" for each packet. PADs are left out: perf
# takes some of them for a part of the packet before them.
#
# Usage: perl as_perf.pl dump|perf <output
use strict;
use warnings;
no warnings 'portable'; # numbers of 64 bits

# What perf prints of a payload, from the columns that we print.
my %name = ('tnt.8' => 'TNT', 'tnt.64' => 'TNT', 'mode.exec' => 'MODE.Exec', 'mode.tsx' => 'MODE.TSX', stop => 'TraceSTOP');
my %values = (
	'tnt.8' => sub { "$_[0] (" . length($_[0]) . ')' },
	'mode.exec' => sub { my ($bits, $if) = $_[0] =~ /^(\d+)-bit( if)?/; 'IF:' . ($if ? 1 : 0) . " $bits" },
	tma => sub { my ($ctc, $fc) = $_[0] =~ /^ctc=(\S+) fc=(\d+)/; sprintf('CTC %s FC 0x%x', $ctc, $fc) },
	cbr => sub { sprintf('0x%x', $_[0]) },
	cyc => sub { sprintf('0x%x', $_[0]) },
	pip => sub { my ($cr3, $nr) = $_[0] =~ /^cr3=0x(\S+)( nr)?/; sprintf('0x%x (NR=%d)', hex($cr3) >> 5, $nr ? 1 : 0) },
	tip => sub {
		my ($ipc, $ip) = $_[0] =~ /^ipc=(\d) \?*([0-9a-f]*)$/;
		return 'no ip' if $ipc == 0;
		return sprintf('0x%x', $ipc == 3 ? hex(substr($ip, 4)) : hex($ip));
	},
);
$values{'tnt.64'} = $values{'tnt.8'};
$values{$_} = $values{tip} for 'tip.pge', 'tip.pgd', 'fup';

my ($cpu, $base) = (-1, 0);

sub from_dump {
	if (/^# cpu (\d+)/) { $cpu = $1; return; }
	my ($offset, $name, $payload) = /^([0-9a-f]+) +(\S+) +(?:(\S.*?) +)?\S+$/ or die "what is this: $_";
	$payload //= '';
	$payload = $values{$name}->($payload) if $values{$name};
	print "$cpu ", hex($offset), ' ', $name{$name} // uc($name), $payload eq '' ? '' : " $payload", "\n";
}

sub from_perf {
	if (/PERF_RECORD_AUXTRACE size: \S+ +offset: (\S+) .* cpu: (\d+)/) {
		($base, $cpu) = (hex($1), $2);
	} elsif (/^0x|^[0-9]/) { # another record
		$cpu = -1;
	} elsif ($cpu >= 0 && /^\.  ([0-9a-f]+):  (?:[0-9a-f]{2} )+ *(.*?) *$/) {
		print "$cpu ", $base + hex($1), " $2\n" unless $2 eq 'PAD';
	}
}

while (<STDIN>) {
	chomp;
	$ARGV[0] eq 'dump' ? from_dump() : from_perf();
}
