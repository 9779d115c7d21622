#!/usr/bin/perl
# timeline_check.pl chrome|perfetto FILE: checks a timeline - JSON, or what `protoc --decode` made of protocol
# buffers - and prints how often each function is in it, "NAME COUNT", sorted.
#
# Slices of a thread lie one in the other or apart; every thread and process has a name; each CPU runs one
# thread at a time, and functions of threads begin on CPUs that run them.
use strict;
use warnings;

my ($form, $file) = @ARGV;
my (%slices, %name, %runs, $wrong);

sub wrong
{
	print "WRONG: @_\n" if $wrong++ < 5;
}

# Begins before ends, the longer first.
sub check_nesting
{
	my ($track, $slices) = @_;
	my @open;
	for my $slice (sort { $a->[0] <=> $b->[0] || $b->[1] <=> $a->[1] } @$slices) {
		pop @open while @open && $open[-1][1] <= $slice->[0];
		wrong("$track: [@$slice] is not inside of [@{$open[-1]}]") if @open && $slice->[1] > $open[-1][1];
		push @open, $slice;
	}
}

sub check_runs
{
	for my $cpu (sort keys %runs) {
		my $last = 0;
		for my $run (sort { $a->[0] <=> $b->[0] } @{$runs{$cpu}}) {
			wrong("CPU $cpu runs two at a time: [@$run]") if $run->[0] < $last;
			$last = $run->[1];
		}
	}
	my %of;
	push @{$of{$_->[2]}}, $_ for map { @$_ } values %runs;
	my ($inside, $all) = (0, 0);
	for my $track (keys %slices) {
		my @of = sort { $a->[0] <=> $b->[0] } @{$of{(split /\//, $track)[1]} || []};
		my $at = 0;
		for my $slice (sort { $a->[0] <=> $b->[0] } @{$slices{$track}}) {
			$at++ while $at < @of && $of[$at][1] < $slice->[0];
			$all++;
			$inside++ if $at < @of && $of[$at][0] <= $slice->[0];
		}
	}
	wrong("only $inside of $all functions begin while their thread runs") if $inside < 0.98 * $all;
}

# In ns, as whole numbers.
sub ns
{
	my ($whole, $part) = split /\./, shift;
	return $whole * 1000 + substr(($part // '') . '000', 0, 3);
}

sub read_chrome
{
	require Cpanel::JSON::XS;
	local $/;
	open my $handle, '<', $file or die "$file: $!";
	my $text = <$handle>;
	$text =~ s/("(?:ts|dur)":)([0-9.]+)/$1"$2"/g; # as they are written
	for my $event (@{Cpanel::JSON::XS->new->decode($text)->{traceEvents}}) {
		my $track = "$event->{pid}/$event->{tid}";
		$name{$event->{name} eq 'thread_name' ? $track : $event->{pid}} = $event->{args}{name} if $event->{ph} eq 'M';
		next if $event->{ph} ne 'X';
		my $begin = ns($event->{ts});
		my $slice = [$begin, $begin + ns($event->{dur}), $event->{name}];
		wrong("$track has no name") if !defined $name{$track} || !defined $name{$event->{pid}};
		push @{$slices{$track}}, $slice if $event->{cat} eq 'function';
		push @{$runs{$event->{tid}}}, [@$slice[0, 1], $event->{args}{tid}] if $event->{cat} eq 'cpu';
	}
}

# A message as a hash of lists, from its text.
sub read_message
{
	my ($handle) = @_;
	my %message;
	while (my $line = <$handle>) {
		return \%message if $line =~ /^\s*\}/;
		if ($line =~ /^\s*(\w+) \{/) {
			push @{$message{$1}}, read_message($handle);
		} elsif ($line =~ /^\s*(\w+): "(.*)"$/ || $line =~ /^\s*(\w+): (.*)$/) {
			wrong("a field that is not in the schema: $line") if $1 =~ /^[0-9]/;
			push @{$message{$1}}, $2;
		}
	}
	return \%message;
}

sub take_switch
{
	my ($bundle, $running) = @_;
	my $event = $bundle->{event}[0];
	my ($cpu, $time, $switch) = ($bundle->{cpu}[0], $event->{timestamp}[0], $event->{sched_switch}[0]);
	my $last = $running->{$cpu};
	wrong("CPU $cpu: a switch from who does not run") if $last && $last->[2] != $switch->{prev_pid}[0];
	push @{$runs{$cpu}}, [$last->[0], $time, $last->[2]] if $last && $last->[2];
	$running->{$cpu} = [$time, undef, $switch->{next_pid}[0]];
}

sub read_perfetto
{
	my (%function, %open, %track, %running, $cleared);
	open my $handle, '<', $file or die "$file: $!";
	while (my $line = <$handle>) {
		wrong("not a packet: $line") if $line !~ /^packet \{/;
		my $packet = read_message($handle);
		my $event = $packet->{track_event} && $packet->{track_event}[0];
		my $track = $packet->{track_descriptor} && $packet->{track_descriptor}[0];
		$cleared ||= ($packet->{sequence_flags}[0] // 0) & 1;
		for my $entry (map { @{$_->{event_names} || []} } @{$packet->{interned_data} || []}) {
			wrong("name $entry->{iid}[0] comes twice") if defined $function{$entry->{iid}[0]};
			$function{$entry->{iid}[0]} = $entry->{name}[0];
		}
		if ($track) {
			wrong("track $track->{uuid}[0] comes twice") if defined $track{$track->{uuid}[0]};
			wrong("track $track->{uuid}[0] is in none that is known")
				if $track->{parent_uuid} && !defined $track{$track->{parent_uuid}[0]};
			my $thread = $track->{thread} && $track->{thread}[0];
			$track{$track->{uuid}[0]} = $thread ? "$thread->{pid}[0]/$thread->{tid}[0]" : 'other';
		}
		take_switch($packet->{ftrace_events}[0], \%running) if $packet->{ftrace_events};
		next if !$event;
		my $uuid = $event->{track_uuid}[0];
		wrong("an event before the state is clear, or on a track that is not known") if !$cleared || !defined $track{$uuid};
		if ($event->{type}[0] eq 'TYPE_SLICE_BEGIN') {
			my $name = $event->{name} ? $event->{name}[0] : $function{$event->{name_iid}[0]};
			wrong("a function without a name") if !defined $name;
			push @{$open{$uuid}}, [$packet->{timestamp}[0], undef, $name];
		} elsif ($event->{type}[0] eq 'TYPE_SLICE_END') {
			my $slice = pop @{$open{$uuid}};
			wrong("an end without a beginning") if !$slice;
			$slice->[1] = $packet->{timestamp}[0];
			wrong("a slice ends before it begins") if $slice->[1] < $slice->[0];
			push @{$slices{$track{$uuid}}}, $slice if $track{$uuid} ne 'other';
		}
	}
	wrong("slices stay open") if grep { @$_ } values %open;
}

$form eq 'chrome' ? read_chrome() : read_perfetto();
check_nesting($_, $slices{$_}) for keys %slices;
check_runs();
my %count;
$count{$_->[2]}++ for map { @$_ } values %slices;
print "$_ $count{$_}\n" for sort keys %count;
wrong("no functions, or no runs") if !%count || !%runs;
exit($wrong ? 1 : 0);
