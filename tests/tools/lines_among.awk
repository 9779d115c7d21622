# awk -v slack=N -f lines_among.awk TRUTH FLOW: are the lines of FLOW among those of TRUTH, CPU by CPU in the same
# order, each at its time but for @slack ticks? Both: cpu pid tid tsc ip. For flow with many short stretches in it,
# of a recording whose times are exact; see right_lines.awk for the others.
BEGIN { FS = "\t" }
{ line = $2 " " $3 " " $5 }
FNR == NR { tsc[$1, n[$1] + 0] = $4; truth[$1, n[$1]++] = line; next }
{
	i = at[$1] + 0
	while (i < n[$1] && (truth[$1, i] != line || tsc[$1, i] < $4 - slack) && tsc[$1, i] <= $4 + slack)
		i++
	if (i >= n[$1] || truth[$1, i] != line) {
		print "CPU " $1 ": line " FNR " is not in the truth: " $0
		exit 1
	}
	at[$1] = i + 1
}
