#include "trainer/input.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/random.h"

#define STREAM_EPOCHS \
    0x65706f6368000000u /* + epoch: of the streams of a seed, those that order rows */

static void epoch_begin(struct input *input, uint64_t epoch)
{
    struct random random;

    random_init(&random, input->seed, STREAM_EPOCHS + epoch);
    random_permutation(&random, input->order, input->rows);
    input->epoch = epoch;
}

void input_init(struct input *input, uint64_t seed, uint32_t rows, uint32_t worker,
                uint32_t workers)
{
    assert(rows > 0);
    assert(worker < workers);
    *input = (struct input){
        .seed = seed, .rows = rows, .worker = worker, .workers = workers, .place = worker
    };
    input->order = zalloc(rows * sizeof *input->order);
    epoch_begin(input, 0);
}

/* The first place of this worker in an epoch. With more workers than rows the share moves on, so
 * that each worker has rows in some epochs. */
static uint64_t first_place(const struct input *input, uint64_t epoch)
{
    return input->workers <= input->rows ? input->worker : (input->worker + epoch) % input->workers;
}

static uint64_t share(const struct input *input, uint64_t epoch)
{
    uint64_t first = first_place(input, epoch);

    return first < input->rows ? (input->rows - first + input->workers - 1) / input->workers : 0;
}

void input_seek(struct input *input, uint64_t count)
{
    uint64_t epoch = 0;

    if (input->workers <= input->rows) { /* every epoch's share is the same */
        epoch = count / share(input, 0);
        count %= share(input, 0);
    }
    for (; count >= share(input, epoch) && count > 0; epoch++)
        count -= share(input, epoch);
    epoch_begin(input, epoch);
    input->place = first_place(input, epoch) + count * input->workers;
}

void input_next(struct input *input, uint32_t *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        while (input->place >= input->rows) {
            epoch_begin(input, input->epoch + 1);
            input->place = first_place(input, input->epoch);
        }
        rows[i] = input->order[input->place];
        input->place += input->workers;
    }
}

void input_finish(struct input *input)
{
    free(input->order);
    input->order = NULL;
}
