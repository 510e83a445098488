#include "COpenSSL.h"

#include <stdlib.h>
#include <string.h>

struct graine_tls {
    SSL *ssl;
    BIO *in;  /* owned by ssl */
    BIO *out; /* owned by ssl */
    long verify_result;
    char names[512];
    char error[256];
};

static const unsigned char http11[] = "\x08http/1.1";

void graine_take_error(char *out, size_t count) {
    unsigned long code = ERR_peek_error();
    if (count == 0) return;
    out[0] = 0;
    if (code != 0) {
        const char *reason = ERR_reason_error_string(code);
        if (reason != NULL) {
            strncpy(out, reason, count - 1);
            out[count - 1] = 0;
        } else {
            ERR_error_string_n(code, out, count);
        }
    }
    ERR_clear_error();
}

/* MARK: contexts */

static SSL_CTX *make_context(const SSL_METHOD *method) {
    SSL_CTX *context = SSL_CTX_new(method);
    if (context == NULL) return NULL;
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_max_early_data(context, 0);
    SSL_CTX_set_mode(
        context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    return context;
}

static void append_name(char *names, size_t room, const char *name, size_t count) {
    size_t used = strlen(names);
    size_t separator = used ? 2 : 0;
    if (used + separator + count + 1 > room) return;
    if (separator) memcpy(names + used, ", ", 2);
    for (size_t i = 0; i < count; i++) { /* a certificate's bytes are never shown raw */
        char c = name[i];
        names[used + separator + i] = c > 0x20 && c < 0x7F ? c : '?';
    }
    names[used + separator + count] = 0;
}

static void collect_names(X509 *certificate, char *names, size_t room) {
    names[0] = 0;
    GENERAL_NAMES *all = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; all != NULL && i < sk_GENERAL_NAME_num(all); i++) {
        GENERAL_NAME *name = sk_GENERAL_NAME_value(all, i);
        if (name->type == GEN_DNS) {
            append_name(
                names, room, (const char *)ASN1_STRING_get0_data(name->d.dNSName),
                (size_t)ASN1_STRING_length(name->d.dNSName));
        } else if (name->type == GEN_IPADD) {
            const unsigned char *b = ASN1_STRING_get0_data(name->d.iPAddress);
            char text[64] = "";
            if (ASN1_STRING_length(name->d.iPAddress) == 4) {
                BIO_snprintf(text, sizeof text, "%d.%d.%d.%d", b[0], b[1], b[2], b[3]);
            } else if (ASN1_STRING_length(name->d.iPAddress) == 16) {
                size_t used = 0;
                for (int g = 0; g < 8; g++)
                    used += (size_t)BIO_snprintf(
                        text + used, sizeof text - used, g ? ":%x" : "%x", b[2 * g] << 8 | b[2 * g + 1]);
            }
            append_name(names, room, text, strlen(text));
        }
    }
    GENERAL_NAMES_free(all);
    if (names[0] == 0) {
        char common[128] = "";
        int count = X509_NAME_get_text_by_NID(
            X509_get_subject_name(certificate), NID_commonName, common, sizeof common);
        if (count > 0) append_name(names, room, common, strlen(common));
    }
}

/* Runs while the certificate is at hand: after a refusal OpenSSL no longer gives it out. */
static int remember_refusal(int accepted, X509_STORE_CTX *store) {
    if (accepted) return 1;
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    graine_tls *tls = ssl != NULL ? SSL_get_app_data(ssl) : NULL;
    if (tls != NULL) {
        tls->verify_result = X509_STORE_CTX_get_error(store);
        STACK_OF(X509) *chain = X509_STORE_CTX_get0_chain(store);
        X509 *leaf = chain != NULL && sk_X509_num(chain) > 0 ? sk_X509_value(chain, 0)
                                                             : X509_STORE_CTX_get_current_cert(store);
        if (leaf != NULL) collect_names(leaf, tls->names, sizeof tls->names);
    }
    return 0;
}

SSL_CTX *graine_tls_client_context(const char *ca_file, int verify) {
    ERR_clear_error();
    SSL_CTX *context = make_context(TLS_client_method());
    if (context == NULL) return NULL;
    SSL_CTX_set_verify(context, verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, verify ? remember_refusal : NULL);
    int loaded = 1;
    if (verify && ca_file != NULL) loaded = SSL_CTX_load_verify_file(context, ca_file);
    if (verify && ca_file == NULL) loaded = SSL_CTX_set_default_verify_paths(context);
    if (!loaded || SSL_CTX_set_alpn_protos(context, http11, sizeof http11 - 1) != 0) {
        SSL_CTX_free(context);
        return NULL;
    }
    return context;
}

int graine_tls_add_trust(SSL_CTX *context, const char *pem, size_t count) {
    ERR_clear_error();
    BIO *bio = BIO_new_mem_buf(pem, (int)count);
    int added = 0;
    X509 *certificate;
    while (bio != NULL && (certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
        added += X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate) == 1;
        X509_free(certificate);
    }
    BIO_free(bio);
    ERR_clear_error();
    return added;
}

static int choose_http11(
    SSL *ssl, const unsigned char **out, unsigned char *out_count, const unsigned char *in, unsigned int in_count,
    void *unused) {
    (void)ssl;
    (void)unused;
    unsigned char *chosen = NULL;
    int result = SSL_select_next_proto(&chosen, out_count, http11, sizeof http11 - 1, in, in_count);
    if (result != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

SSL_CTX *graine_tls_server_context(X509 *certificate, EVP_PKEY *key, STACK_OF(X509) *chain) {
    ERR_clear_error();
    SSL_CTX *context = make_context(TLS_server_method());
    if (context == NULL) return NULL;
    SSL_CTX_set_alpn_select_cb(context, choose_http11, NULL);
    if (SSL_CTX_use_certificate(context, certificate) != 1 || SSL_CTX_use_PrivateKey(context, key) != 1 ||
        SSL_CTX_check_private_key(context) != 1 || (chain != NULL && SSL_CTX_set1_chain(context, chain) != 1)) {
        SSL_CTX_free(context);
        return NULL;
    }
    return context;
}

/* MARK: connections */

graine_tls *graine_tls_make(SSL_CTX *context, const char *host, int is_address) {
    ERR_clear_error();
    graine_tls *tls = calloc(1, sizeof *tls);
    if (tls == NULL) return NULL;
    tls->ssl = SSL_new(context);
    tls->in = BIO_new(BIO_s_mem());
    tls->out = BIO_new(BIO_s_mem());
    if (tls->ssl == NULL || tls->in == NULL || tls->out == NULL) {
        BIO_free(tls->in);
        BIO_free(tls->out);
        SSL_free(tls->ssl);
        free(tls);
        return NULL;
    }
    BIO_set_mem_eof_return(tls->in, -1);
    BIO_set_mem_eof_return(tls->out, -1);
    SSL_set_bio(tls->ssl, tls->in, tls->out);
    SSL_set_app_data(tls->ssl, tls);
    int ready = 1;
    if (host == NULL) {
        SSL_set_accept_state(tls->ssl);
    } else {
        SSL_set_connect_state(tls->ssl);
        X509_VERIFY_PARAM *parameters = SSL_get0_param(tls->ssl);
        if (is_address) {
            ready = X509_VERIFY_PARAM_set1_ip_asc(parameters, host);
        } else {
            X509_VERIFY_PARAM_set_hostflags(parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
            ready = X509_VERIFY_PARAM_set1_host(parameters, host, 0) && SSL_set_tlsext_host_name(tls->ssl, host);
        }
    }
    if (!ready) {
        graine_tls_free(tls);
        return NULL;
    }
    return tls;
}

void graine_tls_free(graine_tls *tls) {
    if (tls == NULL) return;
    SSL_free(tls->ssl);
    free(tls);
}

static int outcome(graine_tls *tls, int result) {
    switch (SSL_get_error(tls->ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return GRAINE_TLS_WANT;
    case SSL_ERROR_ZERO_RETURN:
        return GRAINE_TLS_CLOSED;
    default:
        graine_take_error(tls->error, sizeof tls->error);
        return GRAINE_TLS_FAILED;
    }
}

int graine_tls_handshake(graine_tls *tls) {
    ERR_clear_error();
    int result = SSL_do_handshake(tls->ssl);
    return result == 1 ? 1 : outcome(tls, result);
}

long graine_tls_feed(graine_tls *tls, const void *bytes, size_t count) {
    size_t written = 0;
    return BIO_write_ex(tls->in, bytes, count, &written) ? (long)written : GRAINE_TLS_FAILED;
}

size_t graine_tls_pending(graine_tls *tls, const uint8_t **start) {
    char *data = NULL;
    long count = BIO_get_mem_data(tls->out, &data);
    *start = (const uint8_t *)data;
    return count > 0 ? (size_t)count : 0;
}

void graine_tls_discard(graine_tls *tls, size_t count) {
    char dropped[4096];
    while (count > 0) {
        int read = BIO_read(tls->out, dropped, (int)(count < sizeof dropped ? count : sizeof dropped));
        if (read <= 0) return;
        count -= (size_t)read;
    }
}

long graine_tls_write(graine_tls *tls, const void *bytes, size_t count) {
    size_t written = 0;
    ERR_clear_error();
    int result = SSL_write_ex(tls->ssl, bytes, count, &written);
    return result == 1 ? (long)written : outcome(tls, result);
}

long graine_tls_read(graine_tls *tls, void *bytes, size_t count) {
    size_t read = 0;
    ERR_clear_error();
    int result = SSL_read_ex(tls->ssl, bytes, count, &read);
    return result == 1 ? (long)read : outcome(tls, result);
}

void graine_tls_close(graine_tls *tls) {
    ERR_clear_error();
    if (SSL_is_init_finished(tls->ssl)) SSL_shutdown(tls->ssl);
    ERR_clear_error();
}

long graine_tls_verify_result(const graine_tls *tls) { return tls->verify_result; }
const char *graine_tls_verify_text(long code) { return X509_verify_cert_error_string(code); }
const char *graine_tls_certificate_names(const graine_tls *tls) { return tls->names; }
const char *graine_tls_error(const graine_tls *tls) { return tls->error; }
const char *graine_tls_version(const graine_tls *tls) { return SSL_get_version(tls->ssl); }

int graine_tls_alpn(const graine_tls *tls) {
    const unsigned char *chosen = NULL;
    unsigned int count = 0;
    SSL_get0_alpn_selected(tls->ssl, &chosen, &count);
    if (count == 0) return 0;
    return count == sizeof http11 - 2 && memcmp(chosen, http11 + 1, count) == 0 ? 1 : -1;
}

/* MARK: identities */

static int add_extension(X509 *certificate, int nid, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    int added = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return added;
}

int graine_identity_generate(
    graine_identity *out, const char *common_name, const char *names, long not_before, long not_after) {
    ERR_clear_error();
    memset(out, 0, sizeof *out);
    out->key = EVP_EC_gen("P-256");
    out->certificate = X509_new();
    X509 *certificate = out->certificate;
    if (out->key == NULL || certificate == NULL) goto failed;
    unsigned char serial[16];
    if (RAND_bytes(serial, sizeof serial) != 1) goto failed;
    serial[0] = (serial[0] & 0x7F) | 0x40;
    BIGNUM *number = BN_bin2bn(serial, sizeof serial, NULL);
    int ok = number != NULL && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != NULL;
    BN_free(number);
    if (!ok) goto failed;
    X509_NAME *subject = X509_get_subject_name(certificate);
    if (X509_set_version(certificate, X509_VERSION_3) != 1 ||
        X509_gmtime_adj(X509_getm_notBefore(certificate), not_before) == NULL ||
        X509_gmtime_adj(X509_getm_notAfter(certificate), not_after) == NULL ||
        X509_set_pubkey(certificate, out->key) != 1 ||
        X509_NAME_add_entry_by_txt(
            subject, "CN", MBSTRING_UTF8, (const unsigned char *)common_name, -1, -1, 0) != 1 ||
        X509_set_issuer_name(certificate, subject) != 1 ||
        !add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
        !add_extension(certificate, NID_key_usage, "critical,digitalSignature,keyCertSign") ||
        !add_extension(certificate, NID_ext_key_usage, "serverAuth") ||
        !add_extension(certificate, NID_subject_key_identifier, "hash") ||
        !add_extension(certificate, NID_subject_alt_name, names) ||
        X509_sign(certificate, out->key, EVP_sha256()) == 0)
        goto failed;
    return 1;
failed:
    graine_identity_free(out);
    return 0;
}

int graine_identity_load(graine_identity *out, const char *chain_file, const char *key_file) {
    ERR_clear_error();
    memset(out, 0, sizeof *out);
    BIO *bio = BIO_new_file(chain_file, "r");
    if (bio == NULL) return 0;
    out->certificate = PEM_read_bio_X509_AUX(bio, NULL, NULL, NULL);
    out->chain = sk_X509_new_null();
    X509 *next;
    while (out->certificate != NULL && out->chain != NULL &&
           (next = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
        if (sk_X509_push(out->chain, next) == 0) X509_free(next);
    }
    BIO_free(bio);
    if (out->certificate != NULL && out->chain != NULL) {
        ERR_clear_error();
        bio = BIO_new_file(key_file, "r");
        /* An empty passphrase: never asks on the terminal. */
        if (bio != NULL) out->key = PEM_read_bio_PrivateKey(bio, NULL, NULL, (void *)(uintptr_t)"");
        BIO_free(bio);
        if (out->key != NULL && X509_check_private_key(out->certificate, out->key) == 1) return 1;
    }
    graine_identity_free(out);
    return 0;
}

static char *take_bio(BIO *bio, int written, size_t *count) {
    char *data = NULL;
    char *copy = NULL;
    long length = written && bio != NULL ? BIO_get_mem_data(bio, &data) : 0;
    if (length > 0 && (copy = malloc((size_t)length)) != NULL) memcpy(copy, data, (size_t)length);
    *count = copy != NULL ? (size_t)length : 0;
    BIO_free(bio);
    return copy;
}

char *graine_identity_certificate_pem(const graine_identity *identity, size_t *count) {
    BIO *bio = BIO_new(BIO_s_mem());
    int written = bio != NULL && PEM_write_bio_X509(bio, identity->certificate) == 1;
    for (int i = 0; written && identity->chain != NULL && i < sk_X509_num(identity->chain); i++)
        written = PEM_write_bio_X509(bio, sk_X509_value(identity->chain, i)) == 1;
    return take_bio(bio, written, count);
}

char *graine_identity_key_pem(const graine_identity *identity, size_t *count) {
    BIO *bio = BIO_new(BIO_s_mem());
    int written = bio != NULL && PEM_write_bio_PrivateKey(bio, identity->key, NULL, NULL, 0, NULL, NULL) == 1;
    return take_bio(bio, written, count);
}

void graine_identity_free(graine_identity *identity) {
    X509_free(identity->certificate);
    EVP_PKEY_free(identity->key);
    sk_X509_pop_free(identity->chain, X509_free);
    memset(identity, 0, sizeof *identity);
}
