/* file_data_feeds: maps columns to feeds. */
#include <inttypes.h>
#include <stdio.h>

#include "base/map.h"
#include "trainer/inputs/file_data_internal.h"
#include "trainer/inputs/pad_rows.h"
#include "trainer/records/image_records.h"

static int count_feeds(const struct file_data_request *request, enum feed_role role)
{
    int count = 0;

    for (int i = 0; i < request->feeds_count; i++)
        count += request->feeds[i].role == role;
    return count;
}

struct text_list file_data_label_columns(const struct file_data_maker *maker)
{
    const struct file_data_request *request = maker->request;
    const char *names = maker->request->flags->label_column;
    struct text_list list = { .texts = ARENA_ARRAY(maker->arena, const char *,
                                                   request->feeds_count + 1) };

    if (count_feeds(request, FEED_LABEL) <= 1)
        return file_data_split_names(*names != '\0' ? names : "label", maker->arena);
    for (int i = 0; i < request->feeds_count; i++)
        if (request->feeds[i].role == FEED_LABEL)
            list.texts[list.count++] = request->feeds[i].spec.name;
    return list;
}

/* Does the loss read this column besides the labels? */
static bool is_of_loss(const struct file_data_request *request, const char *name)
{
    for (int i = 0; i < request->feeds_count; i++)
        if (request->feeds[i].role == FEED_COLUMN && strcmp(request->feeds[i].spec.name, name) == 0)
            return true;
    return false;
}

static bool is_in(const struct text_list *list, const char *text)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->texts[i], text) == 0)
            return true;
    return false;
}

/* May the rows of this input, labels or weights have varying numbers of values, as in a ragged
 * column? */
static bool takes_lists(const struct training_feed *feed)
{
    return feed->role != FEED_COLUMN && padded_step_size(&feed->spec) > 0;
}

/* Only feeds whose rows may vary in length take ragged columns. */
static bool may_feed(const struct schema_column *column, const struct training_feed *feed)
{
    enum column_kind dtype = feed->spec.dtype == DT_FLOAT ? COLUMN_FLOAT : COLUMN_INT64;
    bool hashed = column->hash_buckets > 0 && dtype == COLUMN_INT64;

    if (takes_lists(feed) && column->kind == SCHEMA_RAGGED)
        return column->dtype == dtype || hashed;
    if (feed->spec.layout != TENSOR_RAGGED)
        return column->kind != SCHEMA_RAGGED || column->hash_buckets > 0;
    if (feed->spec.dtype == DT_STRING)
        return column->kind == SCHEMA_RAGGED && column->dtype == COLUMN_BYTES;
    return column->kind == SCHEMA_RAGGED && (column->dtype == dtype || hashed);
}

static void report_left_out(const struct file_data_maker *maker, const struct schema_column *column,
                            const struct training_feed *feed)
{
    const struct file_data_request *request = maker->request;
    char text[512];

    snprintf(text, sizeof text, "column '%s' is left out: the model's '%s' is %s", column->name,
             feed->spec.name, tensor_spec_text(&feed->spec));
    request->warn(request->context, text);
}

/* A column without a name, such as the index that pandas writes, is no feature. */
bool file_data_is_feature(const struct file_data_maker *maker, const struct text_list *labels,
                          const struct schema_column *column)
{
    return !is_in(labels, column->name) && !is_of_loss(maker->request, column->name) &&
           strcmp(column->name, maker->request->flags->weight_column) != 0 &&
           *column->name != '\0' &&
           !(has_id(maker->request) && strcmp(column->name, maker->request->id_column) == 0);
}

/* All columns except those of the loss and the weight that the feed can take. */
static struct text_list other_columns(const struct file_data_maker *maker,
                                      const struct training_feed *feed)
{
    const struct schema *schema = &maker->schema;
    struct text_list list = { .texts = ARENA_ARRAY(maker->arena, const char *, schema->count + 1) };

    const struct text_list labels = file_data_label_columns(maker);

    for (int i = 0; i < schema->count; i++) {
        const struct schema_column *column = &schema->columns[i];
        if (!file_data_is_feature(maker, &labels, column))
            continue;
        if (may_feed(column, feed))
            list.texts[list.count++] = column->name;
        else
            report_left_out(maker, column, feed);
    }
    return list;
}

/* Does the feed take the columns of its name, or those that the schema lists for it? */
static bool is_by_name(const struct file_data_maker *maker, const struct training_feed *feed)
{
    return feed->is_example || feed->raw == RAW_COLUMN || feed->role == FEED_COLUMN ||
           count_feeds(maker->request, feed->role) > 1 ||
           (feed->role == FEED_INPUT && schema_find_input(&maker->schema, feed->spec.name) != NULL);
}

/* The flag that chooses the columns of a feed. In predictions, a label or an id is often the one
 * too many. */
static const char *flag_of(const struct file_data_maker *maker, const struct training_feed *feed)
{
    const struct file_data_request *request = maker->request;

    if (is_by_name(maker, feed))
        return request->files_flag;
    if (feed->role == FEED_INPUT)
        return request->id_column != NULL && !has_id(request)
                   ? "feature_columns, --label_column, --id_column"
                   : "feature_columns";
    return feed->role == FEED_LABEL ? "label_column" : "weight_column";
}

struct text_list file_data_columns_of(const struct file_data_maker *maker,
                                      const struct training_feed *feed)
{
    const struct flag_values *flags = maker->request->flags;
    struct text_list one = { .texts = ARENA_ARRAY(maker->arena, const char *, 1), .count = 1 };

    if (feed->is_example) {
        one.texts[0] = RECORD_COLUMN;
        return one;
    }
    const struct schema_input *input =
        feed->role == FEED_INPUT ? schema_find_input(&maker->schema, feed->spec.name) : NULL;

    if (input != NULL)
        return (struct text_list){ input->columns, input->columns_count };
    if (is_by_name(maker, feed)) {
        one.texts[0] = feed->spec.name;
        return one;
    }
    if (feed->role == FEED_LABEL)
        return file_data_label_columns(maker);
    if (feed->role == FEED_WEIGHT) {
        one.texts[0] = flags->weight_column;
        return one;
    }
    return *flags->feature_columns != '\0'
               ? file_data_split_names(flags->feature_columns, maker->arena)
               : other_columns(maker, feed);
}

/* NULL has none: row_layout_make names the column that is missing. */
static int64_t column_width(const struct schema_column *column, enum dtype dtype)
{
    if (column == NULL)
        return 0;
    return schema_categories(column) > 0 && dtype_is_floating(dtype) ? schema_categories(column)
                                                                     : column->width;
}

/* The sum of the widths; those of columns without one, which take what others leave, are 0. */
static int64_t width_of(const struct file_data_maker *maker, const struct text_list *names,
                        enum dtype dtype)
{
    int64_t sum = 0;

    for (int i = 0, next = 0; i < names->count; i++)
        sum += column_width(schema_find_next(&maker->schema, names->texts[i], &next), dtype);
    return sum;
}

/* Sets an open dimension to what the columns leave for it. */
static struct status fit_shape(const struct file_data_maker *maker, const struct text_list *names,
                               struct tensor_spec *spec)
{
    struct shape *shape = &spec->shape;
    int64_t width = width_of(maker, names, spec->dtype), known = 1;
    int open = 0, which = 0;

    for (int d = 1; d < shape->rank; d++)
        if (shape->dims[d] < 0) {
            open++;
            which = d;
        } else {
            known *= shape->dims[d];
        }
    if (open == 0)
        return status_ok();
    if (open == 1 && known > 0 && width > 0 && width % known == 0) {
        shape->dims[which] = width / known;
        return status_ok();
    }
    return status_error(STATUS_INVALID_ARGUMENT,
                        "the model's '%s' is %s, and the %" PRId64 " values per row that the "
                        "columns have do not tell its open dimensions",
                        spec->name, tensor_spec_text(spec), width);
}

/* Takes the open dimensions from the shape of a single column, if the ranks match; one-hot
 * classes have one more. */
static void take_shape(const struct schema_column *only, const struct training_feed *feed,
                       struct tensor_spec *spec)
{
    const struct shape *given = &only->shape;
    int rank = given->rank;
    bool hot =
        rank == spec->shape.rank && feed->classes > 1 && given->dims[rank - 1] == feed->classes;

    for (int d = 1; rank - hot == spec->shape.rank - 1 && d < spec->shape.rank; d++)
        if (spec->shape.dims[d] < 0)
            spec->shape.dims[d] = given->dims[d - 1];
}

/* Does a column of one weight per row weight all steps of it? */
static bool weighs_rows(const struct file_data_maker *maker, const struct training_feed *feed,
                        const struct text_list *names)
{
    return feed->role == FEED_WEIGHT && width_of(maker, names, DT_FLOAT) == 1;
}

/* The data decide the dimensions that the model leaves open for an input, labels or weights. */
static struct status decide_shape(const struct file_data_maker *maker,
                                  const struct training_feed *feed, const struct text_list *names,
                                  struct tensor_spec *spec)
{
    const struct record_options *records = &maker->records;
    const struct schema_column *only =
        names->count == 1 ? schema_find(&maker->schema, names->texts[0]) : NULL;

    if (weighs_rows(maker, feed, names))
        for (int d = 1; d < spec->shape.rank; d++)
            spec->shape.dims[d] = 1;
    if (feed->role == FEED_COLUMN || spec->layout != TENSOR_DENSE ||
        tensor_spec_row_size(spec) != 0)
        return status_ok();
    if (takes_lists(feed) && only != NULL && only->kind == SCHEMA_RAGGED) {
        spec->layout = TENSOR_RAGGED; /* the feeder pads */
        spec->shape = shape_of(-1, -1);
        spec->dtype = spec->dtype == DT_FLOAT ? DT_FLOAT : DT_INT64;
        return status_ok();
    }
    if (file_data_is_of_format(maker, maker->first_file, &image_format) && spec->shape.rank >= 3) {
        spec->shape.dims[1] = records->image_height;
        spec->shape.dims[2] = records->image_width;
        if (spec->shape.rank == 4)
            spec->shape.dims[3] = records->image_channels;
    }
    if (only != NULL && only->kind == SCHEMA_DENSE)
        take_shape(only, feed, spec);
    return fit_shape(maker, names, spec);
}

/* Sets the width of an input that takes any, unless a column has none. */
static void take_width(const struct file_data_maker *maker, const struct text_list *names,
                       struct tensor_spec *spec)
{
    bool all = true;

    for (int i = 0, next = 0; i < names->count && all; i++)
        all =
            column_width(schema_find_next(&maker->schema, names->texts[i], &next), spec->dtype) > 0;
    if (all && names->count > 0)
        spec->shape.dims[1] = width_of(maker, names, spec->dtype);
}

static bool is_made_of_columns(const struct tensor_spec *spec)
{
    bool number = ((DTYPES_REAL | DTYPES(DT_BOOL)) & DTYPES(spec->dtype)) != 0;

    if (spec->layout == TENSOR_RAGGED)
        return spec->shape.rank == 2 &&
               (spec->dtype == DT_FLOAT || spec->dtype == DT_INT64 || spec->dtype == DT_STRING);
    if (spec->layout == TENSOR_SPARSE)
        return spec->shape.rank == 2 && spec->dtype == DT_FLOAT;
    return tensor_spec_row_size(spec) != 0 && (number || spec->dtype == DT_STRING);
}

/* Do the columns have a float for each class of each step? Whole numbers are one-hot classes. */
static bool gives_shares(const struct file_data_maker *maker, const struct training_feed *feed,
                         const struct text_list *names)
{
    int64_t steps = tensor_spec_row_size(&feed->spec), classes = feed->classes;
    int rank = feed->spec.shape.rank;
    bool floats = false, shaped = false;

    for (int i = 0, next = 0; i < names->count; i++) {
        const struct schema_column *column =
            schema_find_next(&maker->schema, names->texts[i], &next);
        if (column == NULL || column->kind != SCHEMA_DENSE || column->classes != NULL ||
            schema_categories(column) > 0)
            return false;
        floats |= column->dtype == COLUMN_FLOAT;
        shaped = names->count == 1 && column->shape.rank == rank &&
                 column->shape.dims[rank - 1] == classes;
    }
    if (!feed->takes_shares || !floats)
        return false;
    return steps > 0 ? width_of(maker, names, DT_FLOAT) == steps * classes : shaped;
}

/* The feed of labels that are shares of the classes. */
static struct training_feed share_feed(const struct training_feed *feed)
{
    struct training_feed shares = *feed;

    shares.spec.dtype = DT_FLOAT;
    shares.spec.shape.dims[shares.spec.shape.rank++] = feed->classes;
    shares.classes = 0;
    return shares;
}

/* Weights less their mean would be negative, or all 0. */
static struct status check_weight(const struct file_data_maker *maker,
                                  const struct training_feed *feed, const struct text_list *names)
{
    const struct schema_column *column =
        feed->role == FEED_WEIGHT ? schema_find(&maker->schema, names->texts[0]) : NULL;

    if (column == NULL || column->mean == 0)
        return status_ok();
    return wrong_flag(
        "weight_column",
        status_error(STATUS_INVALID_ARGUMENT,
                     "the schema subtracts the 'mean' %g from the weights '%s'; `pstrain schema "
                     "--weight_column` leaves them as they are",
                     column->mean, column->name));
}

static struct status request_feed(const struct file_data_maker *maker,
                                  const struct training_feed *feed, struct row_request *out)
{
    struct text_list names = file_data_columns_of(maker, feed);
    struct training_feed shares;

    if (gives_shares(maker, feed, &names)) {
        shares = share_feed(feed);
        feed = &shares;
    }
    struct tensor_spec spec = feed->spec;
    bool any_width = maker->request->any_width && feed->role == FEED_INPUT;

    TRY(check_weight(maker, feed, &names));
    if (any_width)
        take_width(maker, &names, &spec);
    TRY(decide_shape(maker, feed, &names, &spec));
    if (!is_made_of_columns(&spec))
        return status_error(STATUS_UNIMPLEMENTED,
                            "the model's '%s' is %s; columns of files become dense numbers, "
                            "bools and texts, sparse floats, and ragged floats, int64s and texts",
                            feed->spec.name, tensor_spec_text(&feed->spec));
    *out = (struct row_request){
        .spec = spec,
        .classes = feed->classes,
        .step_size = spec.layout == TENSOR_RAGGED ? padded_step_size(&feed->spec) : 0,
        .ignored_class = feed->ignored_class,
        .is_binary = feed->is_binary,
        .truncates = file_data_is_of_format(maker, maker->first_file, &image_format),
        .any_width = any_width,
        .raw = feed->raw,
        .flag = flag_of(maker, feed),
        .names = names.texts,
        .names_count = names.count
    };
    return status_ok();
}

/* Requests the column of ids, verbatim from the file. */
static struct status request_id(struct file_data_maker *maker, struct row_request *out)
{
    const char *const *name = &maker->request->id_column;
    const struct schema_column *column = schema_find(&maker->schema, *name);

    if (column == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "--id_column: there is no column '%.200s'",
                            *name);
    enum dtype dtype = column->dtype == COLUMN_BYTES   ? DT_STRING
                       : column->dtype == COLUMN_INT64 ? DT_INT64
                                                       : DT_FLOAT;
    *out = (struct row_request){
        .spec = { .name = *name,
                  .dtype = dtype,
                  .shape = column->width == 1 ? shape_of(-1) : shape_of(-1, column->width) },
        .names = name,
        .names_count = 1
    };
    return status_ok();
}

/* A text file's ids are kept as texts, so they cannot also be numbers. */
static struct status check_id(const struct file_data_maker *maker,
                              const struct row_request *requests, int count)
{
    const char *id = maker->request->id_column;

    for (int i = 0; i < count; i++) {
        const struct text_list names = { (const char **)(uintptr_t)requests[i].names,
                                         requests[i].names_count };
        if (requests[i].spec.dtype != DT_STRING && is_in(&names, id))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "--id_column=%.200s: the model's '%s' takes this column as "
                                "numbers, but an id is text: choose another column",
                                id, requests[i].spec.name);
    }
    return status_ok();
}

bool file_data_has_feed(const struct file_data_maker *maker, int feed)
{
    const struct file_data_request *request = maker->request;

    if (request->pass != NULL && request->pass->feeds[feed].values.node == NULL)
        return false;
    return request->feeds[feed].role != FEED_WEIGHT || *request->flags->weight_column != '\0';
}

bool file_data_takes_raw_columns(const struct file_data_request *request)
{
    for (int i = 0; i < request->feeds_count; i++)
        if (request->feeds[i].role == FEED_INPUT && request->feeds[i].raw == RAW_COLUMN)
            return true;
    return false;
}

/* Repeating the schema of its training is allowed for an export that takes raw columns. */
static struct status check_inputs(const struct file_data_maker *maker)
{
    const struct file_data_request *request = maker->request;

    if (file_data_takes_raw_columns(request))
        return status_ok();
    for (int i = 0; i < maker->schema.inputs_count; i++) {
        const char *name = maker->schema.inputs[i].name;
        int f = 0;
        while (f < request->feeds_count && (request->feeds[f].role != FEED_INPUT ||
                                            strcmp(request->feeds[f].spec.name, name) != 0))
            f++;
        if (f == request->feeds_count)
            return wrong_flag("schema", status_error(STATUS_INVALID_ARGUMENT,
                                                     "the model has no input '%.200s'", name));
    }
    return status_ok();
}

/* Does any input use --feature_columns? An export that takes raw columns has their names, but
 * may be given the flags of its training again. */
static bool uses_feature_columns(const struct file_data_maker *maker)
{
    const struct file_data_request *request = maker->request;
    bool only = count_feeds(request, FEED_INPUT) == 1;

    for (int i = 0; i < request->feeds_count; i++) {
        const struct training_feed *feed = &request->feeds[i];
        if (feed->role == FEED_INPUT && !feed->is_example &&
            (feed->raw == RAW_COLUMN ||
             (only && schema_find_input(&maker->schema, feed->spec.name) == NULL)))
            return true;
    }
    return false;
}

/* Refuses flags with columns that are not used. */
static struct status check_flags(const struct file_data_maker *maker)
{
    const struct file_data_request *request = maker->request;
    int labels = count_feeds(request, FEED_LABEL);

    if (*request->flags->label_column != '\0' && labels == 0 && request->needs_labels)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--label_column: the model is trained without labels");
    if (*request->flags->label_column != '\0' && labels > 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--label_column: the labels of the model's %d outputs are the columns "
                            "of their names",
                            labels);
    if (*request->flags->feature_columns != '\0' && !uses_feature_columns(maker))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--feature_columns: the model's inputs are made of the columns of "
                            "their names, of the \"inputs\" in --schema or of whole records");
    return status_ok();
}

static bool makes_floats(const struct row_request *request)
{
    return dtype_is_floating(request->spec.dtype) && request->classes == 0;
}

/* Guesses whole numbers from the first rows as floats where only floats are made of them: a later
 * row may have a fraction. */
static void allow_fractions(struct file_data_maker *maker, const struct row_request *requests,
                            int count)
{
    struct schema *schema = &maker->schema;
    struct schema_column *columns =
        ARENA_ARRAY(maker->arena, struct schema_column, schema->count + 1);
    struct map whole = { .arena = maker->arena }; /* names of columns that must be whole numbers */

    for (int r = 0; r < count; r++)
        for (int i = 0; i < requests[r].names_count && !makes_floats(&requests[r]); i++)
            map_put_text(&whole, requests[r].names[i], maker);
    for (int i = 0; i < schema->count; i++) {
        columns[i] = schema->columns[i];
        if (columns[i].is_whole_so_far && !map_has(&whole, bytes_of(columns[i].name)))
            columns[i].dtype = COLUMN_FLOAT;
    }
    schema->columns = columns;
}

/* Labels come first, because a wrong name of the label is the most useful error. */
struct status file_data_make_layout(struct file_data_maker *maker)
{
    static const enum feed_role roles[] = { FEED_LABEL, FEED_COLUMN, FEED_WEIGHT, FEED_INPUT };
    const struct file_data_request *request = maker->request;
    struct row_request *requests =
        ARENA_ARRAY(maker->arena, struct row_request, request->feeds_count + 2);
    int count = 0;

    TRY(check_inputs(maker));
    TRY(check_flags(maker));
    TRY(wrong_flag(request->files_flag, file_data_deal_columns(maker)));
    file_data_give_buckets(maker);
    for (size_t r = 0; r < COUNT(roles); r++)
        for (int i = 0; i < request->feeds_count; i++)
            if (request->feeds[i].role == roles[r] && file_data_has_feed(maker, i))
                TRY(request_feed(maker, &request->feeds[i], &requests[count++]));
    if (has_id(request)) {
        TRY(request_id(maker, &requests[count]));
        if (requests[count].spec.dtype == DT_STRING)
            TRY(check_id(maker, requests, count));
        count++;
    }
    allow_fractions(maker, requests, count);
    return row_layout_make(&maker->schema, requests, count, maker->arena, &maker->layout);
}
