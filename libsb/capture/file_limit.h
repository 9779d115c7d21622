/* file_limit.h - how many files this process may have open. It is the process's, and so are those who need
 * more of them: it is raised while there is one.
 */
#ifndef SB_FILE_LIMIT_H
#define SB_FILE_LIMIT_H

/* As many as may be, from now on until file_limit_restore(). Threads may do so at the same time. */
void file_limit_raise(void);
/* Once for each time that it was raised: the last one brings back what it was before the first. */
void file_limit_restore(void);

#endif
