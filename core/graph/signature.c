#include "graph/signature.h"

#include <string.h>

static int find(const struct signature_tensor *tensors, int count, struct bytes key)
{
    for (int i = 0; i < count; i++) {
        if (bytes_equal(bytes_of(tensors[i].key), key))
            return i;
    }
    return -1;
}

bool signature_is_callable(const struct signature *signature)
{
    return strncmp(signature->name, "__", 2) != 0;
}

bool signature_takes_examples(const struct signature *signature)
{
    return strcmp(signature->method, SIGNATURE_CLASSIFY) == 0 ||
           strcmp(signature->method, SIGNATURE_REGRESS) == 0;
}

/* Chooses among the signatures that take tensors, or among those that take Examples. */
static const struct signature *choose_kind(const struct signature *list, int count, bool examples,
                                           int *found)
{
    const struct signature *last = NULL;

    *found = 0;
    for (int i = 0; i < count; i++) {
        if (!signature_is_callable(&list[i]) || signature_takes_examples(&list[i]) != examples)
            continue;
        if (strcmp(list[i].name, SIGNATURE_DEFAULT) == 0) {
            *found = 1;
            return &list[i];
        }
        last = &list[i];
        ++*found;
    }
    return *found == 1 ? last : NULL;
}

const struct signature *signature_choose(const struct signature *list, int count)
{
    int found;
    const struct signature *signature = choose_kind(list, count, false, &found);

    return found > 0 ? signature : choose_kind(list, count, true, &found);
}

int signature_input(const struct signature *signature, struct bytes key)
{
    return find(signature->inputs, signature->inputs_count, key);
}

int signature_output(const struct signature *signature, struct bytes key)
{
    return find(signature->outputs, signature->outputs_count, key);
}

static bool has_dims(const struct signature_tensor *tensor, enum dtype dtype, int rank,
                     int64_t last)
{
    bool same = dtype == DT_INVALID || tensor->dtype == dtype;

    return same && tensor->shape.rank == rank && (last < 0 || tensor->shape.dims[rank - 1] == last);
}

/* The input whose key is that of `input` and the suffix, or -1. */
static int find_beside(const struct signature *signature, int input, const char *suffix)
{
    const char *key = signature->inputs[input].key;
    size_t size = strlen(key), more = strlen(suffix);

    for (int i = 0; i < signature->inputs_count; i++) {
        const char *other = signature->inputs[i].key;
        if (strlen(other) == size + more && memcmp(other, key, size) == 0 &&
            strcmp(other + size, suffix) == 0)
            return i;
    }
    return -1;
}

bool signature_is_sparse(const struct signature *signature, int input, struct signature_sparse *out)
{
    const struct signature_tensor *inputs = signature->inputs;
    int values = find_beside(signature, input, "_1"), shape = find_beside(signature, input, "_2");

    *out = (struct signature_sparse){ values, shape };
    return values >= 0 && shape >= 0 && has_dims(&inputs[input], DT_INT64, 2, 2) &&
           has_dims(&inputs[values], DT_INVALID, 1, -1) && has_dims(&inputs[shape], DT_INT64, 1, 2);
}

int signature_row_splits(const struct signature *signature, int input)
{
    int splits = find_beside(signature, input, "_1");
    bool found = splits >= 0 && signature->inputs[input].shape.rank == 1 &&
                 has_dims(&signature->inputs[splits], DT_INT64, 1, -1);

    return found ? splits : -1;
}

struct status signature_check_named(const struct signature_tensor *tensor)
{
    if (tensor->tensor_name[0] != '\0')
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED,
                        "it is a sparse or composite tensor (coo_sparse, composite_tensor), as "
                        "TensorFlow 1 and other programs name one; a signature of Keras or "
                        "tf.function has the indices, the values and the shape of a sparse tensor "
                        "as inputs '%s', '%s_1' and '%s_2', which are implemented",
                        tensor->key, tensor->key, tensor->key);
}

int signature_computed_outputs(const struct signature *signature)
{
    int count = signature->outputs_count;

    while (count > 0 && signature->outputs[count - 1].tensor_name[0] == '\0')
        count--;
    return count;
}

struct status signature_check_output(const struct signature *signature, int output)
{
    if (output < signature_computed_outputs(signature))
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED,
                        "output '%s' of the signature '%s' is a sparse or composite tensor "
                        "(coo_sparse, composite_tensor), which an answer cannot hold; ask for "
                        "other outputs by name (output_filter)",
                        signature->outputs[output].key, signature->name);
}

struct status signature_check_outputs(const struct signature *signature)
{
    int computed = signature_computed_outputs(signature);

    return computed < signature->outputs_count ? signature_check_output(signature, computed)
                                               : status_ok();
}
