#ifndef HASH_SHIM_H
#define HASH_SHIM_H

#include <stddef.h>
#include <stdint.h>

/*
 * HMAC whose two padded key blocks are hashed once (RFC 2104 §4): for a key that many short messages are checked with.
 * OpenSSL's own ways cost more: the one-shot HMAC allocates 13 times a call, a duplicated EVP_MAC context 6 times.
 */
typedef struct hmac_pads hmac_pads;

/* The pads of a key of 1 byte or more, for SHA-1 and SHA-256; NULL when there is no memory. */
hmac_pads *hmac_shim_create(const uint8_t *key, size_t count);

/* Wipes and frees. */
void hmac_shim_free(hmac_pads *pads);

/* The HMAC-SHA1 (20 bytes) of `head` followed by `rest`. Allocates nothing; may run on several threads at once. */
void hmac_shim_sha1(
    const hmac_pads *pads, const uint8_t *head, size_t head_count, const uint8_t *rest, size_t rest_count,
    uint8_t *out);

/* The HMAC-SHA256 (32 bytes), likewise. */
void hmac_shim_sha256(
    const hmac_pads *pads, const uint8_t *head, size_t head_count, const uint8_t *rest, size_t rest_count,
    uint8_t *out);

#endif
