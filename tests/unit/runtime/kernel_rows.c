#include "unit/runtime/kernel_rows.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 1e-5 /* relative to the output's largest magnitude */

#define ROWS_DIRECTORY "tests/golden/kernels"

static int is_rows_file(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot != NULL && strcmp(dot, ".rows") == 0;
}

/* The families, sorted: each family X has a file tests/golden/kernels/X.rows. */
static const char **list_families(struct arena *arena, int *count)
{
    struct dirent **entries;
    *count = scandir(ROWS_DIRECTORY, &entries, is_rows_file, alphasort);
    if (*count <= 0)
        fail_msg("no rows in %s", ROWS_DIRECTORY);
    const char **families = ARENA_ARRAY(arena, const char *, *count);
    for (int i = 0; i < *count; i++) {
        char *name = entries[i]->d_name;
        families[i] = arena_printf(arena, "%.*s", (int)(strrchr(name, '.') - name), name);
        free(entries[i]);
    }
    free(entries);
    return families;
}

static enum dtype dtype_of(const char *name)
{
    for (int i = 1; i < DTYPE_COUNT; i++)
        if (strcmp(dtype_name(i), name) == 0)
            return i;
    fail_msg("no dtype '%s'", name);
    return DT_INVALID;
}

static struct bytes unescape(struct arena *arena, const char *text, size_t length)
{
    size_t size = 0;
    char *data = arena_array(arena, 1, length + 1);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '%') {
            char digits[3] = { text[i + 1], text[i + 2], 0 };
            data[size++] = (char)strtol(digits, NULL, 16);
            i += 2;
        } else {
            data[size++] = text[i];
        }
    }
    return (struct bytes){ data, size };
}

static void store(struct arena *arena, struct tensor *tensor, int64_t i, char *text)
{
    void *at = (char *)tensor->data + (size_t)i * dtype_size(tensor->dtype);
    switch (tensor->dtype) {
    case DT_FLOAT:
        *(float *)at = strtof(text, NULL);
        break;
    case DT_DOUBLE:
        *(double *)at = strtod(text, NULL);
        break;
    case DT_HALF:
        *(uint16_t *)at = float_to_half(strtof(text, NULL));
        break;
    case DT_BFLOAT16:
        *(uint16_t *)at = float_to_bfloat16(strtof(text, NULL));
        break;
    case DT_STRING:
        *(struct bytes *)at = unescape(arena, text + 1, strlen(text) - 2); /* in quotes */
        break;
    case DT_COMPLEX64:
        ((float *)at)[0] = strtof(text, &text);
        ((float *)at)[1] = strtof(text + 1, NULL);
        break;
    case DT_COMPLEX128:
        ((double *)at)[0] = strtod(text, &text);
        ((double *)at)[1] = strtod(text + 1, NULL);
        break;
    case DT_UINT64: {
        uint64_t value = strtoull(text, NULL, 10);
        memcpy(at, &value, sizeof value);
        break;
    }
    default: {
        int64_t value = strtoll(text, NULL, 10);
        memcpy(at, &value, dtype_size(tensor->dtype)); /* little-endian: low bytes first */
    }
    }
}

static struct shape read_dims(char *text)
{
    struct shape shape = { 0 };
    for (char *save, *dim = strtok_r(text, ",", &save); dim; dim = strtok_r(NULL, ",", &save))
        shape_append(&shape, strtoll(dim, NULL, 10));
    return shape;
}

/* Parses "float[2,3] 1 2 …". "-" is an output that is not compared; "@float[] 1" a variable. */
static struct tensor read_tensor(struct arena *arena, char *text, bool *is_variable)
{
    char *save, *head = strtok_r(text, " ", &save);
    if (strcmp(head, "-") == 0)
        return (struct tensor){ 0 };
    *is_variable = head[0] == '@';
    head += *is_variable;
    char *bracket = strchr(head, '[');
    assert_non_null(bracket);
    *bracket = '\0';
    bracket[strlen(bracket + 1)] = '\0';
    struct shape shape = read_dims(bracket + 1);
    enum dtype dtype = dtype_of(head);
    int64_t size = shape_size(&shape);
    void *data = arena_array(arena, dtype_size(dtype), (size_t)size + 1);
    struct tensor tensor = tensor_borrow(dtype, &shape, data);
    for (int64_t i = 0; i < size; i++)
        store(arena, &tensor, i, strtok_r(NULL, " ", &save));
    return tensor;
}

static int read_tensors(struct arena *arena, char *text, struct tensor *out, bool *are_variables)
{
    int count = 0;
    while (text != NULL && *text != '\0') {
        char *next = strstr(text, " ; ");
        if (next != NULL) {
            *next = '\0';
            next += 3;
        }
        assert_true(count < ROW_TENSORS_MAX);
        out[count] = read_tensor(arena, text, &are_variables[count]);
        count++;
        text = next;
    }
    return count;
}

static struct attr_value read_element(struct arena *arena, char kind, char *text)
{
    struct attr_value value = { 0 };
    switch (kind) {
    case 'i':
        value.kind = ATTR_INT;
        value.i = strtoll(text, NULL, 10);
        break;
    case 'f':
        value.kind = ATTR_FLOAT;
        value.f = strtof(text, NULL);
        break;
    case 'b':
        value.kind = ATTR_BOOL;
        value.b = text[0] == '1';
        break;
    case 't':
        value.kind = ATTR_TYPE;
        value.type = dtype_of(text);
        break;
    default:
        value.kind = ATTR_STRING;
        value.s = unescape(arena, text, strlen(text));
    }
    return value;
}

/* Parses a list of shapes: "2.3;;4" is [2,3], [], [4]. */
static struct attr_value read_shapes(struct arena *arena, char *text)
{
    struct attr_value list = { .kind = ATTR_LIST, .element_kind = ATTR_SHAPE };
    struct attr_value *elements = ARENA_ARRAY(arena, struct attr_value, 32);
    for (char *item; (item = strsep(&text, ";")) != NULL;) {
        struct shape *shape = ARENA_NEW(arena, struct shape);
        for (char *dim; item[0] != '\0' && (dim = strsep(&item, ".")) != NULL;) {
            shape_append(shape, strtoll(dim, NULL, 10));
            if (item == NULL)
                break;
        }
        elements[list.count++] = (struct attr_value){ .kind = ATTR_SHAPE, .shape = shape };
    }
    list.elements = elements;
    return list;
}

static struct attr_value read_list(struct arena *arena, char kind, char *text)
{
    struct attr_value list = { .kind = ATTR_LIST };
    struct attr_value *elements = ARENA_ARRAY(arena, struct attr_value, 32);
    if (kind == 'h')
        return read_shapes(arena, text);
    for (char *item; text[0] != '\0' && (item = strsep(&text, ",")) != NULL;) {
        elements[list.count++] = read_element(arena, kind, item);
        if (text == NULL)
            break;
    }
    list.element_kind = list.count > 0 ? elements[0].kind : ATTR_NONE;
    list.elements = elements;
    return list;
}

static void read_attr(struct arena *arena, char *text, struct kernel_row *row, int *count)
{
    char *equals = strchr(text, '=');
    assert_non_null(equals);
    *equals = '\0';
    char *kind = equals + 1, *value = strchr(kind, ':');
    if (text[0] == '~') {
        row->tolerance = strtod(kind, NULL);
        row->each = strcmp(text, "~each") == 0;
        return;
    }
    assert_non_null(value);
    *value++ = '\0';
    struct attr *attr = &row->attrs[(*count)++];
    attr->name = arena_strdup(arena, text);
    if (strcmp(kind, "sh") == 0) {
        struct shape *shape = ARENA_NEW(arena, struct shape);
        *shape = read_dims(value);
        attr->value = (struct attr_value){ .kind = ATTR_SHAPE, .shape = shape };
    } else {
        attr->value =
            kind[0] == 'l' ? read_list(arena, kind[1], value) : read_element(arena, kind[0], value);
    }
}

static void read_row(struct arena *arena, char *line, struct kernel_row *row)
{
    char *fields[4] = { line };
    for (int i = 1; i < 4; i++) {
        fields[i] = strchr(fields[i - 1], '\t');
        if (fields[i] == NULL)
            fail_msg("%s:%d: field %d is missing", row->file, row->line, i);
        *fields[i]++ = '\0';
    }
    int attrs = 0;
    row->op = arena_strdup(arena, fields[0]);
    row->tolerance = TOLERANCE;
    for (char *save, *attr = strtok_r(fields[1], " ", &save); attr;
         attr = strtok_r(NULL, " ", &save))
        read_attr(arena, attr, row, &attrs);
    row->inputs_count = read_tensors(arena, fields[2], row->inputs, row->is_variable);
    for (int i = 0; i < row->inputs_count; i++)
        row->variables_count += row->is_variable[i];
    if (fields[3][0] == '!') {
        char *text;
        row->error_code = (int)strtol(fields[3] + 1, &text, 10);
        row->error_text = arena_strdup(arena, text + (*text == ' '));
    } else {
        bool none[ROW_TENSORS_MAX];
        row->outputs_count = read_tensors(arena, fields[3], row->outputs, none);
    }
}

/* Rows are several KB each, so the array grows with the file. */
static struct kernel_row *grow_rows(struct arena *arena, const struct kernel_row *rows, int *count)
{
    struct kernel_row *more = ARENA_ARRAY(arena, struct kernel_row, 2 * *count + 64);
    if (*count > 0)
        memcpy(more, rows, (size_t)*count * sizeof *rows);
    *count = 2 * *count + 64;
    return more;
}

static struct kernel_row *read_rows(struct arena *arena, const char *path, int *count)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;
    int rows_capacity = 0;
    struct kernel_row *rows = NULL;
    if (file == NULL)
        fail_msg("cannot open %s", path);
    *count = 0;
    for (int number = 1; getline(&line, &capacity, file) >= 0; number++) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0')
            continue;
        if (*count == rows_capacity)
            rows = grow_rows(arena, rows, &rows_capacity);
        struct kernel_row *row = &rows[(*count)++];
        row->file = path;
        row->line = number;
        read_row(arena, line, row);
    }
    free(line);
    fclose(file);
    return rows;
}

int kernel_rows_run(const char *family, CMUnitTestFunction test, struct arena *arena)
{
    int failed = 0, families_count;
    const char **families = list_families(arena, &families_count);
    for (int f = 0; f < families_count; f++) {
        int count;
        if (family != NULL && strcmp(family, families[f]) != 0)
            continue;
        const char *path = arena_printf(arena, ROWS_DIRECTORY "/%s.rows", families[f]);
        struct kernel_row *rows = read_rows(arena, path, &count);
        struct CMUnitTest *tests = ARENA_ARRAY(arena, struct CMUnitTest, count);
        for (int i = 0; i < count; i++)
            tests[i] = (struct CMUnitTest){ .name = arena_printf(arena, "%s:%d %s", families[f],
                                                                 rows[i].line, rows[i].op),
                                            .test_func = test,
                                            .initial_state = &rows[i] };
        failed += _cmocka_run_group_tests(families[f], tests, (size_t)count, NULL, NULL);
    }
    return failed;
}

void kernel_rows_visit(struct arena *arena, void (*visit)(struct kernel_row *row, void *context),
                       void *context)
{
    int families_count;
    const char **families = list_families(arena, &families_count);
    for (int f = 0; f < families_count; f++) {
        const char *path = arena_printf(arena, ROWS_DIRECTORY "/%s.rows", families[f]);
        int count;
        struct kernel_row *rows = read_rows(arena, path, &count);
        for (int i = 0; i < count; i++)
            visit(&rows[i], context);
    }
}

static double element(const struct tensor *tensor, int64_t i)
{
    const void *at = (const char *)tensor->data + (size_t)i * dtype_size(tensor->dtype);
    switch (tensor->dtype) {
    case DT_FLOAT:
        return (double)*(const float *)at;
    case DT_DOUBLE:
        return *(const double *)at;
    case DT_HALF:
        return (double)half_to_float(*(const uint16_t *)at);
    default:
        return (double)bfloat16_to_float(*(const uint16_t *)at);
    }
}

static bool close_enough(const struct kernel_row *row, double want, double got, double greatest)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    if (isinf(want) || isinf(got))
        return want == got;
    if (row->each && signbit(want) != signbit(got))
        return false;
    return fabs(want - got) <= row->tolerance * (row->each ? fabs(want) : greatest);
}

static void compare_floats(const struct kernel_row *row, const char *how, int output,
                           const struct tensor *want, const struct tensor *got)
{
    double greatest = 0;
    for (int64_t i = 0; i < want->size; i++)
        if (isfinite(element(want, i)))
            greatest = fmax(greatest, fabs(element(want, i)));
    for (int64_t i = 0; i < want->size; i++)
        if (!close_enough(row, element(want, i), element(got, i), greatest))
            fail_msg("%s:%d: %s (%s): output %d [%lld] is %.9g, not %.9g", row->file, row->line,
                     row->op, how, output, (long long)i, element(got, i), element(want, i));
}

/* The real and imaginary parts of complex numbers, one after another. */
static struct tensor parts_of(const struct tensor *tensor)
{
    const struct shape shape = shape_of(2 * tensor->size);
    return tensor_borrow(tensor->dtype == DT_COMPLEX64 ? DT_FLOAT : DT_DOUBLE, &shape,
                         tensor->data);
}

static bool is_complex(enum dtype dtype)
{
    return dtype == DT_COMPLEX64 || dtype == DT_COMPLEX128;
}

void kernel_row_compare(const struct kernel_row *row, const char *how, const struct tensor *got)
{
    for (int o = 0; o < row->outputs_count; o++) {
        const struct tensor *want = &row->outputs[o];
        if (want->dtype == DT_INVALID)
            continue;
        if (want->dtype != got[o].dtype || !shape_equal(&want->shape, &got[o].shape))
            fail_msg("%s:%d: %s (%s): output %d is %s%s, not %s%s", row->file, row->line, row->op,
                     how, o, dtype_name(got[o].dtype), shape_text(&got[o].shape),
                     dtype_name(want->dtype), shape_text(&want->shape));
        if (dtype_is_floating(want->dtype) && dtype_size(want->dtype) > 1) {
            compare_floats(row, how, o, want, &got[o]);
            continue;
        }
        if (is_complex(want->dtype)) {
            struct tensor wanted = parts_of(want), given = parts_of(&got[o]);
            compare_floats(row, how, o, &wanted, &given);
            continue;
        }
        for (int64_t i = 0; i < want->size; i++) {
            size_t size = dtype_size(want->dtype);
            bool same = want->dtype == DT_STRING
                            ? bytes_equal(tensor_strings(want)[i], tensor_strings(&got[o])[i])
                            : memcmp((const char *)want->data + (size_t)i * size,
                                     (const char *)got[o].data + (size_t)i * size, size) == 0;
            if (!same)
                fail_msg("%s:%d: %s (%s): output %d [%lld] differs", row->file, row->line, row->op,
                         how, o, (long long)i);
        }
    }
}
