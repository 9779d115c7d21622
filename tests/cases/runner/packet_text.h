/* Packets as text: "tip ipc=3 0x1000", "pwre state=1 sub_state=0 hw=1". One description of each packet's
 * fields serves both directions. */
#ifndef CASE_PACKET_TEXT_H
#define CASE_PACKET_TEXT_H

#include <stdio.h>

#include "program.h"

/* The names of packets, in the order of their types, NULL last. MODE has one per leaf. */
extern const char *const packet_names[];

void packet_print(FILE *out, const struct pt_packet *packet);

/* Reads a packet from @text, which is changed. NULL; or what is wrong. Fields that are left out are
 * zero, an address is compressed to ipc=3. */
const char *packet_parse(struct pt_packet *packet, char *text, const struct program *program);

#endif
