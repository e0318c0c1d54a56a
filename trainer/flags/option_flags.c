#include "trainer/flags/option_flags.h"

#include <stdio.h>

#include "base/log.h"
#include "base/parallel.h"
#include "savedmodel/format.h"
#include "trainer/job/job_map.h"
#include "trainer/optimizers/optimizer.h"

static struct flag_values values;

static char optimizer_help[512]; /* built from the optimizers' table before the flags are read */

#define STEPS    .min = 0, .max = 9e15
#define LIMIT_S  .min = 1, .max = 1e6 /* a time that cannot be 0 */
#define PERIOD_S .min = 0, .max = 1e9
#define CLIP     .min = 0, .max = 1e30
#define TASKS    .min = 1, .max = 256

/* One flag after the other. */
/* clang-format off */
static const struct flag rows[] = {
    { "model", FLAG_PATH, &values.model, "softmax",
      .elsewhere = "hidden_units",
      .group = "the model",
      .help = "softmax, mlp, convnet, linear, logistic, sparse_logistic, two_tower, retrieval, "
              "wide_deep, click, fm, deepfm, dcn_v2, sparse_wide_deep, sparse_fm, sparse_deepfm, "
              "sparse_dcn_v2, or a file that Keras' to_json() wrote" },
    { "from_savedmodel", FLAG_PATH, &values.from_savedmodel, "", .filled = true,
      .help = "directory of a SavedModel to train further, instead of --model; the export is the "
              "same SavedModel with new values" },
    { "signature", FLAG_TEXT, &values.signature, "",
      .help = "signature of the SavedModel that is trained; the default is serving_default, or the "
              "only one that takes tensors" },
    { "output", FLAG_TEXT, &values.output, "",
      .help = "outputs of the signature that the loss compares with the labels, such as "
              "price,kind; the default is all of them" },
    { "sparse_width", FLAG_INT64, &values.sparse_width, "0",
      .help = "number of columns of the signature's sparse inputs of floats; 0: as the graph tells, "
              "if it does", .min = 0,
      .max = 9e15 },
    { "freeze", FLAG_TEXT, &values.freeze, "",
      .help = "patterns of the variables that keep their values, such as 'conv*,*/gamma'; by "
              "default those that were frozen when Keras exported the model; 'none': all change" },
    { "loss", FLAG_TEXT, &values.loss, "",
      .help = "Keras' name of the loss, such as mse, or a JSON object with class_name and config; "
              "the default is the model's; with --from_savedmodel, cross-entropy for an output that "
              "ends in softmax, otherwise the mean square error" },
    { "metrics", FLAG_TEXT, &values.metrics, "",
      .help = "Keras' names of metrics, such as accuracy,auc, or a JSON list; the default is the "
              "model's" },
    { "compile_config", FLAG_PATH, &values.compile_config, "",
      .help = "file with the optimizer, the loss and the metrics as Keras' get_compile_config() "
              "prints them, instead of --loss and --metrics" },
    { "train_dir", FLAG_PATH, &values.train_dir, "",
      .elsewhere = "data_dir",
      .group = "the data", .filled = true,
      .help = "directory of IDX files with MNIST's names, plain or .gz; the t10k files are needed "
              "only for tests. Without it, pstrain draws digits itself" },
    { "train_files", FLAG_TEXT, &values.train_files, "",
      .elsewhere = "data_path train_data train_data_path train_input_path training_data",
      .filled = true,
      .help = "files of records to train on, such as 'data/part-*.csv,more.csv'. Excludes "
              "--train_dir" },
    { "validation_files", FLAG_TEXT, &values.validation_files, "", .filled = true,
      .help = "files of validation rows; evaluations while training take them instead of the "
              "test rows" },
    { "test_files", FLAG_TEXT, &values.test_files, "",
      .elsewhere = "test_data test_data_path eval_data eval_files eval_input_path test_dir",
      .filled = true,
      .help = "files of test rows" },
    { "candidate_files", FLAG_TEXT, &values.candidate_files, "", .filled = true,
      .help = "files of all candidates, which the metric FactorizedTopK of a retrieval model "
              "ranks; they need the columns of the candidates only" },
    { "data_format", FLAG_TEXT, &values.data_format, "",
      .help = "csv, tsv, libsvm, libffm, vw, criteo, tfrecord (of tf.Examples or "
              "tf.SequenceExamples), npz, idx (MNIST's), image (JPEG and PNG) or text (lines); the "
              "default is detected from a file's name or first bytes" },
    { "schema", FLAG_PATH, &values.schema, "",
      .help = "JSON file that describes the columns; `pstrain schema FILE` prints one. The default "
              "is guessed from the first training file that has rows" },
    { "label_column", FLAG_TEXT, &values.label_column, "",
      .help = "column that the model learns to predict, or several, side by side, such as y1,y2; "
              "the default is `label`" },
    { "weight_column", FLAG_TEXT, &values.weight_column, "",
      .help = "column of the weight of each row: a factor of its loss, in the evaluation as well" },
    { "feature_columns", FLAG_TEXT, &values.feature_columns, "",
      .help = "columns that form the model's input, side by side, such as x1,x2; the default is "
              "all columns of the schema except the labels and the weight" },
    { "column_names", FLAG_TEXT, &values.column_names, "",
      .help = COLUMN_NAMES_HELP },
    { "skip_lines", FLAG_INT32, &values.skip_lines, "0",
      .elsewhere = "skiprows skip_header_lines skip_leading_rows",
      .help = SKIP_LINES_HELP, .min = 0, .max = SKIP_LINES_MAX },
    { "na_value", FLAG_TEXT, &values.na_value, "",
      .help = NA_VALUE_HELP },
    { "shuffle_buffer", FLAG_INT32, &values.shuffle_buffer, "10000",
      .help = "rows of the training files that are read and shuffled together; 0: rows and files "
              "keep their order",
      .min = 0, .max = 1e9 },
    { "prefetch_batches", FLAG_INT32, &values.prefetch_batches, "4",
      .help = "batches of the training files that a thread of each worker prefetches; 0: the "
              "worker reads each one when it needs it",
      .min = 0, .max = 14 },
    { "cache_mb", FLAG_INT32, &values.cache_mb, "256",
      .help = "MB of memory of each process for the rows of a single training file, so that later "
              "epochs need not read it again; 0: none",
      .min = 0, .max = 1e6 },
    { "max_bad_records", FLAG_INT64, &values.max_bad_records, "0",
      .help = "bad records to tolerate in each task; each is reported and skipped, and one more "
              "ends the job",
      STEPS },
    { "training_iteration", FLAG_INT64, &values.training_iteration, "0",
      .elsewhere = "train_steps max_steps num_steps steps",
      .group = "steps, optimizer and loss",
      .help = "number of steps; overrides --epochs; 0: as the model says", STEPS },
    { "stop_at_step", FLAG_INT64, &values.stop_at_step, "0",
      .help = "global step to stop at, counted over all restarts; overrides "
              "--training_iteration, which applies if this is 0",
      STEPS },
    { "epochs", FLAG_INT32, &values.epochs, "0",
      .elsewhere = "num_epochs train_epochs passes",
      .help = "number of passes over the training rows; 0: as the model says", .min = 0,
      .max = 1e9 },
    { "batch_size", FLAG_INT32, &values.batch_size, "100", .help = "rows in each worker's step",
      .min = 1, .max = 1e6 },
    { "optimizer", FLAG_TEXT, &values.optimizer, "", .help = optimizer_help },
    { "optimizer_for", FLAG_TEXT, &values.optimizer_for, "",
      .help = "other optimizers for some variables: 'PATTERN=NAME(SETTING=NUMBER, ...); ...', such "
              "as 'wide/*=ftrl(learning_rate=0.1, l1_regularization_strength=0.01)'. The first "
              "pattern that matches a variable's name counts; the other variables have "
              "--optimizer" },
    { "lazy_rows", FLAG_BOOL, &values.lazy_rows, "false",
      .help = "of a table that is read by rows, update only the rows that have a gradient, also "
              "with a model's optimizer of which Keras updates all rows" },
    { "learning_rate", FLAG_DOUBLE, &values.learning_rate, "0",
      .elsewhere = "lr",
      .help = "0: the model's, or else the optimizer's default", .min = 0, .max = 1e9 },
    { "learning_rate_schedule", FLAG_TEXT, &values.learning_rate_schedule, "",
      .help = "changes the learning rate by step as Keras' class of that name does, such as "
              "'CosineDecay(decay_steps=1000)', 'ExponentialDecay(decay_steps=100, "
              "decay_rate=0.96)' or 'PiecewiseConstantDecay(boundaries=[900], values=[0.1, "
              "0.01])'. It begins with --learning_rate unless it has an initial_learning_rate. The "
              "default is the model's" },
    { "clipvalue", FLAG_DOUBLE, &values.clipvalue, "0",
      .help = "clip each element of the gradients to this size; 0: as the model says", CLIP },
    { "clipnorm", FLAG_DOUBLE, &values.clipnorm, "0",
      .help = "clip the gradient of each variable to this norm", CLIP },
    { "global_clipnorm", FLAG_DOUBLE, &values.global_clipnorm, "0",
      .help = "clip all gradients together to this norm. At most one of the three can be given",
      CLIP },
    { "use_ema", FLAG_BOOL, &values.use_ema, "false",
      .help = "keep the moving average of each trained variable, and test and export the "
              "averages" },
    { "ema_momentum", FLAG_DOUBLE, &values.ema_momentum, "0.99",
      .help = "decay of the average at each step", .min = 0, .max = 1 },
    { "ema_overwrite_frequency", FLAG_INT64, &values.ema_overwrite_frequency, "0",
      .help = "replace the variables by their averages every this many steps; 0: never",
      .min = 0, .max = 8e6 },
    { "gradient_accumulation_steps", FLAG_INT64, &values.gradient_accumulation_steps, "0",
      .help = "batches whose mean gradient makes a step; 0: as the model says, or else 1", .min = 0,
      .max = 1e6 },
    { "loss_scale_factor", FLAG_DOUBLE, &values.loss_scale_factor, "0",
      .help = "multiply the loss by this factor and divide the gradients by it, so that small "
              "gradients do not become 0 in layers of half precision; 0: as the model says, or "
              "else 1",
      .min = 0, .max = 1e30 },
    { "initial_scale", FLAG_DOUBLE, &values.initial_scale, "0",
      .help = "the same for a dynamic factor with this initial value. If a gradient is not "
              "finite, the step is skipped and the factor halved. 0: as the model says, or else "
              "none",
      .min = 0, .max = 1e38 },
    { "dynamic_growth_steps", FLAG_INT64, &values.dynamic_growth_steps, "2000",
      .help = "steps with finite gradients after which the factor of --initial_scale is doubled",
      .min = 1, .max = 1e15 },
    { "loss_reduction", FLAG_TEXT, &values.reduction, "",
      .help = "mean or sum of the losses in a batch, or their sum divided by that of the weights "
              "of its rows; the default is the model's. For TensorFlow 1's MNIST tutorial, use "
              "--loss_reduction=sum --learning_rate=0.01",
      .choices = "mean sum mean_with_sample_weight" },
    { "class_weight", FLAG_TEXT, &values.class_weight, "",
      .help = "factors of the losses of training rows by class, such as 0:1,7:2.5; other classes "
              "have 1" },
    { "seed", FLAG_INT64, &values.seed, "1",
      .help = "determines the initial values, the order of the rows, and dropout", STEPS },
    { "threads", FLAG_INT32, &values.threads, "1",
      .help = "cores that the steps of this process use together. Each worker computes in a thread "
              "of its own; with more cores than workers, large ops are split, and so are a ps's "
              "updates of rows. The results are the same bits. 0: every core of the process or its "
              "control group",
      .max = PARALLEL_WIDTH_MAX },
    { "init_from", FLAG_PATH, &values.init_from, "", .group = "initial values", .filled = true,
      .help = "source of the variables' initial values: a checkpoint, a directory of checkpoints, "
              "a SavedModel or a session_bundle, on the chief's disk. A job that resumes from its "
              "own checkpoint does not read it" },
    { "init_map", FLAG_TEXT, &values.init_map, "",
      .help = "old=new,...: the model's variable `new` takes the value that --init_from names "
              "`old`, such as base/*=encoder/*; =new initializes it afresh" },
    { "init_partial", FLAG_BOOL, &values.init_partial, "false",
      .help = "initialize variables afresh that are missing in --init_from" },
    { "sync", FLAG_BOOL, &values.sync, "false",
      .elsewhere = "sync_replicas issync sync_mode",
      .group = "workers and parameter servers",
      .help = "train synchronously: each step waits for all workers. For a seed, the result then "
              "has the same bits for any number of ps tasks" },
    { "backup_workers", FLAG_INT32, &values.backup_workers, "0",
      .elsewhere = "replicas_to_aggregate",
      .help = "with --sync, how many workers a step does not wait for: it takes the gradients of "
              "the others, and drops those that come later",
      .min = 0, .max = 4095 },
    { "max_staleness", FLAG_INT32, &values.max_staleness, "-1",
      .help = "without --sync, how many steps a worker may be ahead of the slowest one; -1: any "
              "number",
      .min = -1, .max = 1e9 },
    { "placement", FLAG_TEXT, &values.placement, "bytes",
      .help = "how variables are distributed over the ps tasks: balanced by bytes, or round-robin",
      .choices = "bytes round_robin" },
    { "export_dir", FLAG_PATH, &values.export_dir, "",
      .elsewhere = "output_dir export_path saved_model_dir",
      .group = "the export",
      .help = "directory to create, such as model/1. If it holds numbered versions, the export "
              "becomes the next version in it. Overrides --work_dir" },
    { "work_dir", FLAG_PATH, &values.work_dir, "./model",
      .help = "without --export_dir and DIR, export to work_dir/model_version" },
    { "model_version", FLAG_INT64, &values.model_version, "-1",
      .help = "number of the version in DIR or --work_dir; -1: one more than the largest there",
      .min = -1, .max = 9e15 },
    { "export_format", FLAG_TEXT, &values.export_format, "saved_model",
      .help = "session_bundle: TensorFlow's format before SavedModel, whose versions have eight "
              "digits (DIR/00000001/export.meta)",
      .choices = SAVEDMODEL_FORMAT_NAMES },
    { "export", FLAG_BOOL, &values.export, "true",
      .help = "export the trained model; with --noexport, the job only trains and tests" },
    { "export_retry_secs", FLAG_DOUBLE, &values.export_retry_secs, "300",
      .help = "seconds for which an export that fails, such as on a full disk, is tried again if "
              "no checkpoint has the trained values; 0: not at all",
      PERIOD_S },
    { "checkpoint_dir", FLAG_PATH, &values.checkpoint_dir, "",
      .elsewhere = "model_dir save_dir ckpt_dir",
      .group = "checkpoints",
      .help = "directory on the chief's disk for checkpoints in TensorFlow's format; training "
              "continues from the last one in it" },
    { "save_checkpoint_secs", FLAG_DOUBLE, &values.save_checkpoint_secs, "600",
      .help = "seconds between checkpoints; 0, or only --save_checkpoint_steps given: not by time",
      PERIOD_S },
    { "save_checkpoint_steps", FLAG_INT64, &values.save_checkpoint_steps, "0",
      .help = "make checkpoints at multiples of this many steps; 0: not by steps. If both are "
              "given, whichever comes first",
      STEPS },
    { "max_to_keep", FLAG_INT32, &values.max_to_keep, "5",
      .help = "number of checkpoints to keep; 0: all", .min = 0, .max = 1e6 },
    { "log_dir", FLAG_PATH, &values.log_dir, "", .group = "metrics and logs",
      .help = "directory on the chief's disk for event files, which TensorBoard reads: loss, "
              "learning_rate and global_step/sec; evaluations in its sub-directories" },
    { "metrics_file", FLAG_PATH, &values.metrics_file, "",
      .help = "file on the chief's disk to which the same is appended as JSON lines" },
    { "save_summary_steps", FLAG_INT64, &values.save_summary_steps, "100",
      .help = "write to both at the multiples of this many steps", .min = 1, .max = 9e15 },
    { "train_metrics", FLAG_BOOL, &values.train_metrics, "false",
      .help = "also write the loss and the metrics over all workers' training rows since the "
              "previous line" },
    { "histogram_steps", FLAG_INT64, &values.histogram_steps, "0",
      .help = "write histograms of the variables to --log_dir at the multiples of this many steps; "
              "0: none",
      STEPS },
    { "ps", FLAG_INT32, &values.ps, "2", .group = "a job in one process",
      .help = "number of parameter servers", TASKS },
    { "workers", FLAG_INT32, &values.workers, "2",
      .help = "number of workers; the first is the chief", TASKS },
    { "ps_hosts", FLAG_TEXT, &values.ps_hosts, "", .group = CLUSTER_GROUP,
      .help = "addresses of the ps tasks, such as a:2222,b:2222; the same for all tasks. TF_CONFIG "
              "can describe the cluster instead" },
    { "worker_hosts", FLAG_TEXT, &values.worker_hosts, "",
      .help = "addresses of the workers; without --chief_hosts, the first one is the chief" },
    { "chief_hosts", FLAG_TEXT, &values.chief_hosts, "", .help = "address of the chief" },
    { "job_name", FLAG_TEXT, &values.job_name, "",
      .help = "role of this task: ps, worker, chief, master (the chief's old name), or evaluator, "
              "which is in no list" },
    { "task_index", FLAG_INT64, &values.task_index, "-1",
      .help = "this task's index in its list, from 0", .min = -1, .max = JOB_TASKS_MAX },
    { "num_ps", FLAG_INT32, &values.num_ps, "1",
      .help = "ps tasks among those that Slurm or MPI has started, such as by `srun -n 8 pstrain`; "
              "0: each of them trains alone",
      .min = 0, .max = JOB_TASKS_MAX },
    { "first_port", FLAG_INT32, &values.first_port, "2222",
      .help = "port of the first of these tasks on each host; the others follow", .min = 1,
      .max = 65535 },
    { "hosts", FLAG_TEXT, &values.hosts, "",
      .help = "hosts of the tasks that mpirun has started, in their order, such as a:4,b:4 or "
              "node[01-03]; not needed on one host, and by Slurm" },
    { "cluster_id", FLAG_TEXT, &values.cluster_id, "default",
      .help = "name of the job; tasks of a job with another name are refused" },
    { "start_timeout", FLAG_INT32, &values.start_timeout, "300",
      .help = "seconds to wait for the other tasks at the start; with --sync, also for each worker",
      LIMIT_S },
    { "recovery_timeout", FLAG_DOUBLE, &values.recovery_timeout, "300",
      .help = "seconds that the chief and the workers wait for a lost ps to come back", PERIOD_S },
    { "linger_timeout", FLAG_INT32, &values.linger_timeout, "300",
      .help = "seconds after which a ps ends the job if it has not heard from the chief, from any "
              "worker, or, with --sync, from one of the workers",
      LIMIT_S },
    { "finish_timeout", FLAG_INT32, &values.finish_timeout, "300",
      .help = "seconds that the chief waits for the workers after the last step", LIMIT_S },
    { "memory_budget_bytes", FLAG_INT64, &values.memory_budget_bytes, "0",
      .help = "limit for the variables, slots and requests of a ps together, and for the vectors "
              "of --candidate_files; 0: three quarters of the memory of the host or its control "
              "group",
      .min = 0, .max = 9e18 },
    { "tls_cert", FLAG_PATH, &values.tls_cert, "",
      .help = "PEM file of this task's certificate. With --tls_key and --tls_ca, the tasks use TLS "
              "and accept only each other" },
    { "tls_key", FLAG_PATH, &values.tls_key, "", .help = "PEM file of its key" },
    { "tls_ca", FLAG_PATH, &values.tls_ca, "",
      .help = "PEM file of the CA that signed the certificates of all tasks" },
    { "cluster_token_file", FLAG_PATH, &values.cluster_token_file, "",
      .help = "file of a secret that all tasks share; tasks without it are refused. Without TLS, "
              "anyone who reads the traffic learns it" },
    { "evaluate_steps", FLAG_INT64, &values.evaluate_steps, "0",
      .group = "evaluation while training",
      .help = "the chief evaluates the validation rows, or else the test rows, at each multiple of "
              "this many steps; 0: after each epoch if a flag below needs it, or else never",
      STEPS },
    { "monitor", FLAG_TEXT, &values.monitor, "val_loss",
      .help = "value that determines the best evaluation: loss or the name of a metric; `val_` may "
              "precede it" },
    { "monitor_mode", FLAG_TEXT, &values.monitor_mode, "auto",
      .help = "which values are better: min for smaller, max for larger ones; auto: the metric's "
              "own direction",
      .choices = "auto min max" },
    { "early_stopping_patience", FLAG_INT64, &values.early_stopping_patience, "-1",
      .help = "end the training after this many evaluations without improvement, as Keras' "
              "EarlyStopping; -1: never",
      .min = -1, .max = 1e9 },
    { "early_stopping_min_delta", FLAG_DOUBLE, &values.early_stopping_min_delta, "0",
      .help = "a change counts as an improvement only if it is larger", .min = 0, .max = 1e30 },
    { "early_stopping_baseline", FLAG_TEXT, &values.early_stopping_baseline, "",
      .help = "value that must also be exceeded before the patience restarts" },
    { "early_stopping_start", FLAG_INT64, &values.early_stopping_start, "0",
      .help = "number of evaluations to ignore at the start", STEPS },
    { "early_stopping_task", FLAG_TEXT, &values.early_stopping_task, "chief",
      .help = "whose evaluations end the training: the chief's, or those of the evaluator",
      .choices = "chief evaluator" },
    { "save_best", FLAG_BOOL, &values.save_best, "false",
      .help = "keep the values of the chief's best evaluation in checkpoint_dir/best" },
    { "restore_best_weights", FLAG_BOOL, &values.restore_best_weights, "false",
      .help = "keep the same values, and test and export them instead of the last ones" },
    { "eval_start_delay_secs", FLAG_DOUBLE, &values.eval_start_delay_secs, "120",
      .group = "an evaluator", .help = "seconds from the evaluator's start to its first evaluation",
      PERIOD_S },
    { "eval_throttle_secs", FLAG_DOUBLE, &values.eval_throttle_secs, "600",
      .help = "seconds from the start of one evaluation to the start of the next", PERIOD_S },
    { "hyperparameters", FLAG_PATH, &values.hyperparameters, "", .group = "the program",
      .help = "JSON file of flags, such as {\"batch_size\": 128, \"sync\": true}; a flag on the "
              "command line wins" },
    { "log_level", FLAG_TEXT, &values.log_level, "info",
      .help = "the lowest level that is logged; at warning and above, no progress is printed",
      .choices = LOG_LEVEL_NAMES },
    { "plot", FLAG_BOOL, &values.plot, "true",
      .help = "after training, draw the loss by step, if stdout is a terminal" },
    { "version", FLAG_BOOL, &values.version, "false", .help = "print the version and exit",
      .alone = true },
    HELP_FLAG(&values.help),
};

const struct flag_set train_flags = {
    "usage: pstrain [flags] [DIR]\n"
    "       pstrain COMMAND [flags]\n\n"
    "Trains a model on parameter servers and exports it as a TensorFlow SavedModel, to the next\n"
    "version in DIR or to --export_dir. If no cluster is configured, the whole job runs in this\n"
    "process. A new DIR is written with a slash, as in ./mine, to tell it from a command.",
    rows, COUNT(rows)
};
/* clang-format on */

struct status option_flags_parse(int argc, char **argv, int *positional_count,
                                 struct flag_values *out)
{
    snprintf(optimizer_help, sizeof optimizer_help,
             "%s; as TensorFlow 1 defines them. The default is the model's, as Keras defines it",
             optimizer_names());
    struct status status = flags_parse(&train_flags, argc, argv, positional_count);
    *out = values;
    return status;
}

const char *option_flags_first_given(const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!flag_is_default(flags_find(&train_flags, names[i])))
            return names[i];
    return NULL;
}
