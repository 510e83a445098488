/* The hash functions' own contexts are deprecated in OpenSSL 3; nothing else keeps a hashed pad without allocating. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "hash_shim.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <string.h>

enum { block_size = 64 };

struct hmac_pads {
    SHA_CTX inner1, outer1;
    SHA256_CTX inner256, outer256;
};

/* Hashes one block: the key XORed with `filler`. */
static void absorb1(SHA_CTX *context, const uint8_t *key, size_t count, uint8_t filler) {
    uint8_t block[block_size];
    for (size_t i = 0; i < block_size; i++) block[i] = (i < count ? key[i] : 0) ^ filler;
    SHA1_Init(context);
    SHA1_Update(context, block, block_size);
    OPENSSL_cleanse(block, block_size);
}

static void absorb256(SHA256_CTX *context, const uint8_t *key, size_t count, uint8_t filler) {
    uint8_t block[block_size];
    for (size_t i = 0; i < block_size; i++) block[i] = (i < count ? key[i] : 0) ^ filler;
    SHA256_Init(context);
    SHA256_Update(context, block, block_size);
    OPENSSL_cleanse(block, block_size);
}

hmac_pads *hmac_shim_create(const uint8_t *key, size_t count) {
    hmac_pads *pads = OPENSSL_zalloc(sizeof *pads);
    if (pads == NULL) return NULL;
    uint8_t short1[SHA_DIGEST_LENGTH] = {0}, short256[SHA256_DIGEST_LENGTH] = {0};
    const uint8_t *key1 = key, *key256 = key;
    size_t count1 = count, count256 = count;
    if (count > block_size) {
        /* RFC 2104 §2: a longer key is hashed first. */
        SHA1(key, count, short1);
        SHA256(key, count, short256);
        key1 = short1, count1 = sizeof short1;
        key256 = short256, count256 = sizeof short256;
    }
    absorb1(&pads->inner1, key1, count1, 0x36);
    absorb1(&pads->outer1, key1, count1, 0x5c);
    absorb256(&pads->inner256, key256, count256, 0x36);
    absorb256(&pads->outer256, key256, count256, 0x5c);
    OPENSSL_cleanse(short1, sizeof short1);
    OPENSSL_cleanse(short256, sizeof short256);
    return pads;
}

void hmac_shim_free(hmac_pads *pads) { OPENSSL_clear_free(pads, sizeof *pads); }

void hmac_shim_sha1(
    const hmac_pads *pads, const uint8_t *head, size_t head_count, const uint8_t *rest, size_t rest_count,
    uint8_t *out) {
    uint8_t digest[SHA_DIGEST_LENGTH];
    SHA_CTX context = pads->inner1;
    SHA1_Update(&context, head, head_count);
    SHA1_Update(&context, rest, rest_count);
    SHA1_Final(digest, &context);
    context = pads->outer1;
    SHA1_Update(&context, digest, sizeof digest);
    SHA1_Final(out, &context);
}

void hmac_shim_sha256(
    const hmac_pads *pads, const uint8_t *head, size_t head_count, const uint8_t *rest, size_t rest_count,
    uint8_t *out) {
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256_CTX context = pads->inner256;
    SHA256_Update(&context, head, head_count);
    SHA256_Update(&context, rest, rest_count);
    SHA256_Final(digest, &context);
    context = pads->outer256;
    SHA256_Update(&context, digest, sizeof digest);
    SHA256_Final(out, &context);
}
