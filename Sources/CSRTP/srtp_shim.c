#include "include/CSRTP.h"

#include <pthread.h>
#include <string.h>

static int initialized = srtp_err_status_init_fail;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* libsrtp2 on NSS loads and sets NSS up with the first cipher there is and lets it go with the last: a process whose only
 * call ends would do so again for the next one, between its keys and its first packet. Never freed; protects nothing. */
static srtp_t kept;

static void initialize(void) {
    static const uint8_t key[30] = {0};
    initialized = (int)srtp_init();
    if (initialized != srtp_err_status_ok) return;
    kept = srtp_shim_create();
    if (kept != NULL) (void)srtp_shim_add(kept, 1, 0, 1, key, sizeof key, 128);
}

int srtp_shim_initialize(void) {
    pthread_once(&once, initialize);
    return initialized;
}

srtp_t srtp_shim_create(void) {
    srtp_t session = NULL;
    return srtp_create(&session, NULL) == srtp_err_status_ok ? session : NULL;
}

int srtp_shim_add(
    srtp_t session, unsigned profile, int is_template, uint32_t ssrc, const uint8_t *key, size_t length,
    unsigned long window) {
    srtp_policy_t policy;
    unsigned char master[SRTP_MAX_KEY_LEN];
    size_t wanted;
    memset(&policy, 0, sizeof policy);
    switch (profile) {
    case 7:
        srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtp);
        srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtcp);
        wanted = 28;
        break;
    case 1:
        srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(&policy.rtp);
        srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(&policy.rtcp);
        wanted = 30;
        break;
    default: return (int)srtp_err_status_bad_param;
    }
    if (length != wanted) return (int)srtp_err_status_bad_param;
    memcpy(master, key, length);
    policy.ssrc.type = is_template ? ssrc_any_inbound : ssrc_specific;
    policy.ssrc.value = is_template ? 0 : ssrc;
    policy.key = master;
    policy.window_size = window;
    policy.allow_repeat_tx = 0; /* the same index twice with other bytes would give the GCM key away */
    srtp_err_status_t status = srtp_add_stream(session, &policy);
    explicit_bzero(master, sizeof master);
    return (int)status;
}

int srtp_shim_protect(srtp_t session, void *packet, int length) {
    srtp_err_status_t status = srtp_protect(session, packet, &length);
    return status == srtp_err_status_ok ? length : -(int)status;
}

int srtp_shim_unprotect(srtp_t session, void *packet, int length) {
    srtp_err_status_t status = srtp_unprotect(session, packet, &length);
    return status == srtp_err_status_ok ? length : -(int)status;
}

int srtp_shim_protect_rtcp(srtp_t session, void *packet, int length) {
    srtp_err_status_t status = srtp_protect_rtcp(session, packet, &length);
    return status == srtp_err_status_ok ? length : -(int)status;
}

int srtp_shim_unprotect_rtcp(srtp_t session, void *packet, int length) {
    srtp_err_status_t status = srtp_unprotect_rtcp(session, packet, &length);
    return status == srtp_err_status_ok ? length : -(int)status;
}
