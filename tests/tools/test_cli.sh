#!/bin/sh
# The command line from outside: exit statuses, what goes where, files that appear whole, and what
# is not said to a pipe. Needs no trace: recordings that are none are enough for most of it.
set -u

. "$SOURCE_DIR/tests/tools/checks.sh"
cd "$dir" || exit 1

# expect STATUS PATTERN COMMAND...: the exit status, and an extended regular expression that stdout and
# stderr together must match.
expect()
{
	want=$1 pattern=$2
	shift 2
	"$@" >out 2>err
	status=$?
	if [ $status -ne "$want" ] || { [ -n "$pattern" ] && ! cat out err | grep -Eq -- "$pattern"; }; then
		fail "$*: exit status $status, expected $want; output, expected to match '$pattern':"
		cat out err
	fi
}

# nothing FILE: must be empty.
nothing()
{
	[ ! -s "$1" ] || fail "$1 is not empty: $(cat "$1")"
}

expect 2 'usage: sbtrace COMMAND' "$SBTRACE"
nothing out
expect 0 'usage: sbtrace COMMAND' "$SBTRACE" --help
nothing err
expect 0 '^sbtrace [0-9]+\.[0-9]+\.[0-9]+$' "$SBTRACE" --version
expect 2 "no command 'rplay'; did you mean 'replay'" "$SBTRACE" rplay
nothing out

expect 0 '--sink NAME\[=FILE\]' "$SBTRACE" replay --help
expect 2 'which recording' "$SBTRACE" replay
expect 2 "unknown option '--snik'; did you mean '--sink'" "$SBTRACE" replay --snik x
expect 2 "unknown sink 'sumary'; did you mean 'summary'" "$SBTRACE" replay --sink sumary x
expect 2 'one recording is enough' "$SBTRACE" replay x y
expect 2 'upside down' "$SBTRACE" replay --cpu 3-1 x
expect 2 "which sink's" "$SBTRACE" replay --with functions=3 --sink summary x
expect 2 'expected KEY=VALUE' "$SBTRACE" replay --sink summary --with functions x
expect 2 "no option 'funktions'; did you mean 'functions'" "$SBTRACE" replay --sink summary --with funktions=3 x
expect 0 ' functions=N ' "$SBTRACE" replay --help
for with in 'tally --with file=' 'lcov --with source='; do
	# shellcheck disable=SC2086
	expect 2 '--with: (file|source): the pattern is empty' "$SBTRACE" replay --sink $with x
done
expect 2 '--file: the pattern is empty' "$SBTRACE" diff --file '' x y
expect 2 'expected FROM,TO' "$SBTRACE" replay --time 3 x
expect 2 '--time: the span 5,3 ends before it begins' "$SBTRACE" replay --time 5,3 x
expect 2 '--time: the span 5.5,3.0 ends before it begins' "$SBTRACE" diff --time 5.5,3.0 x y
expect 2 '--resume: there is no job' "$SBTRACE" replay --resume x
for list in x 3- 3-1 '' 1, 1,,2; do
	expect 2 "--shard: expected a list of shards such as 0-7,12, found '$list'" "$SBTRACE" job run x --shard "$list"
done
expect 2 "--output: the plan's name is empty" "$SBTRACE" job plan -o '' x.yaml
expect 2 "--results: the directory's name is empty" "$SBTRACE" job merge --results '' x
expect 2 'expected a number from 1 to 1024, found .0.' "$SBTRACE" replay --jobs 0 x
expect 2 'expected a number from 1 to 1024, found .1025.' "$SBTRACE" replay -j1025 x
expect 2 'expected a number, found .-2.' "$SBTRACE" replay --jobs=-2 x
expect 2 'expected a number, found .2x.' "$SBTRACE" replay -j 2x x
expect 2 "no gap has the reason 'overflown'; did you mean 'overflow'" "$SBTRACE" replay --strict=no-sync,overflown x
expect 2 "'-truncated': reasons are named or, with a minus, taken out of all: not both" "$SBTRACE" replay --strict=truncated,-truncated x
expect 2 'no reason is left' "$SBTRACE" replay --strict=overflow --strict=-overflow x
expect 2 "'none' and 'trials' exclude each other" "$SBTRACE" replay --switch-evidence none,trials x
expect 2 "no gap has the reason 'filtered'" "$SBTRACE" replay --strict=filtered x

# A recording that is none, with an output that must not be left behind.
expect 1 'no-such-file' "$SBTRACE" replay no-such-file
nothing out
echo 'this is no perf.data' >junk
expect 1 'junk' "$SBTRACE" replay --sink insn=lines junk
for file in lines lines.tmp; do
	[ ! -e $file ] || fail "$file: left by a replay that failed"
done

printf 'version: 1\nrecording: junk\nrots: [/]\n' >job.yaml
expect 1 "job.yaml:3:1: a job has no key 'rots'; did you mean 'roots'" "$SBTRACE" replay job.yaml
printf 'version: 1\nrecording: no-such-file\n' >job.yml
mkdir elsewhere && cd elsewhere || exit 1
expect 1 '\.\./no-such-file' "$SBTRACE" replay ../job.yml
cd ..

# With a real recording, where there is one.
recording=$CORPUS_DIR/user-true
if [ -d "$recording" ]; then
	expect 0 '\(the account balances\)' "$SBTRACE" replay --root "$recording/root" "$recording/perf.data"
	nothing err
	expect 0 '' "$SBTRACE" replay --root "$recording/root" --sink insn=lines --sink summary=sum "$recording/perf.data"
	nothing out
	nothing err
	[ "$(wc -l <lines)" -eq 115234 ] || fail "lines of user-true: $(wc -l <lines)"
	grep -q 'the account balances' sum || fail "no summary"
	for file in lines.tmp sum.tmp; do
		[ ! -e $file ] || fail "$file: left by a replay"
	done
	# A reader who goes away: quietly.
	{ "$SBTRACE" replay --root "$recording/root" --sink insn "$recording/perf.data" 2>err; echo $? >status; } | head -1 >first
	nothing err
	[ "$(cat status)" = 0 ] || fail "status $(cat status) when the reader went away"
	cmp -s first - <<-END || fail "first line"
	$(head -1 lines)
	END
	# On any number of threads.
	for jobs in 1 3; do
		expect 0 '' "$SBTRACE" replay -j $jobs --root "$recording/root" --sink insn=again "$recording/perf.data"
		cmp lines again || fail "$jobs jobs give other lines"
	done
	# Files of a kernel that are named have to be there, though nothing of it was recorded.
	for what in kcore vmlinux kallsyms; do
		expect 1 'no-such-file: cannot be opened: No such file' \
			"$SBTRACE" replay --root "$recording/root" --$what no-such-file "$recording/perf.data"
		expect 1 'elsewhere: expected a regular file' \
			"$SBTRACE" replay --root "$recording/root" --$what elsewhere "$recording/perf.data"
		nothing out
	done
	# Gaps as an exit status, which no gap, or none of those reasons, does not change.
	expect 0 '' "$SBTRACE" replay --strict --root "$recording/root" --sink insn=again "$recording/perf.data"
	nothing err
	expect 0 'note: the filters leave nothing: all 115234 instructions are left out' \
		"$SBTRACE" replay --comm flase --root "$recording/root" --sink insn "$recording/perf.data"
	nothing out
	expect 0 'note: the filters leave nothing: 7592 bytes of trace are of other CPUs' \
		"$SBTRACE" replay --cpu 77 --sink insn "$recording/perf.data"
	expect 1 'the span of time ends before the time stamp count 1, the first one, which is at 7\.0' \
		"$SBTRACE" replay --time 1.0,2.0 "$recording/perf.data"
	expect 0 'filtered +1 ' "$SBTRACE" replay --strict --cpu 77 --root "$recording/root" "$recording/perf.data"
	mkdir -p empty
	without="replay --root empty --no-host-root"
	expect 0 'no-binary +2 ' "$SBTRACE" $without "$recording/perf.data"
	nothing err
	expect 3 '^sbtrace replay: gaps: 2 no-binary \([1-9][0-9]* bytes\).*: --strict does not allow them$' \
		"$SBTRACE" $without --strict "$recording/perf.data"
	grep -q 'the account balances' out || fail "no summary with --strict"
	grep -q "avoided by: give the machine's files" out || fail "the summary does not say what avoids gaps"
	expect 3 '' "$SBTRACE" $without --strict=overflow,no-binary "$recording/perf.data"
	expect 3 '' "$SBTRACE" $without --strict=-overflow "$recording/perf.data"
	expect 0 '' "$SBTRACE" $without --strict=overflow "$recording/perf.data"
	expect 0 '' "$SBTRACE" $without --strict=-no-binary,-not-mapped "$recording/perf.data"
	# What a cut recording had behind the cut is lost as well.
	head -c $(($(wc -c <"$recording/perf.data") - 100)) "$recording/perf.data" >cut.data
	expect 3 '--strict does not allow' "$SBTRACE" replay --root "$recording/root" --strict cut.data
	expect 0 'avoided by: the whole recording: this one is cut off' "$SBTRACE" replay --root "$recording/root" cut.data
	head -c $(($(wc -c <"$recording/perf.data") / 2)) "$recording/perf.data" >half.data
	expect 0 'warning: half.data: offset 0x[0-9a-f]*: the data are cut off here' \
		"$SBTRACE" replay --root "$recording/root" --sink insn=again half.data
	printf 'version: 1\nrecording: %s\nroots: [empty]\nhost_root: false\nstrict: true\n' \
		"$recording/perf.data" >strict.yaml
	expect 3 '--strict does not allow' "$SBTRACE" replay strict.yaml
	expect 0 '' "$SBTRACE" replay --strict=overflow strict.yaml
	# The same as a job.
	printf 'version: 1\nrecording: %s\nroots: [%s]\nhost_root: false\njobs: 2\nsinks: [{name: insn, file: again}]\n' \
		"$recording/perf.data" "$recording/root" >job.yaml
	expect 0 '' "$SBTRACE" replay job.yaml
	cmp lines again || fail "the job gives other lines"
fi

[ $failures -eq 0 ]
