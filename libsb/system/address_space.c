/* address_space.c - see address_space.h. */
#include "system/address_space.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "bisect.h"

/* ---- The tree --------------------------------------------------------------------------------- */

/* A change to the tree of one space. @failed: no memory; the tree must not be used any more. */
struct change {
	struct space_pool *pool;
	uint32_t version;
	int failed;
};

static uint32_t mix(uint64_t value)
{
	value *= 0x9e3779b97f4a7c15ull;
	value ^= value >> 32;
	value *= 0xd6e8feb86659fd93ull;
	return (uint32_t)(value >> 32);
}

static struct sb_map_node *take_node(struct space_pool *pool)
{
	struct sb_map_node *node = pool->spare;

	if (!node)
		return arena_alloc(&pool->arena, sizeof(*node));
	pool->spare = node->left;
	return node;
}

/* @node is in no tree. */
static void spare_node(struct space_pool *pool, struct sb_map_node *node)
{
	node->left = pool->spare;
	pool->spare = node;
}

struct sb_map_node *space_node(struct space_pool *pool)
{
	struct sb_map_node *node = take_node(pool);

	return node ? memset(node, 0, sizeof(*node)) : NULL;
}

/* @node itself when it may be changed, else a copy. */
static struct sb_map_node *own(struct change *change, struct sb_map_node *node)
{
	struct sb_map_node *copy;

	if (node->version == change->version)
		return node;
	copy = take_node(change->pool);
	if (!copy) {
		change->failed = 1;
		return node;
	}
	*copy = *node;
	copy->version = change->version;
	return copy;
}

/* Cuts @root into what begins before @addr, and the rest. */
static void split(struct change *change, struct sb_map_node *root, uint64_t addr, struct sb_map_node **before,
                  struct sb_map_node **rest)
{
	if (!root) {
		*before = *rest = NULL;
		return;
	}
	root = own(change, root);
	if (change->failed)
		return;
	if (root->map.begin < addr) {
		*before = root;
		split(change, root->right, addr, &root->right, rest);
	} else {
		*rest = root;
		split(change, root->left, addr, before, &root->left);
	}
}

/* All of @left is below all of @right. */
static struct sb_map_node *join(struct change *change, struct sb_map_node *left, struct sb_map_node *right)
{
	struct sb_map_node *root;

	if (!left || !right)
		return left ? left : right;
	root = own(change, left->priority > right->priority ? left : right);
	if (change->failed)
		return root;
	if (left->priority > right->priority)
		root->right = join(change, root->right, right);
	else
		root->left = join(change, left, root->left);
	return root;
}

/* The first mapping that ends after @addr. */
static const struct sb_map_node *find(const struct sb_map_node *root, uint64_t addr)
{
	const struct sb_map_node *found = NULL;

	while (root) {
		if (root->map.end > addr) {
			found = root;
			root = root->left;
		} else {
			root = root->right;
		}
	}
	return found;
}

/* @node becomes part of the tree; its addresses are free. */
static struct sb_map_node *tree_insert(struct change *change, struct sb_map_node *root,
                                       struct sb_map_node *node)
{
	struct sb_map_node *before = NULL, *rest = NULL;

	node->priority = mix(node->map.begin ^ change->pool->seed);
	node->version = change->version;
	split(change, root, node->map.begin, &before, &rest);
	if (change->failed)
		return root;
	return join(change, join(change, before, node), rest);
}

static struct sb_map_node *tree_insert_map(struct change *change, struct sb_map_node *root,
                                           const struct sb_map *map)
{
	struct sb_map_node *node = space_node(change->pool);

	if (!node) {
		change->failed = 1;
		return root;
	}
	node->map = *map;
	return tree_insert(change, root, node);
}

/* Removes the mapping that begins at @begin. */
static struct sb_map_node *tree_remove(struct change *change, struct sb_map_node *root, uint64_t begin)
{
	struct sb_map_node *before = NULL, *rest = NULL, *found = NULL, *behind = NULL;

	split(change, root, begin, &before, &rest);
	if (!change->failed)
		split(change, rest, begin + 1, &found, &behind);
	if (change->failed)
		return root;
	return join(change, before, behind);
}

/* ---- Epochs ----------------------------------------------------------------------------------- */

static struct sb_epoch *present_epoch(struct space *space)
{
	return &space->epoch[space->nepochs - 1];
}

/* Room for one more epoch. */
static int reserve_epoch(struct space_pool *pool, struct space *space)
{
	struct sb_epoch *epoch;
	size_t capacity = 8;

	if (!space->nepochs && !space->epoch) {
		space->epoch = &space->first;
		space->epoch_capacity = 1;
	}
	if (space->epoch != &space->first || !space->nepochs)
		return array_reserve(&space->epoch, &space->epoch_capacity, space->nepochs, sizeof(*epoch));
	epoch = reallocarray(NULL, capacity, sizeof(*epoch));
	if (!epoch)
		return -sbe_nomem;
	*epoch = space->first;
	space->epoch = epoch;
	space->epoch_capacity = capacity;
	space->next_owner = pool->owner;
	pool->owner = space;
	return 0;
}

/* An epoch id of its own for what comes from @time on. */
static int epoch_begin(struct space_pool *pool, struct space *space, uint64_t time)
{
	struct sb_epoch epoch = {.id = (uint32_t)pool->nepochs, .from = time, .to = UINT64_MAX};
	int status;

	status = array_reserve(&pool->epoch_trees, &pool->epoch_capacity, pool->nepochs,
	                       sizeof(*pool->epoch_trees));
	if (status == 0)
		status = reserve_epoch(pool, space);
	if (status < 0)
		return status;
	pool->epoch_trees[pool->nepochs++] = (struct space_trees){NULL, NULL, 0};
	space->trees.since = space->version;
	space->epoch[space->nepochs++] = epoch;
	space->borrowed = 0;
	space->lent = 0;
	return 0;
}

/* From now on, the trees as they are belong to others as well. */
static void share_trees(struct space_pool *pool, struct space *space)
{
	space->version = ++pool->last_version;
}

/* @map is about to be put into @space: gives the space an epoch in which it may. @conflict: what was there
 * before must stay as it was for those who look at an earlier time. */
static int epoch_for_change(struct space_pool *pool, struct space *space, const struct sb_map *map,
                            int conflict)
{
	const uint64_t time = map->time;
	/* Who goes where nothing is known to be mapped may have code there of which no record tells. */
	const int is_strange = space->is_strange && !sb_map_is_anonymous(map->filename);
	struct sb_epoch *epoch;

	if (!space->nepochs)
		return epoch_begin(pool, space, is_strange ? time : space->public.from);
	epoch = present_epoch(space);
	if ((conflict || is_strange) && (epoch->from < time || space->lent)) {
		if (!space->borrowed)
			pool->epoch_trees[epoch->id] = space->trees;
		epoch->to = time;
		share_trees(pool, space);
		return epoch_begin(pool, space, time);
	}
	if (!space->borrowed)
		return 0;
	/* As it was inherited, but with an id of its own. */
	space->nepochs -= 1;
	space->inherits = 0;
	return epoch_begin(pool, space, epoch->from);
}

/* ---- Mapping ---------------------------------------------------------------------------------- */

/* Asked for each mapping, some times: most names differ from all of these in the second letter. */
int sb_map_is_anonymous(const char *filename)
{
	static const char begins[][16] = {"//anon",         "[heap]", "[stack",      "[anon",
	                                  "/memfd:",        "memfd:", "/dev/zero",   "/SYSV",
	                                  "/anon_hugepage", "/i915",  "anon_inode:", "/[aio]"};

	if (!filename[0])
		return 1;
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); ++i)
		if (filename[1] == begins[i][1] && strncmp(filename, begins[i], strlen(begins[i])) == 0)
			return 1;
	return 0;
}

static int same_file(const struct sb_map *a, const struct sb_map *b)
{
	return (a->filename == b->filename || strcmp(a->filename, b->filename) == 0) && a->maj == b->maj &&
	       a->min == b->min && a->ino == b->ino && a->build_id_size == b->build_id_size &&
	       memcmp(a->build_id, b->build_id, sizeof(a->build_id)) == 0;
}

/* Whether both say the same about the addresses that they share. */
static int agree(const struct sb_map *a, const struct sb_map *b)
{
	if (sb_map_is_anonymous(a->filename) && sb_map_is_anonymous(b->filename))
		return 1;
	return a->begin - a->pgoff == b->begin - b->pgoff && same_file(a, b);
}

/* Of two that agree, whether what @old says of the bytes holds when @map comes: nobody tells what was
 * written. */
static int stays(const struct sb_map *old, const struct sb_map *map)
{
	return old->origin == map->origin || old->origin == sb_map_written;
}

enum verdict { map_known, map_fits, map_conflicts };

static enum verdict compare_with_tree(const struct sb_map_node *root, const struct sb_map *map)
{
	enum verdict verdict = map_fits;

	for (const struct sb_map_node *old = find(root, map->begin); old && old->map.begin < map->end;
	     old = find(root, old->map.end)) {
		if (!agree(&old->map, map))
			return map_conflicts;
		if (stays(&old->map, map) && old->map.begin <= map->begin && old->map.end >= map->end)
			verdict = map_known;
		else if (old->map.origin != map->origin)
			return map_conflicts;
	}
	return verdict;
}

/* Makes @map cover @old, which says the same and stays. */
static void unite(struct sb_map *map, const struct sb_map *old)
{
	/* Neither contains the other? Then neither record describes the whole. */
	if (old->begin < map->begin || old->end > map->end)
		map->recorded_size = 0;
	if (old->begin < map->begin) {
		map->begin = old->begin;
		map->pgoff = old->pgoff;
	}
	if (old->end > map->end)
		map->end = old->end;
	if (old->time < map->time)
		map->time = old->time;
	map->origin = old->origin;
}

/* Puts back what @map leaves of @old. */
static struct sb_map_node *insert_rest(struct change *change, struct sb_map_node *root,
                                       const struct sb_map *old, const struct sb_map *map)
{
	struct sb_map rest = *old;

	if (old->begin < map->begin) {
		rest.end = map->begin;
		root = tree_insert_map(change, root, &rest);
	}
	if (old->end > map->end && !change->failed) {
		rest.begin = map->end;
		rest.end = old->end;
		rest.pgoff = old->pgoff + (map->end - old->begin);
		root = tree_insert_map(change, root, &rest);
	}
	return root;
}

/* Takes out of *@root what @map covers a part of: all of it, or leaving the rest. */
static void tree_clear(struct change *change, struct sb_map_node **root, const struct sb_map *map, int all)
{
	const struct sb_map_node *old;

	while (!change->failed && (old = find(*root, map->begin)) && old->map.begin < map->end) {
		const struct sb_map before = old->map;

		*root = tree_remove(change, *root, before.begin);
		if (!all && !change->failed)
			*root = insert_rest(change, *root, &before, map);
	}
}

/* Puts the mapping into the tree; what is there and says the same becomes part of it. */
static void tree_map(struct change *change, struct sb_map_node **root, struct sb_map_node *node)
{
	const struct sb_map_node *old;

	while ((old = find(*root, node->map.begin)) && old->map.begin < node->map.end && !change->failed) {
		const struct sb_map before = old->map;

		*root = tree_remove(change, *root, before.begin);
		if (agree(&before, &node->map) && stays(&before, &node->map))
			unite(&node->map, &before);
		else
			*root = insert_rest(change, *root, &before, &node->map);
	}
	if (!change->failed)
		*root = tree_insert(change, *root, node);
}

/* Whether @root has something where @map is. */
static int is_covered(const struct sb_map_node *root, const struct sb_map *map)
{
	const struct sb_map_node *found = find(root, map->begin);

	return found && found->map.begin < map->end;
}

/* Whether @map is a piece of what is mapped already, made executable again. What loads libraries maps all of
 * their code at once; pieces are what mprotect() leaves, mostly where a process wrote to its own code. */
static int is_reopened(const struct sb_map_node *root, const struct sb_map *map)
{
	const struct sb_map_node *old = find(root, map->begin);

	return old && map->time && map->origin == sb_map_recorded && map->filename[0] == '/' &&
	       !sb_map_is_anonymous(map->filename) && old->map.begin <= map->begin &&
	       old->map.end >= map->end && old->map.end - old->map.begin > map->end - map->begin &&
	       agree(&old->map, map);
}

int space_map(struct space_pool *pool, struct space *space, struct sb_map_node *node)
{
	struct change change = {.pool = pool};
	enum verdict verdict;
	int ends_code, status;

	if (is_reopened(space->trees.maps, &node->map))
		node->map.origin = sb_map_written;
	verdict = compare_with_tree(space->trees.maps, &node->map);
	ends_code = is_covered(space->trees.code, &node->map) && !sb_map_is_anonymous(node->map.filename);
	if (verdict == map_known && !ends_code) {
		spare_node(pool, node);
		return 0;
	}
	status = epoch_for_change(pool, space, &node->map, verdict == map_conflicts || ends_code);
	if (status < 0)
		return status;
	change.version = space->version;
	if (ends_code)
		tree_clear(&change, &space->trees.code, &node->map, 1);
	if (!change.failed)
		tree_map(&change, &space->trees.maps, node);
	return change.failed ? -sbe_nomem : 0;
}

/* Whether some of what is mapped at @map comes from a file. */
static int is_on_file(const struct sb_map_node *root, const struct sb_map *map)
{
	for (const struct sb_map_node *old = find(root, map->begin); old && old->map.begin < map->end;
	     old = find(root, old->map.end))
		if (!sb_map_is_anonymous(old->map.filename))
			return 1;
	return 0;
}

static int is_same_code(const struct sb_map *a, const struct sb_map *b)
{
	return a->begin == b->begin && a->end == b->end && a->origin == b->origin && a->pgoff == b->pgoff &&
	       strcmp(a->filename, b->filename) == 0;
}

int space_code(struct space_pool *pool, struct space *space, struct sb_map_node *node)
{
	struct change change = {.pool = pool};
	const struct sb_map_node *old = find(space->trees.code, node->map.begin);
	const int ends_code = old && old->map.begin < node->map.end;
	const int ends_file = is_on_file(space->trees.maps, &node->map);
	int status;

	if (ends_code && !ends_file && is_same_code(&old->map, &node->map)) {
		spare_node(pool, node);
		return 0;
	}
	/* Forked children shall not see what comes from now on: they may have other code there. */
	status = epoch_for_change(pool, space, &node->map, ends_code || ends_file || space->lent);
	if (status < 0)
		return status;
	change.version = space->version;
	tree_clear(&change, &space->trees.code, &node->map, 1);
	if (ends_file && !change.failed)
		tree_clear(&change, &space->trees.maps, &node->map, 0);
	if (!change.failed)
		space->trees.code = tree_insert(&change, space->trees.code, node);
	return change.failed ? -sbe_nomem : 0;
}

/* ---- Memory of several -------------------------------------------------------------------------- */

static int trees_conflict(const struct space_trees *trees, const struct sb_map *map)
{
	const struct sb_map_node *code = find(trees->code, map->begin);

	if (map_is_made(map))
		return (code && code->map.begin < map->end && !is_same_code(&code->map, map)) ||
		       is_on_file(trees->maps, map);
	return is_reopened(trees->maps, map) || compare_with_tree(trees->maps, map) == map_conflicts ||
	       (is_covered(trees->code, map) && !sb_map_is_anonymous(map->filename));
}

int space_conflicts(const struct space *space, const struct sb_map *map)
{
	return trees_conflict(&space->trees, map);
}

void space_make_common(struct space_pool *pool, struct common_memory *common, struct space *space)
{
	share_trees(pool, space);
	common->version = ++pool->last_version;
	common->trees = space->trees;
}

int space_map_common(struct space_pool *pool, struct common_memory *common, struct sb_map_node *node)
{
	struct change change = {.pool = pool, .version = common->version};
	const int conflicts = trees_conflict(&common->trees, &node->map);
	const int is_made = map_is_made(&node->map);

	if (is_made || !sb_map_is_anonymous(node->map.filename))
		tree_clear(&change, &common->trees.code, &node->map, 1);
	if (is_made && !change.failed)
		tree_clear(&change, &common->trees.maps, &node->map, 0);
	if (is_made && !change.failed)
		common->trees.code = tree_insert(&change, common->trees.code, node);
	else if (!change.failed)
		tree_map(&change, &common->trees.maps, node);
	return change.failed ? -sbe_nomem : conflicts;
}

/* ------------------------------------------------------------------------------------------------- */

static int walk_new(const struct sb_map_node *node, uint32_t since, space_map_callback *callback,
                    void *context)
{
	int status = 0;

	while (node && node->version >= since && status == 0) {
		status = walk_new(node->left, since, callback, context);
		if (status == 0)
			status = callback(context, &node->map);
		node = node->right;
	}
	return status;
}

int space_walk_new(const struct space_trees *trees, space_map_callback *callback, void *context)
{
	return walk_new(trees->maps, trees->since, callback, context);
}

/* ---- Spaces ----------------------------------------------------------------------------------- */

struct space *space_new(struct space_pool *pool, int32_t pid, uint64_t time, struct space *earlier)
{
	struct space *space = arena_alloc(&pool->arena, sizeof(*space));

	if (!space)
		return NULL;
	space->public.pid = pid;
	space->public.from = time;
	space->public.to = UINT64_MAX;
	space->since = time;
	space->earlier = earlier;
	space->version = ++pool->last_version;
	space->family = ++pool->last_family;
	space->kin.memory = space->family;
	space->kin.founder = pid;
	if (earlier && earlier->public.to > time)
		earlier->public.to = time;
	return space;
}

int space_inherit(struct space_pool *pool, struct space *child, struct space *parent)
{
	int status;

	child->since = parent->since;
	child->program = parent->program;
	if (!parent->nepochs)
		return 0;
	status = reserve_epoch(pool, child);
	if (status < 0)
		return status;
	child->epoch[0] = (struct sb_epoch){
	        .id = present_epoch(parent)->id, .from = child->public.from, .to = UINT64_MAX};
	child->nepochs = 1;
	child->inherits = child->borrowed = 1;
	child->trees = parent->trees;
	child->family = parent->family;
	parent->lent = 1;
	share_trees(pool, parent);
	return 0;
}

void space_seal(struct space_pool *pool, const struct space *space)
{
	if (space->nepochs && !space->borrowed)
		pool->epoch_trees[space->epoch[space->nepochs - 1].id] = space->trees;
}

void space_publish(const struct space_pool *pool, struct space *space)
{
	for (size_t i = 0; i < space->nepochs; ++i) {
		const struct space_trees *trees = &pool->epoch_trees[space->epoch[i].id];

		space->epoch[i].root = trees->maps;
		space->epoch[i].code = trees->code;
	}
	space->public.epoch = space->epoch;
	space->public.nepochs = space->nepochs;
}

void space_pool_init(struct space_pool *pool)
{
	memset(pool, 0, sizeof(*pool));
	if (getrandom(&pool->seed, sizeof(pool->seed), GRND_NONBLOCK) < 0)
		pool->seed = (uintptr_t)pool;
}

void space_pool_free(struct space_pool *pool)
{
	for (const struct space *space = pool->owner; space; space = space->next_owner)
		free(space->epoch);
	arena_free(&pool->arena);
	free(pool->epoch_trees);
	memset(pool, 0, sizeof(*pool));
}

const struct sb_map *sb_epoch_map(const struct sb_epoch *epoch, uint64_t addr)
{
	const struct sb_map_node *found = find(epoch->root, addr);

	return found ? &found->map : NULL;
}

const struct sb_map *epoch_map_before(const struct sb_epoch *epoch, uint64_t addr)
{
	const struct sb_map_node *node = epoch->root, *found = NULL;

	while (node) {
		if (node->map.begin < addr)
			found = node;
		node = node->map.begin < addr ? node->right : node->left;
	}
	return found ? &found->map : NULL;
}

static int tree_has_only(const struct sb_map_node *root, const struct sb_map *map)
{
	const struct sb_map_node *old = find(root, map->begin);

	for (; old && old->map.begin < map->end; old = find(root, old->map.end))
		if (old->map.origin != map->origin || !agree(&old->map, map))
			return 0;
	return 1;
}

int epoch_has_only(const struct sb_epoch *epoch, const struct sb_map *map)
{
	/* Code that the process made lies in memory that is mapped, too. */
	return tree_has_only(epoch->code, map) && (map_is_made(map) || tree_has_only(epoch->root, map));
}

const struct sb_map *sb_epoch_code(const struct sb_epoch *epoch, uint64_t addr)
{
	const struct sb_map_node *found = find(epoch->code, addr);

	if (!found || found->map.begin > addr)
		found = find(epoch->root, addr);
	return found && found->map.begin <= addr ? &found->map : NULL;
}

const struct sb_epoch *sb_space_epoch(const struct sb_space *space, uint64_t time)
{
	struct bisect at = {.high = space->nepochs};

	while (bisect_more(&at))
		bisect_go(&at, space->epoch[at.middle].from <= time);
	return at.low ? &space->epoch[at.low - 1] : NULL;
}
