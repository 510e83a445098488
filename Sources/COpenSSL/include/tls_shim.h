#ifndef TLS_SHIM_H
#define TLS_SHIM_H
#include <openssl/ssl.h>
#include <stddef.h>
#include <stdint.h>

/* TLS over memory BIOs: ciphertext goes in and comes out as bytes, nothing here touches a socket. */

typedef struct graine_tls graine_tls;

#define GRAINE_TLS_WANT (-1)   /* more ciphertext is needed first */
#define GRAINE_TLS_CLOSED (-2) /* the peer said close_notify */
#define GRAINE_TLS_FAILED (-3) /* see graine_tls_error and graine_tls_verify_result */

/* Contexts. NULL or 0 on failure, with the reason in OpenSSL's error queue. */
SSL_CTX *graine_tls_client_context(const char *ca_file, int verify);
SSL_CTX *graine_tls_server_context(X509 *certificate, EVP_PKEY *key, STACK_OF(X509) *chain);
int graine_tls_add_trust(SSL_CTX *context, const char *pem, size_t count);

/* A connection. host is a DNS name, or an IP address when is_address; NULL for a server. */
graine_tls *graine_tls_make(SSL_CTX *context, const char *host, int is_address);
void graine_tls_free(graine_tls *tls);

/* 1 when the handshake is complete, else one of the results above. */
int graine_tls_handshake(graine_tls *tls);
long graine_tls_feed(graine_tls *tls, const void *bytes, size_t count);
/* Ciphertext that waits to be sent, in place until the next call. */
size_t graine_tls_pending(graine_tls *tls, const uint8_t **start);
void graine_tls_discard(graine_tls *tls, size_t count);
/* Bytes written or read (> 0), else one of the results above. */
long graine_tls_write(graine_tls *tls, const void *bytes, size_t count);
long graine_tls_read(graine_tls *tls, void *bytes, size_t count);
void graine_tls_close(graine_tls *tls);

long graine_tls_verify_result(const graine_tls *tls);
const char *graine_tls_verify_text(long code);
/* Names that the refused certificate is for, separated by ", ". */
const char *graine_tls_certificate_names(const graine_tls *tls);
/* Reason of the last failure, "" when there is none. */
const char *graine_tls_error(const graine_tls *tls);
const char *graine_tls_version(const graine_tls *tls);
/* 1 when ALPN agreed on http/1.1, 0 when there was no ALPN, -1 when on something else. */
int graine_tls_alpn(const graine_tls *tls);

/* Identities. */
typedef struct graine_identity {
    X509 *certificate;
    EVP_PKEY *key;
    STACK_OF(X509) *chain;
} graine_identity;
/* names is a subjectAltName value: "DNS:a,IP:127.0.0.1"; validity in seconds relative to now. */
int graine_identity_generate(
    graine_identity *out, const char *common_name, const char *names, long not_before, long not_after);
int graine_identity_load(graine_identity *out, const char *chain_file, const char *key_file);
/* PEM into a buffer that free() releases. */
char *graine_identity_certificate_pem(const graine_identity *identity, size_t *count);
char *graine_identity_key_pem(const graine_identity *identity, size_t *count);
void graine_identity_free(graine_identity *identity);
/* Takes the oldest reason out of OpenSSL's error queue and clears it. */
void graine_take_error(char *out, size_t count);

#endif
