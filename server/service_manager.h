/*
 * service_manager: tells the service manager that started the server, such as systemd, how far it
 * is. The protocol is that of sd_notify(3): lines of NAME=VALUE in a datagram to the socket that
 * the variable NOTIFY_SOCKET names. Without that variable, nothing is sent.
 *
 *     service_manager_tell("READY=1\nSTATUS=Serving on port %d", port);
 *
 * libsystemd would do the same, and bring its own dependencies for these few lines.
 */
#ifndef SERVER_SERVICE_MANAGER_H
#define SERVER_SERVICE_MANAGER_H

#include <stdbool.h>

/* Waits for at most a second; a failure is logged. Threads: any. */
__attribute__((format(printf, 1, 2))) void service_manager_tell(const char *format, ...);

/* Does the manager restart this process unless it hears WATCHDOG=1 again and again? */
bool service_manager_watches(void);

#endif
