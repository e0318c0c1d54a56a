/*
 * option_flags: the flags of pstrain without a command, and their values. What they mean together
 * is decided in options.c.
 */
#ifndef TRAINER_FLAGS_OPTION_FLAGS_H
#define TRAINER_FLAGS_OPTION_FLAGS_H

#include "base/flags.h"

/* The values of the flags; 0 and "": not given. */
struct flag_values {
    int32_t batch_size, epochs, ps, workers, max_to_keep;
    int32_t start_timeout, linger_timeout, finish_timeout; /* s */
    int64_t training_iteration, stop_at_step, model_version, seed, save_checkpoint_steps,
        save_summary_steps, histogram_steps;
    int64_t memory_budget_bytes;
    double learning_rate, clipvalue, clipnorm, global_clipnorm, save_checkpoint_secs,
        recovery_timeout;
    double eval_start_delay_secs, eval_throttle_secs;
    const char *optimizer_for;
    const char *from_savedmodel, *signature, *output, *freeze, *loss, *metrics, *compile_config;
    int64_t sparse_width;
    const char *optimizer, *model, *work_dir, *train_dir, *export_dir, *log_level, *reduction,
        *placement, *checkpoint_dir, *class_weight, *metrics_file, *log_dir,
        *learning_rate_schedule, *export_format;
    const char *train_files, *validation_files, *test_files, *data_format, *schema,
        *feature_columns, *label_column, *weight_column, *column_names;
    const char *hyperparameters, *init_from, *init_map;
    bool init_partial;
    int64_t evaluate_steps, early_stopping_patience, early_stopping_start;
    double early_stopping_min_delta, ema_momentum, loss_scale_factor;
    int64_t ema_overwrite_frequency, gradient_accumulation_steps;
    const char *monitor, *monitor_mode, *early_stopping_baseline, *early_stopping_task;
    bool use_ema, save_best, restore_best_weights, train_metrics;
    int64_t max_bad_records;
    int32_t shuffle_buffer, prefetch_batches, backup_workers, max_staleness, threads;
    const char *ps_hosts, *worker_hosts, *chief_hosts, *job_name, *cluster_id;
    const char *tls_cert, *tls_key, *tls_ca, *cluster_token_file;
    int64_t task_index;
    int32_t num_ps, first_port;
    const char *hosts;
    bool sync, lazy_rows, export, plot, version, help;
};

extern const struct flag_set train_flags;

/* Reads the command line. A flag that it does not name has its default. */
struct status option_flags_parse(int argc, char **argv, int *positional_count,
                                 struct flag_values *out);

#endif
