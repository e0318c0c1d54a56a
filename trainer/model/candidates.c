#include "trainer/model/candidates.h"

#include <inttypes.h>

#include "trainer/model/rows_pass.h"

/* Candidates are numbered in an int32, which must also hold the number of a whole extra block. */
#define ROWS_MAX (INT32_MAX / 2)

static size_t bytes_of_texts(const struct tensor *ids)
{
    size_t bytes = 0;

    for (int64_t i = 0; ids->dtype == DT_STRING && i < ids->size; i++)
        bytes += tensor_strings(ids)[i].size;
    return bytes;
}

/* Reserves memory for more of each. A buffer that grows may become twice as large as its
 * contents. */
static struct status reserve(struct candidates *c, size_t vectors, size_t ids, size_t texts)
{
    struct buffer *buffers[] = { &c->vectors, &c->ids, &c->texts };
    const size_t more[] = { vectors, ids, texts };
    size_t bytes = 0;

    for (size_t i = 0; i < COUNT(buffers); i++)
        bytes += 2 * (buffers[i]->size + more[i]);
    if (bytes > (size_t)c->bytes_max || c->rows > ROWS_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "--candidate_files: the vectors of %" PRId64 " candidates may take "
                            "%zu MB, over the %" PRId64 " MB of --memory_budget_bytes",
                            c->rows, bytes / 1000000, c->bytes_max / 1000000);
    for (size_t i = 0; i < COUNT(buffers); i++)
        buffer_reserve(buffers[i], more[i] + 1); /* never NULL */
    return status_ok();
}

/* A text's offset in `texts` becomes its address when all are there. */
static void append_ids(struct candidates *c, const struct tensor *ids, size_t bytes)
{
    if (bytes > 0 && ids->dtype != DT_STRING)
        buffer_append(&c->ids, ids->data, bytes);
    if (ids->dtype != DT_STRING)
        return;
    for (int64_t i = 0; i < ids->size; i++) {
        const struct bytes *text = &tensor_strings(ids)[i];
        const struct bytes kept = { NULL, text->size };
        buffer_append(&c->ids, &kept, sizeof kept);
        buffer_append(&c->texts, text->data, text->size);
    }
}

static void place_texts(struct candidates *c)
{
    struct bytes *ids = (struct bytes *)(void *)c->ids.data;
    const char *at = c->texts.data;

    for (int64_t i = 0; i < c->rows; i++) {
        ids[i].data = at;
        at += ids[i].size;
    }
}

static struct status take(void *context, int64_t rows, struct tensor *fetches)
{
    struct candidates *c = context;
    struct tensor *vectors = &fetches[0], *ids = &fetches[1]; /* zeroed ids are not used */
    size_t ids_bytes = ids->data != NULL ? tensor_bytes(ids) : 0;

    c->rows += rows;
    struct status status = reserve(c, tensor_bytes(vectors), ids_bytes, bytes_of_texts(ids));
    if (status_is_ok(status)) {
        buffer_append(&c->vectors, vectors->data, tensor_bytes(vectors));
        append_ids(c, ids, ids_bytes);
    }
    tensor_release(vectors);
    tensor_release(ids);
    return status;
}

static void make_tensors(struct candidates *c, const struct candidate_ends *ends)
{
    struct shape vectors = shape_of(c->rows, endpoint_shape(ends->vectors)->dims[1]),
                 ids = shape_of(c->rows);

    c->tensors[0] = tensor_borrow(DT_FLOAT, &vectors, c->vectors.data);
    if (ends->ids.node == NULL)
        return;
    if (endpoint_dtype(ends->ids) == DT_STRING)
        place_texts(c);
    c->tensors[1] = tensor_borrow(endpoint_dtype(ends->ids), &ids, c->ids.data);
}

struct status candidates_compute(struct candidates *candidates, const struct model *model,
                                 struct evaluation_values *values,
                                 const struct evaluation_candidates *given,
                                 const _Atomic bool *stop)
{
    const struct rows_pass pass = { .graph = model->graph,
                                    .pass = &model->graph->ranking,
                                    .plan = model->ranking,
                                    .ids = model->ranking_ids,
                                    .values = values,
                                    .stop = stop,
                                    .take = take,
                                    .context = candidates };

    candidates->bytes_max = given->bytes_max;
    TRY(rows_pass_run(&pass, given->rows));
    if (candidates->rows == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "--candidate_files: there are no candidates");
    make_tensors(candidates, &model->graph->candidates);
    return status_ok();
}

void candidates_finish(struct candidates *candidates)
{
    buffer_finish(&candidates->vectors);
    buffer_finish(&candidates->ids);
    buffer_finish(&candidates->texts);
}
