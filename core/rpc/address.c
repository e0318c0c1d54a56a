#include "rpc/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct status parse_port(const char *text, const char *port, int *out)
{
    char *end;
    long value = strtol(port, &end, 10);

    if (*port < '0' || *port > '9' || *end != 0 || value > 65535)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "address '%s': port '%s' is not a number up to 65535", text, port);
    *out = (int)value;
    return status_ok();
}

static struct status set_host(const char *text, const char *host, size_t size, size_t max,
                              struct address *out)
{
    if (size == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "address '%s': no host", text);
    if (size >= max)
        return status_error(STATUS_INVALID_ARGUMENT, "address '%s': more than %zu characters", text,
                            max - 1);
    memcpy(out->host, host, size);
    out->host[size] = 0;
    return status_ok();
}

struct status address_parse(const char *text, struct address *out)
{
    *out = (struct address){ 0 };
    if (strncmp(text, "unix:", 5) == 0) {
        const char *path = strncmp(text, "unix://", 7) == 0 ? text + 7 : text + 5;
        out->is_unix = true;
        return set_host(text, path, strlen(path), sizeof((struct sockaddr_un *)0)->sun_path, out);
    }
    const char *colon = strrchr(text, ':');
    if (text[0] == '[') {
        const char *close = strchr(text, ']');
        if (close == NULL || close[1] != ':')
            return status_error(STATUS_INVALID_ARGUMENT, "address '%s': want [IPv6 address]:port",
                                text);
        TRY(set_host(text, text + 1, (size_t)(close - text - 1), sizeof out->host, out));
        return parse_port(text, close + 2, &out->port);
    }
    if (colon == NULL || memchr(text, ':', (size_t)(colon - text)) != NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "address '%s': want host:port, [IPv6 address]:port or unix:/path",
                            text);
    TRY(set_host(text, text, (size_t)(colon - text), sizeof out->host, out));
    return parse_port(text, colon + 1, &out->port);
}

static void local_address(const char *path, struct socket_address *out)
{
    *out = (struct socket_address){ .size = sizeof out->local };
    out->local.sun_family = AF_UNIX;
    memcpy(out->local.sun_path, path, strlen(path)); /* address_parse has checked that it fits */
}

static struct status lookup_error(const char *host, int error)
{
    if (error == EAI_AGAIN)
        return status_error(STATUS_UNAVAILABLE, "resolve '%s': the resolver does not answer", host);
    return status_error(STATUS_NOT_FOUND, "resolve '%s': %s", host, gai_strerror(error));
}

struct status address_resolve(const struct address *address, struct socket_address *out, int max,
                              int *out_count)
{
    struct addrinfo hints = { .ai_family = AF_UNSPEC,
                              .ai_socktype = SOCK_STREAM,
                              .ai_flags = AI_NUMERICSERV };
    struct addrinfo *found;
    char port[16];
    int count = 0;

    if (address->is_unix) {
        local_address(address->host, out);
        *out_count = 1;
        return status_ok();
    }
    snprintf(port, sizeof port, "%d", address->port);
    int error = getaddrinfo(address->host, port, &hints, &found);
    if (error != 0)
        return lookup_error(address->host, error);
    for (struct addrinfo *at = found; at != NULL && count < max; at = at->ai_next) {
        if (at->ai_addrlen > sizeof out->local)
            continue;
        out[count] = (struct socket_address){ .size = at->ai_addrlen };
        memcpy(&out[count++].any, at->ai_addr, at->ai_addrlen);
    }
    freeaddrinfo(found);
    *out_count = count;
    return count > 0 ? status_ok() : lookup_error(address->host, EAI_NONAME);
}

void socket_address_text(const struct socket_address *address, char out[ADDRESS_TEXT_MAX])
{
    char host[INET6_ADDRSTRLEN] = "?";

    switch (address->any.sa_family) {
    case AF_INET:
        inet_ntop(AF_INET, &address->v4.sin_addr, host, sizeof host);
        snprintf(out, ADDRESS_TEXT_MAX, "%s:%d", host, ntohs(address->v4.sin_port));
        break;
    case AF_INET6:
        inet_ntop(AF_INET6, &address->v6.sin6_addr, host, sizeof host);
        snprintf(out, ADDRESS_TEXT_MAX, "[%s]:%d", host, ntohs(address->v6.sin6_port));
        break;
    default:
        snprintf(out, ADDRESS_TEXT_MAX, "unix:%s",
                 address->size > offsetof(struct sockaddr_un, sun_path) ? address->local.sun_path
                                                                        : "");
    }
}
