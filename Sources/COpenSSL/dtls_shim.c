#include "include/COpenSSL.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

struct dtls_identity {
    EVP_PKEY *key;
    X509 *certificate;
    SSL_CTX *context;
};

struct written {
    uint32_t offset;
    uint16_t length;
    uint8_t repeat;
};

struct fingerprint {
    int hash;
    size_t length;
    uint8_t digest[DTLS_BOX_MAX_DIGEST];
};

struct dtls_box {
    SSL *ssl;
    /* The datagram being fed; borrowed for the length of a step. */
    const uint8_t *input;
    size_t input_length;
    /* Records written, end to end, and where each write lies. */
    uint8_t *bytes;
    size_t bytes_used, bytes_room;
    struct written *writes;
    size_t write_count, write_room;
    /* Repeats of the current flight written so far; the one that writes belong to now. */
    unsigned repeat, tag;
    unsigned flights, messages, overflows;
    unsigned long application_bytes;
    int alert;
    unsigned long error;
    /* The peer's certificate by each hash, and what the description says of it. */
    int has_peer;
    uint8_t peer[3][DTLS_BOX_MAX_DIGEST];
    struct fingerprint fingerprints[DTLS_BOX_MAX_FINGERPRINTS];
    size_t fingerprint_count;
};

static const EVP_MD *digest_of(int hash) {
    switch (hash) {
    case DTLS_HASH_SHA256: return EVP_sha256();
    case DTLS_HASH_SHA384: return EVP_sha384();
    case DTLS_HASH_SHA512: return EVP_sha512();
    default: return NULL;
    }
}

/* MARK: the BIO */

static int bio_write(BIO *bio, const char *data, int length) {
    dtls_box *box = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (length <= 0 || box == NULL) return 0;
    /* A repeat beyond the eighth (the system's clock jumped past the timer) is not kept. */
    if (box->tag > DTLS_BOX_REPEATS) return length;
    size_t count = (size_t)length;
    if (count > UINT16_MAX || box->bytes_used + count > DTLS_BOX_MAX_WRITTEN ||
        box->write_count >= DTLS_BOX_MAX_WRITES) {
        box->overflows++;
        return length;
    }
    if (box->bytes_used + count > box->bytes_room) {
        size_t room = box->bytes_room ? box->bytes_room : 4096;
        while (room < box->bytes_used + count) room *= 2;
        uint8_t *bytes = realloc(box->bytes, room);
        if (bytes == NULL) return -1;
        box->bytes = bytes;
        box->bytes_room = room;
    }
    if (box->write_count == box->write_room) {
        size_t room = box->write_room ? 2 * box->write_room : 64;
        struct written *writes = realloc(box->writes, room * sizeof *writes);
        if (writes == NULL) return -1;
        box->writes = writes;
        box->write_room = room;
    }
    memcpy(box->bytes + box->bytes_used, data, count);
    box->writes[box->write_count++] =
        (struct written){(uint32_t)box->bytes_used, (uint16_t)count, (uint8_t)box->tag};
    box->bytes_used += count;
    return length;
}

static int bio_read(BIO *bio, char *data, int room) {
    dtls_box *box = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (box == NULL || room <= 0) return 0;
    if (box->input_length == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    size_t count = box->input_length < (size_t)room ? box->input_length : (size_t)room;
    memcpy(data, box->input, count);
    box->input_length = 0; /* a datagram is read once, what does not fit is lost */
    return (int)count;
}

static long bio_ctrl(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static int bio_create(BIO *bio) {
    BIO_set_init(bio, 1);
    return 1;
}

static BIO_METHOD *box_method;
static pthread_once_t box_method_once = PTHREAD_ONCE_INIT;

static void make_method(void) {
    int type = BIO_get_new_index();
    if (type == -1) return;
    BIO_METHOD *method = BIO_meth_new(type | BIO_TYPE_SOURCE_SINK, "DTLS records");
    if (method == NULL) return;
    BIO_meth_set_write(method, bio_write);
    BIO_meth_set_read(method, bio_read);
    BIO_meth_set_ctrl(method, bio_ctrl);
    BIO_meth_set_create(method, bio_create);
    box_method = method;
}

/* MARK: callbacks */

/* 0 means that a flight begins: every answer of at most 15 ms is expired at once, so OpenSSL, finding nothing to read,
 * writes the flight again, with new record numbers. After the last repeat the timer sleeps for 2,000 s. */
static unsigned int timer_callback(SSL *ssl, unsigned int microseconds) {
    dtls_box *box = SSL_get_app_data(ssl);
    if (microseconds == 0) {
        box->repeat = box->tag = 0;
        box->flights++;
        return 1;
    }
    if (box->repeat <= DTLS_BOX_REPEATS) box->repeat++;
    box->tag = box->repeat;
    return box->repeat < DTLS_BOX_REPEATS ? 1 : 2000000000u;
}

static void info_callback(const SSL *ssl, int where, int value) {
    dtls_box *box = SSL_get_app_data(ssl);
    if (box != NULL && (where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT && value >> 8 == SSL3_AL_FATAL) {
        box->alert = value & 0xff;
    }
}

static void message_callback(
    int written, int version, int type, const void *bytes, size_t length, SSL *ssl, void *argument) {
    (void)version, (void)bytes, (void)length, (void)ssl;
    dtls_box *box = argument;
    if (!written && (type == SSL3_RT_HANDSHAKE || type == SSL3_RT_CHANGE_CIPHER_SPEC)) box->messages++;
}

/* Any certificate will do as long as it is the one the description names: no chain, no dates (RFC 8122 §6.2). */
static int certificate_callback(X509_STORE_CTX *store, void *argument) {
    (void)argument;
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    dtls_box *box = ssl ? SSL_get_app_data(ssl) : NULL;
    X509 *leaf = X509_STORE_CTX_get0_cert(store);
    if (box != NULL && leaf != NULL) {
        box->has_peer = 1;
        for (int hash = DTLS_HASH_SHA256; hash <= DTLS_HASH_SHA512; hash++) {
            unsigned length = 0;
            if (!X509_digest(leaf, digest_of(hash), box->peer[hash - 1], &length)) box->has_peer = 0;
        }
        if (box->has_peer && dtls_box_verified(box) >= 0) {
            X509_STORE_CTX_set_error(store, X509_V_OK);
            return 1;
        }
    }
    X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED);
    return 0;
}

/* MARK: identity */

static int make_certificate(dtls_identity *identity, time_t now) {
    identity->key = EVP_EC_gen("P-256");
    X509 *certificate = identity->certificate = X509_new();
    if (identity->key == NULL || certificate == NULL) return 0;
    uint64_t serial = 0;
    if (RAND_bytes((unsigned char *)&serial, sizeof serial) != 1) return 0;
    X509_NAME *name = X509_get_subject_name(certificate);
    return X509_set_version(certificate, X509_VERSION_3) &&
           ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1 | 1) &&
           X509_time_adj_ex(X509_getm_notBefore(certificate), -1, 0, &now) != NULL &&
           X509_time_adj_ex(X509_getm_notAfter(certificate), 365, 0, &now) != NULL &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"WebRTC", -1, -1, 0) &&
           X509_set_issuer_name(certificate, name) && X509_set_pubkey(certificate, identity->key) &&
           X509_sign(certificate, identity->key, EVP_sha256()) > 0;
}

static int make_context(dtls_identity *identity) {
    SSL_CTX *context = identity->context = SSL_CTX_new(DTLS_method());
    if (context == NULL) return 0;
    SSL_CTX_set_options(
        context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_QUERY_MTU | SSL_OP_NO_COMPRESSION |
                     SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_cert_verify_callback(context, certificate_callback, NULL);
    SSL_CTX_set_info_callback(context, info_callback);
    SSL_CTX_set_max_cert_list(context, 16384);
    return SSL_CTX_set_min_proto_version(context, DTLS1_2_VERSION) &&
           SSL_CTX_set_max_proto_version(context, DTLS1_2_VERSION) &&
           SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20:!aPSK") &&
           SSL_CTX_set1_groups_list(context, "X25519:P-256") &&
           SSL_CTX_use_certificate(context, identity->certificate) &&
           SSL_CTX_use_PrivateKey(context, identity->key);
}

dtls_identity *dtls_identity_new(int64_t now) {
    ERR_clear_error();
    dtls_identity *identity = calloc(1, sizeof *identity);
    if (identity != NULL && !(make_certificate(identity, now != 0 ? (time_t)now : time(NULL)) && make_context(identity))) {
        dtls_identity_free(identity);
        identity = NULL;
    }
    ERR_clear_error();
    return identity;
}

void dtls_identity_free(dtls_identity *identity) {
    if (identity == NULL) return;
    SSL_CTX_free(identity->context);
    X509_free(identity->certificate);
    EVP_PKEY_free(identity->key);
    free(identity);
}

size_t dtls_identity_digest(const dtls_identity *identity, int hash, uint8_t *digest) {
    unsigned length = 0;
    const EVP_MD *method = digest_of(hash);
    return method != NULL && X509_digest(identity->certificate, method, digest, &length) ? length : 0;
}

/* MARK: box */

dtls_box *dtls_box_new(const dtls_identity *identity, int is_server, unsigned mtu, const char *profiles) {
    ERR_clear_error();
    pthread_once(&box_method_once, make_method);
    dtls_box *box = calloc(1, sizeof *box);
    BIO *bio = box_method ? BIO_new(box_method) : NULL;
    SSL *ssl = SSL_new(identity->context);
    if (box == NULL || bio == NULL || ssl == NULL || SSL_set_tlsext_use_srtp(ssl, profiles) != 0 ||
        !SSL_set_mtu(ssl, mtu)) {
        BIO_free(bio);
        SSL_free(ssl);
        free(box);
        ERR_clear_error();
        return NULL;
    }
    box->ssl = ssl;
    box->alert = -1;
    BIO_set_data(bio, box);
    SSL_set_app_data(ssl, box);
    SSL_set_bio(ssl, bio, bio);
    DTLS_set_timer_cb(ssl, timer_callback);
    SSL_set_msg_callback(ssl, message_callback);
    SSL_set_msg_callback_arg(ssl, box);
    if (is_server) {
        SSL_set_accept_state(ssl);
    } else {
        SSL_set_connect_state(ssl);
    }
    return box;
}

void dtls_box_free(dtls_box *box) {
    if (box == NULL) return;
    SSL_free(box->ssl);
    free(box->bytes);
    free(box->writes);
    free(box);
}

int dtls_box_add_fingerprint(dtls_box *box, int hash, const uint8_t *digest, size_t length) {
    const EVP_MD *method = digest_of(hash);
    if (method == NULL || length != (size_t)EVP_MD_get_size(method) ||
        box->fingerprint_count == DTLS_BOX_MAX_FINGERPRINTS) {
        return 0;
    }
    struct fingerprint *entry = &box->fingerprints[box->fingerprint_count++];
    entry->hash = hash;
    entry->length = length;
    memcpy(entry->digest, digest, length);
    return 1;
}

/* RFC 8122 §5: of the fingerprints given, those by the strongest hash count, and one of them has to match. */
int dtls_box_verified(const dtls_box *box) {
    if (!box->has_peer || box->fingerprint_count == 0) return 0;
    int strongest = 0;
    for (size_t i = 0; i < box->fingerprint_count; i++) {
        if (box->fingerprints[i].hash > strongest) strongest = box->fingerprints[i].hash;
    }
    for (size_t i = 0; i < box->fingerprint_count; i++) {
        const struct fingerprint *entry = &box->fingerprints[i];
        if (entry->hash == strongest && CRYPTO_memcmp(entry->digest, box->peer[strongest - 1], entry->length) == 0) {
            return 1;
        }
    }
    return -1;
}

/* One call into OpenSSL; the result in terms of DTLS_STEP_*, `more` set when it wants to be called again at once. */
static int run(dtls_box *box, int *more) {
    char discarded[2048];
    int established = SSL_is_init_finished(box->ssl);
    int result = established ? SSL_read(box->ssl, discarded, sizeof discarded) : SSL_do_handshake(box->ssl);
    *more = 0;
    if (result > 0) {
        if (established) box->application_bytes += (unsigned long)result;
        *more = 1;
        return DTLS_STEP_ESTABLISHED;
    }
    int error = SSL_get_error(box->ssl, result);
    if (error == SSL_ERROR_WANT_READ) {
        *more = SSL_has_pending(box->ssl);
        return SSL_is_init_finished(box->ssl) ? DTLS_STEP_ESTABLISHED : DTLS_STEP_WAITING;
    }
    if (error == SSL_ERROR_ZERO_RETURN) return DTLS_STEP_CLOSED;
    box->error = ERR_peek_last_error();
    return DTLS_STEP_FAILED;
}

int dtls_box_step(dtls_box *box, const uint8_t *datagram, size_t length) {
    ERR_clear_error();
    box->input = datagram;
    box->input_length = length;
    box->tag = 0;
    int status, more;
    int rounds = 32; /* a datagram holds few records; OpenSSL may also report pending ones of a later epoch */
    do {
        status = run(box, &more);
    } while (more && --rounds > 0);
    box->input = NULL;
    box->input_length = 0;
    ERR_clear_error();
    return status;
}

void dtls_box_shutdown(dtls_box *box) {
    ERR_clear_error();
    box->tag = 0;
    if (SSL_is_init_finished(box->ssl)) SSL_shutdown(box->ssl);
    ERR_clear_error();
}

size_t dtls_box_write_count(const dtls_box *box) { return box->write_count; }

const uint8_t *dtls_box_write_at(const dtls_box *box, size_t index, size_t *length, int *repeat) {
    if (index >= box->write_count) return NULL;
    *length = box->writes[index].length;
    *repeat = box->writes[index].repeat;
    return box->bytes + box->writes[index].offset;
}

void dtls_box_clear_writes(dtls_box *box) {
    free(box->bytes);
    free(box->writes);
    box->bytes = NULL;
    box->writes = NULL;
    box->bytes_used = box->bytes_room = box->write_count = box->write_room = 0;
}

unsigned dtls_box_flights(const dtls_box *box) { return box->flights; }
unsigned dtls_box_messages(const dtls_box *box) { return box->messages; }
unsigned dtls_box_overflows(const dtls_box *box) { return box->overflows; }
unsigned long dtls_box_application_bytes(const dtls_box *box) { return box->application_bytes; }
int dtls_box_alert(const dtls_box *box) { return box->alert; }

const char *dtls_box_error_text(const dtls_box *box) {
    const char *text = box->error ? ERR_reason_error_string(box->error) : NULL;
    return text ? text : "no reason given";
}

int dtls_box_finished_sent(const dtls_box *box) {
    uint8_t finished[64];
    return SSL_get_finished(box->ssl, finished, sizeof finished) > 0;
}

unsigned dtls_box_srtp_profile(const dtls_box *box) {
    const SRTP_PROTECTION_PROFILE *profile = SSL_get_selected_srtp_profile(box->ssl);
    return profile ? (unsigned)profile->id : 0;
}

int dtls_box_export(dtls_box *box, uint8_t *material, size_t length) {
    static const char label[] = "EXTRACTOR-dtls_srtp";
    /* Before the master secret exists the exporter reports success with garbage. */
    if (!dtls_box_finished_sent(box)) return 0;
    ERR_clear_error();
    int done = SSL_export_keying_material(box->ssl, material, length, label, sizeof label - 1, NULL, 0, 0);
    ERR_clear_error();
    return done == 1;
}

const char *dtls_box_version(const dtls_box *box) { return SSL_get_version(box->ssl); }

const char *dtls_box_cipher(const dtls_box *box) {
    const char *name = SSL_get_cipher_name(box->ssl);
    return name ? name : "";
}

void dtls_wipe(void *bytes, size_t length) { OPENSSL_cleanse(bytes, length); }
