/*
 * service_manager: reports the server's state to the service manager that started it, such as
 * systemd. The protocol is that of sd_notify(3): lines of NAME=VALUE in a datagram to the socket in
 * the variable NOTIFY_SOCKET. Without that variable, nothing is sent.
 *
 *     service_manager_notify("READY=1\nSTATUS=Serving on port %d", port);
 *
 * libsystemd does the same, but would bring its own dependencies for these few lines.
 */
#ifndef SERVER_SERVICE_MANAGER_H
#define SERVER_SERVICE_MANAGER_H

#include <stdbool.h>

/* Blocks for at most a second; a failure is logged. Threads: any. */
__attribute__((format(printf, 1, 2))) void service_manager_notify(const char *format, ...);

/* Does the manager restart this process unless it receives WATCHDOG=1 regularly? */
bool service_manager_has_watchdog(void);

#endif
