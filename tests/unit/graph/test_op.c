#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "graph/op_parse.h"

#define GOLDEN "tests/golden/ops/ops.txt"

/* ---- formats an op in the notation of ops.def ---- */

static void put_arg(struct buffer *out, const struct op_arg *arg)
{
    buffer_printf(out, "%s:", arg->name);
    if (arg->type_list_attr != NULL)
        buffer_printf(out, "list %s", arg->type_list_attr);
    if (arg->number_attr != NULL)
        buffer_printf(out, "%s*", arg->number_attr);
    if (arg->type_attr != NULL)
        buffer_append_text(out, arg->type_attr);
    else if (arg->type_list_attr == NULL)
        buffer_append_text(out, dtype_name(arg->type));
    if (arg->is_ref)
        buffer_append_char(out, '&');
}

static void put_args(struct buffer *out, const struct op_arg *args, int count)
{
    buffer_append_text(out, " | ");
    for (int i = 0; i < count; i++) {
        buffer_append_text(out, i > 0 ? ", " : "");
        put_arg(out, &args[i]);
    }
}

static void put_value(struct buffer *out, const struct attr_value *value)
{
    if (value->kind == ATTR_INT)
        buffer_printf(out, "%lld", (long long)value->i);
    else if (value->kind == ATTR_FLOAT)
        buffer_printf(out, "%g", (double)value->f);
    else if (value->kind == ATTR_BOOL)
        buffer_append_text(out, value->b ? "true" : "false");
    else if (value->kind == ATTR_STRING && bytes_equal(value->s, bytes_of("\t")))
        buffer_append_text(out, "'\\t'");
    else if (value->kind == ATTR_STRING && bytes_equal(value->s, bytes_of("\n")))
        buffer_append_text(out, "'\\n'");
    else if (value->kind == ATTR_STRING)
        buffer_printf(out, "'%.*s'", (int)value->s.size, value->s.data);
    else if (value->kind == ATTR_TYPE)
        buffer_append_text(out, dtype_name((enum dtype)value->type));
    else if (value->kind == ATTR_SHAPE)
        buffer_append_text(out, value->shape->rank < 0 ? "unknown" : shape_text(value->shape));
    else
        fail_msg("a default of kind %s", attr_kind_name(value->kind));
}

static void put_types(struct buffer *out, dtype_set types)
{
    const char *before = "{";
    for (const struct op_type_set *set = op_type_sets; set->name != NULL; set++) {
        if ((set->types & ~types) != 0)
            continue;
        buffer_printf(out, "%s%s", before, set->name);
        types &= ~set->types;
        before = ",";
    }
    for (int i = 1; i < DTYPE_COUNT; i++) {
        if ((types & DTYPES(i)) == 0)
            continue;
        buffer_printf(out, "%s%s", before, dtype_name((enum dtype)i));
        before = ",";
    }
    buffer_append_char(out, '}');
}

static void put_allowed(struct buffer *out, const struct op_attr *attr)
{
    if (attr->allowed_types != DTYPES_ALL)
        put_types(out, attr->allowed_types);
    for (int i = 0; i < attr->allowed_strings_count; i++)
        buffer_printf(out, "%s%.*s", i == 0 ? "{" : ",", (int)attr->allowed_strings[i].size,
                      attr->allowed_strings[i].data);
    if (attr->allowed_strings_count > 0)
        buffer_append_char(out, '}');
    if (attr->minimum != INT64_MIN)
        buffer_printf(out, ">=%lld", (long long)attr->minimum);
}

static void put_attr(struct buffer *out, const struct op_attr *attr)
{
    const struct attr_value *value = attr->default_value;

    buffer_printf(out, "%s:%s", attr->name, attr->type);
    put_allowed(out, attr);
    if (value == NULL)
        return;
    buffer_append_char(out, '=');
    if (value->kind != ATTR_LIST) {
        put_value(out, value);
        return;
    }
    buffer_append_char(out, '[');
    for (int i = 0; i < value->count; i++) {
        buffer_append_text(out, i > 0 ? "," : "");
        put_value(out, &value->elements[i]);
    }
    buffer_append_char(out, ']');
}

static void put_op(struct buffer *out, const struct op *op)
{
    buffer_printf(out, "%s | %s", op->name, op_has(op, OP_STATEFUL) ? "stateful" : "-");
    put_args(out, op->inputs, op->inputs_count);
    put_args(out, op->outputs, op->outputs_count);
    buffer_append_text(out, " | ");
    for (int i = 0; i < op->attrs_count; i++) {
        buffer_append_text(out, i > 0 ? ", " : "");
        put_attr(out, &op->attrs[i]);
    }
}

/* ---- tests ---- */

static void every_row_is_what_tensorflow_registers(void **state)
{
    (void)state;
    FILE *golden = fopen(GOLDEN, "r");
    assert_non_null(golden);
    char *line = NULL;
    size_t capacity = 0;
    bool *has_line = calloc((size_t)op_count(), sizeof *has_line);
    while (getline(&line, &capacity, golden) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char name[64] = "";
        assert_int_equal(sscanf(line, "%63s", name), 1);
        const struct op *op = op_find(name);
        if (op == NULL)
            fail_msg("no op %s", name);
        struct buffer text = { 0 };
        put_op(&text, op);
        buffer_append_char(&text, '\0');
        assert_string_equal(text.data, line);
        buffer_finish(&text);
        has_line[op->index] = true;
    }
    free(line);
    fclose(golden);

    for (int i = 0; i < op_count(); i++)
        if (!has_line[i] && op_at(i)->name[0] != '_')
            fail_msg("%s has no line for the op %s of ops.def: tests/golden/ops/op_rows.py writes "
                     "one, if TensorFlow registers it",
                     GOLDEN, op_at(i)->name);
    free(has_line);
}

static void no_two_rows_have_one_name(void **state)
{
    (void)state;
    for (int i = 0; i < op_count(); i++)
        assert_ptr_equal(op_find(op_at(i)->name), op_at(i));
    assert_null(op_find("NoSuchOp"));
}

static void tensorflows_other_ops_are_known_by_name(void **state)
{
    (void)state;
    static const char *const registered[] = {
        "A", "MatMul", "TensorArrayV3", "XlaSvd", "ZipDataset", "_FusedMatMul", "XlaCallModule"
    };
    static const char *const others[] = { "", "TRTEngineOp", "matmul", "zzz" };
    for (size_t i = 0; i < COUNT(registered); i++)
        if (!op_is_registered(registered[i]))
            fail_msg("%s is one of TensorFlow's", registered[i]);
    for (size_t i = 0; i < COUNT(others); i++)
        if (op_is_registered(others[i]))
            fail_msg("%s is none of TensorFlow's", others[i]);
}

static void every_type_attribute_of_an_argument_is_an_attribute(void **state)
{
    (void)state;
    for (int i = 0; i < op_count(); i++) {
        const struct op *op = op_at(i);
        for (int k = 0; k < op->inputs_count + op->outputs_count; k++) {
            const struct op_arg *arg =
                k < op->inputs_count ? &op->inputs[k] : &op->outputs[k - op->inputs_count];
            const char *const names[] = { arg->type_attr, arg->number_attr, arg->type_list_attr };
            for (size_t n = 0; n < COUNT(names); n++)
                if (names[n] != NULL && op_attr_find(op, names[n]) == NULL)
                    fail_msg("%s: argument '%s' of unknown type or attribute '%s'", op->name,
                             arg->name, names[n]);
        }
    }
}

static bool takes_a_variable(const struct op *op)
{
    return op->inputs_count > 0 && (op->inputs[0].is_ref || op->inputs[0].type == DT_RESOURCE);
}

static bool has_func(const struct op *op, const char *name, enum attr_kind kind)
{
    const struct op_attr *attr = op_attr_find(op, name);
    return attr != NULL && attr->kind == kind && attr->element_kind == ATTR_FUNC;
}

/* Checks the assumptions of the code that uses a trait. */
static bool fits_its_traits(const struct op *op)
{
    if (op_has(op, OP_IDENTITY) && op->inputs_count < op->outputs_count)
        return false;
    if (op_has(op, OP_READS | OP_ASSIGN) && !takes_a_variable(op))
        return false;
    if (op_has(op, OP_ASSIGN) && op->inputs_count != 2)
        return false;
    if (op_has(op, OP_VARIABLE) && (op->inputs_count != 0 || op->outputs_count != 1))
        return false;
    if (op_has(op, OP_CALL) && !has_func(op, "f", ATTR_FUNC))
        return false;
    if (op_has(op, OP_IF) &&
        !(has_func(op, "then_branch", ATTR_FUNC) && has_func(op, "else_branch", ATTR_FUNC)))
        return false;
    if (op_has(op, OP_CASE) && !has_func(op, "branches", ATTR_LIST))
        return false;
    if (op_has(op, OP_LOOP) &&
        !(has_func(op, "cond", ATTR_FUNC) && has_func(op, "body", ATTR_FUNC)))
        return false;
    if (op_has(op, OP_ACTIVATION) && (op->inputs_count != 1 || op->outputs_count != 1))
        return false;
    return !op_has(op, OP_FUSED) || (op_attr_find(op, "fused_ops") != NULL &&
                                     op->inputs[op->inputs_count - 1].number_attr != NULL);
}

static void every_row_fits_its_traits(void **state)
{
    (void)state;
    for (int i = 0; i < op_count(); i++)
        if (!fits_its_traits(op_at(i)))
            fail_msg("%s lacks what its traits promise", op_at(i)->name);
}

/* Code that looks for bodies checks the traits, so every op with a body attribute needs one. */
static void every_op_with_bodies_says_so(void **state)
{
    (void)state;
    for (int i = 0; i < op_count(); i++)
        for (int k = 0; k < op_at(i)->attrs_count; k++)
            if (op_at(i)->attrs[k].element_kind == ATTR_FUNC &&
                !op_has(op_at(i), OP_CALL | OP_CONTROL | OP_FUNCTIONS))
                fail_msg("%s has a function and no trait that runs it", op_at(i)->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_what_tensorflow_registers),
        cmocka_unit_test(no_two_rows_have_one_name),
        cmocka_unit_test(tensorflows_other_ops_are_known_by_name),
        cmocka_unit_test(every_type_attribute_of_an_argument_is_an_attribute),
        cmocka_unit_test(every_row_fits_its_traits),
        cmocka_unit_test(every_op_with_bodies_says_so),
    };
    return cmocka_run_group_tests_name("op", tests, NULL, NULL);
}
