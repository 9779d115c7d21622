/* tools/dump/walk.h - from bytes of trace to packets, each with its place, the last IP and the time.
 *
 * What cannot be read is not guessed at: the walk goes on at the next PSB, and what lies before it is
 * handed out as one piece of bytes left out, with a reason. A packet that would reach over a PSB is cut
 * off by it: no packet holds a PSB's bytes, so the packet's own are damaged. Every byte lands in
 * exactly one of the account's numbers.
 *
 * Time comes from <intel-pt-time.h>: the decoders' own estimate, which they only tell together with
 * events or code. The last IP is three lines of the SDM, and needs no library.
 */
#ifndef TOOLS_DUMP_WALK_H
#define TOOLS_DUMP_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include <intel-pt-time.h>

struct dump_packet {
	const struct pt_packet *packet;
	uint64_t offset;
	const uint8_t *bytes;
	unsigned int size;
	bool in_psb_header;   /* between PSB and PSBEND */
	bool has_ip, has_tsc; /* below: after this packet; unknown otherwise */
	uint64_t ip, tsc;
};

/* Bytes that are not dumped; size may be zero, where trace is missing. */
struct dump_skip {
	uint64_t offset, size;
	const uint8_t *bytes;
	bool damage; /* they should have been packets */
	const char *reason;
};

/* What to do with it; a negative result ends the walk. packet may be NULL. */
struct dump_form {
	int (*packet)(void *writer, const struct dump_packet *packet);
	int (*skip)(void *writer, const struct dump_skip *skip);
};

/* total = read + skipped + outside + duplicate + missing, when all went well. */
struct dump_account {
	uint64_t total;
	uint64_t read, packets;   /* bytes, and how many packets they are */
	uint64_t skipped, places; /* bytes, in how many places */
	uint64_t damages;         /* how many of the places are damage */
	uint64_t outside;         /* not asked for */
	uint64_t duplicate;       /* of recordings: bytes that stand there twice */
	uint64_t missing;         /* of recordings: bytes that a cut file does not hold */
};

/* Bytes that stand one after the other. */
struct dump_span {
	const uint8_t *begin;
	uint64_t size;
	uint64_t offset; /* of the first one */
	bool fresh;      /* it does not continue the span before it: look for a PSB. Else it begins at one */
};

struct dump_walk {
	/* set by the caller */
	struct pt_config config;
	const struct dump_form *form;
	void *writer;
	uint64_t from, to; /* packets that begin in [from, to) */
	bool no_sync;      /* begin at @from, whatever is there */
	bool no_pad;
	void (*progress)(void *context,
	                 uint64_t done); /* bytes of the present span, at each PSB; may be NULL */
	void *progress_context;
	/* the walk's own; zero for every stream */
	struct dump_account account;
	struct pt_clock *clock;
	uint64_t ip;
	bool has_base; /* the last IP is known, if only as the zero after a PSB */
	bool has_ip;
	bool in_psb_header;
	bool began;  /* there was a span before */
	bool walked; /* ... of which something was read */
};

/* Zero, -pte_nomem, or what the form returned. The spans of one stream, in their order. */
int dump_walk_span(struct dump_walk *walk, const struct dump_span *span);
void dump_walk_fini(struct dump_walk *walk);

#endif
