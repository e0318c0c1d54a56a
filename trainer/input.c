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

void input_next(struct input *input, uint32_t *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        while (input->place >= input->rows) {
            epoch_begin(input, input->epoch + 1);
            /* With more workers than rows the share moves on, so that each worker has rows in some
             * epochs. */
            input->place = input->workers <= input->rows
                               ? input->worker
                               : (input->worker + input->epoch) % input->workers;
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
