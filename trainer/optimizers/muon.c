/* Built with -ffp-contract=off, like formulas.c. */
#include "trainer/optimizers/muon.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/clones.h"

/* The sums of a tile of the product stay in registers: 4 rows of 32 columns. */
#define TILE_ROWS    4
#define TILE_COLUMNS 32

/* Copies `width` columns of b [depth, n], padded with zeros. */
static void pack_columns(const float *b, size_t n, size_t depth, size_t width, float *panel)
{
    for (size_t k = 0; k < depth; k++)
        for (size_t c = 0; c < TILE_COLUMNS; c++)
            panel[k * TILE_COLUMNS + c] = c < width ? b[k * n + c] : 0;
}

/* rows: of a, with `depth` numbers each. */
CLONES static void multiply_tile(const float *const rows[TILE_ROWS], const float *restrict panel,
                                 size_t depth, float sums[TILE_ROWS][TILE_COLUMNS])
{
    float tile[TILE_ROWS][TILE_COLUMNS] = { { 0 } };

    for (size_t k = 0; k < depth; k++)
        for (size_t r = 0; r < TILE_ROWS; r++)
            for (size_t c = 0; c < TILE_COLUMNS; c++)
                tile[r][c] += rows[r][k] * panel[k * TILE_COLUMNS + c];
    for (size_t r = 0; r < TILE_ROWS; r++)
        for (size_t c = 0; c < TILE_COLUMNS; c++)
            sums[r][c] = tile[r][c];
}

/* out = a · b, of [m, depth] and [depth, n]; `panel` has depth · TILE_COLUMNS floats. */
static void multiply(const float *a, const float *b, size_t m, size_t depth, size_t n, float *panel,
                     float *out)
{
    float sums[TILE_ROWS][TILE_COLUMNS];

    for (size_t j = 0; j < n; j += TILE_COLUMNS) {
        size_t width = n - j < TILE_COLUMNS ? n - j : TILE_COLUMNS;
        pack_columns(b + j, n, depth, width, panel);
        for (size_t i = 0; i < m; i += TILE_ROWS) {
            const float *rows[TILE_ROWS];
            for (size_t r = 0; r < TILE_ROWS; r++)
                rows[r] = a + (i + r < m ? i + r : m - 1) * depth;
            multiply_tile(rows, panel, depth, sums);
            for (size_t r = 0; r < TILE_ROWS && i + r < m; r++)
                for (size_t c = 0; c < width; c++)
                    out[(i + r) * n + j + c] = sums[r][c];
        }
    }
}

static void transpose(const float *x, size_t rows, size_t cols, float *out)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < cols; k++)
            out[k * rows + i] = x[i * cols + k];
}

/* A matrix x [few, many], few <= many, and the buffers of its steps. */
struct orthogonalizing {
    size_t few, many;
    float *x, *turned, *next;       /* [few, many]; `turned`: the transpose */
    float *square, *fourth, *panel; /* x xᵀ and its square, [few, few] */
    float a, b, c;
};

static void orthogonalizing_init(struct orthogonalizing *o, size_t rows, size_t cols)
{
    o->few = rows < cols ? rows : cols;
    o->many = rows < cols ? cols : rows;
    size_t size = o->few * o->many, inner = o->few * o->few;
    o->x = zalloc((3 * size + 2 * inner + o->many * TILE_COLUMNS) * sizeof *o->x);
    o->turned = o->x + size;
    o->next = o->turned + size;
    o->square = o->next + size;
    o->fourth = o->square + inner;
    o->panel = o->fourth + inner;
}

/* x = a x + (b x xᵀ + c (x xᵀ)²) x */
static void advance(struct orthogonalizing *o)
{
    size_t few = o->few, many = o->many;
    float *old = o->x;

    transpose(o->x, few, many, o->turned);
    multiply(o->x, o->turned, few, many, few, o->panel, o->square);
    multiply(o->square, o->square, few, few, few, o->panel, o->fourth);
    for (size_t i = 0; i < few * few; i++)
        o->square[i] = o->b * o->square[i] + o->c * o->fourth[i];
    multiply(o->square, o->x, few, few, many, o->panel, o->next);
    for (size_t i = 0; i < few * many; i++)
        old[i] = o->a * old[i] + o->next[i];
}

static void divide_by_norm(float *x, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += (double)x[i] * (double)x[i];
    float by = (float)(sqrt(sum) + 1e-7);
    for (size_t i = 0; i < count; i++)
        x[i] /= by;
}

/* Updates the momentum; writes the direction to out. */
static void move_momentum(const struct optimizer_step *step, float *out)
{
    const float mu = step->settings[0], *g = step->g;
    float *m = step->slots[0];
    bool nesterov = step->settings[1] != 0;

    for (size_t i = 0; i < step->count; i++) {
        m[i] += g[i] + m[i] * (mu - 1);
        out[i] = nesterov ? g[i] + mu * m[i] : m[i];
    }
}

static int steps_of(float setting)
{
    return !(setting > 0) ? 0 : setting < MUON_STEPS_MAX ? (int)setting : MUON_STEPS_MAX;
}

void muon_update(const struct optimizer_step *step, const struct shape *shape)
{
    const float *settings = step->settings;
    size_t rows = shape->rank == 2 ? (size_t)shape->dims[0] : 1,
           cols = step->count / (rows + !rows);
    const float keep = 1 - step->rate * settings[7];
    struct orthogonalizing o = { .a = settings[4], .b = settings[5], .c = settings[6] };

    if (step->count == 0)
        return;
    orthogonalizing_init(&o, rows, cols);
    float scale = settings[3] < 0 ? 1 : settings[3] * sqrtf((float)o.many);
    move_momentum(step, rows > cols ? o.next : o.x);
    if (rows > cols)
        transpose(o.next, rows, cols, o.x);
    divide_by_norm(o.x, step->count);
    for (int i = steps_of(settings[2]); i > 0; i--)
        advance(&o);
    if (rows > cols)
        transpose(o.x, cols, rows, o.next);
    const float *update = rows > cols ? o.next : o.x;
    for (size_t i = 0; i < step->count; i++)
        step->out[i] = step->w[i] * keep - step->rate * update[i] * scale;
    free(o.x);
}
