#ifndef CLINUX_H
#define CLINUX_H
#include <time.h>

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* What Swift's Glibc module cannot say: packed structs, CMSG macros, variadic calls. Every function that can fail
 * returns a negative errno. */

/* An IP address and a port, in host order. family is 4 or 6; 0 is no address. */
typedef struct clinux_address {
    uint64_t high;
    uint64_t low;
    uint32_t zone;
    uint16_t port;
    uint8_t family;
} clinux_address;

int clinux_address_from(const struct sockaddr *source, socklen_t length, clinux_address *out);
socklen_t clinux_address_to(const clinux_address *address, struct sockaddr_storage *out);

/* Sockets */
int clinux_socket(int family, int stream);
int clinux_bind(int fd, const clinux_address *address);
int clinux_connect(int fd, const clinux_address *address);
int clinux_accept(int fd, clinux_address *from);
int clinux_local_address(int fd, clinux_address *out);
int clinux_peer_address(int fd, clinux_address *out);
int clinux_set_option(int fd, int level, int name, int value);
int clinux_get_option(int fd, int level, int name, int *value);
int clinux_unacknowledged(int fd);
int clinux_unsent(int fd);

/* Nanoseconds since boot, the time asleep included: clock_gettime(CLOCK_BOOTTIME). */
int64_t clinux_boot_nanoseconds(void);
int clinux_reset_on_close(int fd);
ssize_t clinux_send(int fd, const void *bytes, size_t count);
ssize_t clinux_receive(int fd, void *bytes, size_t count);

/* Poll */
typedef struct clinux_ready {
    uint64_t token;
    uint32_t events;
} clinux_ready;
int clinux_epoll_control(int epoll, int operation, int fd, uint32_t events, uint64_t token);
/* Waits for at most timeout nanoseconds (negative: for ever) and writes at most limit (<= 64) entries. */
int clinux_epoll_wait(int epoll, clinux_ready *out, int limit, int64_t timeout);
void clinux_name_thread(const char *name);

/* Datagrams */
#define CLINUX_BATCH 32
typedef struct clinux_batch clinux_batch;
typedef struct clinux_datagram {
    clinux_address from;
    clinux_address local; /* port 0; family 0 when the kernel did not say */
    uint32_t length;
    uint32_t truncated;
} clinux_datagram;

clinux_batch *clinux_batch_make(void);
void clinux_batch_free(clinux_batch *batch);
/* Receives into the first count buffers, which clinux_batch_buffer has set. */
void clinux_batch_buffer(clinux_batch *batch, int index, void *bytes, size_t count);
int clinux_batch_receive(clinux_batch *batch, int fd, int count);
void clinux_batch_datagram(const clinux_batch *batch, int index, clinux_datagram *out);
/* Says where buffer index goes; from->family 0 leaves the source to the kernel. */
void clinux_batch_route(clinux_batch *batch, int index, const clinux_address *to, const clinux_address *from);
/* Sends buffers first..<end; the number sent, or the negative errno of the first of them. */
int clinux_batch_send(clinux_batch *batch, int fd, int first, int end);
int clinux_datagram_send(int fd, const void *bytes, size_t count, const clinux_address *to, const clinux_address *from);

typedef struct clinux_socket_error {
    clinux_address destination;
    clinux_address reporter; /* family 0: nobody, the error is local */
    int32_t number;
    uint32_t info; /* the path MTU for EMSGSIZE */
    uint8_t origin;
    uint8_t type;
    uint8_t code;
} clinux_socket_error;
/* 1 when it read an entry of the error queue, 0 when there is none. */
int clinux_read_error(int fd, clinux_socket_error *out);

/* Routing news: rtnetlink(7) */
/* A non-blocking socket that is told when links, addresses and routes change. */
int clinux_netlink_open(void);
/* Asks for all links (addresses 0) or all addresses (1); the answers carry sequence. */
int clinux_netlink_dump(int fd, int addresses, uint32_t sequence);
/* The kernel's next datagram, or a negative errno: -ENOBUFS when some were lost, -EMSGSIZE when it did not fit. What
 * others than the kernel send is skipped. */
ssize_t clinux_netlink_receive(int fd, void *bytes, size_t count);

/* Bytes allocated and not freed, mapped blocks included, over all arenas. The corresponding C function is `mallinfo2`. */
size_t clinux_heap_used(void);
/* Bytes the allocator has from the system, used or free, mapped blocks included. */
size_t clinux_heap_reserved(void);
/* Gives free memory back to the system. The corresponding C function is `malloc_trim`. */
void clinux_heap_trim(void);

#endif
