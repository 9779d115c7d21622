/* abi_facts_ours.c - see abi_facts.h. */
#include <intel-pt.h>

#define ABI_FACTS abi_facts_ours
#include "support/abi_facts.inc"
