/* Writing one Intel PT packet: the inverse of packet_read.h. */
#ifndef PT_PACKET_WRITE_H
#define PT_PACKET_WRITE_H

#include "intel-pt.h"

/* Writes @packet at @pos in [config->begin, config->end). Returns its size in bytes (> 0);
 * -pte_eos when it does not fit, -pte_bad_opc for a type that cannot be written, -pte_bad_packet
 * for fields out of range. */
int pt_packet_write(uint8_t *pos, const struct pt_packet *packet, const struct pt_config *config);

#endif
