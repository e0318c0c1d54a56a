#include "proto/described.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/utf8.h"
#include "proto/descriptor.pb-c.h"
#include "proto/message.h"
#include "proto/text.h"
#include "proto/text_token.h"
#include "proto/types.h"

/* A field in the struct of a message: its quantifier (a flag or a count), then its value. */
#define SLOT_BYTES       24
#define SLOT_VALUE       8
#define FIRST_SLOT       ((sizeof(ProtobufCMessage) + 7) / 8 * 8)
#define NUMBER_MAX       0x1fffffff
#define NESTED_TYPES_MAX 100

/* reserved_flags of a field */
enum {
    FIELD_UTF8 = 1,     /* a string of proto3 */
    FIELD_NOT_ZERO = 2, /* a float of proto3: protobuf-c would leave out -0, too */
};

enum label { LABEL_OPTIONAL = 1, LABEL_REQUIRED = 2, LABEL_REPEATED = 3 };

typedef Google__Protobuf__FileDescriptorProto file_proto;
typedef Google__Protobuf__DescriptorProto message_proto;
typedef Google__Protobuf__FieldDescriptorProto field_proto;
typedef Google__Protobuf__EnumDescriptorProto enum_proto;

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

/* A message while the set is read. */
struct draft {
    struct described_message message;      /* first: the two have one address */
    ProtobufCMessageDescriptor descriptor; /* strings are bytes, because a string may hold NULs */
    const message_proto *proto;
    bool is_proto3;
    const field_proto **extensions; /* that extend it, with their full names */
    const char **extension_names;
    int extensions_count, extensions_capacity;
};

struct described_set {
    struct arena *arena;
    struct map messages; /* struct draft, by full name */
    struct map enums;    /* ProtobufCEnumDescriptor, by full name */
    bool has_groups;
};

static struct status invalid(const char *what, const char *name)
{
    return status_error(STATUS_INVALID_ARGUMENT, "Failed to load FileDescriptorProto: %s '%s'",
                        what, name != NULL ? name : "");
}

static const char *join(struct described_set *set, const char *scope, const char *name)
{
    return scope[0] == '\0' ? name : arena_printf(set->arena, "%s.%s", scope, name);
}

/* ---- first pass: the names ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const ProtobufCEnumValueIndex *)a)->name,
                  ((const ProtobufCEnumValueIndex *)b)->name);
}

static struct status add_enum(struct described_set *set, const char *scope, const enum_proto *proto)
{
    if (proto->name == NULL || proto->n_value == 0)
        return invalid("an enum without name or values in", scope);
    const char *name = join(set, scope, proto->name);
    ProtobufCEnumDescriptor *type = ARENA_NEW(set->arena, ProtobufCEnumDescriptor);
    ProtobufCEnumValue *values = ARENA_ARRAY(set->arena, ProtobufCEnumValue, proto->n_value);
    ProtobufCEnumValueIndex *by_name =
        ARENA_ARRAY(set->arena, ProtobufCEnumValueIndex, proto->n_value);
    for (size_t i = 0; i < proto->n_value; i++) {
        if (proto->value[i]->name == NULL)
            return invalid("a value without name in", name);
        values[i] = (ProtobufCEnumValue){ proto->value[i]->name, "", proto->value[i]->number };
        by_name[i] = (ProtobufCEnumValueIndex){ proto->value[i]->name, (unsigned)i };
    }
    qsort(by_name, proto->n_value, sizeof *by_name, compare_names);
    *type = (ProtobufCEnumDescriptor){ .magic = PROTOBUF_C__ENUM_DESCRIPTOR_MAGIC,
                                       .name = name,
                                       .n_values = (unsigned)proto->n_value,
                                       .values = values,
                                       .n_value_names = (unsigned)proto->n_value,
                                       .values_by_name = by_name };
    if (map_has(&set->enums, bytes_of(name)) || map_has(&set->messages, bytes_of(name)))
        return invalid("two definitions of", name);
    map_put_text(&set->enums, name, type);
    return status_ok();
}

static struct status add_enums(struct described_set *set, const char *scope, enum_proto **protos,
                               size_t count)
{
    for (size_t i = 0; i < count; i++)
        TRY(add_enum(set, scope, protos[i]));
    return status_ok();
}

static struct status add_message(struct described_set *set, const char *scope,
                                 const message_proto *proto, bool is_proto3, int depth)
{
    if (proto->name == NULL || depth > NESTED_TYPES_MAX)
        return invalid("a message without name, or too deep, in", scope);
    struct draft *draft = ARENA_NEW(set->arena, struct draft);
    draft->message.full_name = join(set, scope, proto->name);
    draft->proto = proto;
    draft->is_proto3 = is_proto3;
    if (map_has(&set->messages, bytes_of(draft->message.full_name)))
        return invalid("two definitions of", draft->message.full_name);
    map_put_text(&set->messages, draft->message.full_name, draft);
    TRY(add_enums(set, draft->message.full_name, proto->enum_type, proto->n_enum_type));
    for (size_t i = 0; i < proto->n_nested_type; i++)
        TRY(add_message(set, draft->message.full_name, proto->nested_type[i], is_proto3,
                        depth + 1));
    return status_ok();
}

/* ---- second pass: extensions go to the messages that they extend ---- */

/* ".a.B" or, seen from `scope`, "B": from the innermost scope that has it. */
static void *resolve(const struct map *map, const char *scope, const char *name)
{
    char text[1024];
    if (name == NULL)
        return NULL;
    if (name[0] == '.')
        return map_get_text(map, name + 1);
    for (size_t size = strlen(scope);;) {
        int written =
            snprintf(text, sizeof text, "%.*s%s%s", (int)size, scope, size > 0 ? "." : "", name);
        void *found = written > 0 && (size_t)written < sizeof text ? map_get_text(map, text) : NULL;
        if (found != NULL || size == 0)
            return found;
        while (size > 0 && scope[--size] != '.')
            ;
    }
}

static struct status add_extension(struct described_set *set, const char *scope,
                                   const field_proto *proto)
{
    struct draft *draft = resolve(&set->messages, scope, proto->extendee);
    if (proto->name == NULL || draft == NULL)
        return invalid("an extension of an unknown message", proto->extendee);
    if (draft->extensions_count == draft->extensions_capacity) {
        int capacity = draft->extensions_capacity = 2 * draft->extensions_count + 4;
        const field_proto **grown = ARENA_ARRAY(set->arena, const field_proto *, capacity);
        const char **names = ARENA_ARRAY(set->arena, const char *, capacity);
        for (int i = 0; i < draft->extensions_count; i++) {
            grown[i] = draft->extensions[i];
            names[i] = draft->extension_names[i];
        }
        draft->extensions = grown;
        draft->extension_names = names;
    }
    draft->extensions[draft->extensions_count] = proto;
    draft->extension_names[draft->extensions_count++] = join(set, scope, proto->name);
    return status_ok();
}

static struct status add_extensions(struct described_set *set, const char *scope,
                                    const message_proto *proto)
{
    const char *inner = join(set, scope, proto->name);
    for (size_t i = 0; i < proto->n_extension; i++)
        TRY(add_extension(set, inner, proto->extension[i]));
    for (size_t i = 0; i < proto->n_nested_type; i++)
        TRY(add_extensions(set, inner, proto->nested_type[i]));
    return status_ok();
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
    return right ? status_ok() : invalid("a wrong default of the field", field->name);
}

static bool is_packable(enum described_type type)
{
    return type != DESCRIBED_STRING && type != DESCRIBED_BYTES && type != DESCRIBED_MESSAGE &&
           type != DESCRIBED_GROUP;
}

/* Fills in the offsets of a field's value and of its presence flag in protobuf-c's struct. */
static struct status place_field(const struct draft *draft, const field_proto *proto, size_t index,
                                 ProtobufCFieldDescriptor *out)
{
    size_t fields = (size_t)draft->message.fields_count;
    bool in_oneof = proto->has_oneof_index && !proto->proto3_optional;
    size_t slot = in_oneof ? fields + (size_t)(uint32_t)proto->oneof_index : index;
    if (in_oneof &&
        (proto->oneof_index < 0 || (size_t)proto->oneof_index >= draft->proto->n_oneof_decl ||
         proto->label != LABEL_OPTIONAL))
        return invalid("a wrong oneof of the field", proto->name);
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

static struct status make_field(struct described_set *set, const struct draft *draft,
                                const field_proto *proto, const char *name, size_t index,
                                struct field_pair *out)
{
    const char *scope = draft->message.full_name;
    struct described_field *field = &out->field;
    if (proto->name == NULL || proto->type < DESCRIBED_DOUBLE || proto->type > DESCRIBED_SINT64 ||
        proto->label < LABEL_OPTIONAL || proto->label > LABEL_REPEATED || proto->number < 1 ||
        proto->number > NUMBER_MAX)
        return invalid("a wrong field of the message", scope);
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
        const struct draft *type = resolve(&set->messages, scope, proto->type_name);
        if (type == NULL)
            return invalid("an unknown message as the type of the field", name);
        out->descriptor.descriptor = &type->descriptor;
    } else if (field->type == DESCRIBED_ENUM) {
        out->descriptor.descriptor = values = resolve(&set->enums, scope, proto->type_name);
        if (values == NULL)
            return invalid("an unknown enum as the type of the field", name);
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

static struct status make_message(struct described_set *set, struct draft *draft)
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
            return invalid("two fields of one number in", draft->message.full_name);
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

/* ---- the set ---- */

static struct status add_file(struct described_set *set, const file_proto *file)
{
    bool is_proto3 = file->syntax != NULL && strcmp(file->syntax, "proto3") == 0;
    const char *package = file->package != NULL ? file->package : "";
    if (file->syntax != NULL && strcmp(file->syntax, "editions") == 0)
        return status_error(STATUS_UNIMPLEMENTED,
                            "the file '%s' of a FileDescriptorSet has an edition of protobuf",
                            file->name != NULL ? file->name : "");
    TRY(add_enums(set, package, file->enum_type, file->n_enum_type));
    for (size_t i = 0; i < file->n_message_type; i++)
        TRY(add_message(set, package, file->message_type[i], is_proto3, 0));
    return status_ok();
}

static struct status add_file_extensions(struct described_set *set, const file_proto *file)
{
    const char *package = file->package != NULL ? file->package : "";
    for (size_t i = 0; i < file->n_extension; i++)
        TRY(add_extension(set, package, file->extension[i]));
    for (size_t i = 0; i < file->n_message_type; i++)
        TRY(add_extensions(set, package, file->message_type[i]));
    return status_ok();
}

struct status described_set_read(struct bytes bytes, struct arena *arena,
                                 const struct described_set **out)
{
    struct described_set *set = ARENA_NEW(arena, struct described_set);
    Google__Protobuf__FileDescriptorSet *proto;
    set->arena = set->messages.arena = set->enums.arena = arena;
    TRY(proto_unpack(&google__protobuf__file_descriptor_set__descriptor, bytes, arena, &proto));
    for (size_t i = 0; i < proto->n_file; i++)
        TRY(add_file(set, proto->file[i]));
    for (size_t i = 0; i < proto->n_file; i++)
        TRY(add_file_extensions(set, proto->file[i]));
    for (size_t i = 0; i < set->messages.count; i++)
        TRY(make_message(set, set->messages.entries[i].value));
    for (size_t i = 0; i < set->messages.count; i++)
        ((struct draft *)set->messages.entries[i].value)->message.has_groups = set->has_groups;
    *out = set;
    return status_ok();
}

const struct described_message *described_message_find(const struct described_set *set,
                                                       struct bytes full_name)
{
    const struct draft *draft = map_get(&set->messages, full_name);
    return draft != NULL ? &draft->message : NULL;
}

const struct described_field *described_field_find(const struct described_message *message,
                                                   struct bytes name)
{
    const struct described_field *found = NULL;
    for (int i = 0; i < message->fields_count; i++) {
        const struct described_field *field = &message->fields[i];
        if (bytes_equal(name, bytes_of(field->name)) && (found == NULL || !field->is_extension))
            found = field;
    }
    return found;
}

/* ---- parsing and serializing ---- */

static bool settle(ProtobufCMessage *message);

static bool settle_value(const ProtobufCFieldDescriptor *field, const void *value)
{
    ProtobufCMessage *message;
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
        ProtobufCBinaryData text;
        memcpy(&text, value, sizeof text);
        return utf8_is_valid((struct bytes){ (const char *)text.data, text.len });
    }
    memcpy(&message, value, sizeof message);
    return message == NULL || settle(message);
}

static void leave_out_zero(const ProtobufCFieldDescriptor *field, ProtobufCMessage *message)
{
    static const char zero[sizeof(double)];
    const char *value = (const char *)message + field->offset;
    if (memcmp(value, zero, proto_value_size(field->type)) == 0)
        memset((char *)message + field->quantifier_offset, 0, sizeof(protobuf_c_boolean));
}

/* Leaves out floats of proto3 that are 0, which protobuf-c does not do. False: a string of
 * proto3 is not UTF-8. Recurses as deep as messages nest, which their parsers limit. */
static bool settle(ProtobufCMessage *message)
{
    bool right = true;
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        const char *value = (const char *)message + field->offset, *elements;
        size_t count = 1, size = proto_value_size(field->type);
        uint32_t chosen = field->id;
        if (field->reserved_flags & FIELD_NOT_ZERO)
            leave_out_zero(field, message);
        if (field->type != PROTOBUF_C_TYPE_MESSAGE && !(field->reserved_flags & FIELD_UTF8))
            continue;
        if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
            memcpy(&chosen, (const char *)message + field->quantifier_offset, sizeof chosen);
        if (chosen != field->id)
            continue;
        if (field->label == PROTOBUF_C_LABEL_REPEATED) {
            memcpy(&count, (const char *)message + field->quantifier_offset, sizeof count);
            memcpy(&elements, value, sizeof elements);
            value = elements;
        }
        for (size_t j = 0; j < count; j++)
            right = settle_value(field, value + j * size) && right;
    }
    return right;
}

static struct status unpack(const ProtobufCMessageDescriptor *type, enum described_format format,
                            struct bytes in, struct arena *arena, ProtobufCMessage **out)
{
    bool is_text = format == DESCRIBED_TEXT;
    struct status status =
        is_text ? proto_text_read(type, in, 0, arena, out) : proto_unpack(type, in, arena, out);
    if (status.code == STATUS_RESOURCE_EXHAUSTED || status.code == STATUS_CANCELLED)
        return status;
    if (!status_is_ok(status) || !protobuf_c_message_check(*out) || (!settle(*out) && !is_text))
        return status_error(STATUS_DATA_LOSS, "Unable to parse %s protobuf",
                            is_text ? "text" : "binary");
    return status_ok();
}

struct status described_reserialize(const struct described_message *message,
                                    enum described_format format, struct bytes in,
                                    struct arena *arena, struct bytes *out)
{
    const struct draft *draft = (const struct draft *)message;
    ProtobufCMessage *unpacked;
    void *packed;
    if (message->has_groups)
        return status_error(STATUS_UNIMPLEMENTED, "message type %s holds groups",
                            message->full_name);
    TRY(unpack(&draft->descriptor, format, in, arena, &unpacked));
    size_t size = protobuf_c_message_get_packed_size(unpacked);
    TRY(arena_reserve(arena, size + 1, &packed));
    protobuf_c_message_pack(unpacked, packed);
    *out = (struct bytes){ packed, size };
    return status_ok();
}
