#include "trainer/report/loss_plot.h"

#include <math.h>
#include <stdio.h>

#define ROWS        8
#define COLUMNS_MAX 72
#define COLUMNS_MIN 16
#define LABEL       10          /* columns for a loss value */
#define MARGIN      (LABEL + 2) /* the label, a space, the axis */
#define STEPS_MIN   3

/* A Braille cell has two by four dots. */
#define DOTS_X     2
#define DOTS_Y     4
#define DOTS_X_MAX (COLUMNS_MAX * DOTS_X)

/* ---- collecting ---- */

/* Two bins become one. */
static void halve(struct loss_plot *plot)
{
    for (int i = 0; i < LOSS_PLOT_BINS; i++) {
        struct loss_bin merged = { 0, 0 };
        if (i < LOSS_PLOT_BINS / 2) {
            const struct loss_bin *a = &plot->bins[2 * i], *b = a + 1;
            merged = (struct loss_bin){ a->sum + b->sum, a->count + b->count };
        }
        plot->bins[i] = merged;
    }
    plot->bin_steps *= 2;
}

/* Drops the step and later ones, or the rest of its bin. */
static void go_back(struct loss_plot *plot, uint64_t step)
{
    uint64_t i = step > plot->first_step ? (step - plot->first_step) / plot->bin_steps : 0;

    for (; i < LOSS_PLOT_BINS; i++)
        plot->bins[i] = (struct loss_bin){ 0, 0 };
    if (step < plot->first_step)
        plot->first_step = step;
}

void loss_plot_add(struct loss_plot *plot, uint64_t step, double loss)
{
    if (plot->bin_steps == 0)
        *plot = (struct loss_plot){ .first_step = step, .bin_steps = 1 };
    else if (step <= plot->last_step)
        go_back(plot, step);
    plot->last_step = step;
    while ((step - plot->first_step) / plot->bin_steps >= LOSS_PLOT_BINS)
        halve(plot);
    struct loss_bin *bin = &plot->bins[(step - plot->first_step) / plot->bin_steps];
    bin->sum += loss;
    bin->count++;
}

/* ---- drawing ---- */

struct loss_curve {
    double values[DOTS_X_MAX]; /* [width], from left to right; NAN: no step */
    int width, height;         /* dots */
    double low, high;
    bool logarithmic;
};

/* The mean of the bins under dot x. */
static double mean_under(const struct loss_plot *plot, int bins, int x, int width)
{
    int begin = (int)((int64_t)x * bins / width), end = (int)((int64_t)(x + 1) * bins / width);
    double sum = 0;
    uint64_t count = 0;

    for (int i = begin; i < (end > begin ? end : begin + 1); i++) {
        sum += plot->bins[i].sum;
        count += plot->bins[i].count;
    }
    return count > 0 ? sum / (double)count : NAN;
}

static void compute_curve(const struct loss_plot *plot, struct loss_curve *curve)
{
    int bins = (int)((plot->last_step - plot->first_step) / plot->bin_steps) + 1;

    curve->low = INFINITY;
    curve->high = -INFINITY;
    for (int x = 0; x < curve->width; x++) {
        double value = mean_under(plot, bins, x, curve->width);
        curve->values[x] = value;
        curve->low = value < curve->low ? value : curve->low;
        curve->high = value > curve->high ? value : curve->high;
    }
    curve->logarithmic = curve->low > 0 && curve->high > 10 * curve->low;
}

/* The row of a value in dots, from the top. */
static int dot_of(const struct loss_curve *curve, double value)
{
    double low = curve->low, high = curve->high;

    if (curve->logarithmic) {
        value = log(value);
        low = log(low);
        high = log(high);
    }
    return high > low ? (int)lrint((high - value) / (high - low) * (curve->height - 1))
                      : curve->height - 1;
}

/* Braille patterns number the dots of the left column as bits 0 1 2 6, of the right one as 3 4 5
 * 7. */
static void set_dot(unsigned char *cells, int columns, bool unicode, int x, int y)
{
    static const unsigned char bits[DOTS_Y][DOTS_X] = {
        { 1, 8 }, { 2, 16 }, { 4, 32 }, { 64, 128 }
    };

    if (unicode)
        cells[y / DOTS_Y * columns + x / DOTS_X] |= bits[y % DOTS_Y][x % DOTS_X];
    else
        cells[y * columns + x] = 1;
}

/* Draws a line: where it is steep, a column has all dots from the row of the previous value. */
static void draw_curve(const struct loss_curve *curve, int columns, bool unicode,
                       unsigned char *cells)
{
    int before = -1;

    for (int x = 0; x < curve->width; x++) {
        if (isnan(curve->values[x]))
            continue;
        int y = dot_of(curve, curve->values[x]), from = before < 0 ? y : before;
        int step = from < y ? 1 : -1;
        for (int at = from; at != y; at += step)
            if (at != from)
                set_dot(cells, columns, unicode, x, at);
        set_dot(cells, columns, unicode, x, y);
        before = y;
    }
}

static void put_cell(struct buffer *out, bool unicode, unsigned char cell)
{
    if (cell == 0)
        buffer_append_char(out, ' ');
    else if (!unicode)
        buffer_append_char(out, '*');
    else /* U+2800 + cell as UTF-8 */
        buffer_append(
            out, (char[]){ (char)0xe2, (char)(0xa0 | cell >> 6), (char)(0x80 | (cell & 63)) }, 3);
}

/* The first and the last row are labelled with the ends of the scale. */
static void put_label(struct buffer *out, const struct loss_curve *curve, int row)
{
    if (row == 0)
        buffer_printf(out, "%*.4g |", LABEL, curve->high);
    else if (row == ROWS - 1)
        buffer_printf(out, "%*.4g |", LABEL, curve->low);
    else
        buffer_printf(out, "%*s |", LABEL, "");
}

static void put_axis(struct buffer *out, const struct loss_plot *plot, int columns)
{
    char last[24];

    buffer_printf(out, "%*s +", LABEL, "");
    for (int i = 0; i < columns; i++)
        buffer_append_char(out, '-');
    snprintf(last, sizeof last, "%llu", (unsigned long long)plot->last_step);
    buffer_printf(out, "\n%*s  %-*llu%s\n", LABEL, "", columns - (int)strlen(last),
                  (unsigned long long)plot->first_step, last);
}

void loss_plot_draw(const struct loss_plot *plot, int columns, bool unicode, struct buffer *out)
{
    unsigned char cells[ROWS * COLUMNS_MAX] = { 0 };
    struct loss_curve curve = { .height = unicode ? ROWS * DOTS_Y : ROWS };

    columns = columns - MARGIN < COLUMNS_MAX ? columns - MARGIN : COLUMNS_MAX;
    if (columns < COLUMNS_MIN || plot->last_step - plot->first_step + 1 < STEPS_MIN)
        return;
    curve.width = unicode ? columns * DOTS_X : columns;
    compute_curve(plot, &curve);
    draw_curve(&curve, columns, unicode, cells);
    buffer_printf(out, "%*s  loss%s by step\n", LABEL, "", curve.logarithmic ? " (log scale)" : "");
    for (int row = 0; row < ROWS; row++) {
        int end = columns;
        put_label(out, &curve, row);
        while (end > 0 && cells[row * columns + end - 1] == 0)
            end--;
        for (int i = 0; i < end; i++)
            put_cell(out, unicode, cells[row * columns + i]);
        buffer_append_char(out, '\n');
    }
    put_axis(out, plot, columns);
}
