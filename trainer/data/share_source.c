#include "trainer/data/share_source.h"

#include <stdlib.h>

#include "base/arena.h"

struct share_source {
    struct batch_source source; /* first */
    struct batch_source *inner;
    struct turn_source turns;
    uint64_t batch_rows;
    uint32_t batches; /* of a turn */
    uint32_t left;    /* of this turn */
    uint64_t place;   /* of inner: rows consumed */
    bool placed;      /* place is known */
};

/* Asks for a turn, and moves to its first row. */
static struct status next_turn(struct share_source *source, bool *found)
{
    uint64_t turn;

    TRY(source->turns.next(source->turns.context, found, &turn));
    if (!*found)
        return status_ok();
    uint64_t first = turn * source->batches * source->batch_rows;
    if (!source->placed || source->place != first) {
        source->placed = false;
        TRY(source->inner->seek(source->inner, first));
        source->place = first;
        source->placed = true;
    }
    source->left = source->batches;
    return status_ok();
}

static struct status next(struct batch_source *base, int64_t rows_max, struct batch *out)
{
    struct share_source *source = (struct share_source *)base;
    bool found = true;

    source->inner->keep = base->keep;
    if (source->left == 0)
        TRY(next_turn(source, &found));
    *out = (struct batch){ 0 };
    if (!found)
        return status_ok();
    struct status status = source->inner->next(source->inner, rows_max, out);
    source->placed = status_is_ok(status);
    source->place += source->batch_rows;
    source->left--;
    return status;
}

static struct status seek(struct batch_source *base, uint64_t rows)
{
    struct share_source *source = (struct share_source *)base;

    (void)rows;
    source->left = 0;
    source->turns.begin(source->turns.context);
    return status_ok();
}

static void destroy(struct batch_source *base)
{
    struct share_source *source = (struct share_source *)base;

    source->inner->destroy(source->inner);
    free(source);
}

struct batch_source *share_source(struct batch_source *inner, const struct turn_source *turns,
                                  uint64_t batch_rows, uint32_t batches)
{
    struct share_source *source = zalloc(sizeof *source);

    source->source = (struct batch_source){
        .next = next, .seek = seek, .destroy = destroy, .keep_max = inner->keep_max
    };
    source->inner = inner;
    source->turns = *turns;
    source->batch_rows = batch_rows;
    source->batches = batches;
    return &source->source;
}
