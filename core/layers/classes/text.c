/* text: TextVectorization, which turns texts into lists of tokens that a StringLookup encodes.
 * Lists are padded with the empty text, the lookup's mask token, which is not counted as a
 * token. */
#include "layers/classes/classes.h"
#include "layers/classes/preprocessing.h"

#define NGRAMS_MAX 32

static const struct layer_arg text_vectorization_args[] = {
    { "max_tokens", ARG_NULL_OR_INT, "null" },
    { "standardize", ARG_NULL_OR_VALUE, "\"lower_and_strip_punctuation\"" },
    { "split", ARG_NULL_OR_VALUE, "\"whitespace\"" },
    { "ngrams", ARG_VALUE, "null" },
    { "output_mode", ARG_CHOICE, "int one_hot multi_hot count tf_idf binary tf-idf" },
    { "output_sequence_length", ARG_NULL_OR_INT, "null" },
    { "pad_to_max_tokens", ARG_BOOL, "false" },
    { "sparse", ARG_NONE, "false" },
    { "ragged", ARG_NONE, "false" },
    { "vocabulary", ARG_VALUE, "null" },
    { "idf_weights", ARG_VALUE, "null" },
    { "encoding", ARG_CHOICE, "utf-8" },
    { "vocabulary_size", ARG_VALUE, "null" },
    { "has_input_vocabulary", ARG_VALUE, "null" },
};

/* The tokens of all texts, concatenated, and the start of each text's tokens. */
struct token_lists {
    struct endpoint values, splits;
};

/* ---- the arguments ---- */

/* Reads one of the words of `words`, or null (then *out is NULL). */
static bool read_word(struct layer_context *context, const struct layer *layer, const char *name,
                      const char *const *words, const char **out)
{
    const struct json_value *value = layer_arg(layer, name)->value;

    *out = NULL;
    if (json_value_is_null(value))
        return true;
    for (; value->kind == JSON_VALUE_TEXT && *words != NULL; words++)
        if (strcmp(*words, value->text) == 0) {
            *out = *words;
            return true;
        }
    layer_refuse(context, layer, "argument '%s' is %s, which is not implemented", name,
                 json_value_show(value, context->arena));
    return false;
}

/* Reads the widths of n-grams: 3 means 1, 2 and 3. Returns their number; -1: failure. */
static int read_ngrams(struct layer_context *context, const struct layer *layer,
                       int64_t widths[NGRAMS_MAX])
{
    const struct json_value *ngrams = layer_arg(layer, "ngrams")->value;
    bool list = ngrams->kind == JSON_VALUE_LIST;
    int64_t count = list ? ngrams->count : ngrams->kind == JSON_VALUE_INT ? ngrams->integer : 0;

    if (json_value_is_null(ngrams))
        return 0;
    for (int i = 0; i < count && count <= NGRAMS_MAX; i++) {
        const struct json_value *width = list ? &ngrams->members[i] : NULL;
        widths[i] = !list ? i + 1 : width->kind == JSON_VALUE_INT ? width->integer : 0;
        if (widths[i] < 1)
            count = 0;
    }
    if (count >= 1 && count <= NGRAMS_MAX)
        return (int)count;
    layer_fail(context, layer,
               "argument 'ngrams' is %s, expected an integer from 1 to %d, or a "
               "list of up to %d of them",
               json_value_show(ngrams, context->arena), NGRAMS_MAX, NGRAMS_MAX);
    return -1;
}

/* ---- from texts to tokens ---- */

static struct endpoint standardize(struct layer_context *context, const char *how,
                                   struct endpoint x)
{
    struct builder *b = &context->builder;
    const struct attr attrs[] = { attr_text("pattern",
                                            "[!\"#$%&()\\*\\+,-\\./:;<=>?@\\[\\\\\\]^_`{|}~\\']"),
                                  attr_text("rewrite", ""), ATTR_END };

    if (how == NULL)
        return x;
    if (strcmp(how, "strip_punctuation") != 0)
        x = build_unary(b, "StringLower", NULL, x);
    if (strcmp(how, "lower") != 0)
        x = build(b, "StaticRegexReplace", NULL, 1, &x, attrs);
    return x;
}

static struct token_lists split_words(struct builder *b, struct endpoint x)
{
    const struct shape scalar = shape_scalar();
    const struct bytes none = bytes_of("");
    struct tensor separator = tensor_borrow(DT_STRING, &scalar, &none);
    const struct endpoint inputs[] = { x, build_const(b, NULL, &separator) };
    struct node *words = build_node(b, "StringSplitV2", NULL, 2, inputs, 0, NULL, NULL);

    if (words == NULL)
        return (struct token_lists){ 0 };
    struct layer_lists lists =
        lists_of_pairs(b, (struct endpoint){ words, 0 }, (struct endpoint){ words, 2 }, 0);
    return (struct token_lists){ { words, 1 }, lists_splits(b, &lists) };
}

static struct token_lists split_characters(struct builder *b, struct endpoint x)
{
    const struct attr decoding[] = { attr_text("input_encoding", "UTF-8"), ATTR_END };
    const struct attr encoding[] = { attr_text("output_encoding", "UTF-8"), ATTR_END };
    struct node *decoded = build_node(b, "UnicodeDecode", NULL, 1, &x, 0, NULL, decoding);

    if (decoded == NULL)
        return (struct token_lists){ 0 };
    struct endpoint characters = { decoded, 1 };
    struct endpoint count = build_unary(b, "Size", NULL, characters);
    struct endpoint end = build_binary(b, "AddV2", NULL, count, build_const_int(b, 1));
    const struct endpoint each[] = { characters, build_range(b, end) };
    return (struct token_lists){ build(b, "UnicodeEncode", NULL, 2, each, encoding),
                                 { decoded, 0 } };
}

static struct token_lists join_ngrams(struct builder *b, struct token_lists tokens, int count,
                                      const int64_t *widths)
{
    const struct attr attrs[] = { attr_text("separator", " "),
                                  attr_ints(b, "ngram_widths", count, widths),
                                  attr_text("left_pad", ""),
                                  attr_text("right_pad", ""),
                                  attr_int("pad_width", 0),
                                  attr_bool("preserve_short_sequences", false),
                                  ATTR_END };
    const struct endpoint inputs[] = { tokens.values, tokens.splits };
    struct node *ngrams = build_node(b, "StringNGrams", NULL, 2, inputs, 0, NULL, attrs);

    return (struct token_lists){ { ngrams, 0 }, { ngrams, 1 } };
}

/* [batch, 1] -> [batch] */
static struct endpoint drop_column(struct layer_context *context, const struct layer *layer,
                                   struct endpoint x)
{
    const struct shape *shape = endpoint_shape(x);
    const int64_t last = -1;
    const struct attr attrs[] = { attr_ints(&context->builder, "squeeze_dims", 1, &last),
                                  ATTR_END };

    if (shape->rank == 1)
        return x;
    if (shape->rank == 2 && shape->dims[1] == 1)
        return build(&context->builder, "Squeeze", NULL, 1, &x, attrs);
    layer_fail(context, layer, "the input has shape %s, expected [batch] or [batch, 1]",
               shape_text(shape));
    return x;
}

static struct token_lists tokenize(struct layer_context *context, const char *split, int ngrams,
                                   const int64_t *widths, struct endpoint x)
{
    struct builder *b = &context->builder;
    struct token_lists tokens =
        strcmp(split, "character") == 0 ? split_characters(b, x) : split_words(b, x);

    return ngrams > 0 ? join_ngrams(b, tokens, ngrams, widths) : tokens;
}

/* ---- the layer ---- */

/* Makes the layer's StringLookup, with the arguments whose names they share. */
static bool make_lookup(struct layer_context *context, const struct layer *layer, struct layer *out)
{
    static const struct json_value no_text = { .kind = JSON_VALUE_TEXT, .text = "" };
    const struct layer_class *class = &layer_string_lookup;
    const struct arg_list list = { class->args, class->args_count, NULL };

    *out = *layer;
    out->class = class;
    struct status status = args_read(&list, NULL, context->arena, &out->args);
    if (!status_is_ok(status)) {
        layer_fail(context, layer, "%s", status.message);
        return false;
    }
    for (int i = 0; i < class->args_count; i++) {
        for (int k = 0; k < layer->class->args_count; k++)
            if (strcmp(class->args[i].name, layer->class->args[k].name) == 0)
                out->args[i] = layer->args[k];
        if (strcmp(class->args[i].name, "mask_token") == 0)
            out->args[i].value = &no_text;
    }
    return true;
}

/* Reads "output_sequence_length"; -1: not given. Returns false on failure. */
static bool read_length(struct layer_context *context, const struct layer *layer, int64_t *out)
{
    const struct arg_value *length = layer_arg(layer, "output_sequence_length");
    bool ints = strcmp(layer_arg(layer, "output_mode")->text, "int") == 0;

    *out = length->is_null ? -1 : length->integer;
    if (length->is_null || (ints && *out >= 1 && *out <= INT32_MAX))
        return true;
    layer_fail(context, layer,
               "argument 'output_sequence_length' is %lld; it is for the output_mode 'int', and 1 "
               "or more",
               (long long)length->integer);
    return false;
}

/* Ids are padded after the lookup, so that a layer also adapts to tokens that are cut off. The
 * other modes count the tokens per row and need rows. */
static struct endpoint vectorize(struct layer_context *context, const struct layer *layer,
                                 const struct layer *lookup, const char *split, struct endpoint x)
{
    int64_t widths[NGRAMS_MAX], length;
    int ngrams = read_ngrams(context, layer, widths);

    if (ngrams < 0 || !read_length(context, layer, &length))
        return x;
    if (split == NULL && (ngrams > 0 || length > 0)) {
        layer_refuse(context, layer,
                     "'ngrams' and 'output_sequence_length' with a 'split' of null are not "
                     "implemented");
        return x;
    }
    if (split == NULL)
        return string_lookup_build(context, lookup, x);
    x = drop_column(context, layer, x);
    if (!status_is_ok(context->builder.status))
        return x;
    struct token_lists tokens = tokenize(context, split, ngrams, widths, x);
    if (strcmp(layer_arg(layer, "output_mode")->text, "int") == 0)
        return lists_padded(&context->builder, string_lookup_build(context, lookup, tokens.values),
                            tokens.splits, length);
    x = lists_padded(&context->builder, tokens.values, tokens.splits, length);
    return string_lookup_build(context, lookup, x);
}

static struct endpoint text_vectorization_build(struct layer_context *context,
                                                const struct layer *layer, struct endpoint x)
{
    static const char *const standards[] = { "lower_and_strip_punctuation", "lower",
                                             "strip_punctuation", NULL };
    static const char *const splits[] = { "whitespace", "character", NULL };
    const char *how, *split;
    struct layer lookup;

    if (!status_is_ok(context->builder.status) ||
        !read_word(context, layer, "standardize", standards, &how) ||
        !read_word(context, layer, "split", splits, &split) ||
        !make_lookup(context, layer, &lookup))
        return x;
    if (endpoint_dtype(x) != DT_STRING) {
        layer_fail(context, layer, "the input is %s; expected string",
                   dtype_name(endpoint_dtype(x)));
        return x;
    }
    return vectorize(context, layer, &lookup, split, standardize(context, how, x));
}

const struct layer_class layer_text_vectorization = {
    .name = "TextVectorization",
    .args = text_vectorization_args,
    .args_count = (int)COUNT(text_vectorization_args),
    .build = text_vectorization_build,
    .inputs = LAYER_TAKES_ANYTHING,
    .any_dtype = true,
    .precision = LAYER_ROUNDS_NOTHING,
};
