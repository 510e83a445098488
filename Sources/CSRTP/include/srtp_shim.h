#ifndef SRTP_SHIM_H
#define SRTP_SHIM_H

#include <stddef.h>
#include <stdint.h>

/* What libsrtp2 needs C for: policies (a union, an array pointer and macros) and lengths by value and result. */

/* srtp_init, once a process. 0 on success, on every call. */
int srtp_shim_initialize(void);
/* A context without streams; NULL when it fails. */
srtp_t srtp_shim_create(void);
/* Adds a stream for `ssrc`; when `ssrc` is 0 and `is_template` the template of inbound streams. `profile` is the IANA
 * number (1 or 7), `key` the master key and salt. Returns an srtp_err_status_t. */
int srtp_shim_add(
    srtp_t session, unsigned profile, int is_template, uint32_t ssrc, const uint8_t *key, size_t length,
    unsigned long window);
/* Each changes `length` bytes at `packet` in place; the new length, or minus the srtp_err_status_t. */
int srtp_shim_protect(srtp_t session, void *packet, int length);
int srtp_shim_unprotect(srtp_t session, void *packet, int length);
int srtp_shim_protect_rtcp(srtp_t session, void *packet, int length);
int srtp_shim_unprotect_rtcp(srtp_t session, void *packet, int length);

#endif
