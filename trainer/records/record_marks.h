/*
 * record_marks: positions in a file to which its reader can jump.
 *
 * A reader that counts all records of a file marks some of them. Other readers then jump to the
 * last mark that is not after the record that they want:
 *
 *     mark = record_marks_find(&marks, record + 9000);
 *     if (mark != NULL && mark->record > record)
 *         TRY(record_reader_go_to(reader, mark));
 *
 * Threads may find marks concurrently; nothing may be added meanwhile.
 */
#ifndef TRAINER_RECORDS_RECORD_MARKS_H
#define TRAINER_RECORDS_RECORD_MARKS_H

#include "trainer/records/record_reader.h"

/* Zero-initialise it. Memory: 24 bytes per 1024 records. */
struct record_marks {
    struct record_mark *list; /* [count], ascending */
    size_t count, capacity;
};

/* Is this record the next one to mark? */
bool record_marks_wants(const struct record_marks *marks, uint64_t record);
void record_marks_note(struct record_marks *marks, const struct record_mark *mark);

/* NULL: none. */
const struct record_mark *record_marks_find(const struct record_marks *marks, uint64_t record);
void record_marks_finish(struct record_marks *marks);

#endif
