#include "proto/described.h"

#include <stdio.h>
#include <stdlib.h>

#include "proto/described_internal.h"
#include "proto/message.h"

#define NESTED_TYPES_MAX 100

typedef Google__Protobuf__FileDescriptorProto file_proto;
typedef Google__Protobuf__EnumDescriptorProto enum_proto;

struct status described_invalid(const char *what, const char *name)
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
        return described_invalid("an enum without name or values in", scope);
    const char *name = join(set, scope, proto->name);
    ProtobufCEnumDescriptor *type = ARENA_NEW(set->arena, ProtobufCEnumDescriptor);
    ProtobufCEnumValue *values = ARENA_ARRAY(set->arena, ProtobufCEnumValue, proto->n_value);
    ProtobufCEnumValueIndex *by_name =
        ARENA_ARRAY(set->arena, ProtobufCEnumValueIndex, proto->n_value);
    for (size_t i = 0; i < proto->n_value; i++) {
        if (proto->value[i]->name == NULL)
            return described_invalid("a value without name in", name);
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
        return described_invalid("two definitions of", name);
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
        return described_invalid("a message without name, or too deep, in", scope);
    struct described_draft *draft = ARENA_NEW(set->arena, struct described_draft);
    draft->message.full_name = join(set, scope, proto->name);
    draft->proto = proto;
    draft->is_proto3 = is_proto3;
    if (map_has(&set->messages, bytes_of(draft->message.full_name)))
        return described_invalid("two definitions of", draft->message.full_name);
    map_put_text(&set->messages, draft->message.full_name, draft);
    TRY(add_enums(set, draft->message.full_name, proto->enum_type, proto->n_enum_type));
    for (size_t i = 0; i < proto->n_nested_type; i++)
        TRY(add_message(set, draft->message.full_name, proto->nested_type[i], is_proto3,
                        depth + 1));
    return status_ok();
}

/* ---- second pass: extensions go to the messages that they extend ---- */

void *described_resolve(const struct map *map, const char *scope, const char *name)
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
    struct described_draft *draft = described_resolve(&set->messages, scope, proto->extendee);
    if (proto->name == NULL || draft == NULL)
        return described_invalid("an extension of an unknown message", proto->extendee);
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
        TRY(described_make_fields(set, set->messages.entries[i].value));
    for (size_t i = 0; i < set->messages.count; i++)
        ((struct described_draft *)set->messages.entries[i].value)->message.has_groups =
            set->has_groups;
    *out = set;
    return status_ok();
}

const struct described_message *described_message_find(const struct described_set *set,
                                                       struct bytes full_name)
{
    const struct described_draft *draft = map_get(&set->messages, full_name);
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
