/*
 * address: the address at which a task or a server listens: "host:port", "10.0.0.1:2222",
 * "[::1]:2222" or "unix:/path/of/socket".
 */
#ifndef RPC_ADDRESS_H
#define RPC_ADDRESS_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/status.h"

#define ADDRESS_TEXT_MAX 128

struct address {
    char host[256]; /* a name or an IP address without brackets; of a Unix socket, its path */
    int port;       /* 0: any free port, for a listener */
    bool is_unix;
};

/* Errors  INVALID_ARGUMENT, which quotes the text and says what is wrong */
struct status address_parse(const char *text, struct address *out);

struct socket_address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un local;
    };
    socklen_t size;
};

/**
 * Looks the host up: up to `max` socket addresses, in the order in which to try them. Blocks while
 * the system's resolver asks its servers, which it does not for IP addresses and Unix sockets.
 *
 * Errors  NOT_FOUND no such host: "resolve 'ps0': Name or service not known"; UNAVAILABLE the
 *         resolver does not answer
 */
struct status address_resolve(const struct address *address, struct socket_address *out, int max,
                              int *out_count);

/* "10.0.0.1:2222", "[::1]:2222", "unix:/path". */
void socket_address_text(const struct socket_address *address, char out[ADDRESS_TEXT_MAX]);

#endif
