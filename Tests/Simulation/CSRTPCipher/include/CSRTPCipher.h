#ifndef GRAINE_SRTP_CIPHER_H
#define GRAINE_SRTP_CIPHER_H

/// Makes libsrtp2 of this process compute AES-128-GCM with OpenSSL's code, once `srtp_init` has run: the same bytes, in less
/// than a third of the instructions that a libsrtp2 built on NSS takes. libsrtp2 tries it with its own test vectors first. Returns 1, or 0
/// when it refuses.
int srtp_cipher_install(void);

#endif
