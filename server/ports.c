/* Opens the ports of the server. */
#include <stdio.h>

#include "base/log.h"
#include "server/example_line.h"
#include "server/server.h"
#include "server/service_manager.h"

/* Prints the line that scripts wait for, and a command that can be pasted. */
static void say_ready(struct server *server)
{
    struct servable *servable = manager_find_any(server->manager);
    struct buffer line = { 0 };
    int port = server->options.rest_api_port;
    if (servable != NULL) {
        char url[64];
        snprintf(url, sizeof url, "%s://localhost:%d",
                 security_rest(&server->security) != NULL ? "https" : "http", port);
        example_line_print(servable, url, &line);
        servable_release(servable);
    }
    log_info("Exporting HTTP/REST API at:localhost:%d ...", port);
    if (line.size > 0)
        fprintf(stderr, "%.*s\n", (int)line.size, line.data);
    buffer_finish(&line);
}

static struct status open_grpc(struct server *server)
{
    const struct server_options *options = &server->options;
    struct grpc_port *port = server->loops.items[0]->port;
    bool shared = options->port == options->rest_api_port;
    if (port == NULL)
        return status_ok();
    if (options->port != 0) {
        if (!shared)
            TRY(grpc_port_listen(port, options->port));
        log_info("Running gRPC ModelServer at 0.0.0.0:%d ...", options->port);
    }
    if (options->grpc_socket_path[0] != '\0') {
        TRY(grpc_port_listen_unix(port, options->grpc_socket_path));
        log_info("Running gRPC ModelServer at UNIX socket %s ...", options->grpc_socket_path);
    }
    return status_ok();
}

static void give_up_rest(struct server *server, struct status why)
{
    log_warning("REST is off: %s; --rest_api_port chooses another port, or 0 for none",
                why.message);
    server->options.rest_api_port = 0;
    for (int i = 0; i < server->loops.count; i++)
        grpc_port_forget_rest(server->loops.items[i]->port);
}

/* Two servers of gRPC on one machine have ports of their own for it. TensorFlow Serving has no REST
 * unless it is asked for, so nobody told the second one another port for REST. */
static struct status open_rest(struct server *server)
{
    const struct server_options *options = &server->options;
    int port = options->rest_api_port;
    bool shared = port == options->port;
    if (port == 0)
        return status_ok();
    struct status status = listener_open(
        server_loop(server), port, shared ? serving_loops_accept_either : serving_loops_accept_rest,
        &server->loops, &server->listener);
    if (status_is_ok(status) || shared || options->port == 0 || !options_rest_port_is_default())
        return status;
    give_up_rest(server, status);
    return status_ok();
}

/* The first loop accepts for all. */
struct status server_open_ports(struct server *server)
{
    const struct server_options *options = &server->options;
    TRY(open_rest(server));
    TRY(serving_loops_start(&server->loops));
    TRY(open_grpc(server));
    int port = options->rest_api_port;
    if (port != 0)
        say_ready(server);
    service_manager_notify("READY=1\nSTATUS=Serving: REST on port %d, gRPC on port %d", port,
                           options->port);
    return status_ok();
}
