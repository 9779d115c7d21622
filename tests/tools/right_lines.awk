# awk -v gaps=N -f right_lines.awk TRUTH FLOW: are the lines of FLOW those of TRUTH, but for stretches that
# are missing at no more than N places per CPU (the end aside)? Both: cpu pid tid tsc ip, CPU by CPU.
#
# Behind a missing stretch, eight lines in a row must agree before the place counts as found.
BEGIN { FS = "\t"; run = 8 }
{ line = $2 " " $3 " " $5 }
FNR == NR { truth[$1, n[$1]++] = line; next }
{ flow[$1, m[$1]++] = line }

function agrees(cpu, i, j,   k) {
	for (k = 0; k < run && j + k < m[cpu]; k++)
		if (truth[cpu, i + k] != flow[cpu, j + k])
			return 0
	return 1
}

END {
	for (cpu in m) {
		skips = i = 0
		for (j = 0; j < m[cpu]; j++) {
			if (truth[cpu, i] != flow[cpu, j]) {
				skips++
				while (i < n[cpu] && !agrees(cpu, i, j))
					i++
				if (i >= n[cpu]) {
					print "CPU " cpu ": line " j + 1 " is not in the truth: " flow[cpu, j]
					exit 1
				}
			}
			i++
		}
		if (skips > gaps) {
			print "CPU " cpu ": lines are missing at " skips " places, but only " gaps " gaps were reported"
			exit 1
		}
	}
}
