/* Here and not in the header: there it would give the module another fd_set than Swift's Glibc has. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "CLinux.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t load64(const uint8_t *bytes) {
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) value = value << 8 | bytes[i];
    return value;
}

static void store64(uint8_t *bytes, uint64_t value) {
    for (int i = 7; i >= 0; i--, value >>= 8) bytes[i] = (uint8_t)value;
}

int clinux_address_from(const struct sockaddr *source, socklen_t length, clinux_address *out) {
    memset(out, 0, sizeof *out);
    if (source == NULL || length < sizeof(sa_family_t)) return 0;
    if (source->sa_family == AF_INET && length >= sizeof(struct sockaddr_in)) {
        struct sockaddr_in in;
        memcpy(&in, source, sizeof in);
        out->family = 4;
        out->low = ntohl(in.sin_addr.s_addr);
        out->port = ntohs(in.sin_port);
    } else if (source->sa_family == AF_INET6 && length >= sizeof(struct sockaddr_in6)) {
        struct sockaddr_in6 in;
        memcpy(&in, source, sizeof in);
        out->family = 6;
        out->high = load64(in.sin6_addr.s6_addr);
        out->low = load64(in.sin6_addr.s6_addr + 8);
        out->port = ntohs(in.sin6_port);
        out->zone = in.sin6_scope_id;
    }
    return out->family;
}

socklen_t clinux_address_to(const clinux_address *address, struct sockaddr_storage *out) {
    memset(out, 0, sizeof *out);
    if (address->family == 4) {
        struct sockaddr_in *in = (struct sockaddr_in *)out;
        in->sin_family = AF_INET;
        in->sin_addr.s_addr = htonl((uint32_t)address->low);
        in->sin_port = htons(address->port);
        return sizeof *in;
    }
    struct sockaddr_in6 *in = (struct sockaddr_in6 *)out;
    in->sin6_family = AF_INET6;
    store64(in->sin6_addr.s6_addr, address->high);
    store64(in->sin6_addr.s6_addr + 8, address->low);
    in->sin6_port = htons(address->port);
    in->sin6_scope_id = address->zone;
    return sizeof *in;
}

/* MARK: sockets */

int clinux_socket(int family, int stream) {
    int fd = socket(
        family == 4 ? AF_INET : AF_INET6, (stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return fd < 0 ? -errno : fd;
}

int clinux_bind(int fd, const clinux_address *address) {
    struct sockaddr_storage storage;
    socklen_t length = clinux_address_to(address, &storage);
    return bind(fd, (struct sockaddr *)&storage, length) == 0 ? 0 : -errno;
}

int clinux_connect(int fd, const clinux_address *address) {
    struct sockaddr_storage storage;
    socklen_t length = clinux_address_to(address, &storage);
    return connect(fd, (struct sockaddr *)&storage, length) == 0 ? 0 : -errno;
}

int clinux_accept(int fd, clinux_address *from) {
    struct sockaddr_storage storage;
    socklen_t length = sizeof storage;
    int accepted = accept4(fd, (struct sockaddr *)&storage, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (accepted < 0) return -errno;
    clinux_address_from((struct sockaddr *)&storage, length, from);
    return accepted;
}

int clinux_local_address(int fd, clinux_address *out) {
    struct sockaddr_storage storage;
    socklen_t length = sizeof storage;
    if (getsockname(fd, (struct sockaddr *)&storage, &length) != 0) return -errno;
    return clinux_address_from((struct sockaddr *)&storage, length, out) ? 0 : -EAFNOSUPPORT;
}

int clinux_peer_address(int fd, clinux_address *out) {
    struct sockaddr_storage storage;
    socklen_t length = sizeof storage;
    if (getpeername(fd, (struct sockaddr *)&storage, &length) != 0) return -errno;
    return clinux_address_from((struct sockaddr *)&storage, length, out) ? 0 : -EAFNOSUPPORT;
}

int clinux_set_option(int fd, int level, int name, int value) {
    return setsockopt(fd, level, name, &value, sizeof value) == 0 ? 0 : -errno;
}

int clinux_get_option(int fd, int level, int name, int *value) {
    socklen_t length = sizeof *value;
    return getsockopt(fd, level, name, value, &length) == 0 ? 0 : -errno;
}

int clinux_unacknowledged(int fd) {
    int count = 0;
    return ioctl(fd, SIOCOUTQ, &count) == 0 ? count : -errno;
}

int clinux_unsent(int fd) {
    int count = 0;
    return ioctl(fd, SIOCOUTQNSD, &count) == 0 ? count : -errno;
}

int clinux_reset_on_close(int fd) {
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    return setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) == 0 ? 0 : -errno;
}

ssize_t clinux_send(int fd, const void *bytes, size_t count) {
    ssize_t sent;
    do sent = send(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

ssize_t clinux_receive(int fd, void *bytes, size_t count) {
    ssize_t received;
    do received = recv(fd, bytes, count, MSG_DONTWAIT);
    while (received < 0 && errno == EINTR);
    return received < 0 ? -errno : received;
}

/* MARK: poll */

int clinux_epoll_control(int epoll, int operation, int fd, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data.u64 = token};
    return epoll_ctl(epoll, operation, fd, &event) == 0 ? 0 : -errno;
}

int clinux_epoll_wait(int epoll, clinux_ready *out, int limit, int64_t timeout) {
    struct epoll_event events[64];
    if (limit > 64) limit = 64;
    struct timespec wait = {.tv_sec = timeout / 1000000000, .tv_nsec = timeout % 1000000000};
    int count = epoll_pwait2(epoll, events, limit, timeout < 0 ? NULL : &wait, NULL);
    if (count < 0 && (errno == ENOSYS || errno == EPERM)) { /* kernels before 5.11, strict sandboxes */
        int64_t milliseconds = timeout < 0 ? -1 : timeout / 1000000 + (timeout % 1000000 != 0);
        count = epoll_wait(epoll, events, limit, milliseconds > 60000 ? 60000 : (int)milliseconds);
    }
    if (count < 0) return -errno;
    for (int i = 0; i < count; i++) {
        out[i].token = events[i].data.u64;
        out[i].events = events[i].events;
    }
    return count;
}

void clinux_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

/* MARK: datagrams */

#define CONTROL_ROOM 128

struct clinux_batch {
    struct mmsghdr headers[CLINUX_BATCH];
    struct iovec buffers[CLINUX_BATCH];
    struct sockaddr_storage names[CLINUX_BATCH];
    _Alignas(struct cmsghdr) uint8_t control[CLINUX_BATCH][CONTROL_ROOM];
};

clinux_batch *clinux_batch_make(void) { return calloc(1, sizeof(clinux_batch)); }

void clinux_batch_free(clinux_batch *batch) { free(batch); }

void clinux_batch_buffer(clinux_batch *batch, int index, void *bytes, size_t count) {
    batch->buffers[index] = (struct iovec){.iov_base = bytes, .iov_len = count};
}

int clinux_batch_receive(clinux_batch *batch, int fd, int count) {
    for (int i = 0; i < count; i++) {
        batch->headers[i].msg_hdr = (struct msghdr){
            .msg_name = &batch->names[i],
            .msg_namelen = sizeof batch->names[i],
            .msg_iov = &batch->buffers[i],
            .msg_iovlen = 1,
            .msg_control = batch->control[i],
            .msg_controllen = CONTROL_ROOM,
        };
    }
    int received = recvmmsg(fd, batch->headers, (unsigned)count, MSG_DONTWAIT, NULL);
    return received < 0 ? -errno : received;
}

void clinux_batch_datagram(const clinux_batch *batch, int index, clinux_datagram *out) {
    struct msghdr header = batch->headers[index].msg_hdr;
    memset(out, 0, sizeof *out);
    clinux_address_from(header.msg_name, header.msg_namelen, &out->from);
    out->length = batch->headers[index].msg_len;
    out->truncated = (header.msg_flags & MSG_TRUNC) != 0;
    for (struct cmsghdr *item = CMSG_FIRSTHDR(&header); item != NULL; item = CMSG_NXTHDR(&header, item)) {
        if (item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_PKTINFO) {
            struct in_pktinfo info;
            memcpy(&info, CMSG_DATA(item), sizeof info);
            out->local.family = 4;
            out->local.low = ntohl(info.ipi_addr.s_addr);
        } else if (item->cmsg_level == IPPROTO_IPV6 && item->cmsg_type == IPV6_PKTINFO) {
            struct in6_pktinfo info;
            memcpy(&info, CMSG_DATA(item), sizeof info);
            out->local.family = 6;
            out->local.high = load64(info.ipi6_addr.s6_addr);
            out->local.low = load64(info.ipi6_addr.s6_addr + 8);
            out->local.zone = info.ipi6_ifindex;
        }
    }
}

/* Writes the source address as a control message; the control message's length. */
static size_t write_source(const clinux_address *from, uint8_t *control) {
    if (from->family == 0) return 0;
    struct cmsghdr *item = (struct cmsghdr *)(void *)control;
    memset(control, 0, CONTROL_ROOM);
    if (from->family == 4) {
        struct in_pktinfo info = {0};
        info.ipi_spec_dst.s_addr = htonl((uint32_t)from->low);
        item->cmsg_level = IPPROTO_IP;
        item->cmsg_type = IP_PKTINFO;
        item->cmsg_len = CMSG_LEN(sizeof info);
        memcpy(CMSG_DATA(item), &info, sizeof info);
        return CMSG_SPACE(sizeof info);
    }
    struct in6_pktinfo info = {0};
    store64(info.ipi6_addr.s6_addr, from->high);
    store64(info.ipi6_addr.s6_addr + 8, from->low);
    info.ipi6_ifindex = from->zone;
    item->cmsg_level = IPPROTO_IPV6;
    item->cmsg_type = IPV6_PKTINFO;
    item->cmsg_len = CMSG_LEN(sizeof info);
    memcpy(CMSG_DATA(item), &info, sizeof info);
    return CMSG_SPACE(sizeof info);
}

void clinux_batch_route(clinux_batch *batch, int index, const clinux_address *to, const clinux_address *from) {
    size_t control = write_source(from, batch->control[index]);
    batch->headers[index].msg_hdr = (struct msghdr){
        .msg_name = &batch->names[index],
        .msg_namelen = clinux_address_to(to, &batch->names[index]),
        .msg_iov = &batch->buffers[index],
        .msg_iovlen = 1,
        .msg_control = control ? batch->control[index] : NULL,
        .msg_controllen = control,
    };
}

int clinux_batch_send(clinux_batch *batch, int fd, int first, int end) {
    int sent = sendmmsg(fd, batch->headers + first, (unsigned)(end - first), MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent < 0 ? -errno : sent;
}

int clinux_datagram_send(int fd, const void *bytes, size_t count, const clinux_address *to, const clinux_address *from) {
    _Alignas(struct cmsghdr) uint8_t control[CONTROL_ROOM];
    struct sockaddr_storage name;
    struct iovec buffer = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = count};
    size_t controls = write_source(from, control);
    struct msghdr header = {
        .msg_name = &name,
        .msg_namelen = clinux_address_to(to, &name),
        .msg_iov = &buffer,
        .msg_iovlen = 1,
        .msg_control = controls ? control : NULL,
        .msg_controllen = controls,
    };
    return sendmsg(fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int clinux_read_error(int fd, clinux_socket_error *out) {
    _Alignas(struct cmsghdr) uint8_t control[512];
    uint8_t payload[64];
    struct sockaddr_storage name;
    struct iovec buffer = {.iov_base = payload, .iov_len = sizeof payload};
    for (;;) {
        struct msghdr header = {
            .msg_name = &name,
            .msg_namelen = sizeof name,
            .msg_iov = &buffer,
            .msg_iovlen = 1,
            .msg_control = control,
            .msg_controllen = sizeof control,
        };
        memset(out, 0, sizeof *out);
        if (recvmsg(fd, &header, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
            if (errno == EINTR) continue;
            return errno == EAGAIN ? 0 : -errno;
        }
        clinux_address_from((struct sockaddr *)&name, header.msg_namelen, &out->destination);
        for (struct cmsghdr *item = CMSG_FIRSTHDR(&header); item != NULL; item = CMSG_NXTHDR(&header, item)) {
            int v4 = item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_RECVERR;
            int v6 = item->cmsg_level == IPPROTO_IPV6 && item->cmsg_type == IPV6_RECVERR;
            if ((!v4 && !v6) || item->cmsg_len < CMSG_LEN(sizeof(struct sock_extended_err))) continue;
            struct sock_extended_err error;
            memcpy(&error, CMSG_DATA(item), sizeof error);
            out->number = (int32_t)error.ee_errno;
            out->info = error.ee_info;
            out->origin = error.ee_origin;
            out->type = error.ee_type;
            out->code = error.ee_code;
            size_t room = item->cmsg_len - CMSG_LEN(sizeof error);
            if (error.ee_origin != SO_EE_ORIGIN_LOCAL && room >= sizeof(struct sockaddr_in)) {
                struct sockaddr_storage offender = {0};
                memcpy(&offender, CMSG_DATA(item) + sizeof error, room < sizeof offender ? room : sizeof offender);
                clinux_address_from(
                    (struct sockaddr *)&offender, (socklen_t)(room < sizeof offender ? room : sizeof offender),
                    &out->reporter);
            }
            return 1;
        }
    }
}

int64_t clinux_boot_nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_BOOTTIME, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* MARK: routing news */

int clinux_netlink_open(void) {
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0) return -errno;
    struct sockaddr_nl address = {
        .nl_family = AF_NETLINK,
        .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE};
    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
    int error = errno;
    close(fd);
    return -error;
}

int clinux_netlink_dump(int fd, int addresses, uint32_t sequence) {
    struct {
        struct nlmsghdr header;
        /* Long enough for both kinds; its first byte is the family, 0 for all. */
        struct ifinfomsg body;
    } request = {
        .header = {
            .nlmsg_len = addresses ? NLMSG_LENGTH(sizeof(struct ifaddrmsg)) : NLMSG_LENGTH(sizeof(struct ifinfomsg)),
            .nlmsg_type = addresses ? RTM_GETADDR : RTM_GETLINK,
            .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
            .nlmsg_seq = sequence,
        }};
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    ssize_t sent = sendto(
        fd, &request, request.header.nlmsg_len, MSG_DONTWAIT, (struct sockaddr *)&kernel, sizeof kernel);
    return sent < 0 ? -errno : 0;
}

ssize_t clinux_netlink_receive(int fd, void *bytes, size_t count) {
    for (;;) {
        struct sockaddr_nl from = {0};
        struct iovec buffer = {.iov_base = bytes, .iov_len = count};
        struct msghdr header = {.msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &buffer, .msg_iovlen = 1};
        ssize_t received = recvmsg(fd, &header, MSG_DONTWAIT);
        if (received < 0) {
            if (errno == EINTR) continue;
            return -errno;
        }
        if (from.nl_pid != 0) continue;
        return header.msg_flags & MSG_TRUNC ? -EMSGSIZE : received;
    }
}

size_t clinux_heap_used(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

size_t clinux_heap_reserved(void) {
    struct mallinfo2 info = mallinfo2();
    return info.arena + info.hblkhd;
}

void clinux_heap_trim(void) { malloc_trim(0); }
