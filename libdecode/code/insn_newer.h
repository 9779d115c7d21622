/* Instructions that are newer than the decoder library that we use (Zydis 4.0 of Debian 12): asked when it
 * does not know an encoding. Their lengths follow from the encoding's rules, see the Intel SDM, vol. 2,
 * ch. 2, and the APX architecture specification. */
#ifndef PT_INSN_NEWER_H
#define PT_INSN_NEWER_H

#include "code/insn_class.h"

/* As pt_insn_classify(); @size is at most pt_max_insn_size, and -pte_nomap says that more would be needed. */
int pt_insn_classify_newer(struct pt_insn_info *info, const uint8_t *bytes, uint64_t size,
                           enum pt_exec_mode mode);

#endif
