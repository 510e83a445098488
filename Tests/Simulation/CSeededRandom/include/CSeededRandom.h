#ifndef GRAINE_SEEDED_RANDOM_H
#define GRAINE_SEEDED_RANDOM_H

#include <stdint.h>

/// Makes OpenSSL draw its random bytes here in this process. Returns 1, or 0 when OpenSSL refuses.
int seeded_random_install(void);

/// On this thread every random byte is one of the stream that begins at `seed`, until `seeded_random_stop`. Never for a
/// real call.
void seeded_random_start(uint64_t seed);

/// On this thread random bytes are the system's again.
void seeded_random_stop(void);

#endif
