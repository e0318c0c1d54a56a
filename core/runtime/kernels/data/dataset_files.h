/*
 * dataset_files: the files of a dataset, whose names are in input 0. A file is read as a whole and
 * once for all iterators, when its first element is requested.
 */
#ifndef KERNELS_DATASET_FILES_H
#define KERNELS_DATASET_FILES_H

#include "runtime/kernels/data/dataset.h"
#include "runtime/kernels/decompress.h"

/* The files of a dataset, each read when its first element is wanted. */
struct file_contents {
    enum compression compression;
    struct bytes *contents; /* [filenames] */
    bool *is_read;          /* [filenames] */
};

/* The position of an iterator: the file, and the place in it. */
struct file_place {
    int64_t file;
    uint64_t at;
    bool is_open;
};

const struct tensor *filenames_of(const struct run_dataset *dataset);

/* `compression`: the input that names it; -1: the op has none. `must_be_known`: TFRecordDataset
 * takes other names for none. */
struct status files_check(struct kernel_context *k, struct run_dataset *dataset, int compression,
                          bool must_be_known);

/* The content of a file, in the run's memory. `of_lines`: without carriage returns. */
struct status files_content(struct kernel_context *k, const struct run_dataset *dataset,
                            int64_t file, bool of_lines, struct bytes *out);

#endif
