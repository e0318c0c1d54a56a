#include "runtime/kernels/text/word_piece_model.h"

#define FAILURE_WORDS 2 /* of 32 bits: the next node, and its pieces' place and number */

/* The fields of the table, by their numbers. */
enum {
    UNITS,
    FAILURES,
    POOLS,
    INNER_ROOT,
    BYTES_MAX,
    INDICATOR,
    UNKNOWN,
    UNKNOWN_NUMBER,
    INDICATED,
    DIVIDER,
    DIVIDES,
    JOINS,
    TEXTS,
    INNER,
};

static struct status read_vectors(struct word_piece_model *m)
{
    const struct {
        int field;
        size_t element_bytes;
        struct flat_vector *vector;
    } fields[] = {
        { UNITS, sizeof(uint32_t), &m->units },
        { FAILURES, FAILURE_WORDS * sizeof(uint32_t), &m->failures },
        { POOLS, sizeof(uint32_t), &m->pools },
        { INDICATED, sizeof(uint32_t), &m->indicated },
        { TEXTS, sizeof(uint32_t), &m->texts },
        { INNER, 1, &m->inner },
    };
    for (size_t i = 0; i < COUNT(fields); i++)
        TRY(flat_table_vector(&m->table, fields[i].field, fields[i].element_bytes,
                              fields[i].vector));
    return status_ok();
}

static struct status read_numbers(struct word_piece_model *m)
{
    uint32_t unknown_number = 0, bytes_max = 0;
    TRY(flat_table_u32(&m->table, INNER_ROOT, &m->inner_root));
    TRY(flat_table_u32(&m->table, DIVIDER, &m->divider));
    TRY(flat_table_u32(&m->table, BYTES_MAX, &bytes_max));
    TRY(flat_table_u32(&m->table, UNKNOWN_NUMBER, &unknown_number));
    TRY(flat_table_bool(&m->table, DIVIDES, &m->divides));
    m->bytes_max = (int32_t)bytes_max;
    m->unknown_number = (int32_t)unknown_number;
    return flat_table_bool(&m->table, JOINS, &m->joins);
}

struct status word_piece_model_read(const struct tensor *tensor, struct word_piece_model *model)
{
    *model = (struct word_piece_model){ 0 };
    TRY(flat_table_open((struct bytes){ tensor->data, (size_t)tensor->size }, &model->table));
    TRY(read_vectors(model));
    TRY(read_numbers(model));
    TRY(flat_table_text(&model->table, INDICATOR, &model->indicator));
    return flat_table_text(&model->table, UNKNOWN, &model->unknown);
}

struct status word_piece_failure(const struct word_piece_model *model, uint32_t node,
                                 struct word_piece_failure *failure)
{
    if (node >= model->failures.count)
        return status_error(STATUS_DATA_LOSS, "the model is damaged: it has no node %u", node);
    failure->next = flat_u32(&model->failures, FAILURE_WORDS * (size_t)node);
    uint32_t pieces = flat_u32(&model->failures, FAILURE_WORDS * (size_t)node + 1);
    failure->begin = pieces >> 8;
    failure->count = (pieces & 0xFF) + 1;
    return status_ok();
}
