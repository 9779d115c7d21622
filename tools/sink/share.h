/* tools/sink/share.h - parts of a whole, in percent with two decimals: what is not all is never 100, and what is
 * there never 0, whatever rounding would say. */
#ifndef TOOLS_SINK_SHARE_H
#define TOOLS_SINK_SHARE_H

#include <stdint.h>

static inline double share_percent(uint64_t part, uint64_t whole)
{
	const double percent = whole ? 100 * (double)part / (double)whole : 0;

	if (!part || part >= whole)
		return percent;
	return percent < 0.01 ? 0.01 : percent > 99.99 ? 99.99 : percent;
}

#endif
