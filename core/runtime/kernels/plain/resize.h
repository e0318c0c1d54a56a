/*
 * resize: images [n, h, w, c] to another height and width.
 */
#ifndef KERNELS_PLAIN_RESIZE_H
#define KERNELS_PLAIN_RESIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct resize_size {
    int64_t n, h, w, c, out_h, out_w;
    bool align_corners, half_pixel_centers;
};

/* The distance in the input of two neighbours of the output. */
float resize_scale(int64_t in, int64_t out, bool align_corners);

/* For each position of the output, the two positions of the input around it, and the distance
 * from the lower one. */
struct resize_between {
    int64_t low, high;
    float weight;
};
void resize_places(int64_t in, int64_t out, bool align_corners, bool half_pixel_centers,
                   struct resize_between *places);
/* The same for position i of the output, with the scale of resize_scale. */
void resize_place(int64_t in, float scale, bool half_pixel_centers, int64_t i,
                  struct resize_between *place);
/* The position of the input nearest to position i of the output. */
int64_t resize_nearest_place(int64_t in, float scale, bool align_corners, bool half_pixel_centers,
                             int64_t i);
/* For each position of the output, the nearest position of the input. */
void resize_nearest_places(int64_t in, int64_t out, bool align_corners, bool half_pixel_centers,
                           int64_t *places);

/* rows [out_h] and columns [out_w] are those of resize_places; x [n, h, w, c],
 * out [n, out_h, out_w, c]. */
void resize_bilinear_f32(const struct resize_size *size, const struct resize_between *rows,
                         const struct resize_between *columns, const float *x, float *out);
/* The same for elements of any type; rows and columns are those of resize_nearest_places. */
void resize_nearest(const struct resize_size *size, size_t element_bytes, const int64_t *rows,
                    const int64_t *columns, const void *x, void *out);

#endif
