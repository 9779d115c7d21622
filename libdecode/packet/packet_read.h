/* Reading one Intel PT packet (Intel SDM vol. 3, "Packet Definitions").
 *
 * Knows neither state nor time: bytes in, one struct pt_packet out.
 */
#ifndef PT_PACKET_READ_H
#define PT_PACKET_READ_H

#include "intel-pt.h"

/* Reads the packet at @pos, which lies in [config->begin, config->end].
 *
 * Returns the packet's size in bytes (> 0), also in packet->size; else a negative pt_error_code:
 * -pte_eos when the packet is cut off by config->end, -pte_bad_opc for an unknown opcode that
 * config->decode.callback did not take, -pte_bad_packet for a known opcode with impossible content.
 * On an error *packet is undefined.
 *
 * Type ppt_invalid stands for bytes that are known to be garbage (erratum SKZ84) and must be skipped.
 */
int pt_packet_read(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config);

/* Those that packet_form.h leaves to it; @pos is before the end. */
int pt_packet_read_other(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config);

/* Which packet begins at @pos, by its opcode alone: enum pt_packet_type, -pte_eos when the opcode is cut off,
 * or -pte_bad_opc. Its content may still be impossible, or cut off. */
int pt_packet_type_at(const uint8_t *pos, const struct pt_config *config);

#endif
