/* module_find.h - the files of kernel modules. Recordings name a module by its file or, where perf did not
 * find that, by its name: "[loop]". Then depmod's list says which file it is:
 * /lib/modules/RELEASE/modules.dep; without a list, it may stand right below a root: NAME.ko.
 */
#ifndef SB_MODULE_FIND_H
#define SB_MODULE_FIND_H

#include <sb/binary.h>

struct module_finder {
	struct sb_resolver *resolver;
	char *list;      /* the text of modules.dep; owned; NULL: there is none */
	char *list_path; /* as on the recorded machine; owned */
	char *directory; /* the same, of what the list names; owned */
};

/* @release NULL: not known. Zero or -sbe_nomem. */
int module_finder_init(struct module_finder *finder, struct sb_resolver *resolver, const char *release);
void module_finder_fini(struct module_finder *finder);

/* Whether a kernel mapping's name may be a module's. */
int module_is_named(const char *recorded);

/* "[name]" of a module, from what was recorded. */
void module_name(char name[72], const char *recorded);

/* The path that the module's file has on the recorded machine, as far as a file is found there, to be freed;
 * and the file. NULL: there is none. */
char *module_find(const struct module_finder *finder, const char *recorded, const struct sb_binary **binary);

#endif
