#include "server/service_manager.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/status.h"

#define STATE_BYTES 512 /* of the lines in one message */

struct manager_address {
    struct sockaddr_un address;
    socklen_t size;
};

static struct status find_address(const char *name, struct manager_address *out)
{
    size_t size = strlen(name);
    *out = (struct manager_address){ .address.sun_family = AF_UNIX };
    if ((name[0] != '/' && name[0] != '@') || size >= sizeof out->address.sun_path)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "not a path from / of at most %zu bytes, nor @ and a name",
                            sizeof out->address.sun_path - 1);
    memcpy(out->address.sun_path, name, size);
    if (name[0] == '@') /* an abstract name, which begins with a zero byte */
        out->address.sun_path[0] = '\0';
    out->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
    return status_ok();
}

static struct status send_state(const char *name, const char *state, size_t size)
{
    const struct timeval second = { .tv_sec = 1 };
    struct status status = status_ok();
    struct manager_address to;
    TRY(find_address(name, &to));
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return status_errno(errno, "socket");
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
    if (sendto(fd, state, size, MSG_NOSIGNAL, (struct sockaddr *)&to.address, to.size) < 0)
        status = status_errno(errno, "sendto");
    close(fd);
    return status;
}

void service_manager_notify(const char *format, ...)
{
    const char *name = getenv("NOTIFY_SOCKET");
    char state[STATE_BYTES];
    va_list values;
    if (name == NULL || name[0] == '\0')
        return;
    va_start(values, format);
    int size = vsnprintf(state, sizeof state, format, values);
    va_end(values);
    size = size < (int)sizeof state ? size : (int)sizeof state - 1;
    struct status status = send_state(name, state, (size_t)size);
    if (!status_is_ok(status))
        log_warning("NOTIFY_SOCKET='%s': the service manager was not told %.*s: %s", name,
                    (int)strcspn(state, "\n"), state, status.message);
}

bool service_manager_has_watchdog(void)
{
    const char *interval = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    return interval != NULL && atoll(interval) > 0 && (pid == NULL || atoll(pid) == getpid());
}
