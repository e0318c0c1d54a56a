/*
 * conv2d_layouts: the layouts of filters that oneDNN chose, for all convolutions of the process. A
 * large network has few shapes, each many times, and to choose takes oneDNN 0.1 ms. Internal to
 * conv2d_onednn.c, and only compiled with oneDNN.
 */
#ifndef KERNELS_CONV2D_LAYOUTS_H
#define KERNELS_CONV2D_LAYOUTS_H

#include "runtime/kernels/nn/conv2d_cut.h"
#include "runtime/kernels/nn/conv2d_filter.h"

/* The layouts of a convolution, as oneDNN chooses them. */
struct conv2d_layout {
    dnnl_memory_desc_t filter; /* if it is made */
    bool is_made;              /* false: oneDNN refuses the convolution */
    bool is_fast, is_even;     /* as in conv2d_onednn.c */
};

/* The answer that was kept for a convolution of this shape. False: none. Threads: any */
bool conv2d_layout_find(const struct conv2d_onednn_spec *spec, const struct conv2d_piece *piece,
                        struct conv2d_layout *out);
/* May take the place of another answer. Threads: any */
void conv2d_layout_keep(const struct conv2d_onednn_spec *spec, const struct conv2d_piece *piece,
                        const struct conv2d_layout *layout);

#endif
