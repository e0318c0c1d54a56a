/*
 * bytes: a view of bytes that something else owns, and a buffer that grows. An element of a string
 * tensor is a `struct bytes`; it may contain NULs.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

struct bytes {
    const char *data;
    size_t size;
};

static inline struct bytes bytes_of(const char *text)
{
    return (struct bytes){ text, strlen(text) };
}

/* The first `max` bytes, or all if there are fewer. */
static inline struct bytes bytes_first(struct bytes bytes, size_t max)
{
    return (struct bytes){ bytes.data, bytes.size < max ? bytes.size : max };
}

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* The index of the bytes in an array of texts; -1: not in it. */
#define BYTES_FIND(bytes, texts) bytes_find(bytes, texts, COUNT(texts))
int bytes_find(struct bytes bytes, const char *const *texts, size_t texts_count);

/* Compares as unsigned bytes; a prefix comes first. This is the order of keys in tables. */
int bytes_compare(struct bytes a, struct bytes b);
void bytes_sort(struct bytes *list, size_t count);
void texts_sort(const char **list, size_t count); /* as strcmp compares them */

uint64_t bytes_hash(struct bytes bytes);

/* A growing buffer. Zero-initialise it. Appending dies if there is no memory, so sizes that a peer
 * chooses must be limited before. */
struct buffer {
    char *data;
    size_t size, capacity;
};

void buffer_grow(struct buffer *buffer, size_t more); /* the slow path of buffer_reserve */
/* Makes room for `more` bytes after the contents. */
static inline void buffer_reserve(struct buffer *buffer, size_t more)
{
    if (more > buffer->capacity - buffer->size)
        buffer_grow(buffer, more);
}
/* Makes the capacity at least `size`, for sizes that a peer chooses. Returns false without
 * memory. */
bool buffer_try_reserve(struct buffer *buffer, size_t size);
void buffer_append(struct buffer *buffer, const void *data, size_t size);
void buffer_append_text(struct buffer *buffer, const char *text);
void buffer_append_char(struct buffer *buffer, char c);
void buffer_printf(struct buffer *buffer, const char *format, ...) PRINTF_LIKE(2, 3);
void buffer_finish(struct buffer *buffer);

/* Little-endian numbers and varints, for the file formats. The addresses may be unaligned. */
static inline uint32_t get_u32le(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t get_u64le(const void *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void put_u32le(void *p, uint32_t v)
{
    memcpy(p, &v, sizeof v);
}

static inline void put_u64le(void *p, uint64_t v)
{
    memcpy(p, &v, sizeof v);
}

#define VARINT_MAX 10
/* Writes up to VARINT_MAX bytes to `out` and returns their number. */
size_t varint_put_long(void *out, uint64_t value);
static inline size_t varint_put(void *out, uint64_t value)
{
    if (value >= 0x80)
        return varint_put_long(out, value);
    *(unsigned char *)out = (unsigned char)value;
    return 1;
}
void buffer_append_varint(struct buffer *buffer, uint64_t value);

/* Reads a varint from [*at, end) and moves *at past it. Returns false if it is truncated or too
 * long. */
bool varint_get_long(const char **at, const char *end, uint64_t *out);
static inline bool varint_get(const char **at, const char *end, uint64_t *out)
{
    if (*at == end || (unsigned char)**at >= 0x80)
        return varint_get_long(at, end, out);
    *out = (unsigned char)*(*at)++;
    return true;
}

#endif
