#!/usr/bin/perl
# Two listings of the records of one recording in one form, to be compared: what perf script -D prints
# (records_as_perf.pl perf), and what sbtrace dump --sideband --json --raw does (records_as_perf.pl dump). A line
# for each record: offset, size, type, cpu and time, perf's text of its fields, its bytes.
# perf sorts records by time: sort the lines. Of a pipe, perf counts offsets from behind the header, of 16 bytes:
# records_as_perf.pl dump 16. Of packed records, it tells where the packing begins; with a dash instead of a number,
# offsets are left out.
use strict;
use warnings;
no warnings 'portable'; # numbers of 64 bits
use Cpanel::JSON::XS;

my $mode = shift // '';
my $shift = shift // 0;

sub line_of {
	my ($offset, $size, $type, $when, $text, $bytes) = @_;
	$offset = $shift eq '-' ? '-' : $offset - $shift;
	$text =~ s/\s+/ /g;
	$text =~ s/^ | $//g;
	print join("\t", $offset, $size, $type, $when, $text, $bytes), "\n";
}

# ---- Ours, in perf's words -------------------------------------------------------------------------------

sub hex0 { my $value = shift; return $value eq '0x0' ? '0' : $value }    # %#x

# perf's numbers without leading zeros in 16 digits, or in hexadecimal
sub plain { return shift =~ s/^0x//r }

sub protection {
	my $f = shift;
	my ($prot, $flags) = map { hex } @$f{qw(prot flags)};
	return join '', $prot & 1 ? 'r' : '-', $prot & 2 ? 'w' : '-', $prot & 4 ? 'x' : '-', $flags & 1 ? 's' : 'p';
}

sub file {
	my $f = shift;
	return "<$f->{build_id}>" if $f->{build_id};
	return sprintf '%02x:%02x %s %s', hex $f->{maj}, hex $f->{min}, @$f{qw(ino ino_generation)};
}

sub switched {
	my $f = shift;
	my $other = $f->{out} ? 'next' : 'prev';
	my $text = ($f->{out} ? 'OUT' : 'IN') . ($f->{preempted} ? ' preempt' : '');
	return $text unless defined $f->{"${other}_pid"};
	return "$text $other pid/tid: " . $f->{"${other}_pid"} . '/' . $f->{"${other}_tid"};
}

sub task { my $f = shift; return "($f->{pid}:$f->{tid}):($f->{ppid}:$f->{ptid})" }

sub bytes { return join ' ', shift =~ /../g }

sub cpus {
	return join ',', map { $_->{first} == $_->{last} ? $_->{first} : "$_->{first}-$_->{last}" } @{ shift->{cpus} };
}

sub tracepoint {
	my $point = shift // return '';
	my $f = $point->{fields};
	return '' unless $point->{name} eq 'sched_switch';
	return " sched:sched_switch: prev_comm=$f->{prev_comm} prev_pid=$f->{prev_pid} prev_prio=$f->{prev_prio}"
		. " ==> next_comm=$f->{next_comm} next_pid=$f->{next_pid} next_prio=$f->{next_prio}";
}

sub chain { my $n = 0; return 'nr:' . @_ . join '', map { sprintf ' %d: %016x', $n++, hex } @_ }

sub registers {
	my ($what, $abi, $values) = @_;
	return '' unless $abi;
	return " $what regs:" . join '', map { sprintf ' 0x%016x', hex } @$values;
}

sub counters {
	my $f = shift;
	my @counters = $f->{counters} ? @{ $f->{counters} } : defined $f->{value} ? $f : ();
	return join '', map { sprintf ' id %016x, value %016x', $_->{id}, $_->{value} } @counters;
}

sub sample {
	my ($f, $r) = @_;
	my $text = sprintf '(IP, %s): %d/%d: %s period: %s addr: %s', $r->{misc}, $r->{pid}, $r->{tid}, $f->{ip},
		$f->{period} // 1, hex0($f->{addr} // '0x0');
	$text .= ' ' . chain(@{ $f->{ips} }) if $f->{ips};
	$text .= registers('user', $f->{user_abi}, $f->{user_regs}) . registers('intr', $f->{intr_abi}, $f->{intr_regs});
	$text .= " ustack: size $f->{stack_dyn_size}" if defined $f->{stack_dyn_size};
	$text .= sprintf ' weight: %d', $f->{weight} & 0xffffffff if defined $f->{weight};
	$text .= " data_src: $f->{data_src}" if $f->{data_src};
	$text .= " phys_addr: $f->{phys_addr}" if $f->{phys_addr};
	return $text . counters($f) . tracepoint($r->{tracepoint});
}

sub info {
	my @values = map { hex } @{ shift->{priv} };
	splice @values, 17, ($values[16] + 7) / 8 if $values[16];    # the filter
	return "type: 1 @values";
}

sub update {
	my $f = shift;
	return "id: $f->{id} "
		. (defined $f->{unit} ? "unit: $f->{unit}"
		: defined $f->{name} ? "name: $f->{name}"
		: defined $f->{scale} ? sprintf('scale: %f', $f->{scale})
		: 'cpus: ' . cpus($f));
}

my %text = (
	AUX => sub { my $f = shift; "offset: " . hex0($f->{offset}) . ' size: ' . hex0($f->{size}) . ' flags: ' . hex0($f->{flags}) },
	AUXTRACE => sub {
		my $f = shift;
		sprintf 'size: %s offset: %s ref: %s idx: %d tid: %d cpu: %d', map({ hex0($_) } @$f{qw(size offset reference)}), @$f{qw(idx tid cpu)};
	},
	AUXTRACE_INFO => \&info,
	BPF_EVENT => sub { my $f = shift; sprintf 'type %d, flags %d, id %d', $f->{event_type}, hex $f->{flags}, $f->{id} },
	CGROUP => sub { my $f = shift; "cgroup: $f->{id} $f->{path}" },
	COMM => sub { my $f = shift; ($f->{exec} ? 'exec' : '') . ": $f->{name}:$f->{pid}/$f->{tid}" },
	CPU_MAP => sub { ': ' . cpus(shift) },
	EVENT_UPDATE => \&update,
	EXIT => \&task,
	FORK => \&task,
	FINISHED_INIT => sub { '' },
	FINISHED_ROUND => sub { '' },
	ID_INDEX => sub {
		my @ids = @{ shift->{ids} };
		join ' ', 'nr: ' . @ids, map { "id: $_->{id} idx: $_->{idx} cpu: $_->{cpu} tid: $_->{tid}" } @ids;
	},
	ITRACE_START => sub { my $f = shift; "pid: $f->{pid} tid: $f->{tid}" },
	KSYMBOL => sub {
		my $f = shift;
		sprintf 'addr %s len %d type %d flags %s name %s', plain($f->{addr}), hex $f->{len}, @$f{qw(ksym_type flags name)};
	},
	LOST => sub { my $f = shift; ": id:$f->{id}: lost:$f->{lost}" },
	LOST_SAMPLES => sub { my ($f, $r) = @_; ': id:' . ($r->{id} // '18446744073709551615') . ": lost samples :$f->{lost}" },
	MMAP => sub {
		my $f = shift;
		"$f->{pid}/$f->{tid}: [$f->{addr}($f->{len}) @ " . hex0($f->{pgoff}) . ']: ' . ($f->{data} ? 'r' : 'x') . " $f->{filename}";
	},
	MMAP2 => sub {
		my $f = shift;
		"$f->{pid}/$f->{tid}: [$f->{addr}($f->{len}) @ " . hex0($f->{pgoff}) . ' ' . file($f) . ']: ' . protection($f) . " $f->{filename}";
	},
	NAMESPACES => sub {
		my $f = shift;
		my $n = 0;
		my @all = map { $n++ . "/$_->{kind}: " . hex($_->{dev}) . '/' . hex0(sprintf '0x%x', $_->{ino}) } @{ $f->{namespaces} };
		"$f->{pid}/$f->{tid} - nr_namespaces: $n [" . join(', ', @all) . ']';
	},
	SAMPLE => \&sample,
	SWITCH => \&switched,
	SWITCH_CPU_WIDE => \&switched,
	TEXT_POKE => sub {
		my $f = shift;
		sprintf '%s old len %d new len %d Old bytes: %s New bytes: %s', plain($f->{addr}), @$f{qw(old_len new_len)},
			bytes($f->{old_bytes}), bytes($f->{new_bytes});
	},
	THREAD_MAP => sub { my @all = @{ shift->{threads} }; join ' ', 'nr: ' . @all, map { "thread: $_->{tid}" } @all },
	TIME_CONV => sub {
		my $f = shift;
		join ' ', @$f{qw(time_shift time_mult time_zero time_cycles)}, hex $f->{time_mask},
			map { $_ ? 1 : 0 } @$f{qw(cap_user_time_zero cap_user_time_short)};
	},
);

sub when_of {
	my ($type, $cpu, $time) = @_;
	# What perf itself wrote, and what has no trailer, is nowhere.
	return '-' if $time eq '0' || $time eq '-1';
	return "$cpu $time";
}

sub dump_line {
	my $r = decode_json(shift);
	return unless defined $r->{type};
	my $render = $text{ $r->{type} };
	line_of($r->{offset}, $r->{size}, $r->{type}, when_of($r->{type}, $r->{cpu} // -1, $r->{time} // -1),
		$render ? $render->($r->{fields}, $r) : '', $r->{bytes});
}

# ---- perf's ----------------------------------------------------------------------------------------------

# What a sample is made of; not which thread, file and symbols it found.
sub strip_sample {
	my $all = $_;
	my $registers = qr/(?:^\.{4} \S+ +0x[0-9a-f]{16}\n)*/m;
	my $point = 'sched:sched_switch: ';
	($_) = $all =~ /^(\(IP, \S+ \S+ \S+ period: \d+ addr: \S+)$/m;
	$_ .= " $1" if $all =~ /chain: (nr:\d+\n(?:\.{5}.*\n)*)/;
	for my $what (qw(user intr)) {
		$_ .= " $what regs:" . join '', map { " $_" } $1 =~ /0x[0-9a-f]{16}/g if $all =~ /$what regs: .*\n($registers)/;
	}
	$_ .= " $1" if $all =~ /(ustack: size \d+)/;
	$_ .= " $1" if $all =~ /(weight: \d+)/;
	$_ .= " $1" if $all =~ /(data_src: \S+)/;
	$_ .= " $1" if $all =~ /(phys_addr: \S+)/;
	$_ .= join '', map { " $_" } $all =~ /(id [0-9a-f]{16}, value [0-9a-f]{16})/g;
	$_ .= " $point$1$2" if $all =~ / $point(.*) prev_state=\S+( ==> .*)$/m;
	s/\.{5} +//g;
}

# What it adds from elsewhere: symbols; and labels in front of numbers that are in order.
my %strip = (
	AUX => sub { s/ \[.*\]$//s },
	AUXTRACE_INFO => sub { $_ = join ' ', 'type: 1', /\s(0x[0-9a-f]+|[0-9]+)\s*$/mg; s/^type: 1 1 /type: 1 /; s/0x[0-9a-f]+/hex $&/ge },
	EVENT_UPDATE => sub { s/\.\.\. //g },
	FINISHED_INIT => sub { s/: unhandled!// },
	ID_INDEX => sub { s/\.\.\. //g },
	SAMPLE => \&strip_sample,
	TEXT_POKE => sub { s/^( \S+) .*? old len/$1 old len/ },
	TIME_CONV => sub { $_ = join ' ', /\s(0x[0-9a-f]+|[0-9]+)$/mg },
);

my %name = (ATTR => 'HEADER_ATTR', FEATURE => 'HEADER_FEATURE');

my ($want, $bytes, $record) = (0, '', undef);

sub finish {
	return unless $record;
	my ($offset, $size, $type, $cpu, $time, $rest) = @$record;
	local $_ = $rest;
	$strip{$type}->() if $strip{$type};
	line_of($offset, $size, $type, when_of($type, $cpu, $time), $text{$type} ? $_ : '', $bytes);
	$record = undef;
}

sub perf_line {
	local $_ = shift;
	if (/^(?:0x)?[0-9a-f]+@.* \[0x[0-9a-f]+\]: event: \d+$/) {
		finish();
		($want, $bytes) = (0, '');
	} elsif (/^\. \.\.\. raw event: size (\d+) bytes/) {
		$want = 2 * $1;
	} elsif (length $bytes < $want && /^\.  [0-9a-f]+:  (.{48})/) {
		$bytes .= $1 =~ s/\s//gr;
	} elsif (/^(?:(-?\d+) )?(-?\d+) (?:0x)?([0-9a-f]+) \[0x([0-9a-f]+)\]: PERF_RECORD_([A-Z0-9_]+)(.*)$/s) {
		finish();
		$record = [hex $3, hex $4, $name{$5} // $5, $1 // -1, $2, $6];
	} elsif ($record && /^\s*$|^\.(?!\.)/) {    # nothing, or packets
		finish();
	} elsif ($record) {
		$record->[5] .= $_;
	}
}

if ($mode eq 'dump') {
	dump_line($_) while <STDIN>;
} elsif ($mode eq 'perf') {
	perf_line($_) while <STDIN>;
	finish();
} else {
	die "records_as_perf.pl perf|dump [SHIFT|-]\n";
}
