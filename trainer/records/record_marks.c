#include "trainer/records/record_marks.h"

#include <stdlib.h>

#include "base/arena.h"

#define RECORDS_OF_A_MARK ((uint64_t)1024)

bool record_marks_wants(const struct record_marks *marks, uint64_t record)
{
    return record == (marks->count + 1) * RECORDS_OF_A_MARK;
}

void record_marks_note(struct record_marks *marks, const struct record_mark *mark)
{
    if (marks->count == marks->capacity) {
        marks->capacity = 2 * marks->capacity + 16;
        marks->list = xrealloc(marks->list, marks->capacity * sizeof *marks->list);
    }
    marks->list[marks->count++] = *mark;
}

const struct record_mark *record_marks_find(const struct record_marks *marks, uint64_t record)
{
    size_t place = (size_t)(record / RECORDS_OF_A_MARK); /* the mark of record 1024 is the first */

    place = place < marks->count ? place : marks->count;
    return place > 0 ? &marks->list[place - 1] : NULL;
}

void record_marks_finish(struct record_marks *marks)
{
    free(marks->list);
    *marks = (struct record_marks){ 0 };
}
