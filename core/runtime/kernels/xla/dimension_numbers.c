#include "runtime/kernels/xla/dimension_numbers.h"

#include "proto/wire.h"

static bool append(struct dimension_list *list, uint64_t value)
{
    if (list->count == SHAPE_RANK_MAX || value >= SHAPE_RANK_MAX)
        return false;
    list->at[list->count++] = (int)value;
    return true;
}

/* The numbers of a packed list are varints without tags. */
static bool append_packed(struct dimension_list *list, struct bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++) /* each takes one byte: it is below SHAPE_RANK_MAX */
        if (!append(list, (uint8_t)bytes.data[i]))
            return false;
    return true;
}

struct status dimension_numbers_read(const struct node *node, struct dimension_numbers *out)
{
    struct bytes text;
    struct wire_field field;
    bool good = true;
    *out = (struct dimension_numbers){ 0 };
    TRY(node_attr_string(node, "dimension_numbers", &text));
    struct wire wire = wire_of(text);
    while (good && wire_next(&wire, &field)) {
        struct dimension_list *list = &out->fields[field.number % DIMENSION_FIELDS];
        if (field.number >= DIMENSION_FIELDS)
            continue;
        if (field.type == WIRE_VARINT)
            good = append(list, field.value);
        else if (field.type == WIRE_BYTES)
            good = append_packed(list, field.bytes);
    }
    if (good && !wire.damaged)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "node '%s': damaged dimension_numbers",
                        node->name);
}

int dimension_number(const struct dimension_numbers *numbers, int field)
{
    const struct dimension_list *list = &numbers->fields[field];
    return list->count > 0 ? list->at[list->count - 1] : 0;
}

int dimension_place(const struct dimension_list *list, int dimension)
{
    for (int i = 0; i < list->count; i++)
        if (list->at[i] == dimension)
            return i;
    return -1;
}

bool dimensions_fit(const struct dimension_list *list, int rank)
{
    for (int i = 0; i < list->count; i++)
        if (list->at[i] >= rank || dimension_place(list, list->at[i]) != i)
            return false;
    return true;
}

struct status dimension_values(const struct kernel_context *k, int input, const char *name,
                               int rank, int64_t low, int64_t *out)
{
    const struct tensor *values = kernel_input(k, input);
    if (values->shape.rank != 1 || values->size != rank)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "%s must be a vector of %d elements, but its shape is %s", name, rank,
                            shape_text(&values->shape));
    for (int i = 0; i < rank; i++) {
        out[i] = tensor_index(values, i);
        if (out[i] < low || out[i] > INT32_MAX)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "%s holds %lld", name,
                                (long long)out[i]);
    }
    return status_ok();
}
