#include "server/grpc/reflection.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "proto/wire.h"
#include "server/inference/reply.h"

/* ServerReflectionRequest: the field numbers of its oneof. */
enum { ASK_FILE = 3, ASK_SYMBOL = 4, ASK_EXTENSION = 5, ASK_EXTENSIONS = 6, ASK_SERVICES = 7 };
/* ServerReflectionResponse and the messages in it. */
enum { ORIGINAL_REQUEST = 2, FILES = 4, EXTENSIONS = 5, SERVICES = 6, ERROR = 7 };
enum { FILES_FILE = 1, EXTENSIONS_TYPE = 1, SERVICES_SERVICE = 1, SERVICE_NAME = 1 };
enum { ERROR_CODE = 1, ERROR_MESSAGE = 2 };
/* FileDescriptorSet, FileDescriptorProto. */
enum { SET_FILE = 1, FILE_NAME = 1, FILE_PACKAGE = 2, FILE_DEPENDENCY = 3 };

#define FILES_MAX    64
#define SERVICES_MAX 16

#define QUESTION_BYTES_MAX 16384 /* the answer repeats the question */

extern const unsigned char proto_descriptors[];
extern const size_t proto_descriptors_size;

struct file {
    struct bytes name, package, descriptor;
};

struct reflection {
    struct server_context *server;
    struct file files[FILES_MAX];
    int files_count;
    const struct service *services[SERVICES_MAX];
    int services_count;
};

/* ---- descriptors ---- */

/* The fields that may declare a name: a file's messages, a message's fields, … NULL ends a list. */
struct holder {
    uint32_t number;
    const struct holder *holds;
};
static const struct holder nothing[] = { { 0, NULL } };
static const struct holder in_enum[] = { { 2, nothing }, { 0, NULL } };
static const struct holder in_service[] = { { 2, nothing }, { 0, NULL } };
static const struct holder in_message[] = {
    { 2, nothing }, { 3, in_message }, { 4, in_enum }, { 8, nothing }, { 0, NULL },
};
static const struct holder in_file[] = {
    { 4, in_message },
    { 5, in_enum },
    { 6, in_service },
    { 0, NULL },
};

static struct bytes field_of(struct bytes message, uint32_t number)
{
    struct wire wire = wire_of(message);
    struct wire_field field;
    while (wire_next(&wire, &field))
        if (wire_is(&field, number, WIRE_BYTES))
            return field.bytes;
    return (struct bytes){ "", 0 };
}

/* Strips "a.b" from "a.b.c", leaving "c"; false: the symbol begins with something else. */
static bool strip(struct bytes *symbol, struct bytes prefix)
{
    if (symbol->size < prefix.size || memcmp(symbol->data, prefix.data, prefix.size) != 0)
        return false;
    struct bytes rest = { symbol->data + prefix.size, symbol->size - prefix.size };
    if (rest.size > 0 && prefix.size > 0) {
        if (rest.data[0] != '.')
            return false;
        rest.data++;
        rest.size--;
    }
    *symbol = rest;
    return true;
}

/* Is "Outer.Inner.field" declared in the descriptor? */
static bool declares(struct bytes descriptor, const struct holder *holders, struct bytes symbol)
{
    struct wire wire = wire_of(descriptor);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        for (const struct holder *holder = holders; holder->holds != NULL; holder++) {
            struct bytes rest = symbol;
            if (!wire_is(&field, holder->number, WIRE_BYTES))
                continue;
            struct bytes name = field_of(field.bytes, 1);
            if (name.size > 0 && strip(&rest, name) &&
                (rest.size == 0 || declares(field.bytes, holder->holds, rest)))
                return true;
        }
    }
    return false;
}

static const struct file *file_of_symbol(const struct reflection *reflection, struct bytes symbol)
{
    for (int i = 0; i < reflection->files_count; i++) {
        struct bytes rest = symbol;
        const struct file *file = &reflection->files[i];
        if (strip(&rest, file->package) && rest.size > 0 &&
            declares(file->descriptor, in_file, rest))
            return file;
    }
    return NULL;
}

static const struct file *file_of_name(const struct reflection *reflection, struct bytes name)
{
    for (int i = 0; i < reflection->files_count; i++)
        if (bytes_equal(reflection->files[i].name, name))
            return &reflection->files[i];
    return NULL;
}

/* ---- answers ---- */

static void put_error(struct buffer *out, enum status_code code, const char *what,
                      struct bytes name)
{
    struct buffer text = { 0 };
    size_t error = wire_open(out, ERROR);
    buffer_printf(&text, "%s%.*s", what, (int)name.size, name.data);
    wire_put_varint(out, ERROR_CODE, code);
    wire_put_bytes(out, ERROR_MESSAGE, (struct bytes){ text.data, text.size });
    wire_close(out, error);
    buffer_finish(&text);
}

/* Writes a file and all its imports, each once. */
static void put_imports(const struct reflection *reflection, const struct file *file, bool *done,
                        struct buffer *out)
{
    struct wire wire = wire_of(file->descriptor);
    struct wire_field field;
    bool *is_done = &done[file - reflection->files];
    if (*is_done)
        return;
    *is_done = true;
    wire_put_bytes(out, FILES_FILE, file->descriptor);
    while (wire_next(&wire, &field)) {
        const struct file *import = NULL;
        if (wire_is(&field, FILE_DEPENDENCY, WIRE_BYTES))
            import = file_of_name(reflection, field.bytes);
        if (import != NULL)
            put_imports(reflection, import, done, out);
    }
}

static void put_file(const struct reflection *reflection, const struct file *file, const char *what,
                     struct bytes name, struct buffer *out)
{
    bool done[FILES_MAX] = { false };
    if (file == NULL) {
        put_error(out, STATUS_NOT_FOUND, what, name);
        return;
    }
    size_t files = wire_open(out, FILES);
    put_imports(reflection, file, done, out);
    wire_close(out, files);
}

/* "/package.Service/Method" without the method. */
static struct bytes service_name(const struct method *method)
{
    const char *name = method->path + 1;
    return (struct bytes){ name, strcspn(name, "/") };
}

static void put_services(const struct reflection *reflection, struct buffer *out)
{
    size_t services = wire_open(out, SERVICES);
    for (int i = 0; i < reflection->services_count; i++) {
        const struct service *service = reflection->services[i];
        struct bytes last = { "", 0 };
        for (int j = 0; j < service->methods_count; j++) {
            struct bytes name = service_name(&service->methods[j]);
            if (bytes_equal(name, last))
                continue;
            size_t row = wire_open(out, SERVICES_SERVICE);
            wire_put_bytes(out, SERVICE_NAME, name);
            wire_close(out, row);
            last = name;
        }
    }
    wire_close(out, services);
}

/* None of our messages has extensions: a known type has an empty list. */
static void put_extensions(const struct reflection *reflection, struct bytes type,
                           struct buffer *out)
{
    if (file_of_symbol(reflection, type) == NULL) {
        put_error(out, STATUS_NOT_FOUND, "Type not found: ", type);
        return;
    }
    size_t extensions = wire_open(out, EXTENSIONS);
    wire_put_bytes(out, EXTENSIONS_TYPE, type);
    wire_close(out, extensions);
}

static void put_answer(const struct reflection *reflection, uint32_t asked, struct bytes name,
                       struct buffer *out)
{
    switch (asked) {
    case ASK_FILE:
        put_file(reflection, file_of_name(reflection, name), "File not found: ", name, out);
        return;
    case ASK_SYMBOL:
        put_file(reflection, file_of_symbol(reflection, name), "Symbol not found: ", name, out);
        return;
    case ASK_EXTENSION:
        put_error(out, STATUS_NOT_FOUND, "Extension not found.", (struct bytes){ "", 0 });
        return;
    case ASK_EXTENSIONS:
        put_extensions(reflection, name, out);
        return;
    case ASK_SERVICES:
        put_services(reflection, out);
        return;
    default:
        put_error(out, STATUS_INVALID_ARGUMENT, "Nothing is asked.", (struct bytes){ "", 0 });
    }
}

/* Writes the ServerReflectionResponse to a ServerReflectionRequest. INTERNAL: the request is
 * damaged. */
static struct status answer_request(const struct reflection *reflection, struct bytes request,
                                    struct buffer *out)
{
    struct wire wire = wire_of(request);
    struct wire_field field;
    uint32_t asked = 0;
    struct bytes name = { "", 0 };
    while (wire_next(&wire, &field)) {
        if (field.type != WIRE_BYTES || field.number < ASK_FILE || field.number > ASK_SERVICES)
            continue;
        asked = field.number;
        name = field.bytes;
    }
    if (wire.damaged)
        return status_error(STATUS_INTERNAL,
                            "Failed to parse grpc.reflection.v1.ServerReflectionRequest");
    wire_put_bytes(out, ORIGINAL_REQUEST, request);
    put_answer(reflection, asked, name, out);
    return status_ok();
}

/* ---- the service ---- */

/* An answer on its way to a client, which may never read it. */
struct answer {
    struct server_context *server;
    struct buffer text;
    int64_t paid;
};

static void answer_destroy(void *owner)
{
    struct answer *answer = owner;
    budget_give(answer->server->budget, answer->paid);
    buffer_finish(&answer->text);
    free(answer);
}

static struct status make_answer(const struct reflection *reflection, struct bytes question,
                                 struct answer *answer)
{
    if (question.size > QUESTION_BYTES_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "Received message larger than max (%zu vs. %d)", question.size,
                            QUESTION_BYTES_MAX);
    TRY(answer_request(reflection, question, &answer->text));
    return reply_settle(answer->server, &answer->text, &answer->paid, true);
}

static void on_message(void *context, struct call *call, struct message *message)
{
    const struct reflection *reflection = context;
    if (message == NULL) {
        call_end(call);
        return;
    }
    struct answer *answer = zalloc(sizeof *answer);
    answer->server = reflection->server;
    struct status status = make_answer(reflection, message->header, answer);
    message_release(message);
    if (!status_is_ok(status)) {
        answer_destroy(answer);
        call_fail(call, status);
        return;
    }
    struct message reply = { .header = { answer->text.data, answer->text.size },
                             .release = answer_destroy,
                             .owner = answer };
    call_send(call, &reply);
}

static void on_cancelled(void *context, struct call *call)
{
    (void)context;
    call_end(call);
}

static void reflect(void *instance, struct call *call, struct message *message)
{
    message_release(message); /* it is empty: the messages of a stream come later */
    call_receive(call, on_message, instance);
    call_when_cancelled(call, on_cancelled, NULL);
}

static const struct method methods[] = {
    { .path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
      .handle = reflect,
      .kind = METHOD_STREAM },
    { .path = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
      .handle = reflect,
      .kind = METHOD_STREAM },
};
const struct service reflection_service = { methods, COUNT(methods) };

struct reflection *reflection_create(struct server_context *server)
{
    struct reflection *reflection = zalloc(sizeof *reflection);
    reflection->server = server;
    struct bytes set = { (const char *)proto_descriptors, proto_descriptors_size };
    struct wire wire = wire_of(set);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        assert(reflection->files_count < FILES_MAX);
        reflection->files[reflection->files_count++] =
            (struct file){ .name = field_of(field.bytes, FILE_NAME),
                           .package = field_of(field.bytes, FILE_PACKAGE),
                           .descriptor = field.bytes };
    }
    assert(!wire.damaged);
    reflection_add(reflection, &reflection_service);
    return reflection;
}

void reflection_add(struct reflection *reflection, const struct service *service)
{
    assert(reflection->services_count < SERVICES_MAX);
    reflection->services[reflection->services_count++] = service;
}

void reflection_destroy(struct reflection *reflection)
{
    free(reflection);
}
