#include "server/inference/auth.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"

#define FILE_BYTES_MAX ((size_t)1 << 20)
#define SCHEME         "Bearer "

/* The file's text, and the tokens in it. */
struct tokens {
    struct buffer text;
    struct bytes *items;
    size_t count;
};

struct auth {
    char *path;
    pthread_rwlock_t lock;
    struct tokens tokens;
};

static void tokens_finish(struct tokens *tokens)
{
    if (tokens->text.data != NULL)
        explicit_bzero(tokens->text.data, tokens->text.capacity);
    buffer_finish(&tokens->text);
    free(tokens->items);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct bytes trim(struct bytes line)
{
    while (line.size > 0 && is_space(line.data[0])) {
        line.data++;
        line.size--;
    }
    while (line.size > 0 && is_space(line.data[line.size - 1]))
        line.size--;
    return line;
}

/* A token that a header cannot contain would never be accepted. */
static bool is_token(struct bytes line)
{
    for (size_t i = 0; i < line.size; i++)
        if (line.data[i] <= ' ' || line.data[i] > '~')
            return false;
    return true;
}

static struct status split(struct tokens *tokens)
{
    const char *at = tokens->text.data, *end = at + tokens->text.size;
    for (int number = 1; at < end; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline != NULL ? newline : end;
        struct bytes line = trim((struct bytes){ at, (size_t)(stop - at) });
        at = stop + 1;
        if (line.size == 0 || line.data[0] == '#')
            continue;
        if (!is_token(line))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "line %d: a token has no spaces and only printable ASCII", number);
        tokens->items = xrealloc(tokens->items, (tokens->count + 1) * sizeof *tokens->items);
        tokens->items[tokens->count++] = line;
    }
    return tokens->count > 0 ? status_ok()
                             : status_error(STATUS_INVALID_ARGUMENT, "the file has no token");
}

static struct status read_tokens(const char *path, struct tokens *out)
{
    struct tokens tokens = { 0 };
    struct status status = file_read(path, FILE_BYTES_MAX, &tokens.text);
    if (status_is_ok(status))
        status = status_in(split(&tokens), "'%s'", path);
    if (status_is_ok(status))
        *out = tokens;
    else
        tokens_finish(&tokens);
    return status;
}

struct status auth_create(const char *path, struct auth **out)
{
    struct tokens tokens;
    TRY(read_tokens(path, &tokens));
    struct auth *auth = zalloc(sizeof *auth);
    auth->path = xstrdup(path);
    auth->tokens = tokens;
    pthread_rwlock_init(&auth->lock, NULL);
    *out = auth;
    return status_ok();
}

void auth_destroy(struct auth *auth)
{
    if (auth == NULL)
        return;
    tokens_finish(&auth->tokens);
    pthread_rwlock_destroy(&auth->lock);
    free(auth->path);
    free(auth);
}

struct status auth_reload(struct auth *auth)
{
    struct tokens tokens, old;
    TRY(read_tokens(auth->path, &tokens));
    pthread_rwlock_wrlock(&auth->lock);
    old = auth->tokens;
    auth->tokens = tokens;
    pthread_rwlock_unlock(&auth->lock);
    tokens_finish(&old);
    return status_ok();
}

static unsigned difference(struct bytes a, struct bytes b)
{
    unsigned different = 0;
    if (a.size != b.size)
        return 1;
    for (size_t i = 0; i < a.size; i++)
        different |= (unsigned)(unsigned char)a.data[i] ^ (unsigned)(unsigned char)b.data[i];
    return different;
}

/* Compares all tokens, so that the time does not reveal a near match. */
static bool is_known(struct auth *auth, struct bytes token)
{
    bool known = false;
    pthread_rwlock_rdlock(&auth->lock);
    for (size_t i = 0; i < auth->tokens.count; i++)
        known |= difference(auth->tokens.items[i], token) == 0;
    pthread_rwlock_unlock(&auth->lock);
    return known;
}

struct status auth_check(struct auth *auth, const char *header)
{
    size_t scheme = strlen(SCHEME);
    if (auth == NULL)
        return status_ok();
    if (header == NULL)
        return status_error(STATUS_UNAUTHENTICATED,
                            "this server wants a token: send the header 'Authorization: Bearer "
                            "TOKEN'");
    if (strncasecmp(header, SCHEME, scheme) != 0)
        return status_error(STATUS_UNAUTHENTICATED,
                            "the header 'Authorization' is not of the form 'Bearer TOKEN'");
    if (!is_known(auth, trim(bytes_of(header + scheme))))
        return status_error(STATUS_UNAUTHENTICATED, "the token is not one that this server knows");
    return status_ok();
}
