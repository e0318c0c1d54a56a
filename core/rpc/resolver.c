#include "rpc/resolver.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/arena.h"

struct resolver {
    struct loop_task task; /* first */
    struct mailbox *mailbox;
    struct address address;
    struct resolved_host resolved;
    char *text; /* of a failure */
    void (*done)(void *context, const struct resolved_host *resolved);
    void *context;
};

static void resolver_free(struct resolver *resolver)
{
    mailbox_release(resolver->mailbox);
    free(resolver->text);
    free(resolver);
}

static void deliver(struct loop_task *task)
{
    struct resolver *resolver = (struct resolver *)task;

    if (resolver->done != NULL)
        resolver->done(resolver->context, &resolver->resolved);
    resolver_free(resolver);
}

static void *look_up(void *context)
{
    struct resolver *resolver = context;
    struct resolved_host *resolved = &resolver->resolved;

    resolved->status =
        address_resolve(&resolver->address, resolved->addresses, RESOLVED_MAX, &resolved->count);
    if (!status_is_ok(resolved->status)) /* the text belongs to this thread */
        resolved->status.message = resolver->text = xstrdup(resolved->status.message);
    if (!mailbox_post(resolver->mailbox, &resolver->task))
        resolver_free(resolver);
    return NULL;
}

static bool is_quick(const struct address *address)
{
    struct in6_addr ignored;

    return address->is_unix || inet_pton(AF_INET, address->host, &ignored) == 1 ||
           inet_pton(AF_INET6, address->host, &ignored) == 1;
}

struct resolver *resolver_start(struct mailbox *mailbox, const struct address *address,
                                void (*done)(void *, const struct resolved_host *), void *context)
{
    struct resolver *resolver = zalloc(sizeof *resolver);
    pthread_attr_t detached;
    pthread_t thread;

    resolver->task.work = deliver;
    resolver->mailbox = mailbox_acquire(mailbox);
    resolver->address = *address;
    resolver->done = done;
    resolver->context = context;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    if (is_quick(address) || pthread_create(&thread, &detached, look_up, resolver) != 0)
        look_up(resolver);
    pthread_attr_destroy(&detached);
    return resolver;
}

void resolver_cancel(struct resolver *resolver)
{
    if (resolver != NULL)
        resolver->done = NULL;
}
