#!/bin/sh
# The sink "sqlite": sqlite3 takes the database, its sums are those of the truth, each query of sbtrace-sqlite(5)
# gives what other sinks give, the number of jobs does not show, and what goes wrong names the file.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=sqlite
command -v sqlite3 >/dev/null || { echo "skipped: no sqlite3"; exit 77; }
workloads=$BUILD_DIR/tests/workloads
tab=$(printf '\t')

replay()
{
	"$SBTRACE" replay --root "$dir/$name.root" --no-host-root "$@" "$dir/$name.data" 2>"$dir/err" ||
		fail "$name: replay $*: $(cat "$dir/err")"
}

ask()
{
	sqlite3 -batch -noheader -separator "$tab" "$dir/$name.db" "$1" || fail "$name: $1"
}

# same WHAT FILE: as $dir/expected, in any order.
same()
{
	LC_ALL=C sort "$dir/expected" >"$dir/left"
	LC_ALL=C sort "$2" | diff "$dir/left" - >"$dir/diff" || fail "$name: $1: $(head -n 5 "$dir/diff")"
	[ -s "$dir/left" ] || [ "$1" = gaps ] || fail "$name: $1: nothing to compare"
}

# Page's queries, in their order: query-1, ...
awk -v to="$dir/query-" '/^\.Sh EXAMPLES/ { on = 1 } /^\.Ed/ { close(file); file = "" } file { print >file }
	on && /^\.Bd/ { n++; file = to n }' "$SOURCE_DIR/man/sbtrace-sqlite.5"
[ "$(ls "$dir" | grep -c '^query-')" -eq 8 ] || fail "the page has not the eight queries"
query()
{
	ask "$(cat "$dir/query-$1")" >"$dir/got"
}

record stacks -c 2 --mtc --cyc -- "$workloads/stacks" || exit 1
record pipe -c 2 --mtc -- sh -c 'ls /usr | head -n 2' || exit 1
record lost -c 2 --mtc --overflow-every 2000 -- "$workloads/mt" 100 || exit 1
containers=
if [ "$(id -u)" -eq 0 ] && unshare --pid --mount --fork true 2>/dev/null; then
	containers=box
	record box -c 2 --mtc -- sh -c "/bin/true; unshare --pid --mount --fork sh -c '/bin/true; exec /bin/true'" || exit 1
fi
for name in stacks pipe lost $containers; do
	replay --jobs 1 --sink sqlite="$dir/$name.db" --sink jsonl="$dir/jsonl" --with flow=none --with calls=yes \
		--sink gap="$dir/gap" --sink folded="$dir/folded"
	replay --jobs 3 --sink sqlite="$dir/again.db"
	cmp "$dir/again.db" "$dir/$name.db" || fail "$name: other bytes with more jobs"
	[ "$(ask 'PRAGMA integrity_check; PRAGMA foreign_key_check')" = ok ] || fail "$name: not whole"

	# What ran: of the truth, by process and thread; each instruction in one call.
	cut -f 2,3 "$dir/$name.truth" | sort | uniq -c | awk -v OFS='\t' '{ print $2, $3, $1 }' >"$dir/expected"
	ask 'SELECT pid, tid, instructions FROM thread' >"$dir/got"
	[ $name = lost ] || same threads "$dir/got"
	ask 'SELECT pid, tid, sum(self) FROM call GROUP BY pid, tid' >"$dir/expected"
	same "threads' calls" "$dir/got"
	ask 'SELECT sum(instructions) FROM call WHERE parent IS NULL' >"$dir/expected"
	ask "SELECT value FROM info WHERE name = 'instructions'" >"$dir/got"
	same "the outermost calls" "$dir/got"
	[ "$(ask 'SELECT count(*) FROM call JOIN call AS outer ON outer.id = call.parent WHERE call.id <= outer.id OR
		call.begin < outer.begin OR call.end > outer.end OR call.depth <> outer.depth + 1 OR
		call.tid <> outer.tid')" = 0 ] || fail "$name: calls are not inside of their parents"

	# The queries, in the page's order.
	sed -n 's/.*"type":"process","pid":\([-0-9]*\),"comm":"\([^"]*\)".*"instructions":\([0-9]*\).*/\1\t\2\t\3/p' \
		"$dir/jsonl" >"$dir/expected"
	query 1
	same processes "$dir/got"

	sed 's/ (?)//g; s/.*;//' "$dir/folded" |
		awk '{ n = $NF; sub(/ [0-9]*$/, ""); if (n) sum[$0] += n } END { for (f in sum) print f "\t" sum[f] }' \
			>"$dir/expected"
	query 2
	awk -F '\t' -v OFS='\t' '$3 { print $1, $3 }' "$dir/got" >"$dir/sums"
	same functions "$dir/sums"
	sed -n 's/.*"type":"call",.*"function":"\([^"]*\)",.*/\1/p' "$dir/jsonl" | LC_ALL=C sort | uniq -c |
		awk '{ n = $1; sub(/^ *[0-9]* /, ""); print $0 "\t" n }' >"$dir/expected"
	grep -v '^\[' "$dir/got" | cut -f 1,2 >"$dir/sums"
	same "number of calls" "$dir/sums"

	grep -o '"type":"switch","cpu":.*' "$dir/jsonl" | tr -c '0-9\n-' ' ' | awk -v OFS='\t' '
		pid[$1] > 0 { sum[$1 OFS pid[$1] OFS tid[$1]] += $4 - at[$1] }
		{ pid[$1] = $2; tid[$1] = $3; at[$1] = $4 }
		END { for (c in pid) if (pid[c] > 0) sum[c OFS pid[c] OFS tid[c]] += 0; for (i in sum) print i, sum[i] }' >"$dir/expected"
	query 3
	awk -F '\t' -v OFS='\t' '{ print $1, $2, $3, $4 + 0 }' "$dir/got" >"$dir/sums"
	same "time on CPUs" "$dir/sums"

	grep -o '"type":"switch","cpu":.*' "$dir/jsonl" | tr -c '0-9\n-' ' ' | awk -v OFS='\t' '$5 != $2 { n[$5 OFS $2]++ }
		END { for (i in n) print i, n[i] }' >"$dir/expected"
	query 4
	[ $name = stacks ] || same switches "$dir/got" # that is one process

	perl -ne 'next unless /"type":"call".*"pid":(-?\d+),"tid":(-?\d+),.*"depth":(\d+),"function":(null|"(.*?)"),"dso":(null|"(?:.*\/)?(.*?)"),/;
		my $f = defined $5 ? $5 : defined $7 ? "[$7]" : "[unknown]";
		$stack{"$1 $2"}[$3] = $f;
		$count{$stack{"$1 $2"}[$3 - 1]}++ if $f eq "malloc" && $3 > 1;
		END { print "$_\t$count{$_}\n" for keys %count }' "$dir/jsonl" >"$dir/expected"
	query 5
	[ $name != stacks ] || [ -s "$dir/expected" ] || echo absent >"$dir/expected"
	[ $name = stacks ] || [ $name = lost ] || same callers "$dir/got"

	query 6
	awk -F '\t' '$1 != NR { exit 1 } END { exit !NR }' "$dir/got" || fail "$name: no stack: $(cat "$dir/got")"
	stack=$(cut -f 2 "$dir/got" | tr '\n' ';')
	sed 's/ (?)//g' "$dir/folded" | grep -qF -- ";${stack%;} " || fail "$name: not a stack that was: $stack"

	cut -f 8 "$dir/gap" | LC_ALL=C sort | uniq -c | awk -v OFS='\t' '{ print $2, $1 }' >"$dir/expected"
	query 7
	cut -f 1,2 "$dir/got" >"$dir/sums"
	same gaps "$dir/sums"
done
name=lost
[ "$(ask 'SELECT count(*) FROM gap')" -gt 5 ] || fail "no gaps in the recording with overflows"

if [ -n "$containers" ]; then
	name=box
	query 8
	sum=$(cut -f 3 "$dir/got")
	[ "$(cut -f 1 "$dir/got")" = namespace ] || fail "not a container: $(cat "$dir/got")"
	replay --container "$(cut -f 2 "$dir/got")" --sink insn="$dir/inside"
	# A thread is where it was last: what unshare did before it went in counts, too.
	[ "$sum" -ge "$(wc -l <"$dir/inside")" ] && [ "$sum" -lt "$(wc -l <"$dir/box.truth")" ] ||
		fail "$sum instructions in the container, of $(wc -l <"$dir/inside")"
else
	echo "skipped: namespaces cannot be made here"
fi

# ---- Options, and what goes wrong ---------------------------------------------------------------------------

name=pipe
replay --sink sqlite="$dir/few.db" --with depth=3
[ "$(sqlite3 "$dir/few.db" 'SELECT max(depth), sum(self) FROM call')" = \
	"3|$(ask "SELECT value FROM info WHERE name = 'instructions'")" ] || fail "depth=3"

wrong()
{
	pattern=$1
	shift
	"$SBTRACE" replay --root "$dir/pipe.root" "$@" "$dir/pipe.data" >"$dir/out" 2>"$dir/err" && fail "no error: $*"
	grep -qE "$pattern" "$dir/err" || fail "$*: $(cat "$dir/err")"
	[ ! -e "$dir/new.db" ] && [ ! -e "$dir/new.db.tmp" ] || fail "$*: half a file"
}
wrong 'the sink sqlite cannot write to standard output' --sink sqlite
ln -s /dev/full "$dir/full"
wrong "$dir/full: cannot be written: expected a regular file" --sink sqlite="$dir/full"
wrong '/dev/null: cannot be written: expected a regular file' --sink sqlite=/dev/null
(
	failures=0
	trap '' XFSZ
	ulimit -f 100
	wrong "$dir/new.db: (cannot be written|write failed): .*(disk|full|I/O)" --sink sqlite="$dir/new.db"
	exit $failures
) || fail "a file that may not grow"
cat >"$dir/job.yaml" <<END
version: 1
recording: pipe.data
roots: [pipe.root]
limits: {disk: 200K}
sinks: [{name: sqlite, file: new.db}]
END
"$SBTRACE" job run "$dir/job.yaml" >"$dir/out" 2>"$dir/err" && fail "the limit of disk space"
grep -q "new.db: write failed: the job's limit of disk space is reached" "$dir/err" || fail "limit: $(cat "$dir/err")"
[ ! -e "$dir/new.db" ] && [ ! -e "$dir/new.db.tmp" ] || fail "limit: half a file"
[ $failures -eq 0 ]
