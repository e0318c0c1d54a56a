#include "server/example_line.h"

#include "server/json_print.h"

#define SHOWN_MAX  64   /* numbers that are written out */
#define HIDDEN_MAX 4096 /* numbers that the shell writes, of one list */

/* Zeros fit every number; an unknown dimension is taken as 1. */
static bool is_number(enum dtype dtype)
{
    switch (dtype) {
    case DT_FLOAT:
    case DT_DOUBLE:
    case DT_INT32:
    case DT_INT64:
    case DT_INT16:
    case DT_INT8:
    case DT_UINT8:
    case DT_UINT32:
    case DT_UINT64:
        return true;
    default:
        return false;
    }
}

static int64_t dim_of(const struct shape *shape, int i)
{
    return shape->dims[i] < 1 ? 1 : shape->dims[i];
}

static int64_t elements(const struct shape *shape)
{
    int64_t count = 1;
    for (int i = 0; i < shape->rank && count <= HIDDEN_MAX; i++)
        count *= dim_of(shape, i);
    return count;
}

static bool is_shown(const struct signature *signature)
{
    if (signature->inputs_count == 0 || signature->name[0] == '_')
        return false;
    for (int i = 0; i < signature->inputs_count; i++) {
        const struct signature_tensor *input = &signature->inputs[i];
        int64_t count = elements(&input->shape);
        if (!is_number(input->dtype) || input->shape.rank < 0 || count > HIDDEN_MAX ||
            (count > SHOWN_MAX && dim_of(&input->shape, input->shape.rank - 1) != count))
            return false;
    }
    return true;
}

static const struct signature *choose(const struct servable *servable)
{
    const struct signature *found = NULL;
    for (int i = 0; i < servable->callables_count; i++) {
        const struct callable *callable = &servable->callables[i];
        if (callable->plan == NULL || !is_shown(callable->signature))
            continue;
        if (found == NULL || strcmp(callable->signature->name, SIGNATURE_DEFAULT) == 0)
            found = callable->signature;
    }
    return found;
}

/* Nested lists of zeros from dimension `level` on; a long list is left to the shell, inside double
 * quotes. */
static void print_zeros(const struct shape *shape, int level, bool real, struct buffer *out)
{
    const char *zero = real ? "0.0" : "0";
    if (level == shape->rank) {
        buffer_append_text(out, zero);
        return;
    }
    int64_t size = dim_of(shape, level);
    buffer_append_char(out, '[');
    if (level == shape->rank - 1 && size > SHOWN_MAX) {
        buffer_printf(out, "$(yes %s | head -%lld | paste -sd,)", zero, (long long)size);
    } else {
        for (int64_t i = 0; i < size; i++) {
            buffer_append_text(out, i > 0 ? "," : "");
            print_zeros(shape, level + 1, real, out);
        }
    }
    buffer_append_char(out, ']');
}

static void print_inputs(const struct signature *signature, struct buffer *out)
{
    buffer_append_text(out, "\\\"inputs\\\":{");
    for (int i = 0; i < signature->inputs_count; i++) {
        const struct signature_tensor *input = &signature->inputs[i];
        buffer_printf(out, "%s\\\"%s\\\":", i > 0 ? "," : "", input->key);
        print_zeros(&input->shape, 0, dtype_is_floating(input->dtype), out);
    }
    buffer_append_char(out, '}');
}

/* The row form where there is one input with rows; it is what most people write. */
static void print_body(const struct signature *signature, struct buffer *out)
{
    const struct signature_tensor *input = &signature->inputs[0];
    buffer_append_char(out, '{');
    if (strcmp(signature->name, SIGNATURE_DEFAULT) != 0)
        buffer_printf(out, "\\\"signature_name\\\":\\\"%s\\\",", signature->name);
    if (signature->inputs_count == 1 && input->shape.rank > 0) {
        buffer_append_text(out, "\\\"instances\\\":");
        print_zeros(&input->shape, 0, dtype_is_floating(input->dtype), out);
    } else {
        print_inputs(signature, out);
    }
    buffer_append_char(out, '}');
}

void example_line_print(const struct servable *servable, int port, struct buffer *out)
{
    const struct signature *signature = choose(servable);
    if (signature == NULL) {
        buffer_printf(out, "curl http://localhost:%d/v1/models/%s/metadata", port, servable->name);
        return;
    }
    buffer_append_text(out, "curl -d \"");
    print_body(signature, out);
    buffer_printf(out, "\" http://localhost:%d/v1/models/%s:predict", port, servable->name);
}
