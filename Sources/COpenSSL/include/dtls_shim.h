#ifndef DTLS_SHIM_H
#define DTLS_SHIM_H

#include <stddef.h>
#include <stdint.h>

/* What OpenSSL's DTLS needs C for: a BIO of records, the timer callback that has every flight's repeats written in
 * advance, and the certificate callback. All of them see one heap box and nothing else; Swift owns the box. */

enum {
    /* Repeats of each flight that are written in advance. OpenSSL fails the handshake at more than 12. */
    DTLS_BOX_REPEATS = 8,
    /* Bytes of records one step may write, all repeats included. */
    DTLS_BOX_MAX_WRITTEN = 131072,
    /* Records one step may write, all repeats included. */
    DTLS_BOX_MAX_WRITES = 1024,
    /* Fingerprints a description may give. */
    DTLS_BOX_MAX_FINGERPRINTS = 8,
    /* Longest digest: SHA-512. */
    DTLS_BOX_MAX_DIGEST = 64,
};

/* Hash functions of a fingerprint, the strongest with the highest number. */
enum { DTLS_HASH_SHA256 = 1, DTLS_HASH_SHA384 = 2, DTLS_HASH_SHA512 = 3 };

/* What became of a step. */
enum {
    DTLS_STEP_WAITING = 0,     /* handshake not finished, more input wanted */
    DTLS_STEP_ESTABLISHED = 1, /* handshake finished, in this step or before */
    DTLS_STEP_CLOSED = 2,      /* close_notify came */
    DTLS_STEP_FAILED = 3,      /* fatal: see dtls_box_alert and dtls_box_error_text */
};

typedef struct dtls_identity dtls_identity;
typedef struct dtls_box dtls_box;

/* A fresh P-256 key, its self-signed certificate and a DTLS 1.2 context with both. NULL when OpenSSL fails.
 * `now`: seconds since 1970 that its validity is around; 0 for the system's time. */
dtls_identity *dtls_identity_new(int64_t now);
void dtls_identity_free(dtls_identity *identity);
/* The certificate's digest by `hash` into `digest` (64 bytes of room). Its length, or 0. */
size_t dtls_identity_digest(const dtls_identity *identity, int hash, uint8_t *digest);

/* `profiles` is OpenSSL's list, most wanted first. NULL when OpenSSL fails. */
dtls_box *dtls_box_new(const dtls_identity *identity, int is_server, unsigned mtu, const char *profiles);
void dtls_box_free(dtls_box *box);

/* Adds one fingerprint of the peer's certificate. 0 when the list is full or the length is not the hash's. */
int dtls_box_add_fingerprint(dtls_box *box, int hash, const uint8_t *digest, size_t length);
/* 1: the peer's certificate is the described one. 0: certificate or description still missing. -1: another one. */
int dtls_box_verified(const dtls_box *box);

/* Feeds one datagram (or none, length 0) and runs the handshake, or reads once it is finished. */
int dtls_box_step(dtls_box *box, const uint8_t *datagram, size_t length);
/* Writes close_notify when the handshake is finished. */
void dtls_box_shutdown(dtls_box *box);

/* Writes since dtls_box_clear_writes: each one or more whole records; repeat 0 are the originals. */
size_t dtls_box_write_count(const dtls_box *box);
const uint8_t *dtls_box_write_at(const dtls_box *box, size_t index, size_t *length, int *repeat);
void dtls_box_clear_writes(dtls_box *box);
/* Flights begun that expect an answer. */
unsigned dtls_box_flights(const dtls_box *box);
/* Handshake messages and ChangeCipherSpecs taken in. */
unsigned dtls_box_messages(const dtls_box *box);
/* Writes thrown away because a limit was reached, and decrypted application bytes thrown away. */
unsigned dtls_box_overflows(const dtls_box *box);
unsigned long dtls_box_application_bytes(const dtls_box *box);

/* The fatal alert that came, or -1. */
int dtls_box_alert(const dtls_box *box);
/* OpenSSL's words for the last failure. Static storage. */
const char *dtls_box_error_text(const dtls_box *box);

/* Whether our Finished is written: from here on the exporter is final. */
int dtls_box_finished_sent(const dtls_box *box);
/* IANA number of the negotiated SRTP profile, or 0. */
unsigned dtls_box_srtp_profile(const dtls_box *box);
/* RFC 5764 keying material. 1 on success. */
int dtls_box_export(dtls_box *box, uint8_t *material, size_t length);
/* Static storage. */
const char *dtls_box_version(const dtls_box *box);
const char *dtls_box_cipher(const dtls_box *box);
/* Overwrites `length` bytes so that no optimiser leaves it out. */
void dtls_wipe(void *bytes, size_t length);

#endif
