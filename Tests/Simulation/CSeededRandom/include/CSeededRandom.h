#ifndef GRAINE_SEEDED_RANDOM_H
#define GRAINE_SEEDED_RANDOM_H

#include <stdint.h>

/// Makes every random byte that OpenSSL takes in this process one of a stream that begins at `seed`. Never for a real
/// call. Returns 1, or 0 when OpenSSL refuses.
int seeded_random_install(uint64_t seed);

/// Begins the stream anew.
void seeded_random_restart(uint64_t seed);

#endif
