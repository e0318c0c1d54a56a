#include "runtime/kernels/text/sentencepiece_text.h"
#include "base/utf8.h"

static const char space[] = PIECE_SPACE;

void piece_work_finish(struct piece_work *work)
{
    struct piece_array *arrays[] = { &work->normal, &work->origins, &work->found, &work->a,
                                     &work->b,      &work->c,       &work->d };
    token_list_finish(&work->tokens);
    for (size_t i = 0; i < COUNT(arrays); i++)
        tensor_release(&arrays[i]->memory);
}

struct status piece_found(struct piece_work *work, int64_t begin, int64_t size, int32_t id)
{
    TRY(piece_room(work, &work->found, 1, sizeof(struct piece_part)));
    ((struct piece_part *)work->found.memory.data)[work->found.count++] =
        (struct piece_part){ (uint32_t)begin, (uint32_t)size, id };
    return status_ok();
}

/* ---- dividing ---- */

static struct status divide_at(struct piece_work *work, int64_t begin, int64_t end)
{
    const char *text = work->normal.memory.data;
    struct bytes part = { text + begin, (size_t)(end - begin) };
    return piece_found(work, begin, end - begin, piece_id(work->model, part));
}

static struct status divide_characters(struct piece_work *work)
{
    const char *text = work->normal.memory.data;
    for (int64_t at = 0; at < work->normal.count;) {
        size_t rest = (size_t)(work->normal.count - at);
        size_t size = user_defined_size(work->model, (struct bytes){ text + at, rest });
        if (size == 0)
            size = utf8_stated_size(text + at, rest);
        TRY(divide_at(work, at, at + (int64_t)size));
        at += (int64_t)size;
    }
    return status_ok();
}

/* Words begin with a space, even if the model has spaces as suffixes. */
static struct status divide_words(struct piece_work *work)
{
    const char *text = work->normal.memory.data;
    int64_t begin = 0;
    for (int64_t at = 0; at < work->normal.count;) {
        size_t rest = (size_t)(work->normal.count - at);
        size_t size = utf8_stated_size(text + at, rest);
        bool is_space = size == strlen(space) && memcmp(text + at, space, size) == 0;
        if (is_space && at > begin) {
            TRY(divide_at(work, begin, at));
            begin = at;
        }
        at += (int64_t)size;
    }
    return begin < work->normal.count ? divide_at(work, begin, work->normal.count) : status_ok();
}

static struct status divide(struct piece_work *work, struct piece_sampling *sampling)
{
    work->found.count = 0;
    switch (work->model->method) {
    case DIVIDE_BPE:
        return divide_bpe(work, sampling);
    case DIVIDE_WORD:
    case DIVIDE_CHAR:
        if (sampling != NULL)
            return kernel_error(work->k, STATUS_INTERNAL,
                                "SampleEncode is not available for the current model.");
        return work->model->method == DIVIDE_WORD ? divide_words(work) : divide_characters(work);
    default:
        return divide_unigram(work, sampling);
    }
}

/* ---- tokens ---- */

/* Only the last byte of a character spans its offsets in the text; the others are empty. */
static struct status add_bytes(struct piece_work *work, struct bytes part, int64_t begin,
                               int64_t end)
{
    const struct sentencepiece_model *model = work->model;
    for (size_t i = 0; i < part.size; i++) {
        int32_t id = model->byte_ids[(uint8_t)part.data[i]];
        struct text_token token = { model->pieces[id].text, begin, i + 1 == part.size ? end : begin,
                                    id };
        TRY(token_list_add_numbered(&work->tokens, token));
    }
    return status_ok();
}

/* Unknown parts that follow each other are one token. Returns the number of parts. */
static int64_t count_unknown(const struct sentencepiece_model *model, const struct piece_part *part,
                             int64_t count)
{
    int64_t run = 1;
    while (!model->byte_fallback && part[0].id == model->unknown && run < count &&
           part[run].id == model->unknown)
        run++;
    return run;
}

struct status sentencepiece_add(struct piece_work *work)
{
    const struct sentencepiece_model *model = work->model;
    const struct piece_part *parts = work->found.memory.data;
    const uint32_t *origins = work->origins.memory.data;
    const char *text = work->normal.memory.data;
    work->block.arena = kernel_arena(work->k);
    for (int64_t i = 0, run; i < work->found.count; i += run) {
        run = count_unknown(model, &parts[i], work->found.count - i);
        const struct piece_part *last = &parts[i + run - 1];
        uint32_t begin = parts[i].begin, end = last->begin + last->size;
        struct bytes part = { text + begin, end - begin };
        const struct sentence_piece *piece = &model->pieces[parts[i].id];
        if (piece->kind == PIECE_CONTROL)
            return kernel_error(work->k, STATUS_INTERNAL,
                                "all normalized characters are not consumed.");
        if (piece->kind == PIECE_UNKNOWN && model->byte_fallback) {
            TRY(add_bytes(work, part, origins[begin], origins[end]));
            continue;
        }
        if (piece->kind == PIECE_UNKNOWN) {
            TRY(text_block_add(&work->block, part.data, part.size));
            part = text_block_end(&work->block);
        } else {
            part = piece->text;
        }
        TRY(token_list_add_numbered(
            &work->tokens, (struct text_token){ part, origins[begin], origins[end], parts[i].id }));
    }
    return status_ok();
}

struct status sentencepiece_divide(struct piece_work *work, struct bytes text,
                                   struct piece_sampling *sampling)
{
    TRY(sentencepiece_normalize(work, &work->model->normal, text));
    return divide(work, sampling);
}

struct status sentencepiece_begin_nbest(struct piece_work *work, struct bytes text, int count_max)
{
    if (work->model->method != DIVIDE_UNIGRAM)
        return kernel_error(work->k, STATUS_INTERNAL,
                            "NBestEncode is not available for the current model.");
    TRY(sentencepiece_normalize(work, &work->model->normal, text));
    return unigram_begin_nbest(work, count_max);
}

struct status sentencepiece_next_best(struct piece_work *work, bool *is_found)
{
    int64_t hypothesis;
    TRY(unigram_next_best(work, &hypothesis));
    *is_found = hypothesis >= 0;
    return *is_found ? unigram_take(work, hypothesis) : status_ok();
}

/* ---- joining ---- */

/* The characters of pieces of bytes; one that is malformed becomes U+FFFD. */
static struct status join_bytes(struct piece_work *work, const struct text_token *tokens,
                                int64_t count)
{
    for (int64_t i = 0; i < count;) {
        char bytes[UTF8_SIZE_MAX];
        size_t size = 0;
        int32_t character;
        while (size < sizeof bytes && i + (int64_t)size < count) {
            bytes[size] = (char)work->model->pieces[tokens[i + (int64_t)size].number].byte;
            size++;
        }
        size = utf8_read(bytes, size, &character);
        if (character >= 0) {
            TRY(text_block_add(&work->block, bytes, size));
        } else {
            TRY(text_block_add(&work->block, "\xef\xbf\xbd", 3));
            size = 1;
        }
        i += (int64_t)size;
    }
    return status_ok();
}

static struct status join_text(struct piece_work *work, struct bytes text)
{
    while (text.size > 0) {
        const char *at = memmem(text.data, text.size, space, strlen(space));
        size_t plain = at == NULL ? text.size : (size_t)(at - text.data);
        size_t size = at == NULL ? plain : plain + strlen(space);
        TRY(text_block_add(&work->block, text.data, plain));
        if (at != NULL)
            TRY(text_block_add(&work->block, " ", 1));
        text = (struct bytes){ text.data + size, text.size - size };
    }
    return status_ok();
}

/* Appends a token. As long as the text is empty, drops the leading space that normalizing adds,
 * from each token. So does the SentencePiece in TensorFlow Text; newer releases drop only one. */
static struct status join_token(struct piece_work *work, const struct text_token *token)
{
    const struct sentencepiece_model *model = work->model;
    const struct sentence_piece *piece = &model->pieces[token->number];
    const struct piece_rules *rules = &model->normal;
    struct bytes text = token->text;
    bool at_begin = work->block.size == work->block.begin;
    if (piece->kind == PIECE_CONTROL)
        return status_ok();
    if (piece->kind == PIECE_UNKNOWN) {
        if (bytes_equal(piece->text, text))
            text = model->unknown_surface;
        return text_block_add(&work->block, text.data, text.size);
    }
    if (at_begin && (rules->add_dummy_prefix || rules->remove_extra_whitespaces) &&
        text.size >= strlen(space) && memcmp(text.data, space, strlen(space)) == 0) {
        text = (struct bytes){ text.data + strlen(space), text.size - strlen(space) };
    }
    return join_text(work, text);
}

static struct status join(struct piece_work *work, const struct text_token *tokens, int64_t count)
{
    const struct sentence_piece *pieces = work->model->pieces;
    for (int64_t i = 0, run; i < count; i += run) {
        for (run = 0; i + run < count && pieces[tokens[i + run].number].kind == PIECE_BYTE;)
            run++;
        if (run > 0) {
            TRY(join_bytes(work, tokens + i, run));
            continue;
        }
        run = 1;
        TRY(join_token(work, &tokens[i]));
    }
    return status_ok();
}

struct status sentencepiece_decode(struct piece_work *work, const struct text_token *tokens,
                                   int64_t count, struct bytes *out)
{
    const struct piece_rules *rules = &work->model->denormal;
    work->block.arena = kernel_arena(work->k);
    TRY(join(work, tokens, count));
    *out = text_block_end(&work->block);
    if (rules->trie.size == 0)
        return status_ok();
    TRY(sentencepiece_normalize(work, rules, *out));
    if (work->normal.count > 0)
        TRY(text_block_add(&work->block, work->normal.memory.data, (size_t)work->normal.count));
    *out = text_block_end(&work->block);
    return status_ok();
}
