/* abi_facts_debian.c - see abi_facts.h. */
#if __has_include("/usr/include/intel-pt.h")
#include "/usr/include/intel-pt.h"
#endif

#if defined(LIBIPT_VERSION) && LIBIPT_VERSION == 0x200

#define ABI_FACTS abi_facts_debian
#include "support/abi_facts.inc"

#else

#include "support/abi_facts.h"

size_t abi_facts_debian(struct abi_fact *facts, size_t room)
{
	(void)facts;
	(void)room;
	return 0;
}

#endif
