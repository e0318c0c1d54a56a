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

int signature_input(const struct signature *signature, struct bytes key)
{
    return find(signature->inputs, signature->inputs_count, key);
}

int signature_output(const struct signature *signature, struct bytes key)
{
    return find(signature->outputs, signature->outputs_count, key);
}
