# recordings.sh - for tests that record in software and replay: sourced, not run.
#
# Leaves the test with status 77 when this machine cannot single-step.

. "$SOURCE_DIR/tests/tools/checks.sh"

# Each instruction is single-stepped: without a locale to be looked for, programs execute a third less.
export LC_ALL=C

# lean COMMAND...: with little of an environment. Of each of its variables, every program that is recorded takes 500
# instructions to see that it is no tunable of the C library: with 40 of them, a fifth of what /bin/true executes.
lean()
{
	env -i PATH="$PATH" LC_ALL=C ${HOME:+"HOME=$HOME"} ${TMPDIR:+"TMPDIR=$TMPDIR"} ${GODEBUG:+"GODEBUG=$GODEBUG"} \
		${ASAN_OPTIONS:+"ASAN_OPTIONS=$ASAN_OPTIONS"} ${UBSAN_OPTIONS:+"UBSAN_OPTIONS=$UBSAN_OPTIONS"} \
		${LSAN_OPTIONS:+"LSAN_OPTIONS=$LSAN_OPTIONS"} "$@"
}

if ! lean "$SBTRACE" record --software -o "$dir/probe.data" -- "$BUILD_DIR/tests/workloads/place1" >"$dir/probe.log" 2>&1; then
	cat "$dir/probe.log"
	grep -Eqi 'ptrace|permitted' "$dir/probe.log" && { echo "skipped: no ptrace here"; exit 77; }
	exit 1
fi

# record NAME OPTIONS... -- COMMAND...: NAME.data, NAME.truth and NAME.root in $dir. The command is expected to
# end with status $command_status, which is that of the recorder then.
command_status=0
record()
{
	name=$1
	shift
	lean "$SBTRACE" record --software -o "$dir/$name.data" --truth "$dir/$name.truth" --copy-root "$dir/$name.root" \
		"$@" >"$dir/$name.out" 2>"$dir/$name.err"
	[ $? -eq "$command_status" ] || { fail "record $name: $(cat "$dir/$name.err")"; return 1; }
}

# flow_against_truth NAME [HOW]: $dir/missing are lines of the truth that $dir/flow lacks; there must be none that never ran.
flow_against_truth()
{
	columns_but_tsc "$dir/$1.truth" >"$dir/truth"
	columns_but_tsc "$dir/flow" | diff -d "$dir/truth" - >"$dir/diff"
	grep '^<' "$dir/diff" >"$dir/missing"
	! grep '^>' "$dir/diff" >"$dir/wrong" || fail "$*: $(wc -l <"$dir/wrong") lines that never ran: $(head -n 1 "$dir/wrong")"
}

# wrong: how many of the lines in $dir/lines are another's, or nobody's, of so many in $dir/$name.truth: more of a CPU,
# thread and address than there should be. Needs perl.
wrong()
{
	perl -e '
		sub lines { open my $in, "<", $_[0] or die; while (<$in>) { chomp; $_[1]->([split /\t/]) } }
		my (%more, $all, $wrong);
		lines($ARGV[0], sub { my $l = $_[0]; $more{"@$l[0..2] $l->[-1]"}++; $all++ });
		lines($ARGV[1], sub { my $l = $_[0]; $l->[2] < 0 or $more{"@$l[0..2] $l->[-1]"}-- });
		$_ < 0 and $wrong -= $_ for values %more;
		printf "%d %d\n", $wrong // 0, $all' "$dir/$name.truth" "$dir/lines"
}

# columns_but_tsc FILE: cpu pid tid ip, the CPUs one after the other.
columns_but_tsc()
{
	"$BUILD_DIR/tests/lines" columns "$1"
}

# expect STATUS PATTERN COMMAND...: the status, and a line on stdout or stderr, which are in out.txt and
# err.txt afterwards.
expect()
{
	status=$1
	pattern=$2
	shift 2
	"$@" >out.txt 2>err.txt
	got=$?
	[ $got -eq "$status" ] || fail "$* gives $got: $(cat out.txt err.txt)"
	[ -z "$pattern" ] || cat out.txt err.txt | grep -qE -- "$pattern" || fail "$*: no '$pattern' in: $(cat out.txt err.txt)"
}
