/* tokens: a vocabulary in falling order of frequency, for StringLookup and IntegerLookup. */
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/map.h"
#include "trainer/adapt/summary.h"

struct counted_token {
    struct bytes key; /* the text, or the 8 bytes of the integer */
    int64_t count;
    int64_t documents, last_document; /* rows that contain it; the last of them */
};

struct token_summary {
    struct summary summary; /* first */
    bool is_text;
    struct arena *arena; /* of the keys */
    struct map places;   /* maps tokens to 1 + index into `list` */
    struct counted_token *list;
    size_t count, capacity, bytes;
    int64_t documents;
    void *shown; /* for tokens_get */
    int64_t *shown_counts, *shown_documents;
};

static struct token_summary *self(struct summary *summary)
{
    return (struct token_summary *)summary;
}

static struct summary *tokens_create(const struct layers_adapting *how)
{
    struct token_summary *tokens = zalloc(sizeof *tokens);

    tokens->is_text = how->is_text;
    tokens->arena = arena_create(0);
    return &tokens->summary;
}

static void tokens_destroy(struct summary *summary)
{
    struct token_summary *tokens = self(summary);

    map_finish(&tokens->places);
    arena_destroy(tokens->arena);
    free(tokens->list);
    free(tokens->shown);
    free(tokens->shown_counts);
    free(tokens->shown_documents);
    free(tokens);
}

#define TOKEN_BYTES 100 /* in the map and the list, besides the characters */

static struct status find_or_add(struct token_summary *tokens, struct bytes key,
                                 struct counted_token **out)
{
    uintptr_t place = (uintptr_t)map_get(&tokens->places, key);

    if (place == 0) {
        tokens->bytes += key.size + TOKEN_BYTES;
        if (tokens->bytes > TOKENS_BYTES_MAX)
            return status_error(STATUS_RESOURCE_EXHAUSTED,
                                "%zu different tokens need more than %zu MiB: use Hashing, or give "
                                "the vocabulary",
                                tokens->count, TOKENS_BYTES_MAX >> 20);
        if (tokens->count == tokens->capacity) {
            tokens->capacity = 2 * tokens->capacity + 64;
            tokens->list = xrealloc(tokens->list, tokens->capacity * sizeof *tokens->list);
        }
        key = (struct bytes){ arena_memdup(tokens->arena, key.data, key.size), key.size };
        tokens->list[tokens->count] = (struct counted_token){ .key = key, .last_document = -1 };
        place = ++tokens->count;
        map_put(&tokens->places, key, (void *)place);
    }
    *out = &tokens->list[place - 1];
    return status_ok();
}

static struct bytes key_at(const struct tensor *values, int64_t i)
{
    if (values->dtype == DT_STRING)
        return tensor_strings(values)[i];
    return (struct bytes){ (const char *)&tensor_int64s(values)[i], sizeof(int64_t) };
}

/* A row is a document. */
static struct status tokens_add(struct summary *summary, const struct tensor *values)
{
    struct token_summary *tokens = self(summary);
    int64_t rows = values->shape.rank > 0 ? values->shape.dims[0] : 1;
    int64_t width = rows > 0 ? values->size / rows : 0;
    struct counted_token *token;

    for (int64_t i = 0; i < values->size; i++) {
        int64_t document = tokens->documents + i / width;
        TRY(find_or_add(tokens, key_at(values, i), &token));
        token->count++;
        token->documents += token->last_document != document;
        token->last_document = document;
    }
    tokens->documents += rows;
    return status_ok();
}

static void tokens_get(struct summary *summary, struct tensor fields[FIELDS_MAX])
{
    struct token_summary *tokens = self(summary);
    const struct shape all = shape_of((int64_t)tokens->count),
                       more = shape_of((int64_t)tokens->count + 1);
    size_t element = tokens->is_text ? sizeof(struct bytes) : sizeof(int64_t);

    tokens->shown = xrealloc(tokens->shown, (tokens->count + 1) * element);
    tokens->shown_counts =
        xrealloc(tokens->shown_counts, (tokens->count + 1) * sizeof *tokens->shown_counts);
    tokens->shown_documents =
        xrealloc(tokens->shown_documents, (tokens->count + 1) * sizeof *tokens->shown_documents);
    for (size_t i = 0; i < tokens->count; i++) {
        const struct counted_token *token = &tokens->list[i];
        if (tokens->is_text)
            ((struct bytes *)tokens->shown)[i] = token->key;
        else
            memcpy((int64_t *)tokens->shown + i, token->key.data, sizeof(int64_t));
        tokens->shown_counts[i] = token->count;
        tokens->shown_documents[i] = token->documents;
    }
    tokens->shown_documents[tokens->count] = tokens->documents;
    fields[0] = tensor_borrow(tokens->is_text ? DT_STRING : DT_INT64, &all, tokens->shown);
    fields[1] = tensor_borrow(DT_INT64, &all, tokens->shown_counts);
    fields[2] = tensor_borrow(DT_INT64, &more, tokens->shown_documents);
}

/* The last element of `documents` is the total. */
static struct status tokens_merge(struct summary *summary, const struct tensor fields[FIELDS_MAX])
{
    struct token_summary *tokens = self(summary);
    int64_t count = fields[0].size;
    const int64_t *counts = tensor_int64s(&fields[1]), *documents = tensor_int64s(&fields[2]);
    struct counted_token *token;

    bool good = fields[1].size == count && fields[2].size == count + 1;
    for (int64_t i = 0; i <= count && good; i++)
        good = documents[i] >= 0 && documents[i] <= INT64_MAX >> 16 &&
               (i == count || (counts[i] > 0 && counts[i] <= INT64_MAX >> 16));
    if (!good)
        return status_error(STATUS_DATA_LOSS, "tokens of another task are damaged");
    for (int64_t i = 0; i < count; i++) {
        TRY(find_or_add(tokens, key_at(&fields[0], i), &token));
        token->count += counts[i];
        token->documents += documents[i];
    }
    tokens->documents += documents[count];
    return status_ok();
}

/* ---- the vocabulary ---- */

static int compare_texts(struct bytes a, struct bytes b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size > 0 ? memcmp(a.data, b.data, size) : 0;

    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int64_t integer_of(const struct counted_token *token)
{
    int64_t value;

    memcpy(&value, token->key.data, sizeof value);
    return value;
}

/* Keras' order: the most frequent first; among equals, the largest first. */
static int by_frequency_of_texts(const void *a, const void *b)
{
    const struct counted_token *x = *(const struct counted_token *const *)a,
                               *y = *(const struct counted_token *const *)b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return compare_texts(y->key, x->key);
}

static int by_frequency_of_integers(const void *a, const void *b)
{
    const struct counted_token *x = *(const struct counted_token *const *)a,
                               *y = *(const struct counted_token *const *)b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return integer_of(x) > integer_of(y) ? -1 : 1;
}

static bool is_special(const struct token_summary *tokens, const struct counted_token *token,
                       const struct json_value *special)
{
    if (special == NULL || json_value_is_null(special))
        return false;
    return tokens->is_text
               ? special->kind == JSON_VALUE_TEXT &&
                     bytes_equal(token->key, bytes_of(special->text))
               : special->kind == JSON_VALUE_INT && integer_of(token) == special->integer;
}

static void store(const struct token_summary *tokens, struct counted_token *const *sorted,
                  int64_t count, struct arena *arena, struct layers_state *out)
{
    const struct shape shape = shape_of(count);
    float *weights = ARENA_ARRAY(arena, float, count);
    int64_t *integers = ARENA_ARRAY(arena, int64_t, tokens->is_text ? 1 : count);
    struct bytes *texts = ARENA_ARRAY(arena, struct bytes, tokens->is_text ? count : 1);

    for (int64_t i = 0; i < count; i++) {
        const struct counted_token *token = sorted[i];
        if (tokens->is_text)
            texts[i] = (struct bytes){ arena_memdup(arena, token->key.data, token->key.size),
                                       token->key.size };
        else
            integers[i] = integer_of(token);
        weights[i] = (float)log(1 + (double)tokens->documents / (double)(1 + token->documents));
    }
    out->tensors[0] = tokens->is_text ? tensor_borrow(DT_STRING, &shape, texts)
                                      : tensor_borrow(DT_INT64, &shape, integers);
    if (tokens->summary.how.idf)
        out->tensors[1] = tensor_borrow(DT_FLOAT, &shape, weights);
}

static struct status tokens_finish(struct summary *summary, struct arena *arena,
                                   struct layers_state *out)
{
    struct token_summary *tokens = self(summary);
    struct counted_token **sorted = zalloc((tokens->count + 1) * sizeof *sorted);
    int64_t count = 0, most = summary->how.tokens_max;

    for (size_t i = 0; i < tokens->count; i++)
        if (!is_special(tokens, &tokens->list[i], summary->how.mask) &&
            !is_special(tokens, &tokens->list[i], summary->how.oov))
            sorted[count++] = &tokens->list[i];
    qsort(sorted, (size_t)count, sizeof *sorted,
          tokens->is_text ? by_frequency_of_texts : by_frequency_of_integers);
    if (most > 0 && count > most)
        count = most;
    store(tokens, sorted, count, arena, out);
    free(sorted);
    return count > 0 ? status_ok()
                     : status_error(STATUS_INVALID_ARGUMENT, "the data have no tokens");
}

const struct summary_kind summary_tokens = {
    .fields = { { "tokens", DT_INVALID }, { "counts", DT_INT64 }, { "documents", DT_INT64 } },
    .fields_count = 3,
    .state = { "vocabulary", "idf_weights" },
    .create = tokens_create,
    .destroy = tokens_destroy,
    .add = tokens_add,
    .get = tokens_get,
    .merge = tokens_merge,
    .finish = tokens_finish,
};
