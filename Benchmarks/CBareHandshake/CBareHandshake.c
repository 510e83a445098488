#include "include/CBareHandshake.h"

#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct bare_handshake {
    SSL_CTX *client;
    SSL_CTX *server;
};

enum { MTU = 1200, KEY_BYTES = 56 };

static int accept_any(X509_STORE_CTX *store, void *argument) {
    (void)store, (void)argument;
    return 1;
}

static SSL_CTX *context(void) {
    SSL_CTX *context = SSL_CTX_new(DTLS_method());
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    int good = 0;
    if (context != NULL && key != NULL && certificate != NULL) {
        X509_NAME *name = X509_get_subject_name(certificate);
        SSL_CTX_set_options(
            context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_QUERY_MTU | SSL_OP_NO_COMPRESSION |
                         SSL_OP_CIPHER_SERVER_PREFERENCE);
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        SSL_CTX_set_cert_verify_callback(context, accept_any, NULL);
        good = X509_set_version(certificate, X509_VERSION_3) &&
               ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), 1) &&
               X509_gmtime_adj(X509_getm_notBefore(certificate), -86400L) != NULL &&
               X509_gmtime_adj(X509_getm_notAfter(certificate), 365L * 86400L) != NULL &&
               X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"WebRTC", -1, -1, 0) &&
               X509_set_issuer_name(certificate, name) && X509_set_pubkey(certificate, key) &&
               X509_sign(certificate, key, EVP_sha256()) > 0 &&
               SSL_CTX_set_min_proto_version(context, DTLS1_2_VERSION) &&
               SSL_CTX_set_max_proto_version(context, DTLS1_2_VERSION) &&
               SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20:!aPSK") &&
               SSL_CTX_set1_groups_list(context, "X25519:P-256") &&
               SSL_CTX_set_tlsext_use_srtp(context, "SRTP_AEAD_AES_128_GCM:SRTP_AES128_CM_SHA1_80") == 0 &&
               SSL_CTX_use_certificate(context, certificate) && SSL_CTX_use_PrivateKey(context, key);
    }
    X509_free(certificate);
    EVP_PKEY_free(key);
    if (good) return context;
    SSL_CTX_free(context);
    return NULL;
}

bare_handshake *bare_handshake_new(void) {
    bare_handshake *pair = calloc(1, sizeof *pair);
    if (pair == NULL) return NULL;
    pair->client = context();
    pair->server = context();
    if (pair->client != NULL && pair->server != NULL) return pair;
    bare_handshake_free(pair);
    return NULL;
}

void bare_handshake_free(bare_handshake *pair) {
    if (pair == NULL) return;
    SSL_CTX_free(pair->client);
    SSL_CTX_free(pair->server);
    free(pair);
}

static SSL *end(SSL_CTX *context) {
    SSL *ssl = SSL_new(context);
    BIO *input = BIO_new(BIO_s_mem());
    BIO *output = BIO_new(BIO_s_mem());
    if (ssl == NULL || input == NULL || output == NULL) {
        SSL_free(ssl);
        BIO_free(input);
        BIO_free(output);
        return NULL;
    }
    SSL_set_bio(ssl, input, output);
    SSL_set_mtu(ssl, MTU);
    return ssl;
}

/* Hands what `from` has written to `to`, as one datagram: its flights are shorter than one. */
static int hand_over(SSL *from, SSL *to) {
    unsigned char datagram[4096];
    int count = BIO_read(SSL_get_wbio(from), datagram, sizeof datagram);
    if (count <= 0) return 0;
    return BIO_write(SSL_get_rbio(to), datagram, count) == count;
}

static int export(SSL *ssl, unsigned char *keys) {
    static const char label[] = "EXTRACTOR-dtls_srtp";
    return SSL_export_keying_material(ssl, keys, KEY_BYTES, label, sizeof label - 1, NULL, 0, 0) == 1;
}

int bare_handshake_run(const bare_handshake *pair) {
    ERR_clear_error();
    SSL *client = end(pair->client);
    SSL *server = end(pair->server);
    int good = 0;
    if (client != NULL && server != NULL) {
        SSL_set_connect_state(client);
        SSL_set_accept_state(server);
        int moves;
        do {
            SSL_do_handshake(client);
            moves = hand_over(client, server);
            SSL_do_handshake(server);
            moves += hand_over(server, client);
        } while (moves > 0);
        unsigned char ours[KEY_BYTES], theirs[KEY_BYTES];
        good = SSL_is_init_finished(client) && SSL_is_init_finished(server) && export(client, ours) &&
               export(server, theirs) && memcmp(ours, theirs, KEY_BYTES) == 0;
    }
    SSL_free(client);
    SSL_free(server);
    ERR_clear_error();
    return good;
}
