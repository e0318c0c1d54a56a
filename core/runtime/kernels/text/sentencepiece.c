/*
 * sentencepiece: TensorFlow Text's ops on a SentencePiece model, which is the attribute of the op
 * that makes its handle. A model lives as long as the servable.
 */
#include "runtime/kernels/state/variable.h"
#include "runtime/kernels/text/sentencepiece_text.h"
#include "runtime/kernels/text/token_list.h"

/* ---- the handle ---- */

struct stored_model {
    struct prepare_context *p;
    struct bytes bytes; /* the attribute */
};

static struct status make(void *argument, struct object **out)
{
    const struct stored_model *stored = argument;
    if (stored->bytes.size == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Model argument must be specified.");
    TRY(sentencepiece_model_read(stored->bytes, prepare_memory_left(stored->p), out));
    const struct sentencepiece_model *model = (const struct sentencepiece_model *)*out;
    prepare_count_memory(stored->p, arena_held(model->arena));
    return status_ok();
}

/* A model without a shared name belongs to its node. */
static struct status handle_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct object **model = prepare_state(p, sizeof(struct object *), NULL);
    struct bytes name = resource_name_attr(node, "shared_name");
    struct stored_model stored = { .p = p };
    if (name.size == 0)
        name = bytes_of(arena_printf(prepare_arena(p), "%s", node->name));
    TRY(node_attr_string(node, "model", &stored.bytes));
    TRY(resources_find_or_create(prepare_resources(p), &sentencepiece_type,
                                 resource_name_attr(node, "container"), name, make, &stored,
                                 model));
    object_release(*model); /* `resources` keeps it, and outlives the plan */
    return status_ok();
}

static struct status handle_compute(struct kernel_context *k)
{
    struct object *const *model = kernel_state(k);
    struct shape scalar = shape_scalar();
    struct tensor *out;
    TRY(kernel_output_typed(k, 0, DT_RESOURCE, &scalar, &out));
    tensor_resources_mut(out)[0] = object_acquire(*model);
    return status_ok();
}

static struct status model_of(struct kernel_context *k, const struct sentencepiece_model **out)
{
    const struct tensor *handle = kernel_input(k, 0);
    struct object *object = NULL;
    if (handle->dtype == DT_RESOURCE && handle->size == 1)
        object = ((struct object *const *)handle->data)[0];
    if (object == NULL || object->type != &sentencepiece_type)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "input 0 is not the handle of a sentencepiece model");
    *out = (const struct sentencepiece_model *)object;
    return status_ok();
}

/* ---- add_bos, add_eos, reverse ---- */

struct encoding_extras {
    bool bos, eos, reverse;
};

static struct status check_named(const struct kernel_context *k,
                                 const struct sentencepiece_model *model, int32_t id,
                                 struct bytes text)
{
    return id != model->unknown ? status_ok()
                                : kernel_error(k, STATUS_INTERNAL, "id for `%.*s` is not defined.",
                                               (int)text.size, text.data);
}

/* From inputs `first` and on. */
static struct status read_extras(struct kernel_context *k, const struct sentencepiece_model *model,
                                 int first, struct encoding_extras *out)
{
    static const char *const names[] = { "add_bos", "add_eos", "reverse" };
    bool *values[] = { &out->bos, &out->eos, &out->reverse };
    for (int i = 0; i < 3; i++) {
        const struct tensor *value;
        TRY(kernel_scalar(k, first + i, names[i], &value));
        *values[i] = tensor_bools(value)[0];
    }
    if (out->bos)
        TRY(check_named(k, model, model->bos, model->bos_text));
    return out->eos ? check_named(k, model, model->eos, model->eos_text) : status_ok();
}

static void reverse(struct text_token *tokens, int64_t count)
{
    for (int64_t i = 0, j = count - 1; i < j; i++, j--) {
        struct text_token token = tokens[i];
        tokens[i] = tokens[j];
        tokens[j] = token;
    }
}

/* ---- texts to tokens ---- */

struct tokenizing {
    struct piece_work work;
    struct encoding_extras extras;
    const struct tensor *nbest, *alpha; /* one for all texts, or one for each */
    struct piece_sampling sampling;
    bool is_nbest;      /* each of the n best segmentations is a row */
    struct tensor ends; /* [rows]: of the rows in work.tokens, int64: scratch */
    int64_t rows;
};

static struct status add_named(struct token_list *tokens, int32_t id, struct bytes text)
{
    return token_list_add_numbered(tokens, (struct text_token){ .text = text, .number = id });
}

static int32_t nbest_of(const struct tokenizing *t, int64_t i)
{
    return tensor_int32s(t->nbest)[t->nbest->shape.rank == 1 ? i : 0];
}

/* Adds work.found as a row. */
static struct status add_row(struct tokenizing *t)
{
    struct piece_work *work = &t->work;
    const struct sentencepiece_model *model = work->model;
    int64_t first = work->tokens.count;
    if (t->extras.bos)
        TRY(add_named(&work->tokens, model->bos, model->bos_text));
    TRY(sentencepiece_add(work));
    if (t->extras.eos)
        TRY(add_named(&work->tokens, model->eos, model->eos_text));
    if (t->extras.reverse)
        reverse(work->tokens.at + first, work->tokens.count - first);
    TRY(kernel_scratch_reserve(work->k, &t->ends, t->rows, 1, sizeof(int64_t)));
    ((int64_t *)t->ends.data)[t->rows++] = work->tokens.count;
    return status_ok();
}

/* nbest_size 0 and 1: the best segmentation; less: any, at random; more: one of the n best. */
static struct status tokenize(struct tokenizing *t, int64_t i)
{
    int32_t nbest = nbest_of(t, i);
    t->sampling.alpha = tensor_floats(t->alpha)[t->alpha->shape.rank == 1 ? i : 0];
    t->sampling.nbest = nbest;
    if (nbest > 512)
        return kernel_error(t->work.k, STATUS_INTERNAL, "nbest_size must be nbest_size <= 512");
    TRY(sentencepiece_divide(&t->work, tensor_strings(kernel_input(t->work.k, 1))[i],
                             nbest == 0 || nbest == 1 ? NULL : &t->sampling));
    return add_row(t);
}

static struct status tokenize_nbest(struct tokenizing *t, int64_t i)
{
    int32_t most = nbest_of(t, i);
    bool is_found = true;
    if (most < 1)
        return kernel_error(t->work.k, STATUS_INVALID_ARGUMENT,
                            "When return_nbest is true nbest_size must be >= 1; got %d", most);
    most = most < PIECE_NBEST_MAX ? most : PIECE_NBEST_MAX;
    TRY(sentencepiece_begin_nbest(&t->work, tensor_strings(kernel_input(t->work.k, 1))[i], most));
    for (int32_t n = 0; n < most && is_found; n++) {
        TRY(sentencepiece_next_best(&t->work, &is_found));
        if (is_found)
            TRY(add_row(t));
    }
    return status_ok();
}

static struct status tokenize_all(struct tokenizing *t)
{
    struct kernel_context *k = t->work.k;
    const struct tensor *texts = kernel_input(k, 1);
    struct tensor *splits;
    for (int64_t i = 0; i < texts->size; i++)
        TRY(t->is_nbest ? tokenize_nbest(t, i) : tokenize(t, i));
    struct shape shape = shape_of(t->rows + 1);
    TRY(kernel_output(k, 1, &shape, &splits));
    if (splits->dtype == DT_INT32 && t->work.tokens.count > INT32_MAX)
        return kernel_error(k, STATUS_RESOURCE_EXHAUSTED, "too many tokens for Tsplits int32");
    tensor_set_index(splits, 0, 0);
    for (int64_t i = 0; i < t->rows; i++)
        tensor_set_index(splits, i + 1, ((const int64_t *)t->ends.data)[i]);
    return status_ok();
}

static struct status give_tokens(struct kernel_context *k, const struct token_list *list)
{
    const struct text_token *tokens = list->at;
    struct shape shape = shape_of(list->count);
    struct tensor *values, *begins = NULL, *ends = NULL;
    TRY(kernel_output(k, 0, &shape, &values));
    if (kernel_outputs_count(k) > 2) {
        TRY(kernel_output(k, 2, &shape, &begins));
        TRY(kernel_output(k, 3, &shape, &ends));
    }
    for (int64_t i = 0; i < list->count; i++) {
        if (values->dtype == DT_STRING)
            tensor_strings_mut(values)[i] = tokens[i].text;
        else
            tensor_int32s_mut(values)[i] = (int32_t)tokens[i].number;
        if (begins != NULL) {
            tensor_set_index(begins, i, tokens[i].begin);
            tensor_set_index(ends, i, tokens[i].end);
        }
    }
    return status_ok();
}

static struct status check_per_text(const struct kernel_context *k, int index, const char *name)
{
    const struct tensor *x = kernel_input(k, index);
    int64_t texts = kernel_input(k, 1)->size;
    if (x->shape.rank == 0 || (x->shape.rank == 1 && x->size >= texts))
        return status_ok();
    return kernel_error(k, STATUS_INVALID_ARGUMENT,
                        "%s must be a scalar, or a vector with an element for each of %lld texts; "
                        "got shape %s",
                        name, (long long)texts, shape_text(&x->shape));
}

static struct status tokenize_compute(struct kernel_context *k)
{
    struct tokenizing t = { .work = { .k = k, .tokens.k = k } };
    random_init(&t.sampling.random, kernel_random_seed(k), 0);
    t.nbest = kernel_input(k, 2);
    t.alpha = kernel_input(k, 3);
    TRY(node_attr_bool(kernel_node(k), "return_nbest", &t.is_nbest));
    TRY(model_of(k, &t.work.model));
    TRY(check_per_text(k, 2, "nbest_size"));
    TRY(check_per_text(k, 3, "alpha"));
    TRY(read_extras(k, t.work.model, 4, &t.extras));
    struct status status = tokenize_all(&t);
    if (status_is_ok(status))
        status = give_tokens(k, &t.work.tokens);
    piece_work_finish(&t.work);
    tensor_release(&t.ends);
    return status;
}

/* ---- tokens to texts ---- */

static int64_t split_at(const struct tensor *splits, int64_t i)
{
    return splits->dtype == DT_INT64 ? tensor_int64s(splits)[i] : tensor_int32s(splits)[i];
}

static struct status check_splits(const struct kernel_context *k, const struct tensor *splits,
                                  const struct tensor *values)
{
    if (splits->size == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input_splits is empty");
    for (int64_t i = 0; i < splits->size; i++) {
        int64_t at = split_at(splits, i), before = i > 0 ? split_at(splits, i - 1) : 0;
        if (at < before)
            return kernel_error(k, STATUS_OUT_OF_RANGE, "Invalid splits; %lld", (long long)i);
        if (at > values->size)
            return kernel_error(k, STATUS_OUT_OF_RANGE,
                                "Splits and values do not match; split %lldbut values size is %lld",
                                (long long)at, (long long)values->size);
    }
    return status_ok();
}

static struct status read_token(const struct kernel_context *k,
                                const struct sentencepiece_model *model,
                                const struct tensor *values, int64_t i, struct text_token *out)
{
    *out = (struct text_token){ 0 };
    if (values->dtype == DT_STRING) {
        out->text = tensor_strings(values)[i];
    } else {
        int32_t id = tensor_int32s(values)[i];
        if (id < 0 || id >= model->pieces_count)
            return kernel_error(k, STATUS_OUT_OF_RANGE, "Invalid id: %d", id);
        out->text = model->pieces[id].text; /* another piece may have the same text */
    }
    out->number = piece_id(model, out->text);
    return status_ok();
}

/* bos and eos are control symbols, which have no text. */
static struct status detokenize(struct piece_work *work, const struct encoding_extras *extras,
                                int64_t begin, int64_t end, struct bytes *out)
{
    work->tokens.count = 0;
    for (int64_t i = begin; i < end; i++) {
        struct text_token token;
        TRY(read_token(work->k, work->model, kernel_input(work->k, 1), i, &token));
        TRY(token_list_add_numbered(&work->tokens, token));
    }
    if (extras->reverse)
        reverse(work->tokens.at, end - begin);
    return sentencepiece_decode(work, work->tokens.at, end - begin, out);
}

static struct status detokenize_all(struct piece_work *work, const struct encoding_extras *extras)
{
    const struct tensor *splits = kernel_input(work->k, 2);
    struct shape shape = shape_of(splits->size - 1);
    struct tensor *out;
    TRY(kernel_output(work->k, 0, &shape, &out));
    for (int64_t i = 0; i + 1 < splits->size; i++) {
        TRY(detokenize(work, extras, split_at(splits, i), split_at(splits, i + 1),
                       &tensor_strings_mut(out)[i]));
        if (i % 1024 == 1023)
            TRY(kernel_check(work->k));
    }
    return status_ok();
}

static struct status detokenize_compute(struct kernel_context *k)
{
    struct piece_work work = { .k = k, .tokens.k = k };
    struct encoding_extras extras;
    TRY(model_of(k, &work.model));
    TRY(read_extras(k, work.model, 3, &extras));
    TRY(check_splits(k, kernel_input(k, 2), kernel_input(k, 1)));
    struct status status = detokenize_all(&work, &extras);
    piece_work_finish(&work);
    return status;
}

/* ---- the vocabulary ---- */

static struct status id_to_string_compute(struct kernel_context *k)
{
    const struct sentencepiece_model *model;
    const struct tensor *ids = kernel_input(k, 1);
    struct tensor *out;
    TRY(model_of(k, &model));
    TRY(kernel_output(k, 0, &ids->shape, &out));
    for (int64_t i = 0; i < ids->size; i++) {
        int32_t id = tensor_int32s(ids)[i];
        if (id < 0 || id >= model->pieces_count)
            return kernel_error(k, STATUS_OUT_OF_RANGE, "Invalid id: %d", id);
        tensor_strings_mut(out)[i] = model->pieces[id].text;
    }
    return status_ok();
}

static struct status string_to_id_compute(struct kernel_context *k)
{
    const struct sentencepiece_model *model;
    const struct tensor *texts = kernel_input(k, 1);
    struct tensor *out;
    TRY(model_of(k, &model));
    TRY(kernel_output(k, 0, &texts->shape, &out));
    for (int64_t i = 0; i < texts->size; i++)
        tensor_int32s_mut(out)[i] = piece_id(model, tensor_strings(texts)[i]);
    return status_ok();
}

static struct status vocab_size_compute(struct kernel_context *k)
{
    const struct sentencepiece_model *model;
    struct shape scalar = shape_scalar();
    struct tensor *out;
    TRY(model_of(k, &model));
    TRY(kernel_output(k, 0, &scalar, &out));
    tensor_int32s_mut(out)[0] = model->pieces_count;
    return status_ok();
}

static const struct kernel rows[] = {
    { "SentencepieceOp", DTYPES_ALL, .prepare = handle_prepare, .compute = handle_compute,
      .once = true },
    { "SentencepieceTokenizeOp", DTYPES_ALL, .compute = tokenize_compute },
    { "SentencepieceTokenizeWithOffsetsOp", DTYPES_ALL, .compute = tokenize_compute },
    { "SentencepieceDetokenizeOp", DTYPES_ALL, .compute = detokenize_compute },
    { "SentencepieceIdToStringOp", DTYPES_ALL, .compute = id_to_string_compute },
    { "SentencepieceStringToIdOp", DTYPES_ALL, .compute = string_to_id_compute },
    { "SentencepieceVocabSizeOp", DTYPES_ALL, .compute = vocab_size_compute },
};
const struct kernel_table kernels_sentencepiece = { rows, COUNT(rows) };
