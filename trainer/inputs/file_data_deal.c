/* file_data_deal: deals the columns of a table to the inputs of a model that has several. */
#include <inttypes.h>
#include <stdio.h>

#include "base/plural.h"
#include "trainer/inputs/file_data_internal.h"
#include "trainer/inputs/pad_rows.h"

enum dealt_kind { CATEGORIES, NUMBERS, DEALT_KINDS };

/* An input that no column is named after, and the columns dealt to it. */
struct dealt_columns {
    const struct training_feed *feed; /* NULL: the model has no such input */
    struct text_list names;
    int64_t width; /* the sum of the columns' values */
};

/* ---- the inputs ---- */

static bool is_integers(const struct training_feed *feed)
{
    return feed->spec.dtype == DT_INT64 || feed->spec.dtype == DT_INT32;
}

/* Is it an input, without a column of its name and without an entry in the schema's "inputs"? */
static bool has_no_column(const struct file_data_maker *maker, int feed)
{
    const struct training_feed *input = &maker->request->feeds[feed];

    return input->role == FEED_INPUT && !input->is_example && file_data_has_feed(maker, feed) &&
           schema_find(&maker->schema, input->spec.name) == NULL &&
           schema_find_input(&maker->schema, input->spec.name) == NULL;
}

/* May columns be dealt at all? A label without a column is the better error. */
static bool may_deal(const struct file_data_maker *maker)
{
    const struct file_data_request *request = maker->request;
    const struct text_list labels = file_data_label_columns(maker);
    int inputs = 0;

    for (int i = 0; i < request->feeds_count; i++)
        inputs += request->feeds[i].role == FEED_INPUT && file_data_has_feed(maker, i);
    for (int i = 0; i < labels.count && request->needs_labels; i++)
        if (schema_find(&maker->schema, labels.texts[i]) == NULL)
            return false;
    return inputs > 1 && !file_data_takes_raw_columns(request);
}

/* Finds at most one input of each kind; two are told apart by their columns' names only. */
static bool find_inputs(const struct file_data_maker *maker,
                        struct dealt_columns dealt[DEALT_KINDS])
{
    bool any = false;

    for (int i = 0; i < maker->request->feeds_count; i++) {
        const struct training_feed *feed = &maker->request->feeds[i];
        struct dealt_columns *columns = &dealt[is_integers(feed) ? CATEGORIES : NUMBERS];
        if (!has_no_column(maker, i) || feed->spec.layout != TENSOR_DENSE ||
            tensor_spec_row_size(&feed->spec) == 0 ||
            !(is_integers(feed) || dtype_is_floating(feed->spec.dtype)))
            continue;
        if (columns->feed != NULL)
            return false;
        columns->feed = feed;
        any = true;
    }
    return any;
}

/* ---- the columns ---- */

/* Is it an input's own, or in the schema's "inputs"? */
static bool is_taken(const struct file_data_maker *maker, const struct schema_column *column)
{
    const struct schema *schema = &maker->schema;

    for (int i = 0; i < maker->request->feeds_count; i++)
        if (strcmp(maker->request->feeds[i].spec.name, column->name) == 0)
            return true;
    for (int i = 0; i < schema->inputs_count; i++)
        for (int k = 0; k < schema->inputs[i].columns_count; k++)
            if (strcmp(schema->inputs[i].columns[k], column->name) == 0)
                return true;
    return false;
}

static enum dealt_kind find_kind(const struct schema_column *column, bool integers_are_categories)
{
    bool category =
        column->dtype == COLUMN_BYTES || column->classes != NULL || schema_categories(column) > 0 ||
        (integers_are_categories && column->dtype == COLUMN_INT64 && !schema_is_normalised(column));

    return category ? CATEGORIES : NUMBERS;
}

static void deal(const struct file_data_maker *maker, bool integers_are_categories,
                 struct dealt_columns dealt[DEALT_KINDS])
{
    const struct schema *schema = &maker->schema;
    const struct text_list labels = file_data_label_columns(maker);

    for (int k = 0; k < DEALT_KINDS; k++) {
        dealt[k].names.texts = ARENA_ARRAY(maker->arena, const char *, schema->count + 1);
        dealt[k].names.count = 0;
        dealt[k].width = 0;
    }
    for (int i = 0; i < schema->count; i++) {
        const struct schema_column *column = &schema->columns[i];
        struct dealt_columns *columns = &dealt[find_kind(column, integers_are_categories)];
        if (column->kind != SCHEMA_DENSE || !file_data_is_feature(maker, &labels, column) ||
            is_taken(maker, column))
            continue;
        columns->names.texts[columns->names.count++] = column->name;
        columns->width += column->width;
    }
}

static bool fits(const struct file_data_maker *maker, const struct dealt_columns *columns)
{
    return columns->feed == NULL ||
           (columns->width > 0 && (maker->request->any_width ||
                                   columns->width == tensor_spec_row_size(&columns->feed->spec)));
}

/* Of the columns of a text file, integers may be either: the widths of the inputs decide. */
static bool deal_fitting(const struct file_data_maker *maker,
                         struct dealt_columns dealt[DEALT_KINDS])
{
    for (int i = 0; i < 2; i++) {
        deal(maker, i == 1, dealt);
        if (fits(maker, &dealt[CATEGORIES]) && fits(maker, &dealt[NUMBERS]))
            return true;
    }
    deal(maker, false, dealt);
    return false;
}

/* ---- what is said ---- */

static void add_names(const struct text_list *names, const char *quote, int shown,
                      struct buffer *out)
{
    for (int i = 0; i < names->count && i < shown; i++)
        buffer_printf(out, "%s%s%s%s", i > 0 ? ", " : "", quote, names->texts[i], quote);
    buffer_append_text(out, names->count > shown ? ", …" : "");
}

/* Appends "inputs" as a schema has them. */
static void add_inputs(const struct dealt_columns dealt[DEALT_KINDS], struct buffer *out)
{
    bool first = true;

    buffer_append_text(out, "\"inputs\": {");
    for (int k = 0; k < DEALT_KINDS; k++) {
        if (dealt[k].feed == NULL)
            continue;
        buffer_printf(out, "%s\"%s\": [", first ? "" : ", ", dealt[k].feed->spec.name);
        add_names(&dealt[k].names, "\"", 3, out);
        buffer_append_char(out, ']');
        first = false;
    }
    buffer_append_char(out, '}');
}

static struct status explain_misfit(const struct dealt_columns dealt[DEALT_KINDS], bool any_width)
{
    static const char *const kinds[DEALT_KINDS] = { "categories (texts, or with hash_buckets)",
                                                    "numbers" };
    struct buffer text = { 0 };

    for (int k = 0; k < DEALT_KINDS; k++) {
        if (dealt[k].feed == NULL)
            continue;
        int64_t wanted = tensor_spec_row_size(&dealt[k].feed->spec);
        buffer_printf(&text, "%sthe model's '%s' takes ", text.size > 0 ? "; " : "",
                      dealt[k].feed->spec.name);
        if (any_width)
            buffer_append_text(&text, "any number of values");
        else
            buffer_printf(&text, "%" PRId64 " value%s per row", wanted, plural(wanted));
        buffer_printf(&text, ", and the data have %" PRId64 " of %s", dealt[k].width, kinds[k]);
        if (dealt[k].names.count > 0) {
            buffer_append_text(&text, ": ");
            add_names(&dealt[k].names, "'", 50, &text);
        }
    }
    buffer_append_text(&text, ". List the columns of each input in --schema: ");
    add_inputs(dealt, &text);
    if (!any_width)
        buffer_append_text(&text, ", or choose a model that takes any number of columns, such as "
                                  "--model=deepfm");
    struct status status = status_error(STATUS_INVALID_ARGUMENT, "%.*s", (int)text.size, text.data);
    buffer_finish(&text);
    return status;
}

/* Says which columns the inputs take, and which are left out. */
static void report(const struct file_data_maker *maker,
                   const struct dealt_columns dealt[DEALT_KINDS])
{
    const struct file_data_request *request = maker->request;
    struct buffer text = { 0 };

    buffer_append_text(&text, "no column is named after the model's inputs: as if --schema had ");
    add_inputs(dealt, &text);
    for (int k = 0; k < DEALT_KINDS; k++)
        if (dealt[k].feed == NULL && dealt[k].names.count > 0) {
            buffer_append_text(&text, "; left out: ");
            add_names(&dealt[k].names, "'", 50, &text);
        }
    buffer_append_char(&text, '\0');
    request->warn(request->context, text.data);
    buffer_finish(&text);
}

static bool has_kind(const struct schema *schema, enum schema_kind kind)
{
    for (int i = 0; i < schema->count; i++)
        if (schema->columns[i].kind == kind)
            return true;
    return false;
}

/* Models of tables do not take rows of any length, and the other way round. */
static struct status check_kinds(const struct file_data_maker *maker)
{
    const struct schema *schema = &maker->schema;
    bool sparse = has_kind(schema, SCHEMA_SPARSE), ragged = has_kind(schema, SCHEMA_RAGGED);

    for (int i = 0; i < maker->request->feeds_count; i++) {
        const struct training_feed *feed = &maker->request->feeds[i];
        bool lists = padded_step_size(&feed->spec) > 0;
        if (!has_no_column(maker, i) || feed->spec.layout != TENSOR_DENSE)
            continue;
        if (!lists && sparse)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "the model's '%s' takes columns of a table, but these rows are "
                                "indices and values of any number: choose a model with the inputs "
                                "'index' and 'value', such as --model=sparse_deepfm, or "
                                "--model=sparse_logistic",
                                feed->spec.name);
        if (lists && !sparse && !ragged)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "the model's '%s' takes a list of any length per row, such as the "
                                "indices of libsvm and libffm files, but these rows are a table: "
                                "choose a model of tables, such as --model=deepfm",
                                feed->spec.name);
    }
    return status_ok();
}

static void put_inputs(struct file_data_maker *maker, const struct dealt_columns dealt[DEALT_KINDS])
{
    struct schema *schema = &maker->schema;
    struct schema_input *inputs =
        ARENA_ARRAY(maker->arena, struct schema_input, schema->inputs_count + DEALT_KINDS);

    if (schema->inputs_count > 0)
        memcpy(inputs, schema->inputs, (size_t)schema->inputs_count * sizeof *inputs);
    for (int k = 0; k < DEALT_KINDS; k++)
        if (dealt[k].feed != NULL)
            inputs[schema->inputs_count++] =
                (struct schema_input){ .name = dealt[k].feed->spec.name,
                                       .columns = dealt[k].names.texts,
                                       .columns_count = dealt[k].names.count };
    schema->inputs = inputs;
}

struct status file_data_deal_columns(struct file_data_maker *maker)
{
    struct dealt_columns dealt[DEALT_KINDS] = { 0 };

    if (!may_deal(maker))
        return status_ok();
    bool found = find_inputs(maker, dealt);
    if (!found || !deal_fitting(maker, dealt)) {
        TRY(check_kinds(maker));
        return found ? explain_misfit(dealt, maker->request->any_width) : status_ok();
    }
    report(maker, dealt);
    put_inputs(maker, dealt);
    return status_ok();
}

/* ---- the buckets of texts ---- */

static bool is_plain_text(const struct schema_column *column)
{
    return column->dtype == COLUMN_BYTES && column->kind != SCHEMA_SPARSE &&
           column->classes == NULL && column->hash_buckets == 0;
}

/* Gives the column the rows of the table, unless it has fewer buckets from another one. */
static void give(const struct file_data_maker *maker, const char *name, int64_t table_rows,
                 struct schema_column *columns, int64_t *given)
{
    const struct schema_column *found = schema_find(&maker->schema, name);
    ptrdiff_t at = found != NULL ? found - maker->schema.columns : 0;

    if (found == NULL || !is_plain_text(found) || (given[at] > 0 && given[at] <= table_rows))
        return;
    given[at] = columns[at].hash_buckets = table_rows;
}

void file_data_give_buckets(struct file_data_maker *maker)
{
    const struct file_data_request *request = maker->request;
    struct schema *schema = &maker->schema;
    struct schema_column *columns =
        ARENA_ARRAY(maker->arena, struct schema_column, schema->count + 1);
    int64_t *given = ARENA_ARRAY(maker->arena, int64_t, schema->count + 1);

    if (schema->count > 0)
        memcpy(columns, schema->columns, (size_t)schema->count * sizeof *columns);
    for (int i = 0; i < request->feeds_count; i++) {
        const struct training_feed *feed = &request->feeds[i];
        if (feed->table_rows == 0 || !file_data_has_feed(maker, i))
            continue;
        const struct text_list names = file_data_columns_of(maker, feed);
        for (int n = 0; n < names.count; n++)
            give(maker, names.texts[n], feed->table_rows, columns, given);
    }
    schema->columns = columns;
}
