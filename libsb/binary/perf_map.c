/* perf_map.c - see perf_map.h. */
#include "binary/perf_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sb/error.h>

/* A number at *at, and the blanks behind it. Zero when there is none. */
static int take_number(char **at, uint64_t *number)
{
	char *end;

	if (**at == '-' || **at == '+')
		return 0;
	errno = 0;
	*number = strtoull(*at, &end, 16);
	if (end == *at || errno || *end != ' ')
		return 0;
	*at = end + strspn(end, " ");
	return 1;
}

int perf_map_parse(char *text, const char *dso, struct symbol_ranges *ranges)
{
	char *line;

	while (ranges->nentries < PERF_MAP_LINES_MOST && (line = strsep(&text, "\n"))) {
		struct range_entry entry = {.to = UINT64_MAX, .dso = dso};
		uint64_t size;

		if (!take_number(&line, &entry.begin) || !take_number(&line, &size) || !*line)
			continue;
		entry.end = size < UINT64_MAX - entry.begin ? entry.begin + size : UINT64_MAX;
		entry.name.raw = line;
		if (symbol_ranges_add(ranges, &entry) < 0)
			return -sbe_nomem;
	}
	return 0;
}
