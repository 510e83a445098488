// RAND_METHOD is deprecated and still honoured by OpenSSL 3.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "CSeededRandom.h"

#include <openssl/rand.h>
#include <sys/random.h>

static _Thread_local int is_seeded;
static _Thread_local uint64_t state;

static uint64_t next_word(void) {
    state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t mixed = state;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ (mixed >> 31);
}

static int fill_from_system(unsigned char *bytes, int count) {
    while (count > 0) {
        ssize_t got = getrandom(bytes, (size_t)count, 0);
        if (got <= 0) return 0;
        bytes += got;
        count -= (int)got;
    }
    return 1;
}

static int fill(unsigned char *bytes, int count) {
    if (!is_seeded) return fill_from_system(bytes, count);
    while (count > 0) {
        uint64_t word = next_word();
        for (int i = 0; i < 8 && count > 0; i++, count--) {
            *bytes++ = (unsigned char)word;
            word >>= 8;
        }
    }
    return 1;
}

static int status(void) { return 1; }

static int seed_ignored(const void *bytes, int count) {
    (void)bytes;
    (void)count;
    return 1;
}

static int add_ignored(const void *bytes, int count, double entropy) {
    (void)entropy;
    return seed_ignored(bytes, count);
}

static const RAND_METHOD method = {
    .seed = seed_ignored, .bytes = fill, .add = add_ignored, .pseudorand = fill, .status = status};

int seeded_random_install(void) { return RAND_set_rand_method(&method) == 1; }

void seeded_random_start(uint64_t seed) {
    is_seeded = 1;
    state = seed;
}

void seeded_random_stop(void) { is_seeded = 0; }
