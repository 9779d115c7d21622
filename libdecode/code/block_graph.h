/* The static block graph of a section: basic blocks, found once, shared by all who map the section.
 *
 * A node is a basic block at a section offset: it starts wherever execution was seen to arrive and
 * ends with the first instruction that the flow must look at. Nodes are linked to the nodes of
 * their fall-through and branch target when these lie in the same section; everything is relative
 * to the section, so that a node serves at any load address.
 *
 * Nodes are immutable but for their links, which are published once; they live as long as the
 * section. Reading takes no lock, and a new node none that threads share as a rule. Memory is
 * proportional to the code that was executed.
 */
#ifndef PT_BLOCK_GRAPH_H
#define PT_BLOCK_GRAPH_H

#include <stdatomic.h>
#include <stdint.h>

#include "code/insn_class.h"
#include "code/section.h"

enum { pt_node_max_insn = 255 };

struct pt_node {
	/* What walking from node to node needs: half a cache line. */
	_Atomic(const struct pt_node *) next;  /* where execution goes on behind the block */
	_Atomic(const struct pt_node *) taken; /* the target of a direct branch; NULL when not linked */
	uint64_t offset;                       /* of the first instruction, in the section */
	/* As in struct pt_run_block, so that they are copied at once. */
	uint16_t ninsn;
	uint8_t mode;    /* enum pt_exec_mode */
	uint8_t iclass;  /* enum pt_insn_class of the last instruction */
	uint8_t kind;    /* enum pt_insn_kind of the last instruction; never pt_kind_other */
	uint8_t ip_bits; /* of a direct branch: how wide its target is (insn_class.h); zero: absolute */
	uint16_t size;   /* in bytes, all instructions */

	int64_t target;          /* of a direct branch: see pt_node_taken_ip() */
	struct pt_node *sibling; /* in the graph's look-up lists */
	uint16_t last;           /* where the last instruction starts, relative to offset */
	uint8_t length[];        /* of each instruction */
};

/* Where execution goes on behind @node, which stands at @ip. */
static inline uint64_t pt_node_next_ip(const struct pt_node *node, uint64_t ip)
{
	const enum pt_exec_mode mode = (enum pt_exec_mode)node->mode;

	return pt_wrap_ip(ip + node->size, pt_mode_ip_bits(mode), ip, mode);
}

/* Where the direct branch at the end of @node leads, which stands at @ip: relative to it, or anywhere. */
static inline uint64_t pt_node_taken_ip(const struct pt_node *node, uint64_t ip)
{
	if (!node->ip_bits)
		return (uint64_t)node->target;
	return pt_wrap_ip(ip + (uint64_t)node->target, node->ip_bits, ip, (enum pt_exec_mode)node->mode);
}

/* The node at @offset of @section in @mode, made when it is not there yet.
 *
 * Zero; -pte_nomap when @offset is outside of the section; -pte_bad_insn when there is no instruction;
 * -pte_nomem; what pt_section_bytes() says when the file cannot be mapped. A block whose first
 * instruction is cut by the section's end has kind pt_kind_split and ninsn zero. */
int pt_graph_node(const struct pt_node **node, struct pt_section *section, uint64_t offset,
                  enum pt_exec_mode mode);

/* The node behind @node, or at its branch target; linked at first use, but for one of pt_kind_split. As
 * pt_graph_node(). A target that depends on the load address is outside: -pte_nomap. */
int pt_graph_next(const struct pt_node **next, struct pt_section *section, const struct pt_node *node);
int pt_graph_taken(const struct pt_node **taken, struct pt_section *section, const struct pt_node *node);

/* The one or the other of them, if there is one that can be linked; NULL: somebody else must look. */
const struct pt_node *pt_graph_make_link(struct pt_section *section, const struct pt_node *node, int taken);
static inline const struct pt_node *pt_graph_link(struct pt_section *section, const struct pt_node *node,
                                                  int taken)
{
	const struct pt_node *const to =
	        atomic_load_explicit(taken ? &node->taken : &node->next, memory_order_acquire);

	return to ? to : pt_graph_make_link(section, node, taken);
}

/* A node that belongs to nobody, for code that cannot be remembered (memory read by a callback):
 * decodes up to @size bytes into @storage of pt_node_storage bytes. */
enum { pt_node_storage = sizeof(struct pt_node) + pt_node_max_insn };
int pt_node_decode(struct pt_node *storage, const uint8_t *bytes, uint64_t size, uint64_t offset,
                   enum pt_exec_mode mode);

/* Both for a graph that nobody uses. */
uint64_t pt_block_graph_size(const struct pt_block_graph *graph); /* the bytes that it takes */
void pt_block_graph_free(struct pt_block_graph *graph);           /* NULL is fine */

#endif
