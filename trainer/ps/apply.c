/* Applies a push, or all pushes of a synchronous step, to the slices. */
#include <stdint.h>
#include <stdlib.h>

#include "trainer/ps/internal.h"

/* Reads the gradients of one push, slice by slice in ascending order. No slice is cut by the end of
 * a chunk. */
struct push_reader {
    const struct push *chunk;
    struct payload_cursor payload; /* in that chunk */
    float *scratch;                /* on the heap */
};

static void push_reader_init(struct push_reader *reader, const struct push *push)
{
    *reader =
        (struct push_reader){ .chunk = push, .payload = { .message = &push->waiting.request } };
}

/* The gradient of a slice: in place if it lies in one run and is aligned, otherwise in
 * `scratch`. */
static const float *push_read(struct push_reader *reader, const struct slice *slice)
{
    while ((uint32_t)slice->id >= reader->chunk->range.end) {
        reader->chunk = (const struct push *)reader->chunk->waiting.next;
        assert(reader->chunk != NULL);
        reader->payload = (struct payload_cursor){ .message = &reader->chunk->waiting.request };
    }
    const void *data = payload_borrow(&reader->payload, slice->size_bytes);

    if (data != NULL && (uintptr_t)data % _Alignof(float) == 0)
        return data;
    reader->scratch = xrealloc(reader->scratch, slice->size_bytes);
    if (data != NULL)
        memcpy(reader->scratch, data, slice->size_bytes);
    else
        payload_copy(&reader->payload, reader->scratch, slice->size_bytes);
    return reader->scratch;
}

static void apply_to(const struct variables *variables, struct slice *slice, float rate,
                     const float *gradient)
{
    const struct training *training = &variables->training;

    slice_apply(slice, training->optimizer, rate, training->settings, gradient,
                variables->keep_before);
}

static void apply_one(const struct variables *variables, const struct push *push)
{
    struct push_reader reader;

    push_reader_init(&reader, push);
    for (int i = 0; i < variables->slices_count; i++)
        if (variables->slices[i].trainable)
            apply_to(variables, &variables->slices[i], push->rate,
                     push_read(&reader, &variables->slices[i]));
    free(reader.scratch);
}

/* The mean of all workers' gradients, summed in the order of workers. */
static void apply_mean(const struct variables *variables, const struct push *batch)
{
    int count = 0;
    float rate = batch->rate;

    for (const struct push *push = batch; push != NULL; push = push->next_push)
        count++;
    struct push_reader *readers = zalloc((size_t)count * sizeof *readers);
    const float **gradients = zalloc((size_t)count * sizeof *gradients);

    for (int w = 0; w < count; w++, batch = batch->next_push)
        push_reader_init(&readers[w], batch);
    for (int i = 0; i < variables->slices_count; i++) {
        struct slice *slice = &variables->slices[i];
        if (!slice->trainable)
            continue;
        for (int w = 0; w < count; w++)
            gradients[w] = push_read(&readers[w], slice);
        optimizer_mean(gradients, count, variables->sum, slice->size_bytes / sizeof(float));
        apply_to(variables, slice, rate, variables->sum);
    }
    for (int w = 0; w < count; w++)
        free(readers[w].scratch);
    free(readers);
    free(gradients);
}

void push_apply(const struct variables *variables, const struct push *batch)
{
    if (batch->next_push == NULL)
        apply_one(variables, batch);
    else
        apply_mean(variables, batch);
}
