/*
 * zeromq_call serve PORT, zeromq_call call PORT SIZE CALLS: measures a call over ZeroMQ with a
 * request of SIZE bytes and an empty reply. Prints "us X", the mean.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int serve(void *socket, const char *address)
{
    if (zmq_bind(socket, address) != 0)
        return perror(address), 1;
    for (;;) {
        zmq_msg_t request;
        zmq_msg_init(&request);
        if (zmq_msg_recv(&request, socket, 0) < 0)
            return perror("receive"), 1;
        zmq_msg_close(&request);
        zmq_send(socket, "", 0, 0);
    }
}

/* The message borrows the bytes, as in core/rpc. */
static int call(void *socket, char *bytes, size_t size)
{
    zmq_msg_t request, reply;
    zmq_msg_init_data(&request, bytes, size, NULL, NULL);
    if (zmq_msg_send(&request, socket, 0) < 0)
        return perror("send"), 1;
    zmq_msg_init(&reply);
    int failed = zmq_msg_recv(&reply, socket, 0) < 0;
    zmq_msg_close(&reply);
    return failed;
}

int main(int argc, char **argv)
{
    char address[64];
    void *context = zmq_ctx_new();
    if (argc < 3)
        return 2;
    snprintf(address, sizeof address, "tcp://127.0.0.1:%s", argv[2]);
    if (strcmp(argv[1], "serve") == 0)
        return serve(zmq_socket(context, ZMQ_REP), address);

    void *socket = zmq_socket(context, ZMQ_REQ);
    size_t size = argc > 4 ? strtoul(argv[3], NULL, 10) : 64;
    int calls = argc > 4 ? atoi(argv[4]) : 1000;
    char *bytes = malloc(size + 1);
    memset(bytes, 'x', size + 1); /* pages that are never written all map the zero page */
    zmq_connect(socket, address);
    for (int i = 0; i < calls / 10 + 1; i++)
        if (call(socket, bytes, size) != 0)
            return 1;
    double begun = now_us();
    for (int i = 0; i < calls; i++)
        if (call(socket, bytes, size) != 0)
            return 1;
    printf("us %.3f\n", (now_us() - begun) / calls);
    fflush(stdout);
    _Exit(0); /* ZeroMQ's thread may still read the bytes */
}
