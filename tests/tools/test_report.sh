#!/bin/sh
# The sink "html": the same bytes with any number of jobs, sums that are the account's, and a page that a browser opens
# without a network and that does what it should (report_page.mjs).
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"

odd="</script><b>&\"'x"
mkdir "$dir/odd"
cp /bin/true "$dir/odd/x" && ln -s x "$dir/odd/<b>&\"'" || exit 1
record report -c 2 --mtc -- sh -c "cat /etc/passwd | head -n 3; exec '$dir/odd/<b>&\"'\"'\"" || exit 1
for jobs in 1 3; do
	"$SBTRACE" replay --jobs $jobs --root "$dir/report.root" --sink html="$dir/$jobs.html" \
		--sink summary="$dir/summary" "$dir/report.data" 2>"$dir/log" || fail "replay: $(cat "$dir/log")"
done
cmp "$dir/1.html" "$dir/3.html" || fail "--jobs"
grep -qF '<b>&' "$dir/1.html" && fail "a name is not escaped"

# With room for few stacks, those that come late have theirs as well: the ones with the least instructions are given up.
# without_stack REPORT: how many of 1000 instructions have none, of the process that came last.
without_stack()
{
	sed -n '/id="data">/,/<\/script>/p' "$1" | sed '1d;$d' | jq '.trees | last | . as $tree |
		[range(0; .nodes | length; 4) | select($tree.nodes[.] == 0) | $tree.nodes[. + 3]] | add * 1000 / $tree.total | floor'
}
if command -v jq >/dev/null; then
	record late -- sh -c 'ls -l /; ls -l / | cat; exec ls -l /' >/dev/null || exit 1
	for jobs in 1 3; do
		"$SBTRACE" replay --jobs $jobs --root "$dir/late.root" --sink html="$dir/late.$jobs" --with stacks=2048 "$dir/late.data" 2>"$dir/log" ||
			fail "stacks: $(cat "$dir/log")"
	done
	cmp "$dir/late.1" "$dir/late.3" || fail "--jobs with few stacks"
	[ "$(without_stack "$dir/late.1")" -lt 100 ] || fail "few stacks: $(without_stack "$dir/late.1") of 1000 instructions have none"
fi

# The same of a recording with gaps: its trace is cut off.
head -c $(($(wc -c <"$dir/report.data") * 7 / 10)) "$dir/report.data" >"$dir/cut.data"
"$SBTRACE" replay --root "$dir/report.root" --sink html="$dir/cut.html" "$dir/cut.data" 2>/dev/null || fail "cut.data"
grep -q '"reason":"truncated","count":[1-9]' "$dir/cut.html" || fail "no gap is told"

# A gap that is small is not rounded away.
if command -v node >/dev/null; then
	{
		grep '^const percent = ' "$SOURCE_DIR/tools/sink/report/page.html"
		echo 'console.log(percent(999999999, 1e9), percent(1, 1e9), percent(1, 3), percent(7, 7), percent(0, 7), percent(0, 0));'
	} >"$dir/percent.js"
	[ "$(node "$dir/percent.js")" = "99.99 % 0.01 % 33.33 % 100.00 % 0.00 % 0.00 %" ] || fail "percent: $(node "$dir/percent.js")"
fi

[ -z "${SANITIZE:-}" ] || { [ $failures -eq 0 ]; exit; } # what a browser shows, it shows without sanitizers, too
command -v chromium >/dev/null && command -v node >/dev/null || { echo "skipped: no chromium or no node here"; exit 77; }
for page in 1 cut; do
	ninsn=$(awk '$1 == "total" { print $2; exit }' "$dir/summary")
	[ $page = 1 ] || ninsn=0
	timeout 120 node "$SOURCE_DIR/tests/tools/report_page.mjs" "$dir/$page.html" "$ninsn" || fail "$page.html"
done
[ $failures -eq 0 ]
