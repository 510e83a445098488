/* What the echo benchmark holds the endpoint against: the same relay in C, on libsrtp2 and the kernel's batched calls alone.
 *
 *   echo-relay-c PROFILE PORT...      PROFILE gcm or sha1; an even number of ports of 127.0.0.1, a peer each
 *
 * Prints "READY port" and relays until its standard input ends: what peer i protects goes, protected anew, to peer i ^ 1.
 * Peer i sends with SSRC 0x1000 + i and key bytes 0x10 + i, and is sent to with key bytes 0x80 + i. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <srtp2/srtp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BATCH 32
#define TURN 4
#define PACKET_ROOM 2048
#define TABLE 256
#define PEERS 64
#define BUFFER_SIZE (1 << 20)
#define REPLAY_WINDOW 512

struct peer {
    srtp_t in, out;
    struct sockaddr_in address;
    struct peer *other;
};

static struct peer peers[PEERS];
static struct peer *table[TABLE];

static uint8_t packets[BATCH][PACKET_ROOM];
static struct sockaddr_in names[BATCH];
static struct iovec buffers[BATCH];
static struct mmsghdr in[BATCH], out[BATCH];

static unsigned slot(const struct sockaddr_in *address) {
    uint32_t hash = (address->sin_addr.s_addr ^ ((uint32_t)address->sin_port << 8)) * 2654435761u;
    return hash >> 24;
}

static void insert(struct peer *peer) {
    unsigned at = slot(&peer->address);
    while (table[at]) at = (at + 1) % TABLE;
    table[at] = peer;
}

static struct peer *find(const struct sockaddr_in *address) {
    for (unsigned at = slot(address); table[at]; at = (at + 1) % TABLE) {
        const struct sockaddr_in *entry = &table[at]->address;
        if (entry->sin_port == address->sin_port && entry->sin_addr.s_addr == address->sin_addr.s_addr) return table[at];
    }
    return NULL;
}

static srtp_t session(int gcm, uint8_t fill, uint32_t ssrc) {
    uint8_t key[SRTP_MAX_KEY_LEN];
    memset(key, fill, sizeof key);
    srtp_policy_t policy;
    memset(&policy, 0, sizeof policy);
    if (gcm) {
        srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtp);
        srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtcp);
    } else {
        srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(&policy.rtp);
        srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(&policy.rtcp);
    }
    policy.ssrc.type = ssrc_specific;
    policy.ssrc.value = ssrc;
    policy.key = key;
    policy.window_size = REPLAY_WINDOW;
    srtp_t made = NULL;
    return srtp_create(&made, &policy) == srtp_err_status_ok ? made : NULL;
}

/* Where the payload begins, 0 when the header does not fit (RFC 3550 5.1). */
static int payload(const uint8_t *packet, int length) {
    if (length < 12 || packet[0] >> 6 != 2) return 0;
    int offset = 12 + 4 * (packet[0] & 15);
    if (packet[0] & 0x10) {
        if (length < offset + 4) return 0;
        offset += 4 + 4 * (packet[offset + 2] << 8 | packet[offset + 3]);
    }
    return offset <= length ? offset : 0;
}

static void flush(int fd, int queued) {
    for (int sent = 0; sent < queued;) {
        int count = sendmmsg(fd, out + sent, (unsigned)(queued - sent), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count > 0) sent += count;
        else if (errno == EAGAIN) break;
        else if (errno != EINTR) sent++;
    }
}

static void relay(int fd) {
    for (int turn = 0; turn < TURN; turn++) {
        int queued = 0;
        for (int i = 0; i < BATCH; i++) {
            in[i].msg_hdr.msg_namelen = sizeof names[i];
            buffers[i].iov_len = PACKET_ROOM;
        }
        int count = recvmmsg(fd, in, BATCH, MSG_DONTWAIT, NULL);
        for (int i = 0; i < count; i++) {
            uint8_t *packet = packets[i];
            int length = (int)in[i].msg_len;
            if ((packet[0] & 0xC0) != 0x80) continue;
            struct peer *peer = find(&names[i]);
            if (!peer || !payload(packet, length)) continue;
            if (srtp_unprotect(peer->in, packet, &length) != srtp_err_status_ok) continue;
            if (!payload(packet, length)) continue;
            if (srtp_protect(peer->other->out, packet, &length) != srtp_err_status_ok) continue;
            buffers[i].iov_len = (size_t)length;
            out[queued].msg_hdr.msg_iov = &buffers[i];
            out[queued].msg_hdr.msg_name = &peer->other->address;
            queued++;
        }
        flush(fd, queued);
        if (count < BATCH) break;
    }
}

/* A thread of its own, as the endpoint's loop has: in a process of one thread the C library leaves its locks out. */
static void *loop(void *context) {
    int fd = *(int *)context;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    for (;;) {
        int count = epoll_wait(epoll, &event, 1, -1);
        if (count == 1) relay(fd);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int count = argc - 2;
    if (count < 2 || count % 2 || count > PEERS) return 64;
    int gcm = !strcmp(argv[1], "gcm");
    if (srtp_init() != srtp_err_status_ok) return 70;
    for (int i = 0; i < count; i++) {
        struct peer *peer = &peers[i];
        peer->other = &peers[i ^ 1];
        peer->address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[i + 2]))};
        peer->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        peer->in = session(gcm, (uint8_t)(0x10 + i), 0x1000u + (unsigned)i);
        peer->out = session(gcm, (uint8_t)(0x80 + i), 0x1000u + (unsigned)(i ^ 1));
        if (!peer->in || !peer->out) return 70;
        insert(peer);
    }
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof own;
    int size = BUFFER_SIZE, on = 1;
    setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    if (bind(fd, (struct sockaddr *)&own, sizeof own) || getsockname(fd, (struct sockaddr *)&own, &length)) return 71;
    for (int i = 0; i < BATCH; i++) {
        buffers[i].iov_base = packets[i];
        in[i].msg_hdr = (struct msghdr){.msg_name = &names[i], .msg_iov = &buffers[i], .msg_iovlen = 1};
        out[i].msg_hdr = (struct msghdr){.msg_namelen = sizeof names[i], .msg_iovlen = 1};
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, loop, &fd)) return 71;
    printf("READY %u\n", ntohs(own.sin_port));
    fflush(stdout);
    while (getchar() != EOF) {}
    return 0;
}
