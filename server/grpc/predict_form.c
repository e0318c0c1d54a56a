#include "server/grpc/predict_form.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"

#define FORMS 16 /* indexed by the request's size: clients with other shapes have other sizes */

struct predict_forms {
    struct predict_form all[FORMS];
};

struct predict_forms *predict_forms_create(void)
{
    return zalloc(sizeof(struct predict_forms));
}

void predict_forms_destroy(struct predict_forms *forms)
{
    free(forms);
}

struct predict_form *predict_forms_place(struct predict_forms *forms, struct bytes request)
{
    return &forms->all[request.size % FORMS];
}

struct predict_form *predict_forms_find(struct predict_forms *forms, struct bytes request)
{
    struct predict_form *form = predict_forms_place(forms, request);

    return form->serial != 0 && predict_bytes_match(&form->request, request) ? form : NULL;
}

static size_t behind_at(const struct predict_bytes *bytes)
{
    return bytes->numbers_at + bytes->numbers_size;
}

bool predict_bytes_learn(struct predict_bytes *bytes, struct bytes message, const void *numbers,
                         size_t numbers_size)
{
    uintptr_t at = (uintptr_t)numbers - (uintptr_t)message.data;

    if (numbers_size > message.size || at > message.size - numbers_size ||
        message.size - numbers_size > PREDICT_AROUND_MAX)
        return false;
    bytes->size = message.size;
    bytes->numbers_at = at;
    bytes->numbers_size = numbers_size;
    memcpy(bytes->around, message.data, at);
    memcpy(bytes->around + at, message.data + at + numbers_size, message.size - at - numbers_size);
    return true;
}

bool predict_bytes_match(const struct predict_bytes *bytes, struct bytes message)
{
    size_t before = bytes->numbers_at, behind = behind_at(bytes);

    return message.size == bytes->size && memcmp(message.data, bytes->around, before) == 0 &&
           memcmp(message.data + behind, bytes->around + before, bytes->size - behind) == 0;
}

char *predict_bytes_put(const struct predict_bytes *bytes, struct buffer *out)
{
    size_t before = bytes->numbers_at, behind = behind_at(bytes);

    buffer_reserve(out, bytes->size);
    char *to = out->data + out->size;
    memcpy(to, bytes->around, before);
    memcpy(to + behind, bytes->around + before, bytes->size - behind);
    out->size += bytes->size;
    return to + before;
}

struct bytes predict_bytes_moved(const struct predict_bytes *bytes, struct bytes message,
                                 struct bytes part)
{
    size_t at = (size_t)(part.data - message.data);

    if (part.size == 0)
        return (struct bytes){ "", 0 };
    assert(at + part.size <= bytes->numbers_at || at >= behind_at(bytes));
    if (at >= behind_at(bytes))
        at -= bytes->numbers_size;
    return (struct bytes){ bytes->around + at, part.size };
}

struct bytes predict_bytes_find(const struct predict_bytes *bytes, struct bytes message,
                                struct bytes moved)
{
    if (moved.size == 0)
        return (struct bytes){ "", 0 };
    size_t at = (size_t)(moved.data - bytes->around);
    if (at >= bytes->numbers_at)
        at += bytes->numbers_size;
    return (struct bytes){ message.data + at, moved.size };
}
