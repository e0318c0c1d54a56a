/*
 * options: combines the command line with the model's description. A flag overrides the
 * description, which overrides the optimizer's defaults.
 */
#ifndef TRAINER_OPTIONS_OPTIONS_H
#define TRAINER_OPTIONS_OPTIONS_H

#include "base/command.h"
#include "base/log.h"
#include "layers/layers.h"
#include "savedmodel/format.h"
#include "trainer/client/create.h"
#include "trainer/data/batch_source.h"
#include "trainer/flags/option_flags.h"
#include "trainer/job/clip.h"
#include "trainer/job/job_map.h"
#include "trainer/model/early_stopping.h"
#include "trainer/optimizers/optimizer.h"

struct finetune; /* trainer/options/finetune.h */

struct options {
    struct flag_values flags;
    enum log_level log_level;
    struct job_map map;     /* local: the whole job runs in this process */
    bool knows_tasks;       /* the map is complete, although the rest may be wrong */
    char *export_directory; /* NULL: this task does not export */
    /* The export is the next version in this directory; NULL: export_directory is given */
    const char *export_base;
    enum savedmodel_format export_format;
    bool export_taken; /* export_directory already has an export, perhaps this job's own */
    struct layers_model *model;
    /* --from_savedmodel, which then provides `model`; NULL: a description */
    struct finetune *finetune;
    enum layers_reduction reduction;
    enum placement_strategy placement;
    uint32_t batch_size;
    int64_t save_checkpoint_ms; /* 0: not by time */
    struct early_stopping_options stopping;
    uint32_t accumulation; /* batches whose gradients each step combines */
    float loss_scale;      /* a constant factor; 1 if job.loss_scale has a dynamic one */
    bool keeps_best, chief_stops;
    struct client_job job; /* except stop_step, which depends on the number of rows */
    struct setting_value settings[OPTIMIZER_SETTINGS_MAX];
    /* The patterns of job.others, if these come from the description; NULL: they do not. */
    const struct layers_other_optimizer *described_others;
    const char *token; /* from --cluster_token_file; NULL: none */
    struct clip clip;  /* of each worker's gradients */
};

/**
 * Reads the command line and the model, and checks everything that can be checked before any work,
 * including the export directory. With --help or --version, nothing else is read.
 *
 * `commands`: those of the program; a directory on the command line must not have such a name.
 *
 * Owner   everything in *out lives in `arena`, apart from out->finetune: finetune_close
 * Errors  each ends the program with exit code 2
 */
struct status options_read(int argc, char **argv, const struct command_set *commands,
                           struct arena *arena, struct options *out);

/* Reads only which task of which job this is, for a task that fails before options_read and tells
 * the others. out->knows_tasks: the command line says so. */
void options_read_tasks(int argc, char **argv, struct arena *arena, struct options *out);

/* As options_read, for `pstrain doctor`, which reads only the description of the cluster. */
struct status options_read_doctor(int argc, char **argv, struct arena *arena, struct options *out);

int options_ps_count(const struct options *options);

/* Is the job's length given in epochs, so that options_steps needs the number of rows? */
bool options_are_epochs(const struct options *options);
/* May the job take training rows more than once? */
bool options_read_again(const struct options *options);

/* The number of training rows that a step uses: those of all workers if it is synchronous. */
uint64_t options_rows_per_step(const struct options *options);

/* Computes the job's number of steps, from --stop_at_step, --training_iteration, --epochs, or
 * the model. `rows`: of an epoch. `taken`: the position of the checkpoint that the job resumes
 * from: its step, and the rows used before it, maybe by another number of workers.
 * INVALID_ARGUMENT: epochs of ROWS_UNKNOWN rows. */
struct taken_rows {
    uint64_t step, rows;
};
struct status options_steps(const struct options *options, int64_t rows, struct taken_rows taken,
                            uint64_t *out);

#endif
