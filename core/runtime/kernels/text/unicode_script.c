/* unicode_script: UnicodeScript, the script of each code point. */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/scripts.h"

static struct status script_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;
    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++)
        tensor_int32s_mut(out)[i] = script_of(tensor_int32s(x)[i]);
    return status_ok();
}

static const struct kernel rows[] = {
    { "UnicodeScript", DTYPES_ALL, .compute = script_compute },
};
const struct kernel_table kernels_unicode_script = { rows, COUNT(rows) };
