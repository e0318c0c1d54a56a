/*
 * options: what the command line and the model's description say together. A flag wins over the
 * description, the description over the optimizer's own defaults.
 */
#ifndef TRAINER_OPTIONS_H
#define TRAINER_OPTIONS_H

#include "base/flags.h"
#include "base/log.h"
#include "layers/layers.h"
#include "trainer/client.h"
#include "trainer/dataset.h"
#include "trainer/job_map.h"
#include "trainer/optimizer.h"

/* The flags as given; 0 and "": not given. */
struct flag_values {
    int32_t batch_size, epochs, ps, workers, max_to_keep;
    int32_t start_timeout, linger_timeout, finish_timeout; /* s */
    int64_t training_iteration, stop_at_step, model_version, seed, save_checkpoint_steps;
    int64_t memory_budget_bytes;
    double learning_rate, save_checkpoint_secs, recovery_timeout;
    double eval_start_delay_secs, eval_throttle_secs;
    const char *optimizer, *model, *work_dir, *train_dir, *export_dir, *log_level, *reduction,
        *placement, *checkpoint_dir;
    const char *ps_hosts, *worker_hosts, *chief_hosts, *job_name, *cluster_id;
    const char *tls_cert, *tls_key, *tls_ca;
    int64_t task_index;
    bool sync, export, version, help;
};

struct options {
    struct flag_values flags;
    enum log_level log_level;
    struct job_map map;      /* local: the whole job in this process */
    char *export_directory;  /* NULL: a task that does not export; with a base the next version */
    const char *export_base; /* gets the next version's directory; NULL: the directory is given */
    bool export_taken; /* the directory holds an export, which may be this job's own: see session */
    struct layers_model *model;
    enum layers_reduction reduction;
    enum placement_strategy placement;
    uint32_t batch_size;
    int64_t save_checkpoint_ms; /* 0: not by time */
    struct client_job job;      /* but for stop_step, which needs the data's size */
    struct client_setting settings[OPTIMIZER_SETTINGS_MAX];
};

extern const struct flag_set train_flags;

/**
 * Reads the command line and the model, and checks all that can be checked before work is done, the
 * export directory too. With --help or --version nothing but these flags is read.
 *
 * Owner   what out points to lives in `arena`
 * Errors  each ends the program with exit code 2
 */
struct status options_read(int argc, char **argv, struct arena *arena, struct options *out);

/* The same for `pstrain doctor`, which looks only at the cluster, and is no task of it. */
struct status options_read_doctor(int argc, char **argv, struct arena *arena, struct options *out);

/* Steps of the job for so many rows: --training_iteration, else --epochs, else the model's own. */
uint64_t options_steps(const struct options *options, uint32_t rows);

#endif
