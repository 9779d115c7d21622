# shards.awk - a row of tests/bench/shards from lines "ROUND NAME SECONDS KIB": of the plan, of one machine, of each shard
# ("part", in their order), and of the merge.

$1 != round { round = $1; number = 0; n++ }
{
	key = $2 == "part" ? "part" ++number : $2
	if (!(key in least) || $3 < least[key])
		least[key] = $3
	if ($4 > kib[$2])
		kib[$2] = $4
	sum[$2, n] += $3
	nparts = number
}

# Puts the @n values of @from in order.
function sort(from, i, k, value)
{
	for (i = 2; i <= n; i++) {
		value = from[i]
		for (k = i - 1; k > 0 && from[k] > value; k--)
			from[k + 1] = from[k]
		from[k + 1] = value
	}
}

function middle(from)
{
	sort(from)
	return n % 2 ? from[(n + 1) / 2] : (from[n / 2] + from[n / 2 + 1]) / 2
}

function median(name, i)
{
	for (i = 1; i <= n; i++)
		taken[i] = sum[name, i]
	return middle(taken)
}

function times(name, best)
{
	return sprintf("%.2f / %.2f (%.0f MiB)", best, median(name), kib[name] / 1024)
}

END {
	for (i = 1; i <= nparts; i++)
		all += least["part" i]
	for (i = 1; i <= n; i++)
		ratio[i] = sum["part", i] / sum["one", i]
	between = middle(ratio)
	printf "| `%s` | %s | %s | %.1f %% | %s | %.2f / %.2f | %.2f | %s | %.1f %% | %s MB | %s MB |\n", name,
		times("one", least["one"]), times("plan", least["plan"]), 100 * median("plan") / median("one"),
		times("part", all), ratio[1], between, all / least["one"], times("merge", least["merge"]),
		100 * median("merge") / median("one"), results, output
}
