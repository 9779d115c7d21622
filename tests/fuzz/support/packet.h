/* Packets for targets: whether two are the same, and what bytes around a result must not be touched. */
#ifndef FUZZ_PACKET_H
#define FUZZ_PACKET_H

#include <stdbool.h>

#include <intel-pt.h>

/* All that counts for the type; the size does not. */
bool fuzz_packets_equal(const struct pt_packet *a, const struct pt_packet *b);

#endif
