/* call_places.c - see call_places.h. */
#include "replay/call_places.h"

#include <stdlib.h>
#include <string.h>

struct function_key {
	const char *name, *dso;
	uint64_t address;
};

struct call_places *call_places_new(const struct sb_calls_options *options)
{
	struct call_places *places = calloc(1, sizeof(*places));

	if (!places)
		return NULL;
	places->symbols = options->symbols;
	places->clock = options->clock;
	places->tsc = UINT64_MAX;
	key_table_init(&places->keys, sizeof(struct function_key), (uintptr_t)places);
	return places;
}

void call_places_free(struct call_places *places)
{
	if (!places)
		return;
	arena_free(&places->arena);
	key_table_free(&places->keys);
	free(places->function);
	free(places);
}

/* Without a clock, what was announced last holds. */
uint64_t call_places_time(struct call_places *places, uint64_t tsc)
{
	if (places->tsc != tsc) {
		const int known = places->clock && places->clock->time_mult;

		places->tsc = tsc;
		places->now = known ? sb_clock_tsc_to_ns(places->clock, tsc) : UINT64_MAX - 1;
	}
	return places->now;
}

static int fill(struct call_places *places, struct call_place *slot, const struct sb_symbols_place *place)
{
	const uint64_t half = UINT64_C(1) << 63;
	struct sb_symbol symbol = {
	        .low = place->ip & half, .high = place->ip & half ? UINT64_MAX : half, .to = UINT64_MAX};

	if (places->symbols && sb_symbols_find(places->symbols, place, &symbol, NULL) < 0)
		return -sbe_nomem;
	*slot = (struct call_place){.epoch = place->epoch,
	                            .pid = place->pid,
	                            .valid = 1,
	                            .low = symbol.low,
	                            .high = symbol.high,
	                            .from = symbol.from,
	                            .to = symbol.to,
	                            .begin = symbol.begin,
	                            .name = symbol.name,
	                            .mangled = symbol.mangled,
	                            .dso = symbol.dso};
	return 0;
}

static int fits(const struct call_place *slot, const struct sb_symbols_place *place)
{
	return slot->valid && place->ip >= slot->low && place->ip < slot->high &&
	       slot->epoch == place->epoch && slot->pid == place->pid && place->time >= slot->from &&
	       place->time < slot->to;
}

struct call_place *call_places_at(struct call_places *places, const struct sb_call_thread *thread,
                                  uint64_t ip)
{
	const int kernel = ip >> 63 != 0; /* which is the same for all */
	const struct sb_symbols_place place = {.epoch = kernel ? NULL : thread->epoch,
	                                       .pid = kernel ? -1 : thread->pid,
	                                       .ip = ip,
	                                       .time = call_places_time(places, thread->tsc)};
	const uint64_t key = ip ^ (uintptr_t)place.epoch << 4 ^ (uint64_t)(uint32_t)place.pid << 32;
	struct call_place *slot;

	_Static_assert(call_places_slots == 1 << 12, "a slot for each number of 12 bits");
	slot = &places->slot[key * 0x9e3779b97f4a7c15 >> 52];
	if (!fits(slot, &place) && fill(places, slot, &place) < 0)
		return NULL;
	return slot;
}

/* ---- Functions -------------------------------------------------------------------------------- */

/* "setjmp", also as "setjmp@plt" or "setjmp@@GLIBC_2.2.5"; and Go's "runtime.goexit.abi0". */
static int is_name(const char *name, const char *wanted)
{
	const size_t length = strlen(wanted);

	return !strncmp(name, wanted, length) &&
	       (!name[length] || name[length] == '@' || !strcmp(name + length, ".abi0"));
}

static uint32_t traits_of(const char *name)
{
	static const struct {
		const char *name;
		uint32_t traits;
	} known[] = {
	        {"setjmp", trait_sets_jump},
	        {"_setjmp", trait_sets_jump},
	        {"__setjmp", trait_sets_jump},
	        {"sigsetjmp", trait_sets_jump},
	        {"__sigsetjmp", trait_sets_jump},
	        {"longjmp", trait_unwinds},
	        {"_longjmp", trait_unwinds},
	        {"siglongjmp", trait_unwinds},
	        {"__longjmp_chk", trait_unwinds},
	        {"_Unwind_RaiseException", trait_unwinds},
	        {"_Unwind_Resume", trait_unwinds | trait_resumes},
	        {"_Unwind_Resume_or_Rethrow", trait_unwinds},
	        {"_Unwind_ForcedUnwind", trait_unwinds},
	        {"swapcontext", trait_switches},
	        {"__swapcontext", trait_switches},
	        {"jump_fcontext", trait_switches},
	        {"ontop_fcontext", trait_switches},
	        {"co_switch", trait_switches},
	        {"coro_transfer", trait_switches},
	        {"coroutine_transfer", trait_switches},
	        {"bthread_jump_fcontext", trait_switches},
	        {"coctx_swap", trait_switches},
	        {"_mco_switch", trait_switches},
	        {"acosw", trait_switches},
	        {"runtime.mcall", trait_parks},
	        {"runtime.morestack", trait_grows},
	        {"runtime.gopreempt_m", trait_gives_up},
	        {"runtime.goschedImpl", trait_gives_up},
	        {"runtime.preemptPark", trait_gives_up},
	        {"runtime.schedule", trait_gives_up},
	        {"runtime.goexit0", trait_ends},
	        {"runtime.execute", trait_chooses},
	        {"runtime.gogo", trait_goes},
	        {"gogo", trait_goes},
	        {"runtime.mstart1", trait_starts},
	        {"runtime.goexit", trait_outermost},
	};
	uint32_t traits = 0;

	if (!name)
		return 0;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); ++i)
		if (is_name(name, known[i].name))
			traits |= known[i].traits;
	if (strstr(name, "@plt")) /* it goes on to the function itself */
		traits &= ~(uint32_t)trait_switches;
	if (strstr(name, ".cold"))
		traits |= trait_cold;
	return traits;
}

static struct known_function *make(struct call_places *places, const struct call_place *place,
                                   uint64_t address, uint32_t index)
{
	struct known_function *made = arena_alloc(&places->arena, sizeof(*made));

	if (!made || array_reserve(&places->function, &places->capacity, index, sizeof(made)) < 0)
		return NULL;
	made->public = (struct sb_function){.name = place->name,
	                                    .mangled = place->mangled,
	                                    .dso = place->dso,
	                                    .address = address,
	                                    .index = index};
	made->traits = traits_of(place->mangled ? place->mangled : place->name);
	places->function[index] = made;
	return made;
}

const struct known_function *call_places_function(struct call_places *places, struct call_place *place,
                                                  uint64_t called)
{
	struct function_key key = {.name = place->name, .dso = place->dso};
	struct known_function *function;
	uint32_t index;
	int status;

	if (place->function && (place->name || place->function->public.address == called))
		return place->function;
	if (!place->name)
		key.address = called;
	status = key_table_keep(&places->keys, &key, &index);
	if (status < 0)
		return NULL;
	function = status ? make(places, place, key.address, index) : places->function[index];
	place->function = function;
	return function;
}

struct known_function *call_places_entered(struct call_places *places, const struct sb_call_thread *thread,
                                           uint64_t ip, int called, struct call_place **place)
{
	*place = call_places_at(places, thread, ip);
	if (!*place || !call_places_function(places, *place, called ? ip : 0))
		return NULL;
	return (*place)->function;
}

void call_places_learn(struct call_places *places, const struct sb_function *function, uint32_t traits)
{
	places->learned += 1;
	places->function[function->index]->traits |= traits;
}
