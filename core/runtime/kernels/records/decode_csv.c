/*
 * decode_csv: DecodeCSV, the fields of records of comma-separated values, a tensor for each column.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/arena.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/records/csv_fields.h"

#define INVALID(...) status_error(STATUS_INVALID_ARGUMENT, __VA_ARGS__)

struct csv_state {
    int columns; /* outputs */
    char delimiter;
    bool quotes;
    struct bytes missing; /* a field of this text has the default value, too */
    int chosen_count;     /* 0: all fields */
    int64_t *chosen;      /* [chosen_count] ascending */
};

#define FIELDS_PER_CHECK 4096 /* between two checks of the deadline */

/* One record while it is read. */
struct csv_record {
    const struct kernel_context *k;
    const struct csv_state *state;
    struct bytes text;
    size_t at;
    int64_t field;        /* read so far */
    struct bytes *fields; /* [columns] */
    int kept;             /* in fields; more than `columns` are only counted */
    char *characters;     /* room for quoted fields without their quotes */
};

static struct status csv_prepare(struct prepare_context *p)
{
    struct csv_state *state = prepare_state(p, sizeof *state, NULL);
    const struct node *node = prepare_node(p);
    const struct attr_value *types, *chosen;
    struct bytes delimiter;
    TRY(node_attr_list(node, "OUT_TYPE", &types));
    TRY(node_attr_string(node, "field_delim", &delimiter));
    TRY(node_attr_bool(node, "use_quote_delim", &state->quotes));
    TRY(node_attr_string(node, "na_value", &state->missing));
    TRY(node_attr_list(node, "select_cols", &chosen));
    state->columns = types->count;
    if (delimiter.size != 1)
        return INVALID("field_delim should be only 1 char");
    state->delimiter = delimiter.data[0];
    if (chosen->count > 0 && chosen->count != types->count)
        return INVALID("select_cols should match output size");
    state->chosen_count = chosen->count;
    state->chosen = ARENA_ARRAY(prepare_arena(p), int64_t, chosen->count);
    for (int i = 0; i < chosen->count; i++)
        state->chosen[i] = chosen->elements[i].i;
    return csv_check_columns("select_cols", chosen->count, state->chosen);
}

/* ---- the fields of a record ---- */

static bool is_chosen(const struct csv_record *record)
{
    const struct csv_state *state = record->state;
    return state->chosen_count == 0 || state->chosen[record->kept] == record->field;
}

static void keep(struct csv_record *record, const char *data, size_t size)
{
    if (record->kept < record->state->columns)
        record->fields[record->kept] = (struct bytes){ data, size };
    record->kept++;
}

static struct status read_plain(struct csv_record *record, struct bytes *out)
{
    const char *text = record->text.data;
    size_t begin = record->at;
    for (; record->at < record->text.size && text[record->at] != record->state->delimiter;
         record->at++) {
        char c = text[record->at];
        if ((record->state->quotes && c == '"') || c == '\n' || c == '\r')
            return INVALID("Unquoted fields cannot have quotes/CRLFs inside");
    }
    *out = (struct bytes){ text + begin, record->at - begin };
    record->at++;
    return status_ok();
}

/* The field ends with a quote before a delimiter or at the end; any other quote is doubled. */
static struct status read_quoted(struct csv_record *record, struct bytes *out)
{
    const char *text = record->text.data;
    size_t size = record->text.size, at = record->at + 1;
    char delimiter = record->state->delimiter, *to = record->characters;
    while (at < size - 1 && !(text[at] == '"' && text[at + 1] == delimiter)) {
        if (text[at] == '"' && text[at + 1] != '"')
            return INVALID("Quote inside a string has to be escaped by another quote");
        *to++ = text[at];
        at += text[at] == '"' ? 2 : 1;
    }
    if (at >= size || text[at] != '"' || (at < size - 1 && text[at + 1] != delimiter))
        return INVALID("Quoted field has to end with quote followed by delim or end");
    *out = (struct bytes){ record->characters, (size_t)(to - record->characters) };
    record->characters = to;
    record->at = at + 2;
    return status_ok();
}

static struct status read_record(struct csv_record *record)
{
    const struct csv_state *state = record->state;
    const char *text = record->text.data;
    struct bytes field;
    while (record->at < record->text.size) {
        if (text[record->at] == '\n' || text[record->at] == '\r') {
            record->at++;
            continue;
        }
        bool chosen = is_chosen(record);
        if (record->field % FIELDS_PER_CHECK == FIELDS_PER_CHECK - 1)
            TRY(kernel_check(record->k));
        if (state->quotes && text[record->at] == '"')
            TRY(read_quoted(record, &field));
        else
            TRY(read_plain(record, &field));
        record->field++;
        if (chosen)
            keep(record, field.data, field.size);
        if (chosen && record->kept == state->chosen_count)
            return status_ok();
    }
    if (record->text.size > 0 && is_chosen(record) &&
        text[record->text.size - 1] == state->delimiter)
        keep(record, "", 0);
    return status_ok();
}

/* ---- the values ---- */

static struct status decode_record(struct kernel_context *k, int64_t row, struct bytes *fields,
                                   struct tensor **outputs)
{
    struct csv_record record = { .k = k,
                                 .state = kernel_state(k),
                                 .text = tensor_strings(kernel_input(k, 0))[row],
                                 .fields = fields };
    void *characters = NULL;
    if (record.state->quotes && record.text.size > 0 &&
        memchr(record.text.data, '"', record.text.size) != NULL)
        TRY(arena_reserve(kernel_arena(k), record.text.size, &characters));
    record.characters = characters;
    TRY(read_record(&record));
    if (record.kept != record.state->columns)
        return INVALID("Expect %d fields but have %d in record %" PRId64, record.state->columns,
                       record.kept, row);
    char name[24];
    snprintf(name, sizeof name, " %" PRId64, row);
    for (int c = 0; c < record.state->columns; c++)
        TRY(csv_store(k, fields[c], record.state->missing, kernel_input(k, 1 + c), c, name,
                      outputs[c], row));
    return status_ok();
}

static struct status csv_compute(struct kernel_context *k)
{
    const struct csv_state *state = kernel_state(k);
    const struct tensor *records = kernel_input(k, 0);
    struct tensor **outputs = ARENA_ARRAY(kernel_arena(k), struct tensor *, state->columns);
    struct bytes *fields = ARENA_ARRAY(kernel_arena(k), struct bytes, state->columns);
    for (int c = 0; c < state->columns; c++)
        TRY(csv_check_default(kernel_input(k, 1 + c), c));
    for (int c = 0; c < state->columns; c++)
        TRY(kernel_output(k, c, &records->shape, &outputs[c]));
    for (int64_t row = 0; row < records->size; row++) {
        if (row % 1024 == 0)
            TRY(kernel_check(k));
        TRY(decode_record(k, row, fields, outputs));
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "DecodeCSV", DTYPES_ALL, .prepare = csv_prepare, .compute = csv_compute },
};
const struct kernel_table kernels_decode_csv = { rows, COUNT(rows) };
