/* The functions of conv2d_onednn.h in a build without oneDNN: they do nothing, and the callers
 * use their plain loops. */
#include "runtime/kernels/nn/conv2d_onednn.h"

bool conv2d_onednn_pack(struct conv2d_onednn *conv, const struct conv2d_onednn_size *size,
                        float *filter, size_t filter_bytes, struct buffer *scratch, bool *in_place)
{
    (void)conv, (void)size, (void)filter, (void)filter_bytes, (void)scratch, (void)in_place;
    return false;
}

bool conv2d_onednn_unpack(struct conv2d_onednn *conv, float *filter)
{
    (void)conv, (void)filter;
    return false;
}

struct conv2d_onednn *conv2d_onednn_create(const struct conv2d_onednn_spec *spec)
{
    (void)spec;
    return NULL;
}

void conv2d_onednn_destroy(void *conv)
{
    (void)conv;
}

enum conv_outcome conv2d_onednn_run(struct conv2d_onednn *conv,
                                    const struct conv2d_onednn_size *size, const float *filter,
                                    const float *in, float *out)
{
    (void)conv, (void)size, (void)filter, (void)in, (void)out;
    return CONV_REFUSED;
}

bool conv2d_onednn_multiply(struct conv2d_onednn *conv, int64_t rows, const float *in, float *out)
{
    (void)conv, (void)rows, (void)in, (void)out;
    return false;
}
