/*
 * random: StatelessRandomUniform of float. Its numbers are a function of the seed: the same in
 * every run, on every machine, and in TensorFlow.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/philox.h"

/* Reads the shape from an input. */
static struct status shape_asked(const struct tensor *dims, struct shape *out)
{
    int64_t values[SHAPE_RANK_MAX];

    if (dims->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "shape must be a vector of {int32,int64}, got shape %s",
                            shape_text(&dims->shape));
    TRY(shape_check_rank(dims->size));
    for (int64_t i = 0; i < dims->size; i++)
        values[i] = tensor_index(dims, i);
    return shape_check((int)dims->size, values, out);
}

static struct status stateless_uniform_compute(struct kernel_context *k)
{
    const struct tensor *seed = kernel_input(k, 1);
    struct shape shape;
    struct tensor *out;

    if (seed->shape.rank != 1 || seed->size != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "seed must have shape [2], not %s",
                            shape_text(&seed->shape));
    TRY(shape_asked(kernel_input(k, 0), &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    struct philox philox =
        philox_of_seeds((uint64_t)tensor_index(seed, 0), (uint64_t)tensor_index(seed, 1));
    philox_uniform_f32(philox, tensor_floats_mut(out), out->size);
    return status_ok();
}

static const struct kernel rows[] = {
    { "StatelessRandomUniform", DTYPES(DT_FLOAT), .type_attr = "dtype",
      .compute = stateless_uniform_compute },
};
const struct kernel_table kernels_random = { rows, COUNT(rows) };
