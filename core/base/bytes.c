#include "base/bytes.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file formats are read in place");

int bytes_find(struct bytes bytes, const char *const *texts, size_t texts_count)
{
    for (size_t i = 0; i < texts_count; i++)
        if (bytes_equal(bytes, bytes_of(texts[i])))
            return (int)i;
    return -1;
}

int bytes_compare(struct bytes a, struct bytes b)
{
    size_t common = a.size < b.size ? a.size : b.size;
    int order = common > 0 ? memcmp(a.data, b.data, common) : 0;
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_bytes(const void *a, const void *b)
{
    return bytes_compare(*(const struct bytes *)a, *(const struct bytes *)b);
}

/* qsort may not get a null list. */
void bytes_sort(struct bytes *list, size_t count)
{
    if (count > 0)
        qsort(list, count, sizeof *list, compare_bytes);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void texts_sort(const char **list, size_t count)
{
    if (count > 0)
        qsort(list, count, sizeof *list, compare_texts);
}

/* FNV-1a over words of 8 bytes, and a final mix. It does not resist chosen collisions:
 * tables whose keys strangers choose use siphash64. */
uint64_t bytes_hash(struct bytes bytes)
{
    uint64_t hash = 0xcbf29ce484222325u ^ bytes.size;
    const char *at = bytes.data;
    size_t left = bytes.size;
    for (; left >= 8; at += 8, left -= 8)
        hash = (hash ^ get_u64le(at)) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29;
    for (; left > 0; at++, left--)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
    hash ^= hash >> 32;
    hash *= 0xd6e8feb86659fd93u;
    return hash ^ (hash >> 32);
}

void buffer_grow(struct buffer *buffer, size_t more)
{
    size_t need = buffer->size + more;
    size_t capacity = buffer->capacity ? buffer->capacity : 64;
    while (capacity < need)
        capacity *= 2;
    buffer->data = xrealloc(buffer->data, capacity);
    buffer->capacity = capacity;
}

bool buffer_try_reserve(struct buffer *buffer, size_t size)
{
    if (size <= buffer->capacity)
        return true;
    char *data = realloc(buffer->data, size);
    if (data == NULL)
        return false;
    buffer->data = data;
    buffer->capacity = size;
    return true;
}

void buffer_append(struct buffer *buffer, const void *data, size_t size)
{
    buffer_reserve(buffer, size);
    if (size > 0)
        memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
}

void buffer_append_text(struct buffer *buffer, const char *text)
{
    buffer_append(buffer, text, strlen(text));
}

void buffer_append_char(struct buffer *buffer, char c)
{
    buffer_append(buffer, &c, 1);
}

void buffer_printf(struct buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (size <= 0)
        return;
    buffer_reserve(buffer, (size_t)size + 1);
    va_start(arguments, format);
    vsnprintf(buffer->data + buffer->size, (size_t)size + 1, format, arguments);
    va_end(arguments);
    buffer->size += (size_t)size;
}

void buffer_finish(struct buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct buffer){ 0 };
}

size_t varint_put_long(void *out, uint64_t value)
{
    unsigned char *at = out;
    while (value >= 0x80) {
        *at++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *at++ = (unsigned char)value;
    return (size_t)(at - (unsigned char *)out);
}

void buffer_append_varint(struct buffer *buffer, uint64_t value)
{
    buffer_reserve(buffer, VARINT_MAX);
    buffer->size += varint_put(buffer->data + buffer->size, value);
}

bool varint_get_long(const char **at, const char *end, uint64_t *out)
{
    uint64_t value = 0;
    const char *p = *at;
    for (unsigned shift = 0; shift < 64 && p < end; shift += 7) {
        unsigned char byte = (unsigned char)*p++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            *at = p;
            *out = value;
            return true;
        }
    }
    return false;
}
