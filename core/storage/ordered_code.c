#include "storage/ordered_code.h"

void ordered_put_num(struct buffer *buffer, uint64_t value)
{
    int count = value == 0 ? 0 : 8 - __builtin_clzll(value) / 8;
    buffer_append_char(buffer, (char)count);
    for (int i = count - 1; i >= 0; i--)
        buffer_append_char(buffer, (char)(value >> 8 * i));
}

void ordered_put_string(struct buffer *buffer, struct bytes text)
{
    for (size_t i = 0; i < text.size; i++) {
        buffer_append_char(buffer, text.data[i]);
        if (text.data[i] == '\0')
            buffer_append_char(buffer, '\xff');
        else if (text.data[i] == '\xff')
            buffer_append_char(buffer, '\0');
    }
    buffer_append(buffer, "\0\1", 2);
}

void ordered_put_snum(struct buffer *buffer, int64_t value)
{
    static const unsigned char headers[11][2] = { { 0, 0 },       { 0x80, 0 },   { 0xc0, 0 },
                                                  { 0xe0, 0 },    { 0xf0, 0 },   { 0xf8, 0 },
                                                  { 0xfc, 0 },    { 0xfe, 0 },   { 0xff, 0 },
                                                  { 0xff, 0x80 }, { 0xff, 0xc0 } };
    uint64_t magnitude = (uint64_t)(value < 0 ? ~value : value);
    int size = 1;
    while (size < 10 && magnitude >> (7 * size - 1) != 0)
        size++;
    unsigned char bytes[10];
    for (int i = 0; i < size; i++) {
        int shift = 8 * (size - 1 - i);
        bytes[i] = (unsigned char)(shift < 64 ? value >> shift : value >> 63);
    }
    bytes[0] ^= headers[size][0];
    if (size > 1)
        bytes[1] ^= headers[size][1];
    buffer_append(buffer, bytes, (size_t)size);
}
