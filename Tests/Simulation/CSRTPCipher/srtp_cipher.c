#include "CSRTPCipher.h"

#include <openssl/evp.h>
#include <openssl/modes.h>
#include <srtp2/cipher.h>
#include <srtp2/srtp.h>
#include <stdlib.h>
#include <string.h>

// OpenSSL's GCM behind EVP asks for each IV and each tag by name; what is below it does not. Its blocks come from EVP.

enum { block_bytes = 16, iv_bytes = 12, batch_blocks = 16 };

typedef struct {
    EVP_CIPHER_CTX *blocks;
    GCM128_CONTEXT *gcm;
    size_t tag_bytes;
} gcm_state;

static const srtp_cipher_type_t gcm_type;
static EVP_CIPHER *aes;

static void encrypt_block(const uint8_t in[block_bytes], uint8_t out[block_bytes], const void *blocks) {
    int count = 0;
    EVP_EncryptUpdate((EVP_CIPHER_CTX *)blocks, out, &count, in, block_bytes);
}

// Counter mode over whole blocks: the last four bytes of `iv` count, big-endian.
static void encrypt_counted(
    const uint8_t *in, uint8_t *out, size_t count, const void *blocks, const uint8_t iv[block_bytes]) {
    uint8_t pad[batch_blocks * block_bytes];
    uint32_t counter = (uint32_t)iv[12] << 24 | (uint32_t)iv[13] << 16 | (uint32_t)iv[14] << 8 | iv[15];
    while (count > 0) {
        size_t batch = count < batch_blocks ? count : batch_blocks;
        for (size_t i = 0; i < batch; i++, counter++) {
            uint8_t *block = pad + i * block_bytes;
            memcpy(block, iv, iv_bytes);
            block[12] = (uint8_t)(counter >> 24);
            block[13] = (uint8_t)(counter >> 16);
            block[14] = (uint8_t)(counter >> 8);
            block[15] = (uint8_t)counter;
        }
        int written = 0;
        EVP_EncryptUpdate((EVP_CIPHER_CTX *)blocks, pad, &written, pad, (int)(batch * block_bytes));
        for (size_t i = 0; i < batch * block_bytes; i++) out[i] = in[i] ^ pad[i];
        in += batch * block_bytes;
        out += batch * block_bytes;
        count -= batch;
    }
}

static void free_state(gcm_state *state) {
    if (!state) return;
    CRYPTO_gcm128_release(state->gcm);
    EVP_CIPHER_CTX_free(state->blocks);
    free(state);
}

static srtp_err_status_t gcm_dealloc(srtp_cipher_t *cipher) {
    free_state(cipher->state);
    free(cipher);
    return srtp_err_status_ok;
}

static srtp_err_status_t gcm_alloc(srtp_cipher_t **result, int key_length, int tag_length) {
    if (key_length != SRTP_AES_GCM_128_KEY_LEN_WSALT || (tag_length != 16 && tag_length != 8)) {
        return srtp_err_status_bad_param;
    }
    srtp_cipher_t *cipher = calloc(1, sizeof *cipher);
    gcm_state *state = calloc(1, sizeof *state);
    if (state) state->blocks = EVP_CIPHER_CTX_new();
    if (!cipher || !state || !state->blocks) {
        free_state(state);
        free(cipher);
        return srtp_err_status_alloc_fail;
    }
    state->tag_bytes = (size_t)tag_length;
    *cipher = (srtp_cipher_t){
        .type = &gcm_type, .state = state, .key_len = key_length, .algorithm = SRTP_AES_GCM_128};
    *result = cipher;
    return srtp_err_status_ok;
}

static srtp_err_status_t gcm_init(void *opaque, const uint8_t *key) {
    gcm_state *state = opaque;
    if (EVP_EncryptInit_ex(state->blocks, aes, NULL, key, NULL) != 1
        || EVP_CIPHER_CTX_set_padding(state->blocks, 0) != 1) {
        return srtp_err_status_init_fail;
    }
    CRYPTO_gcm128_release(state->gcm);
    state->gcm = CRYPTO_gcm128_new(state->blocks, encrypt_block);
    return state->gcm ? srtp_err_status_ok : srtp_err_status_alloc_fail;
}

static srtp_err_status_t gcm_set_iv(void *opaque, uint8_t *iv, srtp_cipher_direction_t direction) {
    gcm_state *state = opaque;
    (void)direction;
    CRYPTO_gcm128_setiv(state->gcm, iv, iv_bytes);
    return srtp_err_status_ok;
}

static srtp_err_status_t gcm_set_aad(void *opaque, const uint8_t *aad, uint32_t length) {
    gcm_state *state = opaque;
    return CRYPTO_gcm128_aad(state->gcm, aad, length) == 0 ? srtp_err_status_ok : srtp_err_status_algo_fail;
}

static srtp_err_status_t gcm_encrypt(void *opaque, uint8_t *bytes, unsigned *length) {
    gcm_state *state = opaque;
    return CRYPTO_gcm128_encrypt_ctr32(state->gcm, bytes, bytes, *length, encrypt_counted) == 0
        ? srtp_err_status_ok
        : srtp_err_status_cipher_fail;
}

static srtp_err_status_t gcm_get_tag(void *opaque, uint8_t *tag, uint32_t *length) {
    gcm_state *state = opaque;
    CRYPTO_gcm128_tag(state->gcm, tag, state->tag_bytes);
    *length = (uint32_t)state->tag_bytes;
    return srtp_err_status_ok;
}

// The tag stands behind the text and counts.
static srtp_err_status_t gcm_decrypt(void *opaque, uint8_t *bytes, unsigned *length) {
    gcm_state *state = opaque;
    if (*length < state->tag_bytes) return srtp_err_status_bad_param;
    size_t text = *length - state->tag_bytes;
    if (CRYPTO_gcm128_decrypt_ctr32(state->gcm, bytes, bytes, text, encrypt_counted) != 0) {
        return srtp_err_status_cipher_fail;
    }
    if (CRYPTO_gcm128_finish(state->gcm, bytes + text, state->tag_bytes) != 0) return srtp_err_status_auth_fail;
    *length = (unsigned)text;
    return srtp_err_status_ok;
}

// Test case 2 of the GCM specification; libsrtp2 tries its own as well.
static const uint8_t zeros[SRTP_AES_GCM_128_KEY_LEN_WSALT];
static uint8_t zero_iv[iv_bytes];
static const uint8_t sealed[] = {
    0x03, 0x88, 0xDA, 0xCE, 0x60, 0xB6, 0xA3, 0x92, 0xF3, 0x28, 0xC2, 0xB9, 0x71, 0xB2, 0xFE, 0x78,
    0xAB, 0x6E, 0x47, 0xD4, 0x2C, 0xEC, 0x13, 0xBD, 0xF5, 0x3A, 0x67, 0xB2, 0x12, 0x57, 0xBD, 0xDF,
};
static const srtp_cipher_test_case_t test_case = {
    .key_length_octets = SRTP_AES_GCM_128_KEY_LEN_WSALT,
    .key = zeros,
    .idx = zero_iv,
    .plaintext_length_octets = block_bytes,
    .plaintext = zeros,
    .ciphertext_length_octets = sizeof sealed,
    .ciphertext = sealed,
    .aad_length_octets = 0,
    .aad = zeros,
    .tag_length_octets = 16,
};

static const srtp_cipher_type_t gcm_type = {
    .alloc = gcm_alloc,
    .dealloc = gcm_dealloc,
    .init = gcm_init,
    .set_aad = gcm_set_aad,
    .encrypt = gcm_encrypt,
    .decrypt = gcm_decrypt,
    .set_iv = gcm_set_iv,
    .get_tag = gcm_get_tag,
    .description = "AES-128 GCM using OpenSSL",
    .test_data = &test_case,
    .id = SRTP_AES_GCM_128,
};

int srtp_cipher_install(void) {
    // Once: each key that names the cipher has OpenSSL look for it.
    if (!aes) aes = EVP_CIPHER_fetch(NULL, "AES-128-ECB", NULL);
    return aes && srtp_replace_cipher_type(&gcm_type, SRTP_AES_GCM_128) == srtp_err_status_ok;
}
