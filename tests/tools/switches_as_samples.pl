#!/usr/bin/perl
# switches_as_samples.pl IN OUT - the same recording as a perf that cannot ask for SWITCH records would have made
# it: each SWITCH_CPU_WIDE record that says who comes next becomes a SAMPLE of sched:sched_switch, whose event and
# format are added; AUXTRACE_INFO says so. The index of AUX data is left out.
use strict;
use warnings;

my ($in, $out) = @ARGV;
open my $file, '<:raw', $in or die "$in: $!\n";
my $old = do { local $/; <$file> };

my $format = <<'END';
name: sched_switch
ID: 372
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:char prev_comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
	field:int prev_prio;	offset:28;	size:4;	signed:1;
	field:long prev_state;	offset:32;	size:8;	signed:1;
	field:char next_comm[16];	offset:40;	size:16;	signed:0;
	field:pid_t next_pid;	offset:56;	size:4;	signed:1;
	field:int next_prio;	offset:60;	size:4;	signed:1;

print fmt: "prev_pid=%d next_pid=%d", REC->prev_pid, REC->next_pid
END

sub file { return pack('Q<', length $_[0]) . $_[0] }

my $tracing = "\x17\x08\x44tracing0.6\0" . pack('CCL<', 0, 8, 4096)
	. "header_page\0" . file('') . "header_event\0" . file('') . pack('L<', 0)
	. pack('L<', 1) . "sched\0" . pack('L<', 1) . file($format) . pack('L<L<Q<', 0, 0, 0);

# ---- The records

my ($type_tid, $type_time, $type_cpu, $type_raw, $type_identifier) = (1 << 1, 1 << 2, 1 << 7, 1 << 10, 1 << 16);
my $first_id = 9000;

# The trailer of all events: pid, tid, time, cpu, identifier.
sub as_sample {
	my $record = shift;
	my ($next, $pid, $tid, $time, $cpu) = unpack 'x12 l< l< l< Q< L<', $record;
	my $raw = pack 'S<CCl< a16 l<l<q< a16 l<l<', 372, 0, 0, $tid, 'prev', $tid, 120, 0, 'next', $next, 120;
	my $body = pack('Q< l<l< Q< L<L<', $first_id + $cpu, $pid, $tid, $time, $cpu, 0) . pack('L<', length($raw) + 4) . $raw . pack('L<', 0);
	return pack('L<S<S<', 9, 1, 8 + length $body) . $body;
}

my ($attr_size, $attrs, $attrs_size, $data, $data_size) = unpack 'x16 Q< Q<Q< Q<Q<', $old;
my $records = '';
my ($ncpus, $nsamples) = (1, 0);
for (my $at = $data; $at < $data + $data_size;) {
	my ($type, $misc, $size) = unpack 'L<S<S<', substr $old, $at, 8;
	my $payload = $type == 71 ? unpack('Q<', substr $old, $at + 8, 8) : 0;
	my $record = substr $old, $at, $size + $payload;
	if ($type == 15) {
		$record = $misc & 1 << 13 ? as_sample($record) : '';
		$nsamples++ if $record ne '';
	} elsif ($type == 70) {
		substr($record, 16 + 7 * 8, 8) = pack 'Q<', 1;
	} elsif ($type == 71) {
		my $cpu = unpack 'l<', substr $record, 40, 4;
		$ncpus = $cpu + 1 if $cpu >= $ncpus;
	}
	$records .= $record;
	$at += $size + $payload;
}

# ---- The file

my @features = grep { vec($old, 72 * 8 + $_, 1) } 0 .. 255;
my $n = 0;
my %feature = map { my ($offset, $size) = unpack 'Q<Q<', substr $old, $data + $data_size + 16 * $n++, 16; $_ => substr $old, $offset, $size } @features;
delete $feature{18};
$feature{1} = $tracing;

my $attr_bytes = $attr_size - 16;
my $attr = pack "L<L<Q<Q<Q<Q<Q< a$attr_bytes", 2, $attr_bytes, 372, 1,
	$type_identifier | $type_tid | $type_time | $type_cpu | $type_raw, 0, 1 << 18;
my $ids = pack 'Q<*', map { $first_id + $_ } 0 .. $ncpus - 1;
my $ids_at = 104;
# Old ids stay where the old attributes say: all that was before the records is kept.
my $before = substr $old, 104, $data - 104;
my $old_at = $ids_at + length $ids;
my @attrs = map { substr $old, $attrs + $_ * $attr_size, $attr_size } 0 .. $attrs_size / $attr_size - 1;
for (@attrs) {
	my ($offset, $size) = unpack 'Q<Q<', substr $_, -16;
	substr($_, -16) = pack 'Q<Q<', $offset - 104 + $old_at, $size;
}
push @attrs, substr($attr, 0, $attr_bytes) . pack('Q<Q<', $ids_at, length $ids);

my $attrs_at = $old_at + length $before;
my $data_at = $attrs_at + $attr_size * @attrs;
my $bits = "\0" x 32;
vec($bits, $_, 1) = 1 for keys %feature;
my $content_at = $data_at + length($records) + 16 * keys %feature;
my ($pairs, $contents) = ('', '');
for (sort { $a <=> $b } keys %feature) {
	$pairs .= pack 'Q<Q<', $content_at + length $contents, length $feature{$_};
	$contents .= $feature{$_};
}
open my $new, '>:raw', $out or die "$out: $!\n";
print $new 'PERFILE2', pack('Q<Q< Q<Q< Q<Q< Q<Q<', 104, $attr_size, $attrs_at, $attr_size * @attrs, $data_at, length $records, 0, 0),
	$bits, $ids, $before, @attrs, $records, $pairs, $contents;
close $new or die "$out: $!\n";
print "$nsamples samples\n";
