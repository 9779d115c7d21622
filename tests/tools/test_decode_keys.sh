#!/bin/sh
# --time-source and --switch-evidence, and the keys of a job: what is not to be believed is not, so less is known, and
# nothing becomes wrong.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
shared=decode_keys
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
degraded=$SOURCE_DIR/tests/degraded
"$CC" -O2 -o "$dir/score" "$degraded/score.c" || exit 1
record pipe -c 2 --mtc --cyc -- sh -c 'cat /etc/passwd | sort | head -n 3' || exit 1
columns_but_tsc "$dir/pipe.truth" >"$dir/truth"

# score FILE OPTION...: "right other made-up", in instructions.
score()
{
	file=$1
	shift
	"$SBTRACE" replay --root "$dir/pipe.root" --no-host-root "$@" --sink insn="$dir/flow" --sink summary="$dir/summary" \
		"$file" 2>"$dir/err" || fail "replay $*: $(cat "$dir/err")"
	"$dir/score" "$dir/truth" "$dir/flow" | sed 's/.*(//; s/)//' | awk '{ print $1, $2, $6 }'
}

# A whole recording: the times are others, the instructions are not.
score "$dir/pipe.data" >"$dir/whole"
cut -f 4 "$dir/flow" >"$dir/times"
score "$dir/pipe.data" --time-source tsc >"$dir/tsc"
cut -f 4 "$dir/flow" | cmp -s - "$dir/times" && fail "--time-source tsc: the same times"
[ "$(sort -u "$dir/times" | wc -l)" -gt $((10 * $(cut -f 4 "$dir/flow" | sort -u | wc -l))) ] ||
	fail "--time-source tsc: as many times"
score "$dir/pipe.data" --switch-evidence none >"$dir/none"
for setting in whole tsc none; do
	[ "$(cat "$dir/$setting")" = "$(wc -l <"$dir/truth") 0 0" ] || fail "$setting: $(cat "$dir/$setting")"
done

# Without most records of switches, addresses tell; and when they do not count, nobody is known to run.
python3 "$degraded/degrade.py" "$dir/pipe.data" "$dir/bad.data" switch=0.7 seed=1 2>/dev/null
score "$dir/bad.data" >"$dir/all"
read -r right other made_up <"$dir/all"
grep -qE '[1-9][0-9]* without a record' "$dir/summary" || fail "nothing is told by addresses: $(grep switches: "$dir/summary")"
for setting in '--switch-evidence page_tables' '--switch-evidence none --time-source tsc'; do
	# shellcheck disable=SC2086 # options
	score "$dir/bad.data" $setting >"$dir/less"
	grep -qE '[^0-9]0 without a record' "$dir/summary" || fail "$setting: $(grep switches: "$dir/summary")"
	read -r less_right less_other less_made_up <"$dir/less"
	[ "$less_right" -lt "$right" ] && [ "$less_other" -le "$other" ] && [ "$less_made_up" -le "$made_up" ] ||
		fail "$setting: $(cat "$dir/less"), and with all evidence $(cat "$dir/all")"
done

# The same in a job; options win.
printf 'version: 1\nrecording: bad.data\nroots: [pipe.root]\nsinks: [{name: insn, file: out}]\n' >"$dir/job.yaml"
echo 'decode: {time_source: tsc, switch_evidence: [none]}' >>"$dir/job.yaml"
"$SBTRACE" job run "$dir/job.yaml" 2>"$dir/err" || fail "job: $(cat "$dir/err")"
cmp "$dir/out" "$dir/flow" || fail "the job gives something else"
score "$dir/bad.data" --time-source all --switch-evidence addresses,page_tables,trials >/dev/null
"$SBTRACE" replay "$dir/job.yaml" --time-source all --switch-evidence addresses,page_tables,trials 2>"$dir/err" ||
	fail "job with options: $(cat "$dir/err")"
score "$dir/bad.data" >/dev/null
cmp "$dir/out" "$dir/flow" || fail "options do not win over the job"
# What there is instead is told.
for wrong in '--time-source x=there are all, tsc' '--switch-evidence x=there are addresses, page_tables, trials, none' \
	'--strict=x=there are overflow, .*, truncated' '--sink script --with every=x=expected one of insn, block, branch, call'; do
	# shellcheck disable=SC2086
	"$SBTRACE" replay ${wrong%=*} "$dir/bad.data" >/dev/null 2>"$dir/err"
	[ $? -eq 2 ] && grep -q "${wrong##*=}" "$dir/err" || fail "${wrong%=*}: $(cat "$dir/err")"
done
"$SBTRACE" replay --switch-evidence adresses "$dir/bad.data" >/dev/null 2>"$dir/err"
grep -q "'adresses' is not known; did you mean 'addresses'?" "$dir/err" || fail "a wrong word: $(cat "$dir/err")"

# Page tables tell where the kernel is traced.
pti=$CORPUS_DIR/kernel-pti
if [ -d "$pti" ]; then
	cp -r "$pti/perf.data" "$dir/pti"
	chmod -R u+w "$dir/pti"
	python3 "$degraded/degrade.py" "$pti/perf.data/data" "$dir/pti/data" switch=1 2>/dev/null
	for setting in page_tables addresses; do
		"$SBTRACE" replay --root "$pti/root" --no-host-root --switch-evidence $setting --sink summary="$dir/$setting" \
			"$dir/pti" 2>"$dir/err" || fail "kernel-pti: $(cat "$dir/err")"
	done
	grep -qE '[1-9][0-9]* by their page tables' "$dir/page_tables" || fail "kernel-pti: $(grep switches: "$dir/page_tables")"
	grep -qE '[1-9][0-9]* by their page tables' "$dir/addresses" && fail "kernel-pti: $(grep switches: "$dir/addresses")"
	ninsn() { awk '$1 == "total" && NF == 3 && !n { n = $2 } END { print n + 0 }' "$dir/$1"; }
	[ "$(ninsn addresses)" -lt "$(ninsn page_tables)" ] || fail "kernel-pti: $(ninsn addresses) without page tables"
	# A program is no kernel, though the recording does not know the kernel's build-id.
	"$SBTRACE" replay --root "$pti/root" --vmlinux "$SBTRACE" "$pti/perf.data" >/dev/null 2>"$dir/err" && fail "a program as vmlinux"
	grep -q "has no code at a kernel's addresses: expected kcore or vmlinux" "$dir/err" || fail "a program as vmlinux: $(cat "$dir/err")"
	# Where the kernel switches, its code tells, too.
	cp "$pti/perf.data/data" "$dir/pti/data"
	rm "$dir/pti/kcore_dir/kallsyms"
	for recording in "$pti/perf.data" "$dir/pti"; do
		"$SBTRACE" replay --root "$pti/root" --no-host-root --sink summary "$recording" >"$dir/${recording##*/}.sum" ||
			fail "$recording: status $?"
	done
	diff "$dir/perf.data.sum" "$dir/pti.sum" || fail "kernel-pti: others ran without kallsyms"
fi
[ $failures -eq 0 ]
