/*
 * predictor: the state of `pstrain predict`. predict.c reads, runs and prints; inputs.c finds where
 * each input of the signature comes from.
 */
#ifndef TRAINER_PREDICT_PREDICTOR_H
#define TRAINER_PREDICT_PREDICTOR_H

#include <stdio.h>

#include "graph/training_graph.h"
#include "savedmodel/load.h"
#include "trainer/predict/predict.h"
#include "trainer/predict/score.h"

/* The origin of an input of the signature. A sparse tensor of the model is three inputs, and a
 * ragged one is two. */
enum fed_part { PART_VALUES, PART_INDICES, PART_SHAPE, PART_ROW_SPLITS };

struct fed_source {
    int column; /* of a batch */
    enum fed_part part;
    int64_t shape[2]; /* PART_SHAPE: of a batch */
};

struct prediction_output {
    FILE *file;
    int lock;                   /* on the partial file; -1: none */
    const char *path, *partial; /* NULL: the standard output, or a file that is not a regular one */
    struct buffer text;
};

struct predictor {
    const struct prediction_request *request;
    struct arena *arena;
    struct savedmodel *model;
    const struct signature *signature;
    const struct plan *plan;
    struct run *run;
    struct data *data;
    struct scorer *scorer; /* NULL: no evaluation */
    struct training_feed *feeds;
    int feeds_count, inputs_count;     /* the labels and the weights follow the inputs */
    int *places;                       /* [feeds_count]: column of each in a batch */
    struct tensor *labels;             /* for one run: the feeds after the inputs */
    struct buffer *padded;             /* [feeds_count]: the lists of labels and weights, padded */
    struct fed_source *sources;        /* [inputs_count] */
    struct tensor *inputs, *outputs;   /* for one run, in the signature's order */
    struct buffer *made;               /* [inputs_count]: the indices of sparse inputs, and
                                        * padded lists */
    struct prediction_column *columns; /* the id, if there is one, and the outputs */
    int columns_count, id;             /* id: 1 if there is one */
    struct prediction_output output;
    int64_t rows, shown_ns;
};

/* Finds the signature and makes its plan. Errors: NOT_FOUND lists the signatures. */
struct status predictor_choose_signature(struct predictor *predictor);

/* Lists the columns to read: a feed for each input of the signature, or for inputs that are
 * parts of one tensor together; then the labels and the weights. */
struct status predictor_describe_feeds(struct predictor *predictor);

#endif
