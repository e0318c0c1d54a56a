/*
 * A gRPC client whose server answers with the fuzzer's bytes. Bit 0 of the first byte asks for a
 * valid SETTINGS frame in front; the other bits are the bytes per write (0: all at once). Each call
 * has to end exactly once.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "rpc/remote.h"
#include "stranger.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CALLS 3

static char path[64];
static int ended;

static void remove_socket(void)
{
    unlink(path);
}

static void on_done(void *context, struct status status, struct message *reply)
{
    int *done = context;
    (void)reply;
    expect(status.message != NULL);
    expect(++*done == 1);
    ended++;
}

static void on_reply(void *context, struct message *reply)
{
    (void)context;
    message_release(reply);
}

static int listen_here(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    snprintf(path, sizeof path, "/tmp/slipway-fuzz-%d", (int)getpid());
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    unlink(path);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 10) != 0)
        abort();
    atexit(remove_socket);
    return fd;
}

static int accept_one(struct loop *loop, int listener)
{
    int fd = -1;
    for (int turn = 0; fd < 0; turn++) {
        expect(turn < TURNS_MAX);
        check(loop_run_once(loop, false));
        fd = accept(listener, NULL, NULL);
    }
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char beginning[] = "\0\0\0\4\0\0\0\0";
    static struct shared_loop *shared;
    static int listener;
    char address[80];
    struct channel *channel;
    struct client_call *calls[CALLS];
    int done[CALLS] = { 0 };
    if (shared == NULL) {
        check(shared_loop_create(&shared));
        listener = listen_here();
    }
    if (size == 0)
        return 0;
    struct loop *loop = shared_loop_of(shared);
    snprintf(address, sizeof address, "unix:%s", path);
    check(remote_open(
        address,
        &(struct remote_options){ .loop = shared, .message_max_bytes = 1 << 20, .payload = true },
        &channel));
    ended = 0;
    shared_loop_claim(shared); /* no other thread runs the loop meanwhile */
    for (int i = 0; i < CALLS; i++) {
        struct message request = { .header = { "hello", 5 } };
        struct call_options options = { .deadline_ns = CLOCK_NEVER,
                                        .received = i == CALLS - 1 ? on_reply : NULL };
        calls[i] = channel_begin(channel, "/t/Echo", &request, &options, on_done, &done[i]);
    }
    int fd = accept_one(loop, listener);
    if (data[0] & 1)
        say(loop, fd, beginning, sizeof beginning); /* its NUL is the last byte of the frame */
    size_t cut = data[0] >> 1 ? data[0] >> 1 : size;
    for (size_t at = 1; at < size; at += cut)
        say(loop, fd, data + at, size - at < cut ? size - at : cut);
    close(fd);
    for (int turn = 0; ended < CALLS && turn < TURNS_MAX; turn++) {
        check(loop_run_once(loop, false));
        fd = accept(listener, NULL, NULL); /* after a GOAWAY the client connects again */
        if (fd >= 0)
            close(fd);
    }
    for (int i = 0; i < CALLS; i++) {
        if (done[i] == 0) {
            client_call_cancel(calls[i]);
            check(loop_run_once(loop, false));
        }
        expect(done[i] == 1);
        client_call_release(calls[i]);
    }
    shared_loop_leave(shared);
    channel_close(channel);
    while ((fd = accept(listener, NULL, NULL)) >= 0)
        close(fd);
    return 0;
}
