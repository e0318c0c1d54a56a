/* Calls over TLS, and the errors when one side does not trust the other. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/arena.h"
#include "rpc/call_group.h"
#include "rpc/remote.h"
#include "rpc/server.h"
#include "rpc/tls.h"
#include "support/certificates.h"
#include "support/status.h"
#include "support/test_group.h"

#define DEADLINE_MS 60000

static struct {
    struct certificate ca, server, client, other_ca, stranger;
} made;

static int make_certificates(void **state)
{
    (void)state;
    certificate_make(&(struct certificate_wish){ .name = "our CA" }, NULL, &made.ca);
    certificate_make(&(struct certificate_wish){ .name = "their CA" }, NULL, &made.other_ca);
    certificate_make(&(struct certificate_wish){ .name = "ps 0", .host = "127.0.0.1" }, &made.ca,
                     &made.server);
    certificate_make(&(struct certificate_wish){ .name = "worker 0" }, &made.ca, &made.client);
    certificate_make(&(struct certificate_wish){ .name = "stranger" }, &made.other_ca,
                     &made.stranger);
    return 0;
}

static int free_certificates(void **state)
{
    (void)state;
    struct certificate *all[] = { &made.ca, &made.server, &made.client, &made.other_ca,
                                  &made.stranger };
    for (size_t i = 0; i < COUNT(all); i++)
        certificate_free(all[i]);
    return 0;
}

static struct tls_options options_of(const struct certificate *own, const struct certificate *ca)
{
    struct tls_options options = { .ca = { .text = ca->cert_pem, .name = "ca" } };
    if (own != NULL) {
        options.cert = (struct tls_pem){ .text = own->cert_pem, .name = "cert" };
        options.key = (struct tls_pem){ .text = own->key_pem, .name = "key" };
    }
    return options;
}

/* ---- a server in a thread that trusts clients of our CA ---- */

static void echo(void *instance, struct call *call, struct message *request)
{
    (void)instance;
    call_reply(call, request);
}

static const struct method methods[] = { { "/t/Echo", echo, METHOD_UNARY, true } };
static const struct service service = { methods, COUNT(methods) };

struct server {
    struct loop *loop;
    struct rpc_server *rpc;
    struct tls *tls;
    pthread_t thread;
    int port;
};

static void *run_loop(void *context)
{
    struct server *server = context;
    assert_ok(loop_run(server->loop));
    return NULL;
}

static void server_start(struct server *server, bool encrypted)
{
    struct tls_options tls = options_of(&made.server, &made.ca);
    struct rpc_server_options options = { .message_max_bytes = 64 << 20,
                                          .handshake_timeout_ms = DEADLINE_MS };
    *server = (struct server){ 0 };
    tls.verify_client = true;
    if (encrypted) {
        assert_ok(tls_server_create(&tls, &server->tls));
        options.tls = tls_maker(server->tls);
    }
    assert_ok(loop_create(&server->loop));
    assert_ok(rpc_server_create(server->loop, &options, &server->rpc));
    rpc_server_add(server->rpc, &service, NULL);
    assert_ok(rpc_server_listen(server->rpc, "127.0.0.1:0", &server->port));
    pthread_create(&server->thread, NULL, run_loop, server);
}

static void server_stop(struct server *server)
{
    loop_stop(server->loop);
    pthread_join(server->thread, NULL);
    rpc_server_destroy(server->rpc);
    loop_destroy(server->loop);
    tls_destroy(server->tls);
}

/* Makes one call over a new channel. `state` (or NULL) gets the channel's state. */
static struct status call(const struct server *server, struct tls_options *tls, const char *name,
                          struct message *request, struct message *reply,
                          struct remote_state *state)
{
    char address[64];
    struct tls *context = NULL;
    struct channel *channel;
    struct remote_options options = { .server_name = name, .connect_timeout_ms = DEADLINE_MS };
    snprintf(address, sizeof address, "127.0.0.1:%d", server->port);
    if (tls != NULL) {
        assert_ok(tls_client_create(tls, &context));
        options.tls = tls_maker(context);
    }
    assert_ok(remote_open(address, &options, &channel));
    struct status status = channel_call(channel, "/t/Echo", request,
                                        clock_deadline_ns(clock_monotonic(), DEADLINE_MS), reply);
    if (state != NULL)
        remote_state(channel, state);
    channel_close(channel);
    tls_destroy(context);
    return status;
}

/* ---- tests ---- */

static void carries_messages_of_any_size(void **state)
{
    (void)state;
    struct server server;
    static const size_t sizes[] = { 0, 1, 16383, 16384, 16385, 300000, 20 << 20 };
    struct tls_options tls = options_of(&made.client, &made.ca);
    server_start(&server, true);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        char *bytes = xrealloc(NULL, sizes[i] + 1), *back = xrealloc(NULL, sizes[i] + 1);
        for (size_t at = 0; at < sizes[i]; at++)
            bytes[at] = (char)(at * 7 + at / 4096);
        struct bytes piece = { bytes, sizes[i] };
        struct message request = { .header = { "\x08\x01", 2 },
                                   .pieces = &piece,
                                   .pieces_count = 1 };
        struct message reply;
        assert_ok(call(&server, &tls, NULL, &request, &reply, NULL));
        /* Without options.payload the whole message is in the header: the two bytes of the
         * request's header, the payload's tag and size, and the payload. */
        assert_true(reply.header.size >= sizes[i] + 2);
        memcpy(back, reply.header.data + reply.header.size - sizes[i], sizes[i]);
        assert_memory_equal(back, bytes, sizes[i]);
        message_release(&reply);
        free(bytes);
        free(back);
    }
    server_stop(&server);
}

static const struct row {
    const char *label;
    bool server_encrypts;
    const struct certificate *own, *ca; /* ca NULL: the client does not encrypt */
    const char *name;
    enum remote_trouble trouble;
    const char *text;
} rows[] = {
    { "says that the server's CA is unknown", true, &made.client, &made.other_ca, NULL, REMOTE_TLS,
      "TLS: the server's certificate 'CN=ps 0' is issued by 'CN=our CA', an unknown CA: not one of "
      "'ca'" },
    { "says for whom the server's certificate is", true, &made.client, &made.ca, "ps1.example",
      REMOTE_TLS,
      "TLS: the server's certificate 'CN=ps 0' is for '127.0.0.1' and not for 'ps1.example'" },
    { "says that the server refuses a client without certificate", true, NULL, &made.ca, NULL,
      REMOTE_TLS, "TLS: the peer refused the connection: " },
    { "says that the server refuses a client of another CA", true, &made.stranger, &made.ca, NULL,
      REMOTE_TLS, "TLS: the peer refused the connection: " },
    { "says that the server does not encrypt", false, &made.client, &made.ca, NULL, REMOTE_TLS,
      "TLS: the peer does not speak TLS" },
    { "says that the server encrypts and the client does not", true, NULL, NULL, NULL,
      REMOTE_FOREIGN, "the peer speaks TLS, and this client does not" },
};

static void says_why(void **state)
{
    const struct row *row = *state;
    struct server server;
    struct message request = { .header = { "x", 1 } }, reply;
    struct remote_state remote = { 0 };
    struct tls_options tls = { 0 };
    if (row->ca != NULL)
        tls = options_of(row->own, row->ca);
    server_start(&server, row->server_encrypts);
    struct status status =
        call(&server, row->ca != NULL ? &tls : NULL, row->name, &request, &reply, &remote);
    server_stop(&server);
    assert_int_equal(status.code, STATUS_UNAVAILABLE);
    if (strstr(remote.text, row->text) == NULL || remote.trouble != row->trouble)
        fail_msg("trouble %d, '%s'", remote.trouble, remote.text);
}

int main(void)
{
    static const struct CMUnitTest plain[] = { cmocka_unit_test(carries_messages_of_any_size) };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, says_why);
    return test_group_run(&group, "remote tls", make_certificates, free_certificates);
}
