/* kernel_events.h - records about the kernel's code, gathered while the model is being built; see
 * <sb/kernel.h>.
 */
#ifndef SB_KERNEL_EVENTS_H
#define SB_KERNEL_EVENTS_H

#include <sb/kernel.h>
#include <sb/record.h>

#include "system/arena.h"
#include "system/string_table.h"

struct kernel_events {
	struct sb_kernel_map *map;
	size_t nmaps, map_capacity;
	struct sb_text_poke *poke;
	size_t npokes, poke_capacity;
	struct sb_kernel_symbol *symbol;
	size_t nsymbols, symbol_capacity;
	struct sb_bpf_program *program;
	size_t nprograms, program_capacity;
};

/* A record of any type; @time is its time. Zero or -sbe_nomem. */
int kernel_events_record(struct kernel_events *events, struct string_table *names,
                         const struct sb_record *record, uint64_t time);

/* There are no more. Zero or -sbe_nomem. */
int kernel_events_seal(struct kernel_events *events);
void kernel_events_free(struct kernel_events *events);

#endif
