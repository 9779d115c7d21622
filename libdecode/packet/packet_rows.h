/* What the first byte tells of a packet: all 256 of them, for the tables that are made of it. Opcodes: Intel
 * SDM vol. 3, "Packet Definitions". */
#ifndef PT_PACKET_ROWS_H
#define PT_PACKET_ROWS_H

/* ROW(first byte, type, size, first word, second word, bytes behind of either) */

/* The mask of as many of the bytes behind. */
#define BYTES(n) ((n) ? UINT64_MAX >> (64 - 8 * (n)) % 64 : 0)

/* TNT: the outcomes stand between the stop bit, which is the highest one set, and bit 0. */
#define STOP(byte)       (31 - __builtin_clz((byte) >> 1))
#define TNT(ROW, byte)   ROW(byte, ppt_tnt_8, 1, STOP(byte), ((byte) >> 1) ^ (1 << STOP(byte)), 0, 0)
#define TNT_4(ROW, byte) TNT(ROW, byte) TNT(ROW, (byte) + 2) TNT(ROW, (byte) + 4) TNT(ROW, (byte) + 6)
#define TNT_16(ROW, byte)                                                                                    \
	TNT_4(ROW, byte) TNT_4(ROW, (byte) + 8) TNT_4(ROW, (byte) + 16) TNT_4(ROW, (byte) + 24)

/* FUP and TIPs with each compression of the IP; two are reserved. */
#define IP(ROW, opcode, type, ipc, size) ROW((opcode) | (ipc) << 5, type, 1 + (size), ipc, 0, 0, size)
#define IPS(ROW, opcode, type)                                                                               \
	IP(ROW, opcode, type, pt_ipc_suppressed, 0)                                                          \
	IP(ROW, opcode, type, pt_ipc_update_16, 2)                                                           \
	IP(ROW, opcode, type, pt_ipc_update_32, 4)                                                           \
	IP(ROW, opcode, type, pt_ipc_sext_48, 6)                                                             \
	IP(ROW, opcode, type, pt_ipc_update_48, 6)                                                           \
	IP(ROW, opcode, type, pt_ipc_full, 8)                                                                \
	ROW((opcode) | 5 << 5, type, 0, 0, 0, 0, 0)                                                          \
	ROW((opcode) | 7 << 5, type, 0, 0, 0, 0, 0)

/* CYC: five bits of cycles above the opcode and the bit that says that another byte follows. */
#define CYC(ROW, cycles)                                                                                     \
	ROW((cycles) << 3 | 3, ppt_cyc, 1, cycles, 0, 0, 0)                                                  \
	ROW((cycles) << 3 | 7, ppt_cyc, 0, cycles, 0, 0, 0)
#define CYC_4(ROW, cycles)                                                                                   \
	CYC(ROW, cycles) CYC(ROW, (cycles) + 1) CYC(ROW, (cycles) + 2) CYC(ROW, (cycles) + 3)
#define CYC_16(ROW, cycles)                                                                                  \
	CYC_4(ROW, cycles) CYC_4(ROW, (cycles) + 4) CYC_4(ROW, (cycles) + 8) CYC_4(ROW, (cycles) + 12)

/* No such opcode, or a second byte tells. */
#define NONE(ROW, byte) ROW(byte, ppt_invalid, 0, 0, 0, 0, 0)
#define NONES(ROW, opcode)                                                                                   \
	NONE(ROW, opcode)                                                                                    \
	NONE(ROW, (opcode) | 0x20)                                                                           \
	NONE(ROW, (opcode) | 0x40)                                                                           \
	NONE(ROW, (opcode) | 0x60)                                                                           \
	NONE(ROW, (opcode) | 0x80)                                                                           \
	NONE(ROW, (opcode) | 0xa0)                                                                           \
	NONE(ROW, (opcode) | 0xc0)                                                                           \
	NONE(ROW, (opcode) | 0xe0)

#define FIRST_BYTES(ROW)                                                                                     \
	ROW(0x00, ppt_pad, 1, 0, 0, 0, 0)                                                                    \
	NONE(ROW, 0x02)                                                                                      \
	TNT(ROW, 0x04)                                                                                       \
	TNT(ROW, 0x06)                                                                                       \
	TNT_4(ROW, 0x08)                                                                                     \
	TNT_4(ROW, 0x10)                                                                                     \
	TNT_4(ROW, 0x18)                                                                                     \
	TNT_16(ROW, 0x20)                                                                                    \
	TNT_16(ROW, 0x40)                                                                                    \
	TNT_16(ROW, 0x60)                                                                                    \
	TNT_16(ROW, 0x80)                                                                                    \
	TNT_16(ROW, 0xa0)                                                                                    \
	TNT_16(ROW, 0xc0)                                                                                    \
	TNT_16(ROW, 0xe0)                                                                                    \
	IPS(ROW, 0x01, ppt_tip_pgd)                                                                          \
	IPS(ROW, 0x0d, ppt_tip)                                                                              \
	IPS(ROW, 0x11, ppt_tip_pge)                                                                          \
	IPS(ROW, 0x1d, ppt_fup)                                                                              \
	ROW(0x19, ppt_tsc, 8, 0, 0, 7, 0)                                                                    \
	ROW(0x59, ppt_mtc, 2, 0, 0, 1, 0)                                                                    \
	ROW(0x99, ppt_mode, 0, 0, 0, 0, 0)                                                                   \
	NONE(ROW, 0x39)                                                                                      \
	NONE(ROW, 0x79)                                                                                      \
	NONE(ROW, 0xb9)                                                                                      \
	NONE(ROW, 0xd9)                                                                                      \
	NONE(ROW, 0xf9)                                                                                      \
	NONES(ROW, 0x05)                                                                                     \
	NONES(ROW, 0x09)                                                                                     \
	NONES(ROW, 0x15)                                                                                     \
	CYC_16(ROW, 0)                                                                                       \
	CYC_16(ROW, 16)

#endif
