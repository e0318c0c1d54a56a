/*
 * gradient_cases: reads tests/golden/gradients/gradients.txt. The script beside that file documents
 * its format.
 */
#ifndef TESTS_GRADIENT_CASES_H
#define TESTS_GRADIENT_CASES_H

#include <stdio.h>
#include <stdlib.h>

#include "graph/build.h"

#define CASE_INPUTS  9
#define CASE_OUTPUTS 7
#define CASE_ATTRS   8

struct case_attr {
    char name[32], kind[8], text[64];
};

struct gradient_case {
    char label[64], op[64];
    struct case_attr attrs[CASE_ATTRS];
    int attrs_count;
    char roles[CASE_INPUTS]; /* x, f or c */
    struct tensor inputs[CASE_INPUTS];
    struct tensor gradients[CASE_INPUTS]; /* for role x; others: DT_INVALID */
    int inputs_count;
    struct tensor weights[CASE_OUTPUTS]; /* dtype DT_INVALID: the output is not used */
    bool kink;
};

static struct shape case_shape(char **at)
{
    struct shape shape = { 0 };
    char *text = strchr(*at, '[') + 1;

    while (*text != ']') {
        shape.dims[shape.rank++] = strtol(text, &text, 10);
        text += *text == ',';
    }
    *at = text + 1;
    return shape;
}

static struct tensor case_tensor(struct arena *arena, enum dtype dtype, char *at)
{
    struct shape shape = case_shape(&at);
    int64_t size = shape_size(&shape);
    char *data = arena_alloc(arena, (size_t)(size + 1) * dtype_size(dtype));

    for (int64_t i = 0; i < size; i++) {
        double value = strtod(at, &at);
        switch (dtype) {
        case DT_FLOAT:
            ((float *)data)[i] = (float)value;
            break;
        case DT_DOUBLE:
            ((double *)data)[i] = value;
            break;
        case DT_COMPLEX64:
            ((float *)data)[2 * i] = (float)value;
            ((float *)data)[2 * i + 1] = strtof(at, &at);
            break;
        case DT_INT32:
            ((int32_t *)data)[i] = (int32_t)value;
            break;
        case DT_INT64:
        case DT_UINT64: /* small numbers only */
            ((int64_t *)data)[i] = (int64_t)value;
            break;
        case DT_BOOL:
            ((bool *)data)[i] = value != 0;
            break;
        default:
            abort();
        }
    }
    return tensor_borrow(dtype, &shape, data);
}

/* Parses one line into the case. */
static void case_line(struct arena *arena, struct gradient_case *c, char *line)
{
    char role;
    int at, index;

    if (sscanf(line, "case %63[^:] : %63s", c->label, c->op) == 2) {
        c->label[strlen(c->label) - 1] = '\0';
    } else if (strncmp(line, "attr ", 5) == 0) {
        struct case_attr *attr = &c->attrs[c->attrs_count++];
        sscanf(line, "attr %31s %7s %63[^\n]", attr->name, attr->kind, attr->text);
    } else if (sscanf(line, "input %c %d %n", &role, &index, &at) == 2) {
        c->roles[c->inputs_count] = role;
        c->inputs[c->inputs_count++] = case_tensor(arena, (enum dtype)index, line + at);
    } else if (sscanf(line, "weights %d %n", &index, &at) == 1) {
        c->weights[index] = case_tensor(arena, DT_FLOAT, line + at);
    } else if (sscanf(line, "grad %d %n", &index, &at) == 1) {
        c->gradients[index] = case_tensor(arena, DT_FLOAT, line + at);
    } else if (sscanf(line, "complex-weights %d %n", &index, &at) == 1) {
        c->weights[index] = case_tensor(arena, DT_COMPLEX64, line + at);
    } else if (sscanf(line, "complex-grad %d %n", &index, &at) == 1) {
        c->gradients[index] = case_tensor(arena, DT_COMPLEX64, line + at);
    } else if (strncmp(line, "kink", 4) == 0) {
        c->kink = true;
    }
}

static struct gradient_case *read_cases(struct arena *arena, const char *path, int *count)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;
    int room = 1024;
    struct gradient_case *cases = ARENA_ARRAY(arena, struct gradient_case, room);

    *count = 0;
    while (file != NULL && getline(&line, &capacity, file) > 0 && *count < room)
        if (strncmp(line, "end", 3) == 0)
            (*count)++;
        else
            case_line(arena, &cases[*count], line);
    free(line);
    if (file != NULL)
        fclose(file);
    return cases;
}

static struct attr case_attr_floats(struct builder *b, const char *name, const char *text)
{
    float values[8];
    int count = 0;
    char *at = (char *)(uintptr_t)text;

    while (*at != '\0' && count < 8)
        values[count++] = strtof(at, &at);
    return attr_floats(b, name, count, values);
}

/* Texts between spaces. */
static struct attr case_attr_texts(struct builder *b, const char *name, const char *text)
{
    const char **texts = ARENA_ARRAY(b->graph->arena, const char *, 8);
    char *copy = arena_printf(b->graph->arena, "%s", text), *rest = NULL;
    int count = 0;

    for (char *word = strtok_r(copy, " ", &rest); word != NULL && count < 8;
         word = strtok_r(NULL, " ", &rest))
        texts[count++] = word;
    return attr_texts(b, name, count, texts);
}

static struct attr case_attr_value(struct builder *b, const struct case_attr *attr)
{
    int64_t values[8];
    int count = 0;
    char *at = (char *)(uintptr_t)attr->text;

    if (strcmp(attr->kind, "text") == 0)
        return attr_text(attr->name, attr->text);
    if (strcmp(attr->kind, "float") == 0)
        return attr_float(attr->name, strtof(at, NULL));
    if (strcmp(attr->kind, "texts") == 0)
        return case_attr_texts(b, attr->name, attr->text);
    while (*at != '\0' && count < 8)
        values[count++] = strtol(at, &at, 10);
    if (strcmp(attr->kind, "ints") == 0)
        return attr_ints(b, attr->name, count, values);
    if (strcmp(attr->kind, "floats") == 0)
        return case_attr_floats(b, attr->name, attr->text);
    if (strcmp(attr->kind, "shape") == 0) {
        struct shape *shape = ARENA_NEW(b->graph->arena, struct shape);
        *shape = shape_make(count, values);
        return attr_shape(attr->name, shape);
    }
    if (strcmp(attr->kind, "bool") == 0)
        return attr_bool(attr->name, values[0] != 0);
    if (strcmp(attr->kind, "type") == 0)
        return attr_type(attr->name, (enum dtype)values[0]);
    return attr_int(attr->name, values[0]);
}

#endif
