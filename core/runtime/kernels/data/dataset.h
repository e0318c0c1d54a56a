/*
 * dataset: what the ops of tf.data make and run, within one run of a plan.
 *
 * A dataset is an object in a variant tensor, as a TensorList is. It holds the inputs of the node
 * that made it, other datasets among them. An iterator walks one dataset, and owns the iterators of
 * its input datasets. Elements are made one at a time, when the next one is requested. What
 * TensorFlow computes in advance or in parallel (Prefetch, ParallelMap) gives the same elements in
 * the same order, and is computed sequentially here. All memory is the run's, and counts towards
 * its limit. Each step of each iterator checks the run's deadline.
 *
 * An op that makes a dataset is one row:
 *
 *     DATASET("TakeDataset", count_check, take_next, .iterator_bytes = sizeof(struct take),
 *             .cardinality = take_cardinality)
 */
#ifndef KERNELS_DATASET_H
#define KERNELS_DATASET_H

#include "runtime/functions.h"
#include "runtime/kernels/data/tensors.h"

struct run_dataset;
struct dataset_shape;
struct iterator;

/* Cardinalities that are no number of elements. */
#define CARDINALITY_INFINITE (-1)
#define CARDINALITY_UNKNOWN  (-2)

struct dataset_kind {
    /* When a plan is made: refuses attributes, and sets shape->extra. May be NULL. */
    struct status (*prepare)(struct prepare_context *p, struct dataset_shape *shape);
    /* When a dataset is made: refuses inputs, in TensorFlow's words. May be NULL. */
    struct status (*check)(struct kernel_context *k, struct run_dataset *dataset);
    /* Starts an iterator, whose `state` is zeroed; its input 0, if it is a dataset, is open. May be
     * NULL. */
    struct status (*begin)(struct kernel_context *k, struct iterator *iterator);
    /* Puts the next element into `element`: dataset->count tensors, which the caller owns. Sets
     * *end, and no tensor, after the last one. After a failure no tensor is set. */
    struct status (*next)(struct kernel_context *k, struct iterator *iterator,
                          struct tensor *element, bool *end);
    void (*finish)(struct iterator *iterator); /* releases what `state` holds. May be NULL */
    /* When a dataset has been made. NULL: unknown */
    int64_t (*cardinality)(const struct run_dataset *dataset);
    size_t iterator_bytes;                      /* of the state of an iterator */
    size_t dataset_bytes;                       /* of the state of a dataset */
    void (*close)(struct run_dataset *dataset); /* releases what that holds. May be NULL */
    bool same_width; /* an element has as many tensors as an element of each input dataset */
};

/* The common properties of one node's datasets, computed when a plan is made. */
struct dataset_shape {
    const struct dataset_kind *kind;
    const struct node *node; /* NULL: no node makes them, and all inputs are elements */
    enum dtype *dtypes;      /* [count] of an element; NULL: any */
    int count;
    const struct plan_function **functions; /* of the node */
    const void *extra;                      /* what the kind's prepare keeps, in the plan's arena */
};

struct run_dataset {
    struct object object;
    struct tensor self; /* the memory of the dataset, from the run's pool */
    const struct dataset_shape *shape;
    const struct dataset_kind *kind; /* the same as in `shape` */
    int count;                       /* of tensors in an element, as in `shape` */
    int depth;                       /* 1 more than the deepest dataset among its inputs */
    int64_t cardinality;             /* how many elements, or CARDINALITY_… */
    bool is_shuffled;                /* by it or by a dataset among its inputs */
    /* Could an iterator that some input holds come to own this dataset, in a cycle? */
    bool holds_others;
    void *state; /* dataset_bytes, zeroed */
    int inputs_count;
    struct tensor inputs[]; /* of the node */
};

struct iterator {
    struct tensor self;
    struct run_dataset *dataset;
    struct iterator *input; /* over the dataset in input 0; NULL: that is none */
    struct tensor *element; /* place for an element of `input` */
    void *state;
    bool ended;
};

/* dataset.c: the row of an op that makes a dataset. */
struct status dataset_prepare(struct prepare_context *p);
struct status dataset_compute(struct kernel_context *k);
#define DATASET(name, check_function, next_function, ...)                           \
    {                                                                               \
        (name), DTYPES_ALL, .prepare = dataset_prepare, .compute = dataset_compute, \
                            .dataset = &(const struct dataset_kind)                 \
        {                                                                           \
            .check = (check_function), .next = (next_function), __VA_ARGS__         \
        }                                                                           \
    }

/* The dataset in a scalar variant tensor. INVALID_ARGUMENT: it holds something else. */
struct status dataset_of(const struct kernel_context *k, const struct tensor *tensor,
                         struct run_dataset **out);
/* The dataset in input `index` of a dataset, which dataset_compute has checked. */
struct run_dataset *dataset_input(const struct run_dataset *dataset, int index);
/* A dataset that no node makes, such as a window. Takes over the `inputs`, also after a failure.
 * Owner: the caller. */
struct status dataset_create(struct kernel_context *k, const struct dataset_shape *shape, int count,
                             struct tensor *inputs, struct run_dataset **out);
/* A scalar tensor that holds a dataset of these elements, each of `width` tensors, one after the
 * other. Takes over the elements, unless there are too many of them. */
struct status dataset_hold(struct kernel_context *k, int width, struct tensors *elements,
                           struct tensor *out);
/* A scalar tensor that holds the dataset, which it takes over. */
struct status dataset_box(struct kernel_context *k, struct run_dataset *dataset,
                          struct tensor *out);
/* Refuses a dataset whose elements have another number of tensors than those of `dataset`. */
struct status dataset_check_width(const struct kernel_context *k, const struct run_dataset *dataset,
                                  const struct run_dataset *inner);
/* The cardinality of batches of `size` elements of input 0. `drops`: not of fewer. */
int64_t dataset_count_batches(const struct run_dataset *dataset, int64_t size, bool drops);

/* Checks that input `index` is an int64 scalar of at least `least`. */
struct status dataset_check_number(const struct kernel_context *k,
                                   const struct run_dataset *dataset, int index, const char *name,
                                   int64_t least);
int64_t dataset_number(const struct run_dataset *dataset, int index);
struct status dataset_check_flag(const struct kernel_context *k, const struct run_dataset *dataset,
                                 int index, const char *name);
bool dataset_flag(const struct run_dataset *dataset, int index); /* a scalar of bool */

struct status iterator_create(struct kernel_context *k, struct run_dataset *dataset,
                              struct iterator **out);
/* As dataset_kind.next, with the checks that hold for all of them. */
struct status iterator_next(struct kernel_context *k, struct iterator *iterator,
                            struct tensor *element, bool *end);
/* The next element of iterator->input into iterator->element. */
struct status iterator_pull(struct kernel_context *k, struct iterator *iterator, bool *end);
/* Up to `most` elements of iterator->input, after those already collected. Sets *end if there
 * were fewer. */
struct status iterator_collect(struct kernel_context *k, struct iterator *iterator,
                               struct tensors *elements, int64_t most, bool *end);
void iterator_destroy(struct iterator *iterator); /* accepts NULL */
/* Is an error of iterator_next about the run or this program, and not about the element? */
bool dataset_error_ends_run(enum status_code code);

/**
 * Runs function `index` of a dataset's node on `count` values, to which it adds the captures.
 *
 * Owner   takes over the `args`, also after a failure; the caller owns the `results`
 * Errors  INVALID_ARGUMENT the function takes or gives another number of values
 */
struct status dataset_call(struct kernel_context *k, const struct run_dataset *dataset, int index,
                           int count, struct tensor *args, int results_count,
                           struct tensor *results);
/* The same for a function that gives a truth value. */
struct status dataset_ask(struct kernel_context *k, const struct run_dataset *dataset, int index,
                          int count, struct tensor *args, bool *out);

/* An iterator over the dataset that function `index` makes of the `args`, as dataset_call. */
struct status dataset_open(struct kernel_context *k, const struct run_dataset *dataset, int index,
                           int count, struct tensor *args, struct iterator **out);
/* An iterator over the dataset that function 0 makes of the next element of iterator->input. */
struct status dataset_open_next(struct kernel_context *k, struct iterator *iterator,
                                struct iterator **out, bool *end);

#endif
