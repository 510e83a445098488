#ifndef CBAREHANDSHAKE_H
#define CBAREHANDSHAKE_H

/* DTLS 1.2 handshakes with OpenSSL alone: what is left of a handshake when everything that is ours is taken away. */
typedef struct bare_handshake bare_handshake;

/* Two contexts with a P-256 certificate each, as a session of ours has them. NULL when OpenSSL fails. */
bare_handshake *bare_handshake_new(void);
void bare_handshake_free(bare_handshake *pair);

/* One whole handshake of two fresh SSL objects over memory BIOs, mutual certificates, SRTP keys exported at both ends. No
 * retransmission, no fingerprints. 1 when both are done and have the same keys. */
int bare_handshake_run(const bare_handshake *pair);

#endif
