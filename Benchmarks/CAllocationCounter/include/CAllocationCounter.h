#ifndef CALLOCATIONCOUNTER_H
#define CALLOCATIONCOUNTER_H
#include <stdint.h>

/* Linked into an executable, this target's malloc and its kin stand in for the C library's, and count every call of
 * the whole process: ours, the Swift runtime's and every library's. Built with a sanitizer it leaves them alone. */

/* Allocations of this process so far; -1 when they are not counted. */
int64_t allocation_count(void);

#endif
