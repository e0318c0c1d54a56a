#include "trainer/records/example_records.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/container.h"
#include "base/crc32c.h"
#include "storage/example_wire.h"
#include "storage/tfrecord.h"

#define LISTED_RECORDS 1000 /* number of records searched for the names of features */

struct example_reader {
    struct record_reader reader;
    struct tfrecord_reader *records;
    uint64_t record;       /* number of the next one, from 0 */
    struct buffer entries; /* struct example_entry of one Example, or of a sequence's context */
    struct buffer lists;   /* the same for a sequence's FeatureLists */
    struct bytes *found;   /* [columns]: the feature of each; data is NULL if there is none */
    bool *is_list;         /* [columns]: `found` is a FeatureList */
    struct bytes *names;   /* [columns] */
    int record_column;     /* index of RECORD_COLUMN; -1: not requested */
    int *places;           /* [places_count]: the columns of the last Example's entries, or -1 */
    size_t places_count;
    struct buffer texts; /* struct bytes of one feature */
};

static struct example_reader *reader_of(struct record_reader *reader)
{
    return CONTAINER_OF(reader, struct example_reader, reader);
}

static enum dtype dtype_of(enum column_kind kind)
{
    return kind == COLUMN_FLOAT ? DT_FLOAT : kind == COLUMN_INT64 ? DT_INT64 : DT_STRING;
}

static const char *kind_name(enum dtype dtype)
{
    return dtype == DT_FLOAT ? "floats" : dtype == DT_INT64 ? "int64s" : "bytes";
}

/* ---- one Example ---- */

/* Writers put the features of all Examples in the same order, so the key's previous position is
 * tried first. */
static int find_place(struct example_reader *reader, const struct columns *columns, size_t entry,
                      struct bytes key)
{
    if (entry >= reader->places_count) {
        reader->places = xrealloc(reader->places, (entry + 1) * sizeof *reader->places);
        for (; reader->places_count <= entry; reader->places_count++)
            reader->places[reader->places_count] = -1;
    }
    int *place = &reader->places[entry];
    if (*place >= 0 && bytes_equal(reader->names[*place], key))
        return *place;
    struct column *column = columns_find(columns, key);
    return column == NULL ? -1 : (*place = (int)(column - columns->list));
}

static void find_columns(struct example_reader *reader, const struct buffer *buffer,
                         const struct columns *columns, bool lists)
{
    const struct example_entry *entries = (const struct example_entry *)(const void *)buffer->data;

    for (size_t i = 0; i < buffer->size / sizeof *entries; i++) {
        int place = find_place(reader, columns, i, entries[i].key);
        if (place < 0 || place == reader->record_column || entries[i].feature.size == 0)
            continue;
        reader->found[place] = entries[i].feature;
        reader->is_list[place] = lists;
    }
}

static struct status find_features(struct example_reader *reader, struct bytes example,
                                   const struct columns *columns)
{
    reader->entries.size = reader->lists.size = 0;
    memset(reader->found, 0, (size_t)columns->count * sizeof *reader->found);
    if (!sequence_wire_entries(example, &reader->entries, &reader->lists))
        return status_error(STATUS_DATA_LOSS, "not a tf.Example or tf.SequenceExample");
    find_columns(reader, &reader->entries, columns, false);
    find_columns(reader, &reader->lists, columns, true);
    return status_ok();
}

static bool add_texts(struct example_reader *reader, struct bytes feature, size_t bound,
                      struct column *column)
{
    size_t count = 0;

    reader->texts.size = 0;
    buffer_reserve(&reader->texts, bound * sizeof(struct bytes));
    struct bytes *texts = (struct bytes *)(void *)reader->texts.data;
    if (!example_wire_list(feature, DT_STRING, texts, bound, &count))
        return false;
    for (size_t i = 0; i < count; i++)
        column_add_bytes(column, texts[i]);
    return true;
}

static bool add_numbers(struct bytes feature, enum dtype dtype, size_t bound, struct column *column)
{
    size_t count = 0;

    column_reserve(column, bound);
    void *out = column->kind == COLUMN_FLOAT ? (void *)(column->floats + column->count)
                                             : (void *)(column->ints + column->count);
    if (!example_wire_list(feature, dtype, out, bound, &count) || count > bound)
        return false;
    column->count += count;
    return true;
}

static struct status add_feature(struct example_reader *reader, struct bytes feature,
                                 struct column *column)
{
    enum dtype dtype, wanted = dtype_of(column->kind);

    if (!example_wire_dtype(feature, &dtype))
        return status_error(STATUS_DATA_LOSS, "feature '%s' is damaged", column->name);
    if (dtype != wanted)
        return status_error(STATUS_INVALID_ARGUMENT, "feature '%s' holds %s, not %s", column->name,
                            kind_name(dtype), kind_name(wanted));
    size_t bound = example_wire_bound(feature, dtype);
    if (dtype == DT_STRING ? add_texts(reader, feature, bound, column)
                           : add_numbers(feature, dtype, bound, column))
        return status_ok();
    return status_error(STATUS_DATA_LOSS, "feature '%s' is damaged", column->name);
}

/* Adds the values of all features of a FeatureList, concatenated. */
static struct status add_list(struct example_reader *reader, struct bytes list,
                              struct column *column)
{
    struct bytes feature = { 0 };
    bool found = true;

    while (found) {
        if (!sequence_wire_next(&list, &feature, &found))
            return status_error(STATUS_DATA_LOSS, "feature list '%s' is damaged", column->name);
        if (found && feature.size > 0)
            TRY(status_in(add_feature(reader, feature, column), "feature list"));
    }
    return status_ok();
}

static struct status add_example(struct example_reader *reader, struct bytes example,
                                 struct columns *columns)
{
    TRY(find_features(reader, example, columns));
    for (int i = 0; i < columns->count; i++)
        if (reader->found[i].data != NULL)
            TRY(reader->is_list[i] ? add_list(reader, reader->found[i], &columns->list[i])
                                   : add_feature(reader, reader->found[i], &columns->list[i]));
    if (reader->record_column >= 0)
        column_add_bytes(&columns->list[reader->record_column], example);
    return status_ok();
}

/* ---- the file ---- */

static struct status example_read(struct record_reader *base, size_t rows_max,
                                  struct columns *columns, struct status *bad)
{
    struct example_reader *reader = reader_of(base);
    struct bytes example;
    bool found;

    for (size_t i = 0; i < rows_max; i++) {
        uint64_t offset = tfrecord_reader_offset(reader->records);
        struct status status = tfrecord_reader_next(reader->records, &example, &found);
        if (!status_is_ok(status) && !tfrecord_reader_can_continue(reader->records))
            return status;
        if (status_is_ok(status) && !found)
            return tfrecord_reader_check_end(reader->records);
        if (status_is_ok(status))
            status = add_example(reader, example, columns);
        base->place = reader->record++;
        if (!status_is_ok(status)) {
            columns_drop_row(columns);
            *bad = status_in(status, "offset %llu", (unsigned long long)offset);
            return status_ok();
        }
        columns_end_row(columns);
    }
    return status_ok();
}

static struct status example_skip(struct record_reader *base, bool *found)
{
    struct example_reader *reader = reader_of(base);
    struct bytes example;
    bool more = false;

    struct status status = tfrecord_reader_next(reader->records, &example, &more);
    if (!status_is_ok(status) && !tfrecord_reader_can_continue(reader->records))
        return status;
    *found = more || !status_is_ok(status);
    if (*found)
        base->place = reader->record++;
    base->skipped_bytes = more ? example.size : 0;
    return *found ? status_ok() : tfrecord_reader_check_end(reader->records);
}

static void example_close(struct record_reader *base)
{
    struct example_reader *reader = reader_of(base);

    tfrecord_reader_close(reader->records);
    buffer_finish(&reader->entries);
    buffer_finish(&reader->lists);
    buffer_finish(&reader->texts);
    free(reader->found);
    free(reader->is_list);
    free(reader->names);
    free(reader->places);
    free(reader);
}

static struct status example_open(const char *path, const struct record_options *options,
                                  const struct columns *columns, struct record_reader **out)
{
    struct example_reader *reader = zalloc(sizeof *reader);

    (void)options;
    reader->found = zalloc(((size_t)columns->count + 1) * sizeof *reader->found);
    reader->is_list = zalloc(((size_t)columns->count + 1) * sizeof *reader->is_list);
    reader->names = zalloc(((size_t)columns->count + 1) * sizeof *reader->names);
    reader->record_column = -1;
    for (int i = 0; i < columns->count; i++) {
        reader->names[i] = bytes_of(columns->list[i].name);
        if (strcmp(columns->list[i].name, RECORD_COLUMN) == 0)
            reader->record_column = i;
    }
    struct status status = tfrecord_reader_open(path, TFRECORD_DETECT, &reader->records);
    if (!status_is_ok(status)) {
        example_close(&reader->reader);
        return status;
    }
    *out = &reader->reader;
    return status_ok();
}

/* ---- the names of the features ---- */

static enum column_kind column_kind_of(enum dtype dtype)
{
    return dtype == DT_FLOAT ? COLUMN_FLOAT : dtype == DT_INT64 ? COLUMN_INT64 : COLUMN_BYTES;
}

/* The first Feature of a FeatureList that has a kind; empty: none. */
static struct bytes first_feature(struct bytes list)
{
    struct bytes feature = { 0 };
    bool found = true;

    while (found && feature.size == 0)
        if (!sequence_wire_next(&list, &feature, &found))
            return (struct bytes){ 0 };
    return feature;
}

/* Adds the features that are missing in the list of struct record_field. `lists`: the entries
 * are FeatureLists. */
static void list_features(const struct buffer *entries, bool lists, struct arena *arena,
                          struct buffer *fields)
{
    const struct example_entry *entry = (const struct example_entry *)(const void *)entries->data;

    for (size_t i = 0; i < entries->size / sizeof *entry; i++) {
        struct record_field *known = (struct record_field *)(void *)fields->data;
        size_t count = fields->size / sizeof *known, k = 0;
        enum dtype dtype;
        struct bytes feature = lists ? first_feature(entry[i].feature) : entry[i].feature;
        if (!example_wire_dtype(feature, &dtype) || dtype == DT_INVALID)
            continue;
        while (k < count && !bytes_equal(bytes_of(known[k].name), entry[i].key))
            k++;
        if (k < count)
            continue;
        struct record_field field = { .name =
                                          arena_memdup(arena, entry[i].key.data, entry[i].key.size),
                                      .kind = column_kind_of(dtype) };
        buffer_append(fields, &field, sizeof field);
    }
}

static int compare_fields(const void *a, const void *b)
{
    return strcmp(((const struct record_field *)a)->name, ((const struct record_field *)b)->name);
}

/* Sorts by name, because a map in an Example has any order. */
static struct record_fields sorted_fields(const struct buffer *fields, struct arena *arena)
{
    int count = (int)(fields->size / sizeof(struct record_field));
    struct record_field *list = ARENA_ARRAY(arena, struct record_field, count + 1);

    if (count > 0)
        memcpy(list, fields->data, fields->size);
    qsort(list, (size_t)count, sizeof *list, compare_fields);
    return (struct record_fields){ .list = list, .count = count };
}

static struct status example_list(const char *path, const struct record_options *options,
                                  struct arena *arena, struct record_fields *out)
{
    struct buffer fields = { 0 }, entries = { 0 }, lists = { 0 };
    struct tfrecord_reader *records = NULL;
    struct bytes example;
    bool found = true;
    struct status status;

    (void)options;
    TRY(tfrecord_reader_open(path, TFRECORD_DETECT, &records));
    for (int i = 0; i < LISTED_RECORDS; i++) {
        TRY_OR(done, tfrecord_reader_next(records, &example, &found));
        if (!found)
            break;
        entries.size = lists.size = 0;
        if (!sequence_wire_entries(example, &entries, &lists)) {
            status = status_error(STATUS_INVALID_ARGUMENT,
                                  "record %d is not a tf.Example or tf.SequenceExample", i);
            goto done;
        }
        list_features(&entries, false, arena, &fields);
        list_features(&lists, true, arena, &fields);
    }
    *out = sorted_fields(&fields, arena);
done:
    tfrecord_reader_close(records);
    buffer_finish(&fields);
    buffer_finish(&entries);
    buffer_finish(&lists);
    return status;
}

/* A compressed file may contain anything. */
static bool tfrecord_recognises(struct bytes start)
{
    return start.size >= 12 && crc32c_unmask(get_u32le(start.data + 8)) == crc32c(0, start.data, 8);
}

const struct record_format tfrecord_format = { .name = "tfrecord",
                                               .suffixes = ".tfrecord .tfrecords .tfrec",
                                               .recognises = tfrecord_recognises,
                                               .open = example_open,
                                               .read = example_read,
                                               .skip = example_skip,
                                               .close = example_close,
                                               .place = "record",
                                               .list = example_list };
