/*
 * option_flags: the flags of pstrain without a command, and their values. options.c checks how they
 * combine.
 */
#ifndef TRAINER_FLAGS_OPTION_FLAGS_H
#define TRAINER_FLAGS_OPTION_FLAGS_H

#include "base/flags.h"

/* The values of the flags, in the groups of --help; 0 and "": not given. */
struct flag_values {
    /* the model */
    const char *model;
    const char *from_savedmodel, *signature, *output, *freeze, *loss, *metrics, *compile_config;
    int64_t sparse_width;

    /* the data */
    const char *train_dir, *train_files, *validation_files, *test_files, *candidate_files,
        *data_format, *schema, *label_column, *weight_column, *feature_columns, *column_names,
        *na_value;
    int32_t skip_lines, shuffle_buffer, prefetch_batches, cache_mb;
    int64_t max_bad_records;

    /* steps, optimizer and loss */
    int64_t training_iteration, stop_at_step;
    int32_t epochs, batch_size;
    const char *optimizer, *optimizer_for, *learning_rate_schedule, *reduction, *class_weight;
    double learning_rate, clipvalue, clipnorm, global_clipnorm, ema_momentum, loss_scale_factor,
        initial_scale;
    int64_t ema_overwrite_frequency, gradient_accumulation_steps, dynamic_growth_steps;
    bool lazy_rows, use_ema;
    int64_t seed;
    int32_t threads;

    /* initial values */
    const char *init_from, *init_map;
    bool init_partial;

    /* workers and parameter servers */
    bool sync;
    int32_t backup_workers, max_staleness;
    const char *placement;

    /* the export */
    const char *export_dir, *work_dir, *export_format;
    double export_retry_secs;
    int64_t model_version;
    bool export;

    /* checkpoints */
    const char *checkpoint_dir;
    double save_checkpoint_secs;
    int64_t save_checkpoint_steps;
    int32_t max_to_keep;

    /* metrics and logs */
    const char *log_dir, *metrics_file;
    int64_t save_summary_steps, histogram_steps;
    bool train_metrics;

    /* a job in one process */
    int32_t ps, workers;

    /* a task of a cluster */
    const char *ps_hosts, *worker_hosts, *chief_hosts, *job_name, *hosts, *cluster_id;
    int64_t task_index;
    int32_t num_ps, first_port;
    int32_t start_timeout, linger_timeout, finish_timeout; /* s */
    double recovery_timeout;                               /* s */
    int64_t memory_budget_bytes;
    const char *tls_cert, *tls_key, *tls_ca, *cluster_token_file;

    /* evaluation while training */
    int64_t evaluate_steps, early_stopping_patience, early_stopping_start;
    const char *monitor, *monitor_mode, *early_stopping_baseline, *early_stopping_task;
    double early_stopping_min_delta;
    bool save_best, restore_best_weights;

    /* an evaluator */
    double eval_start_delay_secs, eval_throttle_secs;

    /* the program */
    const char *hyperparameters, *log_level;
    bool plot, version, help;
};

extern const struct flag_set train_flags;

/* The help of flags that several commands have. */
#define COLUMN_NAMES_HELP "names of the columns of CSV and TSV files without a header"
#define SKIP_LINES_HELP                                                         \
    "lines to skip at the start of each CSV or TSV file; with --column_names, " \
    "1 skips a header"
#define SKIP_LINES_MAX 1e6
#define NA_VALUE_HELP                                                              \
    "text of a CSV or TSV field that means a missing value, such as NA; an empty " \
    "field always does"

#define CLUSTER_GROUP "a task of a cluster" /* the heading of the flags that describe a cluster */

/* The first of these flags whose value is not its default; NULL: none. */
const char *option_flags_first_given(const char *const *names, size_t count);

/* Reads the command line. A flag that is not given has its default. */
struct status option_flags_parse(int argc, char **argv, int *positional_count,
                                 struct flag_values *out);

#endif
