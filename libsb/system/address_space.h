/* address_space.h - the mappings of one address space while the model is being built.
 *
 * The mappings of an epoch are a search tree (a treap by address). A tree that somebody else may see - an
 * earlier epoch, the parent of a fork - is never changed: a change copies the nodes on its way, and
 * shares the rest. So forks and new epochs cost next to nothing, however many mappings there are.
 *
 * Code that a process made itself stands in a second tree, above the mappings: whoever makes anonymous memory
 * executable again (W^X does so all the time) says nothing about the code in it.
 */
#ifndef SB_ADDRESS_SPACE_H
#define SB_ADDRESS_SPACE_H

#include <stdbool.h>

#include <sb/system.h>

#include "system/arena.h"

/* Whether it is code that a process made itself. */
static inline int map_is_made(const struct sb_map *map)
{
	return map->origin > sb_map_written && map->origin != sb_map_doubtful;
}

/* What a search looks at comes first, so that it lies in one cache line. */
struct sb_map_node {
	_Alignas(64) struct sb_map_node *left;
	struct sb_map_node *right;
	uint32_t priority;
	uint32_t version; /* who may change it: the space with the same number */
	struct sb_map map;
};

/* The trees of an epoch, or of a space at present. Nodes of a version below @since, and all that is below
 * them, were there before the epoch began. */
struct space_trees {
	struct sb_map_node *maps, *code;
	uint32_t since;
};

/* What all spaces of a system draw from. */
struct space_pool {
	struct arena arena;        /* spaces and nodes: whole cache lines */
	struct sb_map_node *spare; /* nodes that are in no tree, linked by left */
	uint64_t seed; /* of the trees' priorities: nobody can prepare a recording that makes them deep */
	uint32_t last_version, last_family;
	struct space_trees *epoch_trees; /* by epoch id: as they are in the end */
	size_t nepochs, epoch_capacity;
	struct space *owner; /* the spaces that own their epochs: few do */
};

/* Of those that may have one memory: see kin.h. */
struct kin_member {
	uint32_t kin;    /* zero: none */
	uint32_t ever;   /* the same, and stays when it is none any more */
	uint32_t memory; /* those of one number have one for sure */
	int32_t founder; /* whose memory it was first */
	int is_shared;   /* others have it, or had */
	struct space *next, *previous;
};

/* What was mapped last at each address by any of several spaces: one memory, if they have one. */
struct common_memory {
	struct space_trees trees;
	uint32_t version;
};

/* What an exec maps first: the program. */
enum space_program {
	space_program_any,  /* there was no exec */
	space_program_due,  /* nothing from a file came yet */
	space_program_seen, /* something did */
	space_program_lost  /* a library did, and before it nothing */
};

/* A space under construction; its public part is complete when the system is. What is looked at when
 * somebody switches to it comes first, so that it lies in one cache line. */
struct space {
	_Alignas(64) struct sb_space public; /* first: handed out; .epoch is not used before the end */
	struct sb_epoch first;               /* most spaces have one epoch */
	struct space *earlier;               /* of the same pid */
	struct space_trees trees;
	uint32_t version;
	uint32_t family; /* a fork has its parent's mappings, and is of its family */
	int inherits;    /* the first epoch's id is the parent's ... */
	int borrowed;    /* ... and it is the present epoch */
	bool lent;       /* the present epoch's id is a child's, too */
	bool is_strange; /* nobody knows what else it has: a mapping may stand where another one was */
	bool is_kernels; /* of a thread of the kernel, which never maps anything */
	enum space_program program; /* a fork has its parent's */
	struct sb_epoch *epoch;     /* owned, or the first one */
	struct space *next_owner;
	size_t nepochs, epoch_capacity;
	uint64_t since; /* what it has mapped came since then: its exec's time, or that of those it was forked
	                   from */
	struct kin_member kin;
};

/* Whether what it had where nothing is known to be mapped may have been anything. */
static inline int space_is_strange(const struct sb_space *space)
{
	return ((const struct space *)space)->is_strange;
}

static inline int space_is_kernels(const struct sb_space *space)
{
	return ((const struct space *)space)->is_kernels;
}

/* Whether the record of its program's mapping is lost, and any other may be. */
static inline int space_lacks_program(const struct sb_space *space)
{
	const enum space_program program = ((const struct space *)space)->program;

	return program == space_program_due || program == space_program_lost;
}

/* Since when all that @space has was mapped, by itself or by those it was forked from; 0: always. */
static inline uint64_t space_since(const struct sb_space *space)
{
	return ((const struct space *)space)->since;
}

/* A new, empty space of @pid, or NULL. @earlier (may be NULL) ends where it begins. */
struct space *space_new(struct space_pool *pool, int32_t pid, uint64_t time, struct space *earlier);

/* Makes @child, which is new, begin with the mappings of @parent. Zero or -sbe_nomem. */
int space_inherit(struct space_pool *pool, struct space *child, struct space *parent);

/* A node that is in no tree, zeroed; NULL when there is no memory. */
struct sb_map_node *space_node(struct space_pool *pool);

/* Adds the mapping of @node, which is of the pool, in no tree yet, and given away. Zero or -sbe_nomem. */
int space_map(struct space_pool *pool, struct space *space, struct sb_map_node *node);

/* The same for code that the process made itself (map.origin): it ends all older code that it covers a part
 * of. What was mapped from a file there makes room for it. */
int space_code(struct space_pool *pool, struct space *space, struct sb_map_node *node);

/* Whether @map, which somebody else mapped, is something else than what @space has there. */
int space_conflicts(const struct space *space, const struct sb_map *map);

/* From now on, @common has what @space has, too. */
void space_make_common(struct space_pool *pool, struct common_memory *common, struct space *space);

/* Adds the mapping or code of @node, as above. Positive: something else was there; zero; or -sbe_nomem. */
int space_map_common(struct space_pool *pool, struct common_memory *common, struct sb_map_node *node);

/* Where the search for the first mapping that ends after @addr goes on from @node; NULL: nowhere. */
static inline const struct sb_map_node *space_search_step(const struct sb_map_node *node, uint64_t addr)
{
	return node->map.end > addr ? node->left : node->right;
}

/* The mappings of @trees (not the code) that came with their epoch, and a few that were there before: each
 * mapping comes with one epoch at least. Ends when the callback returns something else than zero, and returns
 * that. */
typedef int space_map_callback(void *context, const struct sb_map *map);
int space_walk_new(const struct space_trees *trees, space_map_callback *callback, void *context);

/* The last mapping that begins before @addr, or NULL. */
const struct sb_map *epoch_map_before(const struct sb_epoch *epoch, uint64_t addr);

/* Whether all that @epoch has in the place of @map, which may be nothing, is of the same file at the same
 * place.
 */
int epoch_has_only(const struct sb_epoch *epoch, const struct sb_map *map);

/* No more changes. When all spaces have been sealed, each is published: its public part is complete. */
void space_seal(struct space_pool *pool, const struct space *space);
void space_publish(const struct space_pool *pool, struct space *space);

void space_pool_init(struct space_pool *pool);
void space_pool_free(struct space_pool *pool);

#endif
