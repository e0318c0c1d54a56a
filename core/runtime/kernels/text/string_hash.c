/* string_hash: ops that turn strings into buckets of a fixed number. */
#include "base/fingerprint.h"
#include "runtime/kernel.h"
#include "runtime/kernels/kernel_tools.h"

struct hash_state {
    uint64_t buckets;
    uint64_t key[2]; /* of the strong hash */
};

static struct status read_buckets(struct prepare_context *p, struct hash_state *state)
{
    int64_t buckets;

    TRY(node_attr_int(prepare_node(p), "num_buckets", &buckets));
    state->buckets = (uint64_t)buckets;
    return status_ok();
}

static struct status buckets_prepare(struct prepare_context *p)
{
    return read_buckets(p, prepare_state(p, sizeof(struct hash_state), NULL));
}

static struct status strong_prepare(struct prepare_context *p)
{
    struct hash_state *state = prepare_state(p, sizeof *state, NULL);
    const struct attr_value *key;

    TRY(read_buckets(p, state));
    TRY(node_attr_list(prepare_node(p), "key", &key));
    if (key->count != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "Key must have 2 elements");
    for (int i = 0; i < 2; i++)
        state->key[i] = (uint64_t)key->elements[i].i;
    return status_ok();
}

static struct status find_buckets(struct kernel_context *k, uint64_t (*hash)(struct bytes text))
{
    const struct hash_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;

    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++)
        tensor_int64s_mut(out)[i] = (int64_t)(hash(tensor_strings(x)[i]) % state->buckets);
    return status_ok();
}

static struct status plain_compute(struct kernel_context *k)
{
    return find_buckets(k, murmur64);
}

static struct status fast_compute(struct kernel_context *k)
{
    return find_buckets(k, fingerprint64);
}

static struct status strong_compute(struct kernel_context *k)
{
    const struct hash_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;

    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++)
        tensor_int64s_mut(out)[i] =
            (int64_t)(siphash64(state->key, tensor_strings(x)[i]) % state->buckets);
    return status_ok();
}

static const struct kernel rows[] = {
    { "StringToHashBucket", DTYPES_ALL, .prepare = buckets_prepare, .compute = plain_compute },
    { "StringToHashBucketFast", DTYPES_ALL, .prepare = buckets_prepare, .compute = fast_compute },
    { "StringToHashBucketStrong", DTYPES_ALL, .prepare = strong_prepare,
      .compute = strong_compute },
};
const struct kernel_table kernels_string_hash = { rows, COUNT(rows) };
