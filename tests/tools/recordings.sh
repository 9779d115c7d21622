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
# end with status $command_status, which is that of the recorder then. Where $with_truth is empty, there is no truth.
command_status=0
with_truth=yes
record()
{
	name=$1
	shift
	taken "$@" && return
	lean "$SBTRACE" record --software -o "$dir/$name.data" --copy-root "$dir/$name.root" \
		${with_truth:+--truth "$dir/$name.truth"} "$@" >"$dir/$name.out" 2>"$dir/$name.err"
	[ $? -eq "$command_status" ] || { fail "record $name: $(cat "$dir/$name.err")"; return 1; }
	keep "$@"
}

# Single steps are most of what many tests take. Where a test sets $shared to a name of its own, what it records is kept in
# $SBTRACE_RECORDINGS (run-all's, for one run of it), and with sanitizers it takes what it recorded without them: it is the
# reader that it tests. Alone, it records.
shared=

# asked OPTIONS... -- COMMAND...: whichever build it is.
asked()
{
	printf '%s\n' "$*" | sed "s|$BUILD_DIR|BUILD|g; s|$dir|DIR|g"
}

keep()
{
	[ -n "$shared" ] && [ -n "${SBTRACE_RECORDINGS:-}" ] && [ -z "${SANITIZE:-}" ] || return 0
	kept=$SBTRACE_RECORDINGS/$shared-$name
	rm -rf "$kept" "$kept.new"
	mkdir -p "$kept.new"
	asked "$@" >"$kept.new/$name.asked"
	cp -r "$dir/$name".data* "$dir/$name.root" "$dir/$name.out" "$dir/$name.err" "$kept.new" &&
		{ [ -z "$with_truth" ] || cp "$dir/$name.truth" "$kept.new"; } && mv "$kept.new" "$kept" ||
		rm -rf "$kept.new" # no room: that is no fault of the test's
}

# taken OPTIONS... -- COMMAND...: whether NAME was there.
taken()
{
	[ -n "$shared" ] && [ -n "${SBTRACE_RECORDINGS:-}" ] && [ -n "${SANITIZE:-}" ] || return 1
	kept=$SBTRACE_RECORDINGS/$shared-$name
	[ -d "$kept" ] && asked "$@" | cmp -s - "$kept/$name.asked" || return 1
	rm -rf "$dir/$name.root"
	mv "$kept/$name".* "$dir"
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
