# awk -v gaps=N -f right_lines.awk TRUTH FLOW: are the lines of FLOW those of TRUTH, but for stretches that
# are missing at no more than N places per CPU (the end aside)? Both: cpu pid tid tsc ip, CPU by CPU.
#
# Behind a missing stretch, the place where eight lines in a row agree counts as found; of several (a loop
# that runs again and again) the one that is nearest in time.
BEGIN { FS = "\t"; run = 8; slack = 3000 }
{ line = $2 " " $3 " " $5 }
FNR == NR { truth_tsc[$1, n[$1] + 0] = $4; truth[$1, n[$1]++] = line; next }
{ flow_tsc[$1, m[$1] + 0] = $4; flow[$1, m[$1]++] = line }

function agrees(cpu, i, j,   k) {
	for (k = 0; k < run && j + k < m[cpu]; k++)
		if (truth[cpu, i + k] != flow[cpu, j + k])
			return 0
	return 1
}

# The place of flow line j in the truth, from i on; -1: none.
function find(cpu, i, j,   best, nearest, d) {
	best = -1
	for (; i < n[cpu] && truth_tsc[cpu, i] <= flow_tsc[cpu, j] + slack; i++) {
		if (truth[cpu, i] != flow[cpu, j] || !agrees(cpu, i, j))
			continue
		d = truth_tsc[cpu, i] - flow_tsc[cpu, j]
		if (d < 0)
			d = -d
		if (best < 0 || d < nearest) {
			best = i
			nearest = d
		}
	}
	return best
}

END {
	for (cpu in m) {
		skips = i = 0
		for (j = 0; j < m[cpu]; j++) {
			if (truth[cpu, i] != flow[cpu, j]) {
				skips++
				i = find(cpu, i, j)
				if (i < 0) {
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
