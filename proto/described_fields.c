/* The fields of described messages: their types, defaults and places in protobuf-c's structs. */
#include <errno.h>
#include <stdlib.h>

#include "proto/described_internal.h"
#include "proto/text_token.h"

/* A field in the struct of a message: its quantifier (a flag or a count), then its value. */
#define SLOT_BYTES 24
#define SLOT_VALUE 8
#define FIRST_SLOT ((sizeof(ProtobufCMessage) + 7) / 8 * 8)
#define NUMBER_MAX 0x1fffffff

enum label { LABEL_OPTIONAL = 1, LABEL_REQUIRED = 2, LABEL_REPEATED = 3 };

static const struct {
    const char *name, *cpp_name;
    ProtobufCType type;
} types[] = {
    [DESCRIBED_DOUBLE] = { "double", "double", PROTOBUF_C_TYPE_DOUBLE },
    [DESCRIBED_FLOAT] = { "float", "float", PROTOBUF_C_TYPE_FLOAT },
    [DESCRIBED_INT64] = { "int64", "int64", PROTOBUF_C_TYPE_INT64 },
    [DESCRIBED_UINT64] = { "uint64", "uint64", PROTOBUF_C_TYPE_UINT64 },
    [DESCRIBED_INT32] = { "int32", "int32", PROTOBUF_C_TYPE_INT32 },
    [DESCRIBED_FIXED64] = { "fixed64", "uint64", PROTOBUF_C_TYPE_FIXED64 },
    [DESCRIBED_FIXED32] = { "fixed32", "uint32", PROTOBUF_C_TYPE_FIXED32 },
    [DESCRIBED_BOOL] = { "bool", "bool", PROTOBUF_C_TYPE_BOOL },
    [DESCRIBED_STRING] = { "string", "string", PROTOBUF_C_TYPE_BYTES },
    [DESCRIBED_GROUP] = { "group", "message", PROTOBUF_C_TYPE_MESSAGE },
    [DESCRIBED_MESSAGE] = { "message", "message", PROTOBUF_C_TYPE_MESSAGE },
    [DESCRIBED_BYTES] = { "bytes", "string", PROTOBUF_C_TYPE_BYTES },
    [DESCRIBED_UINT32] = { "uint32", "uint32", PROTOBUF_C_TYPE_UINT32 },
    [DESCRIBED_ENUM] = { "enum", "enum", PROTOBUF_C_TYPE_ENUM },
    [DESCRIBED_SFIXED32] = { "sfixed32", "int32", PROTOBUF_C_TYPE_SFIXED32 },
    [DESCRIBED_SFIXED64] = { "sfixed64", "int64", PROTOBUF_C_TYPE_SFIXED64 },
    [DESCRIBED_SINT32] = { "sint32", "int32", PROTOBUF_C_TYPE_SINT32 },
    [DESCRIBED_SINT64] = { "sint64", "int64", PROTOBUF_C_TYPE_SINT64 },
};

const char *described_type_name(enum described_type type)
{
    return types[type].name;
}

const char *described_type_cpp_name(enum described_type type)
{
    return types[type].cpp_name;
}

/* ---- third pass: fields ---- */

/* Of bytes, the default is escaped as in C. */
static struct status unescape(struct described_set *set, struct bytes text, struct bytes *out)
{
    struct buffer quoted = { 0 }, plain = { 0 };
    struct tokenizer tokens;
    buffer_append_char(&quoted, '"');
    buffer_append(&quoted, text.data, text.size);
    buffer_append_char(&quoted, '"');
    tokenizer_init(&tokens, (struct bytes){ quoted.data, quoted.size });
    struct status status = tokenizer_next(&tokens);
    if (status_is_ok(status))
        status = token_string(&tokens, &plain);
    if (status_is_ok(status))
        *out = (struct bytes){ arena_memdup(set->arena, plain.data, plain.size), plain.size };
    buffer_finish(&quoted);
    buffer_finish(&plain);
    return status;
}

static bool read_integer(const char *text, bool is_signed, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = is_signed ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
    return errno == 0 && end != text && *end == '\0';
}

static struct status set_default(struct described_set *set, struct described_field *field,
                                 const ProtobufCEnumDescriptor *values, struct bytes text,
                                 bool is_given)
{
    const char *word = arena_memdup(set->arena, text.data, text.size);
    char *end;
    bool right = true;
    field->default_text = (struct bytes){ "", 0 };
    if (field->type == DESCRIBED_ENUM)
        field->default_integer = (uint64_t)(int64_t)values->values[0].value;
    if (!is_given)
        return status_ok();
    switch (field->type) {
    case DESCRIBED_STRING:
        field->default_text = (struct bytes){ word, text.size };
        break;
    case DESCRIBED_BYTES:
        return unescape(set, text, &field->default_text);
    case DESCRIBED_FLOAT:
    case DESCRIBED_DOUBLE:
        field->default_real = strtod(word, &end); /* "inf", "-inf" and "nan", too */
        right = end != word && *end == '\0';
        break;
    case DESCRIBED_BOOL:
        field->default_integer = strcmp(word, "true") == 0;
        break;
    case DESCRIBED_ENUM: {
        const ProtobufCEnumValue *value =
            protobuf_c_enum_descriptor_get_value_by_name(values, word);
        right = value != NULL;
        field->default_integer = right ? (uint64_t)(int64_t)value->value : 0;
        break;
    }
    case DESCRIBED_UINT32:
    case DESCRIBED_UINT64:
    case DESCRIBED_FIXED32:
    case DESCRIBED_FIXED64:
        right = read_integer(word, false, &field->default_integer);
        break;
    case DESCRIBED_MESSAGE:
    case DESCRIBED_GROUP:
        right = false;
        break;
    default:
        right = read_integer(word, true, &field->default_integer);
        break;
    }
    return right ? status_ok() : described_invalid("a wrong default of the field", field->name);
}

static bool is_packable(enum described_type type)
{
    return type != DESCRIBED_STRING && type != DESCRIBED_BYTES && type != DESCRIBED_MESSAGE &&
           type != DESCRIBED_GROUP;
}

/* Fills in the offsets of a field's value and of its presence flag in protobuf-c's struct. */
static struct status place_field(const struct described_draft *draft, const field_proto *proto,
                                 size_t index, ProtobufCFieldDescriptor *out)
{
    size_t fields = (size_t)draft->message.fields_count;
    bool in_oneof = proto->has_oneof_index && !proto->proto3_optional;
    size_t slot = in_oneof ? fields + (size_t)(uint32_t)proto->oneof_index : index;
    if (in_oneof &&
        (proto->oneof_index < 0 || (size_t)proto->oneof_index >= draft->proto->n_oneof_decl ||
         proto->label != LABEL_OPTIONAL))
        return described_invalid("a wrong oneof of the field", proto->name);
    out->quantifier_offset = (unsigned)(FIRST_SLOT + SLOT_BYTES * slot);
    out->offset = out->quantifier_offset + SLOT_VALUE;
    if (proto->label == LABEL_REPEATED) {
        out->label = PROTOBUF_C_LABEL_REPEATED;
    } else if (proto->label == LABEL_REQUIRED) {
        out->label = PROTOBUF_C_LABEL_REQUIRED;
        out->quantifier_offset = 0;
    } else if (in_oneof) {
        out->label = PROTOBUF_C_LABEL_OPTIONAL;
        out->flags |= PROTOBUF_C_FIELD_FLAG_ONEOF;
    } else if (out->type == PROTOBUF_C_TYPE_MESSAGE) {
        out->label = PROTOBUF_C_LABEL_OPTIONAL; /* a pointer: NULL tells */
        out->quantifier_offset = 0;
    } else {
        bool tells = !draft->is_proto3 || proto->proto3_optional || proto->extendee != NULL;
        bool is_real = out->type == PROTOBUF_C_TYPE_FLOAT || out->type == PROTOBUF_C_TYPE_DOUBLE;
        out->label = tells || is_real ? PROTOBUF_C_LABEL_OPTIONAL : PROTOBUF_C_LABEL_NONE;
        out->reserved_flags |= is_real && !tells ? FIELD_NOT_ZERO : 0;
    }
    return status_ok();
}

/* A field of a message, and its two descriptions. */
struct field_pair {
    struct described_field field;
    ProtobufCFieldDescriptor descriptor;
};

static struct status make_field(struct described_set *set, const struct described_draft *draft,
                                const field_proto *proto, const char *name, size_t index,
                                struct field_pair *out)
{
    const char *scope = draft->message.full_name;
    struct described_field *field = &out->field;
    if (proto->name == NULL || proto->type < DESCRIBED_DOUBLE || proto->type > DESCRIBED_SINT64 ||
        proto->label < LABEL_OPTIONAL || proto->label > LABEL_REPEATED || proto->number < 1 ||
        proto->number > NUMBER_MAX)
        return described_invalid("a wrong field of the message", scope);
    *field = (struct described_field){ .name = name,
                                       .number = (uint32_t)proto->number,
                                       .type = (enum described_type)proto->type,
                                       .is_repeated = proto->label == LABEL_REPEATED,
                                       .is_extension = proto->extendee != NULL };
    bool packs = proto->options != NULL && proto->options->has_packed;
    field->is_packed = field->is_repeated && is_packable(field->type) &&
                       (packs ? proto->options->packed : draft->is_proto3);
    out->descriptor = (ProtobufCFieldDescriptor){
        .name = name,
        .id = field->number,
        .type = types[field->type].type,
        .flags = field->is_packed ? PROTOBUF_C_FIELD_FLAG_PACKED : 0,
        .reserved_flags = field->type == DESCRIBED_STRING && draft->is_proto3 ? FIELD_UTF8 : 0,
    };
    const ProtobufCEnumDescriptor *values = NULL;
    if (field->type == DESCRIBED_MESSAGE || field->type == DESCRIBED_GROUP) {
        const struct described_draft *type =
            described_resolve(&set->messages, scope, proto->type_name);
        if (type == NULL)
            return described_invalid("an unknown message as the type of the field", name);
        out->descriptor.descriptor = &type->descriptor;
    } else if (field->type == DESCRIBED_ENUM) {
        out->descriptor.descriptor = values =
            described_resolve(&set->enums, scope, proto->type_name);
        if (values == NULL)
            return described_invalid("an unknown enum as the type of the field", name);
    }
    if (field->type == DESCRIBED_GROUP)
        set->has_groups = true;
    TRY(place_field(draft, proto, index, &out->descriptor));
    return set_default(
        set, field, values,
        (struct bytes){ (const char *)proto->default_value.data, proto->default_value.len },
        proto->has_default_value);
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = ((const struct field_pair *)a)->field.number;
    uint32_t y = ((const struct field_pair *)b)->field.number;
    return (x > y) - (x < y);
}

struct named {
    const char *name;
    unsigned index;
};

static int compare_named(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

/* protobuf-c finds a field by its number in ranges of numbers without a gap, and by its name in a
 * sorted list. */
static void index_fields(struct arena *arena, const ProtobufCFieldDescriptor *fields,
                         ProtobufCMessageDescriptor *out)
{
    unsigned count = out->n_fields, *sorted = ARENA_ARRAY(arena, unsigned, count + 1);
    ProtobufCIntRange *ranges = ARENA_ARRAY(arena, ProtobufCIntRange, count + 1);
    struct named *names = ARENA_ARRAY(arena, struct named, count + 1);
    out->field_ranges = ranges;
    for (unsigned i = 0; i < count; i++) {
        names[i] = (struct named){ fields[i].name, i };
        if (i == 0 || fields[i].id != fields[i - 1].id + 1)
            ranges[out->n_field_ranges++] = (ProtobufCIntRange){ (int)fields[i].id, i };
    }
    ranges[out->n_field_ranges] = (ProtobufCIntRange){ 0, count };
    qsort(names, count, sizeof *names, compare_named);
    for (unsigned i = 0; i < count; i++)
        sorted[i] = names[i].index;
    out->fields_sorted_by_name = sorted;
}

struct status described_make_fields(struct described_set *set, struct described_draft *draft)
{
    size_t own = draft->proto->n_field, count = own + (size_t)draft->extensions_count;
    struct field_pair *pairs = ARENA_ARRAY(set->arena, struct field_pair, count + 1);
    struct described_field *fields = ARENA_ARRAY(set->arena, struct described_field, count + 1);
    ProtobufCFieldDescriptor *described =
        ARENA_ARRAY(set->arena, ProtobufCFieldDescriptor, count + 1);
    draft->message.fields_count = (int)count;
    for (size_t i = 0; i < count; i++)
        TRY(i < own ? make_field(set, draft, draft->proto->field[i], draft->proto->field[i]->name,
                                 i, &pairs[i])
                    : make_field(set, draft, draft->extensions[i - own],
                                 draft->extension_names[i - own], i, &pairs[i]));
    qsort(pairs, count, sizeof *pairs, compare_numbers);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && pairs[i].field.number == pairs[i - 1].field.number)
            return described_invalid("two fields of one number in", draft->message.full_name);
        fields[i] = pairs[i].field;
        described[i] = pairs[i].descriptor;
    }
    draft->message.fields = fields;
    draft->descriptor = (ProtobufCMessageDescriptor){
        .magic = PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC,
        .name = draft->message.full_name,
        .sizeof_message = FIRST_SLOT + SLOT_BYTES * (count + draft->proto->n_oneof_decl),
        .n_fields = (unsigned)count,
        .fields = described,
    };
    index_fields(set->arena, described, &draft->descriptor);
    return status_ok();
}
