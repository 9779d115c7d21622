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

# With room for few stacks, the others wait elsewhere: all is as it is with room for all, by each number of jobs. Of few
# that are told of, there are no more than that.
record late -- sh -c 'ls -l /; ls -l / | cat; exec ls -l /' >/dev/null || exit 1
for jobs in 1 3; do
	"$SBTRACE" replay --jobs $jobs --root "$dir/late.root" --sink html="$dir/late.$jobs" --with keep=2048 \
		--sink html="$dir/all.$jobs" --with stacks=all --sink html="$dir/few.$jobs" --with stacks=50 "$dir/late.data" 2>"$dir/log" ||
		fail "stacks: $(cat "$dir/log")"
done
for name in late all few; do
	cmp "$dir/$name.1" "$dir/$name.3" || fail "--jobs with $name stacks"
done
cmp "$dir/late.1" "$dir/all.1" || fail "little room for stacks: another report"
# told REPORT: how many stacks, other than processes, it tells of.
told()
{
	sed -n '/id="data">/,/<\/script>/p' "$1" | sed '1d;$d' |
		jq '[.trees[].nodes as $nodes | range(0; $nodes | length; 4) | select($nodes[.] > 0)] | length'
}
if command -v jq >/dev/null; then
	few=$(told "$dir/few.1")
	[ "$few" -gt 10 ] && [ "$few" -le 50 ] || fail "stacks=50: $few are told of"
	[ "$(told "$dir/all.1")" -gt 500 ] || fail "all stacks: $(told "$dir/all.1")"
fi
[ "$("$SBTRACE" replay --sink html=/dev/null --with stacks=0 x 2>&1 | grep -c stacks)" = 1 ] || fail "stacks=0 is taken"

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
