#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/flags.h"
#include "trainer/commands.h"
#include "trainer/predict/predict.h"

static struct flag_values files;

static struct {
    const char *signature, *output, *output_format, *id_column;
    bool evaluate, help;
} options;

static const struct flag rows[] = {
    { "predict_files", FLAG_TEXT, &files.train_files, "",
      .help = "files of rows, such as 'data/part-*.csv,more.csv'; they are read in the order of "
              "their names" },
    { "data_format", FLAG_TEXT, &files.data_format, "",
      .help = "format of the files, one of those that `pstrain --help` lists; the default is "
              "detected from a file's name or first bytes" },
    { "schema", FLAG_PATH, &files.schema, "",
      .help = "JSON file that describes the columns, such as the one that the model was trained "
              "with; the default is guessed from the first file that has rows" },
    { "feature_columns", FLAG_TEXT, &files.feature_columns, "",
      .help = "columns that form the model's input, side by side; the default is all columns "
              "except those of the next three flags" },
    { "id_column", FLAG_TEXT, &options.id_column, "",
      .help = "column to copy to the front of each row's predictions" },
    { "label_column", FLAG_TEXT, &files.label_column, "",
      .help = "columns of the labels, which are not inputs of the model; the default is `label` "
              "or, to evaluate several outputs, their names" },
    { "weight_column", FLAG_TEXT, &files.weight_column, "",
      .help = "column of each row's weight, a factor of its loss with --evaluate; it is not an "
              "input of the model either" },
    { "column_names", FLAG_TEXT, &files.column_names, "", .help = COLUMN_NAMES_HELP },
    { "skip_lines", FLAG_INT32, &files.skip_lines, "0", .help = SKIP_LINES_HELP, .min = 0,
      .max = SKIP_LINES_MAX },
    { "na_value", FLAG_TEXT, &files.na_value, "", .help = NA_VALUE_HELP },
    { "max_bad_records", FLAG_INT64, &files.max_bad_records, "0",
      .help =
          "bad records to tolerate; each is reported and skipped, and has no line in the output",
      .max = 9e15 },
    { "batch_size", FLAG_INT32, &files.batch_size, "100", .help = "rows per run", .min = 1,
      .max = 1e6 },
    { "sparse_width", FLAG_INT64, &files.sparse_width, "0",
      .help = "number of columns of the model's sparse inputs; 0: as its graph tells, if it does",
      .max = 9e15 },
    { "signature", FLAG_TEXT, &options.signature, "",
      .help = "signature to run; the default is serving_default, or the only one that takes "
              "tensors" },
    { "output", FLAG_PATH, &options.output, "",
      .help = "file for the predictions, which appears when it is complete (until then it is "
              "FILE.part); the default is the standard output" },
    { "output_format", FLAG_TEXT, &options.output_format, "jsonl",
      .help = "a JSON object for each row, or CSV with a header", .choices = "jsonl csv" },
    { "evaluate", FLAG_BOOL, &options.evaluate, "false",
      .help = "print the loss and the metrics of all rows, whose labels are --label_column, "
              "instead of the predictions, which are written only to --output" },
    { "loss", FLAG_TEXT, &files.loss, "",
      .help = "of --evaluate: Keras' name, such as mse, or a JSON object with class_name and "
              "config; the default is that of the training, if the export tells it" },
    { "metrics", FLAG_TEXT, &files.metrics, "",
      .help = "of --evaluate: Keras' names, such as accuracy,auc, or a JSON list" },
    { "compile_config", FLAG_PATH, &files.compile_config, "",
      .help = "of --evaluate: file with the loss and the metrics as Keras' get_compile_config() "
              "prints them, instead of --loss and --metrics" },
    HELP_FLAG(&options.help),
};

static const struct flag_set flags = {
    "usage: pstrain predict EXPORT_DIR --predict_files=FILES [flags]\n\n"
    "Runs the rows of files through a SavedModel, and writes the outputs of each row:\n"
    "  pstrain predict model/1 --predict_files 'new-*.csv' --id_column id --output scores.jsonl",
    rows, COUNT(rows)
};

static struct status check_evaluation(void)
{
    static const char *const others[] = { "loss", "metrics", "compile_config" };

    for (size_t i = 0; i < COUNT(others) && !options.evaluate; i++)
        if (!flag_is_default(flags_find(&flags, others[i])))
            return status_error(STATUS_INVALID_ARGUMENT, "predict: --%s needs --evaluate",
                                others[i]);
    return status_ok();
}

static struct status read_flags(int argc, char **argv)
{
    int words;

    files.validation_files = files.test_files = "";
    TRY(flags_parse(&flags, argc, argv, &words));
    if (options.help)
        return status_ok();
    if (words != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "predict: one directory of a SavedModel is needed, %d given", words);
    if (*files.train_files == '\0')
        return status_error(STATUS_INVALID_ARGUMENT, "predict: --predict_files is missing");
    return check_evaluation();
}

struct status command_predict(int argc, char **argv)
{
    TRY(command_line_fault(read_flags(argc, argv)));
    if (options.help) {
        flags_print_help(&flags, stdout);
        return status_ok();
    }
    const struct prediction_request request = {
        .directory = file_path_of_uri(argv[1]),
        .signature = options.signature,
        .files = &files,
        .id_column = options.id_column,
        .output = options.output,
        .evaluate = options.evaluate,
        .format = strcmp(options.output_format, "csv") == 0 ? PREDICTION_CSV : PREDICTION_JSONL,
    };
    struct arena *arena = arena_create(0);
    struct status held = status_hold(predict(&request, arena));
    arena_destroy(arena);
    return status_resume(held);
}
