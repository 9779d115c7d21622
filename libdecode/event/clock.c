/* clock.c - see intel-pt-time.h: the event decoder's time for those who read packets themselves. */
#include <intel-pt-time.h>

#include <stdlib.h>

#include "event/time.h"
#include "packet/config.h"

struct pt_clock {
	struct pt_config config;
	struct pt_time time;
};

struct pt_clock *pt_clock_alloc(const struct pt_config *config)
{
	struct pt_clock *clock = calloc(1, sizeof(*clock));

	if (clock && pt_config_from_user(&clock->config, config) < 0) {
		free(clock);
		return NULL;
	}
	return clock;
}

void pt_clock_free(struct pt_clock *clock)
{
	free(clock);
}

int pt_clock_packet(struct pt_clock *clock, const struct pt_packet *packet)
{
	if (!clock || !packet)
		return -pte_invalid;
	switch (packet->type) {
	case ppt_ovf:
		pt_time_overflow(&clock->time, clock->config.flags.variant.event.keep_tcal_on_ovf);
		return 1;
	case ppt_psb:
		pt_time_psb(&clock->time, &clock->config);
		return 0;
	default:
		/* A TMA out of place is no packet that counts, but one about time all the same. */
		return pt_time_update(&clock->time, packet, &clock->config) != 0;
	}
}

int pt_clock_time(const struct pt_clock *clock, uint64_t *tsc, uint32_t *lost_mtc, uint32_t *lost_cyc)
{
	if (!clock || !tsc)
		return -pte_invalid;
	return pt_time_query(&clock->time, tsc, lost_mtc, lost_cyc);
}
