#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "base/characters.h"
#include "base/utf8.h"
#include "proto/depth.h"
#include "proto/message.h"
#include "proto/meta_graph.pb-c.h" /* google.protobuf.Any too */
#include "proto/text.h"
#include "proto/text_token.h"
#include "proto/types.h"

struct text_reader {
    struct tokenizer tokens;
    struct arena *arena;
    bool skip_unknown, checks_utf8;
    int depth;
};

static struct status read_fields(struct text_reader *reader, ProtobufCMessage *message, char close);

static struct status next(struct text_reader *reader)
{
    return tokenizer_next(&reader->tokens);
}

#define ERROR(reader, ...) tokenizer_error(&(reader)->tokens, __VA_ARGS__)
#define TOKEN_TEXT(reader) (int)(reader)->tokens.token.text.size, (reader)->tokens.token.text.data

static struct status expect(struct text_reader *reader, char character)
{
    if (!token_is(&reader->tokens, character))
        return ERROR(reader, "Expected \"%c\", found \"%.*s\".", character, TOKEN_TEXT(reader));
    return next(reader);
}

/* Skips the character if it is the current token. */
static struct status accept(struct text_reader *reader, char character, bool *taken)
{
    *taken = token_is(&reader->tokens, character);
    return *taken ? next(reader) : status_ok();
}

/* Copies the token as a C string. False: too long for any number. */
static bool token_copy(const struct text_reader *reader, char *text, size_t capacity)
{
    struct bytes bytes = reader->tokens.token.text;
    if (bytes.size >= capacity)
        return false;
    memcpy(text, bytes.data, bytes.size);
    text[bytes.size] = '\0';
    return true;
}

/* The magnitude of an integer token: decimal, 0x hexadecimal or 0 octal. */
static bool token_integer(const struct text_reader *reader, uint64_t *out)
{
    char text[64], *end;
    if (reader->tokens.token.kind != TOKEN_NUMBER || !token_copy(reader, text, sizeof text))
        return false;
    errno = 0;
    *out = strtoull(text, &end, 0);
    return errno == 0 && *end == '\0';
}

static struct status read_signed(struct text_reader *reader, bool negative, int64_t least,
                                 int64_t *out)
{
    uint64_t value, most = ~(uint64_t)least; /* INT64_MIN -> INT64_MAX, INT32_MIN -> INT32_MAX */
    if (!token_integer(reader, &value))
        return ERROR(reader, "Expected integer, got: %.*s", TOKEN_TEXT(reader));
    if (value > most + negative)
        return ERROR(reader, "Integer out of range (%s%.*s)", negative ? "-" : "",
                     TOKEN_TEXT(reader));
    *out = negative ? (int64_t)(0 - value) : (int64_t)value;
    return status_ok();
}

static struct status read_unsigned(struct text_reader *reader, bool negative, uint64_t most,
                                   uint64_t *out)
{
    if (negative || !token_integer(reader, out))
        return ERROR(reader, "Expected integer, got: %s%.*s", negative ? "-" : "",
                     TOKEN_TEXT(reader));
    if (*out > most)
        return ERROR(reader, "Integer out of range (%.*s)", TOKEN_TEXT(reader));
    return status_ok();
}

static struct status read_real(struct text_reader *reader, bool negative, double *out)
{
    char text[512], *end = text;
    if (token_copy(reader, text, sizeof text) && reader->tokens.token.kind == TOKEN_NAME) {
        if (strcasecmp(text, "inf") == 0 || strcasecmp(text, "infinity") == 0)
            *out = INFINITY;
        else if (strcasecmp(text, "nan") == 0)
            *out = NAN;
        else
            return ERROR(reader, "Expected double, got: %s", text);
    } else if (reader->tokens.token.kind == TOKEN_NUMBER && token_copy(reader, text, sizeof text)) {
        if (text[0] == '0' && (is_digit(text[1]) || text[1] == 'x' || text[1] == 'X'))
            return ERROR(reader, "Expect a decimal number, got: %s", text); /* octal, as integers */
        *out = strtod(text, &end);
        if (end != text && (*end == 'f' || *end == 'F'))
            end++;
        if (*end != '\0')
            return ERROR(reader, "Expected double, got: %s", text);
    } else {
        return ERROR(reader, "Expected double, got: %.*s", TOKEN_TEXT(reader));
    }
    *out = negative ? -*out : *out;
    return status_ok();
}

static struct status read_bool(struct text_reader *reader, const ProtobufCFieldDescriptor *field,
                               protobuf_c_boolean *out)
{
    static const char *const words[] = { "false", "true", "f", "t", "False", "True" };
    uint64_t number;
    if (token_integer(reader, &number) && number <= 1) {
        *out = (protobuf_c_boolean)number;
        return status_ok();
    }
    for (size_t i = 0; i < COUNT(words); i++) {
        if (bytes_equal(reader->tokens.token.text, bytes_of(words[i]))) {
            *out = (protobuf_c_boolean)(i % 2);
            return status_ok();
        }
    }
    return ERROR(reader, "Invalid value for boolean field \"%s\". Value: \"%.*s\".", field->name,
                 TOKEN_TEXT(reader));
}

static struct status read_enum(struct text_reader *reader, const ProtobufCFieldDescriptor *field,
                               bool negative, int *out)
{
    const ProtobufCEnumDescriptor *type = field->descriptor;
    if (reader->tokens.token.kind == TOKEN_NUMBER) {
        int64_t value;
        TRY(read_signed(reader, negative, INT32_MIN, &value));
        *out = (int)value;
        return status_ok();
    }
    char name[256];
    const ProtobufCEnumValue *value =
        reader->tokens.token.kind == TOKEN_NAME && token_copy(reader, name, sizeof name)
            ? protobuf_c_enum_descriptor_get_value_by_name(type, name)
            : NULL;
    if (value == NULL || negative)
        return ERROR(reader, "Unknown enumeration value of \"%.*s\" for field \"%s\".",
                     TOKEN_TEXT(reader), field->name);
    *out = value->value;
    return status_ok();
}

static struct status keep_text(struct text_reader *reader, const struct buffer *text,
                               struct bytes *out)
{
    void *kept;
    TRY(arena_reserve(reader->arena, text->size + 1, &kept));
    if (text->size > 0)
        memcpy(kept, text->data, text->size);
    ((char *)kept)[text->size] = '\0';
    *out = (struct bytes){ kept, text->size };
    return status_ok();
}

/* Reads adjacent literals as one. The current token is then the one after them. */
static struct status read_string(struct text_reader *reader, struct bytes *out)
{
    struct buffer buffer = { 0 };
    struct status status = status_ok();
    if (reader->tokens.token.kind != TOKEN_STRING)
        return ERROR(reader, "Expected string, got: %.*s", TOKEN_TEXT(reader));
    while (status_is_ok(status) && reader->tokens.token.kind == TOKEN_STRING) {
        status = token_string(&reader->tokens, &buffer);
        if (status_is_ok(status))
            status = next(reader);
    }
    if (status_is_ok(status))
        status = keep_text(reader, &buffer, out);
    buffer_finish(&buffer);
    return status;
}

static struct status read_text(struct text_reader *reader, const ProtobufCFieldDescriptor *field,
                               void *out)
{
    struct bytes bytes = { NULL, 0 };
    TRY(read_string(reader, &bytes));
    if (field->type == PROTOBUF_C_TYPE_BYTES) {
        ProtobufCBinaryData data = { bytes.size, (uint8_t *)bytes.data };
        memcpy(out, &data, sizeof data);
        return status_ok();
    }
    if (memchr(bytes.data, '\0', bytes.size) != NULL)
        return ERROR(reader, "Field \"%s\" holds a NUL character.", field->name);
    if (reader->checks_utf8 && !utf8_is_valid(bytes))
        return ERROR(reader, "Field \"%s\" holds bytes that are not UTF-8.", field->name);
    memcpy(out, &bytes.data, sizeof bytes.data);
    return status_ok();
}

static struct status go_deeper(struct text_reader *reader)
{
    if (++reader->depth >= PROTO_DEPTH_MAX)
        return ERROR(reader, "Message is too deep, the parser exceeded the recursion limit of %d.",
                     PROTO_DEPTH_MAX);
    return status_ok();
}

static struct status new_message(struct text_reader *reader, const ProtobufCMessageDescriptor *type,
                                 ProtobufCMessage **out)
{
    void *message;
    TRY(arena_reserve(reader->arena, type->sizeof_message, &message));
    memset(message, 0, type->sizeof_message);
    *out = message;
    (*out)->descriptor = type;
    if (type->message_init != NULL) /* not of a message that is described at run time */
        protobuf_c_message_init(type, message);
    return status_ok();
}

/* Reads a sub-message from its '{' or '<'. */
static struct status read_message(struct text_reader *reader,
                                  const ProtobufCMessageDescriptor *type, ProtobufCMessage **out)
{
    bool brace;
    TRY(go_deeper(reader));
    TRY(accept(reader, '{', &brace));
    if (!brace)
        TRY(expect(reader, '<'));
    ProtobufCMessage *message;
    TRY(new_message(reader, type, &message));
    TRY(read_fields(reader, message, brace ? '}' : '>'));
    TRY(next(reader));
    reader->depth--;
    *out = message;
    return status_ok();
}

static struct status read_scalar(struct text_reader *reader, const ProtobufCFieldDescriptor *field,
                                 void *out)
{
    bool negative;
    int64_t integer;
    uint64_t natural;
    double real;
    TRY(accept(reader, '-', &negative));
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        TRY(read_signed(reader, negative, INT32_MIN, &integer));
        *(int32_t *)out = (int32_t)integer;
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        TRY(read_signed(reader, negative, INT64_MIN, out));
        break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        TRY(read_unsigned(reader, negative, UINT32_MAX, &natural));
        *(uint32_t *)out = (uint32_t)natural;
        break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        TRY(read_unsigned(reader, negative, UINT64_MAX, out));
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        TRY(read_real(reader, negative, &real));
        *(float *)out = (float)real;
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        TRY(read_real(reader, negative, out));
        break;
    case PROTOBUF_C_TYPE_ENUM:
        TRY(read_enum(reader, field, negative, out));
        break;
    default:
        if (negative)
            return ERROR(reader, "Expected a value without sign.");
        TRY(read_bool(reader, field, out));
        break;
    }
    return next(reader);
}

/* Makes room for one more element: the capacity is a power of two. */
static struct status grow(struct text_reader *reader, void *member, size_t count, size_t size)
{
    void *elements, *grown;
    if ((count & (count - 1)) != 0)
        return status_ok();
    TRY(arena_reserve(reader->arena, size * (count ? 2 * count : 1), &grown));
    memcpy(&elements, member, sizeof elements);
    if (count > 0)
        memcpy(grown, elements, count * size);
    memcpy(member, &grown, sizeof grown);
    return status_ok();
}

/* Stores the next value of the field: in a new last element, or in the member itself. */
static struct status store(struct text_reader *reader, ProtobufCMessage *message,
                           const ProtobufCFieldDescriptor *field, const void *value)
{
    char *member = (char *)message + field->offset, *elements;
    void *quantifier = (char *)message + field->quantifier_offset;
    size_t size = proto_value_size(field->type), count;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        memcpy(&count, quantifier, sizeof count);
        TRY(grow(reader, member, count, size));
        memcpy(&elements, member, sizeof elements);
        member = elements + size * count++;
        memcpy(quantifier, &count, sizeof count);
    } else if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
        memcpy(quantifier, &field->id, sizeof field->id);
    } else if (field->label == PROTOBUF_C_LABEL_OPTIONAL && field->quantifier_offset != 0) {
        *(protobuf_c_boolean *)quantifier = true;
    }
    memcpy(member, value, size);
    return status_ok();
}

/* Values are read into `value` first, so an error leaves no incomplete element. */
static struct status read_value(struct text_reader *reader, ProtobufCMessage *message,
                                const ProtobufCFieldDescriptor *field)
{
    union {
        uint64_t number;
        ProtobufCMessage *message;
        ProtobufCBinaryData data;
    } value = { 0 };
    if (field->type == PROTOBUF_C_TYPE_MESSAGE)
        TRY(read_message(reader, field->descriptor, &value.message));
    else if (field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_BYTES)
        TRY(read_text(reader, field, &value));
    else
        TRY(read_scalar(reader, field, &value));
    return store(reader, message, field, &value);
}

static struct status read_values(struct text_reader *reader, ProtobufCMessage *message,
                                 const ProtobufCFieldDescriptor *field)
{
    bool list = false, more = true;
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        TRY(accept(reader, '[', &list));
    if (!list)
        return read_value(reader, message, field);
    bool closed;
    TRY(accept(reader, ']', &closed));
    while (!closed && more) {
        TRY(read_value(reader, message, field));
        TRY(accept(reader, ',', &more));
    }
    return closed ? status_ok() : expect(reader, ']');
}

static struct status skip_value(struct text_reader *reader);

/* Skips a name, or "[the.name/of.an.extension]", and its value. */
static struct status skip_field(struct text_reader *reader)
{
    if (token_is(&reader->tokens, '[')) {
        while (!token_is(&reader->tokens, ']') && reader->tokens.token.kind != TOKEN_END)
            TRY(next(reader));
    } else if (reader->tokens.token.kind != TOKEN_NAME) {
        return ERROR(reader, "Expected identifier, got: %.*s", TOKEN_TEXT(reader));
    }
    TRY(next(reader));
    return skip_value(reader);
}

static struct status skip_message(struct text_reader *reader, char close)
{
    bool ignored;
    TRY(go_deeper(reader));
    while (!token_is(&reader->tokens, close)) {
        TRY(skip_field(reader));
        TRY(accept(reader, ',', &ignored));
        TRY(accept(reader, ';', &ignored));
    }
    reader->depth--;
    return next(reader);
}

static struct status skip_list(struct text_reader *reader)
{
    bool closed, more = true;
    TRY(go_deeper(reader));
    TRY(accept(reader, ']', &closed));
    while (!closed && more) {
        TRY(skip_value(reader));
        TRY(accept(reader, ',', &more));
    }
    reader->depth--;
    return closed ? status_ok() : expect(reader, ']');
}

/* Skips the optional ':' after a name, and one value or a list of values. */
static struct status skip_value(struct text_reader *reader)
{
    bool taken;
    TRY(accept(reader, ':', &taken));
    TRY(accept(reader, '[', &taken));
    if (taken)
        return skip_list(reader);
    TRY(accept(reader, '{', &taken));
    if (taken)
        return skip_message(reader, '}');
    TRY(accept(reader, '<', &taken));
    if (taken)
        return skip_message(reader, '>');
    TRY(accept(reader, '-', &taken));
    enum token_kind kind = reader->tokens.token.kind;
    if (kind == TOKEN_END || kind == TOKEN_CHARACTER)
        return ERROR(reader, "Expected a value, got: \"%.*s\"", TOKEN_TEXT(reader));
    TRY(next(reader));
    while (kind == TOKEN_STRING && reader->tokens.token.kind == TOKEN_STRING)
        TRY(next(reader));
    return status_ok();
}

/* Reads "[type.googleapis.com/tensorflow.X] { … }" from after the '['. */
static struct status read_any(struct text_reader *reader, Google__Protobuf__Any *any)
{
    const char *start = reader->tokens.token.text.data;
    while (!token_is(&reader->tokens, ']')) {
        if (reader->tokens.token.kind == TOKEN_END)
            return ERROR(reader, "Expected \"]\".");
        TRY(next(reader));
    }
    struct bytes url = { start, (size_t)(reader->tokens.token.text.data - start) };
    const ProtobufCMessageDescriptor *type = proto_type_find(url);
    if (type == NULL)
        return ERROR(reader, "Could not find type \"%.*s\" stored in google.protobuf.Any.",
                     (int)url.size, url.data);
    TRY(next(reader));
    bool ignored;
    TRY(accept(reader, ':', &ignored));
    ProtobufCMessage *held;
    TRY(read_message(reader, type, &held));

    struct buffer buffer = { 0 };
    proto_pack(held, &buffer);
    any->type_url = arena_memdup(reader->arena, url.data, url.size);
    any->value =
        (ProtobufCBinaryData){ buffer.size,
                               (uint8_t *)arena_memdup(reader->arena, buffer.data, buffer.size) };
    buffer_finish(&buffer);
    return status_ok();
}

/* Without presence, a value of zero is the same as none. */
static bool is_zero(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    static const char zeros[sizeof(ProtobufCBinaryData)];
    const char *member = (const char *)message + field->offset, *text;
    if (field->label != PROTOBUF_C_LABEL_NONE || (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF))
        return false;
    if (field->type == PROTOBUF_C_TYPE_BYTES)
        return ((const ProtobufCBinaryData *)(const void *)member)->len == 0;
    if (field->type != PROTOBUF_C_TYPE_STRING)
        return memcmp(member, zeros, proto_value_size(field->type)) == 0;
    memcpy(&text, member, sizeof text);
    return text[0] == '\0';
}

/* A singular field may appear once; `seen` tells for each field whether it was read. As in
 * protobuf, the last of several may follow zeros. */
static struct status check_once(struct text_reader *reader, const ProtobufCMessage *message,
                                const ProtobufCFieldDescriptor *field, bool *seen)
{
    unsigned index = (unsigned)(field - message->descriptor->fields);
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return status_ok();
    if (seen[index] && !is_zero(message, field))
        return ERROR(reader, "Non-repeated field \"%s\" is specified multiple times.", field->name);
    seen[index] = true;
    uint32_t chosen = 0;
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
        memcpy(&chosen, (const char *)message + field->quantifier_offset, sizeof chosen);
    if (chosen != 0)
        return ERROR(reader, "Field \"%s\" is specified along with another member of its oneof.",
                     field->name);
    return status_ok();
}

static struct status read_field(struct text_reader *reader, ProtobufCMessage *message, bool *seen)
{
    char name[256] = "";
    bool taken;
    if (message->descriptor == &google__protobuf__any__descriptor) {
        TRY(accept(reader, '[', &taken));
        if (taken)
            return read_any(reader, (Google__Protobuf__Any *)message);
    }
    if (reader->skip_unknown && token_is(&reader->tokens, '['))
        return skip_field(reader);
    if (reader->tokens.token.kind != TOKEN_NAME)
        return ERROR(reader, "Expected identifier, got: %.*s", TOKEN_TEXT(reader));
    const ProtobufCFieldDescriptor *field =
        token_copy(reader, name, sizeof name)
            ? protobuf_c_message_descriptor_get_field_by_name(message->descriptor, name)
            : NULL;
    if (field == NULL && !reader->skip_unknown)
        return ERROR(reader, "Message type \"%s\" has no field named \"%.*s\".",
                     message->descriptor->name, TOKEN_TEXT(reader));
    if (field == NULL)
        return skip_field(reader);
    TRY(check_once(reader, message, field, seen));
    TRY(next(reader));
    if (field->type == PROTOBUF_C_TYPE_MESSAGE)
        TRY(accept(reader, ':', &taken));
    else
        TRY(expect(reader, ':'));
    return read_values(reader, message, field);
}

/* Reads fields up to the closing character, which stays the current token; '\0' means the end. */
static struct status read_fields(struct text_reader *reader, ProtobufCMessage *message, char close)
{
    size_t fields = message->descriptor->n_fields;
    bool ignored;
    void *seen;
    TRY(arena_reserve(reader->arena, fields + 1, &seen));
    memset(seen, 0, fields);
    for (;;) {
        if (close != '\0' ? token_is(&reader->tokens, close)
                          : reader->tokens.token.kind == TOKEN_END)
            return status_ok();
        TRY(read_field(reader, message, seen));
        TRY(accept(reader, ',', &ignored));
        if (!ignored)
            TRY(accept(reader, ';', &ignored));
    }
}

struct status proto_text_read(const ProtobufCMessageDescriptor *descriptor, struct bytes text,
                              int flags, struct arena *arena, void *out)
{
    struct text_reader reader = { .arena = arena,
                                  .skip_unknown = (flags & PROTO_TEXT_SKIP_UNKNOWN) != 0,
                                  .checks_utf8 = (flags & PROTO_TEXT_CHECK_UTF8) != 0 };
    ProtobufCMessage *message;
    TRY(new_message(&reader, descriptor, &message));
    tokenizer_init(&reader.tokens, text);
    struct status status = next(&reader);
    if (status_is_ok(status))
        status = read_fields(&reader, message, '\0');
    if (!status_is_ok(status))
        return status_in(status, "Error parsing text-format %s", descriptor->name);
    memcpy(out, &message, sizeof message);
    return status_ok();
}
