/*
 * loss_plot: records the loss over time in a fixed amount of memory, and draws it as text.
 *
 *     struct loss_plot plot = { 0 };
 *     loss_plot_add(&plot, step, loss);    after each step
 *     loss_plot_draw(&plot, 80, true, &text);
 *
 *       2.302 |⢣
 *             | ⠣⡀
 *      0.2633 |  ⠈⠒⠤⠤⣀⣀⣀
 *             +-----------
 *              1      1000
 */
#ifndef TRAINER_REPORT_LOSS_PLOT_H
#define TRAINER_REPORT_LOSS_PLOT_H

#include "base/bytes.h"

#define LOSS_PLOT_BINS 512 /* even, and more than a terminal has dots in a row */

/* The mean loss of a range of steps. */
struct loss_bin {
    double sum;
    uint64_t count;
};

/* Zero-initialise it. */
struct loss_plot {
    struct loss_bin bins[LOSS_PLOT_BINS];
    uint64_t first_step, last_step; /* 0: no step yet */
    uint64_t bin_steps;             /* the steps of a bin */
};

/* Adds the loss of a step. If the step is not after the last one, the job has returned to an
 * earlier step, and later losses are dropped. */
void loss_plot_add(struct loss_plot *plot, uint64_t step, double loss);

/* Appends lines of at most `columns` characters, in Braille dots if `unicode`, otherwise in ASCII.
 * The scale is logarithmic if the losses span more than a factor of ten. Appends nothing if there
 * are too few columns or steps. */
void loss_plot_draw(const struct loss_plot *plot, int columns, bool unicode, struct buffer *out);

#endif
