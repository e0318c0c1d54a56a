/*
 * svm: reads libsvm's and libffm's sparse text files.
 *
 *     libsvm   label index:value index:value …        # a comment
 *     libffm   label field:index:value …
 *
 * Columns  label (float, one a row), index (int64) and value (float), and field (int64) for libffm.
 *          `qid` (int64, one a row) is read from ranking files if it is requested; otherwise a
 *          record with a qid is bad, because a model that ignores it would learn something else.
 *
 * A label may be any number. Lines may end in spaces or CR LF; empty lines and comments are
 * skipped. A record is bad if it has an incomplete pair, an invalid number, or a negative index.
 */
#ifndef TRAINER_RECORDS_SVM_H
#define TRAINER_RECORDS_SVM_H

#include "trainer/records/record_reader.h"

extern const struct record_format libsvm_format, libffm_format;

#endif
