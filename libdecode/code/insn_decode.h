/* An instruction decoded by Zydis, whatever it is: what pt_insn_classify() answers, without its short cut. */
#ifndef PT_INSN_DECODE_H
#define PT_INSN_DECODE_H

#include "code/insn_class.h"

/* As pt_insn_classify(). */
int pt_insn_decode(struct pt_insn_info *info, const uint8_t *bytes, uint64_t size, enum pt_exec_mode mode);

#endif
