#include "rpc/reading.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"

struct reading_piece {
    struct reading *reading;
    _Atomic int references; /* 1: nobody but the list */
    char data[READING_BYTES];
};

struct reading {
    struct reading_piece *pieces[READING_PIECES]; /* the last used first: its memory is warm */
    int count;
};

struct reading *reading_create(void)
{
    return zalloc(sizeof(struct reading));
}

void reading_destroy(struct reading *reading)
{
    for (int i = 0; reading != NULL && i < reading->count; i++)
        reading_release(reading->pieces[i]);
    free(reading);
}

static bool is_free(struct reading_piece *piece)
{
    return atomic_load_explicit(&piece->references, memory_order_acquire) == 1;
}

/* The first that nobody keeps, or a new one. */
static int find_free(struct reading *reading)
{
    for (int i = 0; i < reading->count; i++)
        if (is_free(reading->pieces[i]))
            return i;
    assert(reading->count < READING_PIECES);
    struct reading_piece *piece = xrealloc(NULL, sizeof *piece); /* not touched before it is used */
    piece->reading = reading;
    atomic_init(&piece->references, 1);
    reading->pieces[reading->count] = piece;
    return reading->count++;
}

struct reading_piece *reading_next(struct reading *reading)
{
    int at = find_free(reading);
    struct reading_piece *piece = reading->pieces[at];

    for (; at > 0; at--)
        reading->pieces[at] = reading->pieces[at - 1];
    reading->pieces[0] = piece;
    return piece;
}

char *reading_data(struct reading_piece *piece)
{
    return piece->data;
}

bool reading_holds(struct reading_piece *piece, const char *data)
{
    return piece != NULL && (uintptr_t)data - (uintptr_t)piece->data < READING_BYTES;
}

/* Is there, or can there be, another to read to? */
static bool is_last_free(const struct reading_piece *piece)
{
    const struct reading *reading = piece->reading;

    for (int i = 0; i < reading->count; i++)
        if (reading->pieces[i] != piece && is_free(reading->pieces[i]))
            return false;
    return reading->count == READING_PIECES;
}

bool reading_keep(struct reading_piece *piece)
{
    if (is_free(piece) && is_last_free(piece))
        return false;
    atomic_fetch_add_explicit(&piece->references, 1, memory_order_relaxed);
    return true;
}

void reading_release(struct reading_piece *piece)
{
    if (atomic_fetch_sub_explicit(&piece->references, 1, memory_order_acq_rel) == 1)
        free(piece);
}
