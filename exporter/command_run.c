#include "exporter/commands.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/parallel.h"
#include "base/plural.h"
#include "tensor/input_flag.h"
#include "tensor/npy.h"
#include "tensor/value_json.h"

static struct {
    const char *signature, *outdir;
    struct flag_texts inputs;
    int32_t repeat, threads;
    bool overwrite;
} options;

static const struct flag rows[] = {
    { "signature", FLAG_TEXT, &options.signature, SIGNATURE_DEFAULT,
      .help = "the signature to run" },
    { "input", FLAG_TEXTS, &options.inputs, "",
      .help = "name=file.npy or name=JSON; once for each input" },
    { "outdir", FLAG_PATH, &options.outdir, "",
      .help = "also write each output to NAME.npy in this directory, strings as |S" },
    { "overwrite", FLAG_BOOL, &options.overwrite, "false",
      .help = "let --outdir replace existing files" },
    { "repeat", FLAG_INT32, &options.repeat, "0",
      .help = "run this many more times and print the latency", .max = 1e9 },
    { "threads", FLAG_INT32, &options.threads, "0",
      .help = "cores that a run uses; 0: every core of the process or its control group",
      .max = PARALLEL_WIDTH_MAX },
    COMMON_FLAGS,
};

static const struct flag_set flags = {
    "usage: savedmodel run [flags] DIR\n\n"
    "Runs a signature once and prints its outputs:\n"
    "  savedmodel run model/1 --signature predict_images --input images=digits.npy --outdir "
    "scores\n"
    "  savedmodel run model/1 --input 'x=[[1.0, 2.0]]'\n"
    "  savedmodel run model/1 --input 'inputs=[{\"b64\": \"CgA=\"}]'",
    rows, COUNT(rows)
};

#define INPUT_BYTES_MAX ((size_t)4 << 30)

static struct status unknown_input(const struct signature *signature, const char *name)
{
    struct buffer names = { 0 };
    for (int i = 0; i < signature->inputs_count; i++)
        buffer_printf(&names, "%s%s", i > 0 ? ", " : "", signature->inputs[i].key);
    struct status status = status_error(
        STATUS_INVALID_ARGUMENT, "--input: signature '%s' has no input '%s'; there are: %s",
        signature->name, name, names.data != NULL ? names.data : "none");
    buffer_finish(&names);
    return status;
}

static struct status read_input(const struct signature *signature, const char *text,
                                struct arena *arena, struct tensor *feeds)
{
    struct input_flag input;
    TRY(input_flag_parse(text, arena, &input));
    int at = signature_input(signature, bytes_of(input.name));
    if (at < 0)
        return unknown_input(signature, input.name);
    tensor_release(&feeds[at]);
    return input_flag_read(&input, signature->inputs[at].dtype, INPUT_BYTES_MAX, arena, &feeds[at]);
}

static struct status read_inputs(const struct signature *signature, struct arena *arena,
                                 struct tensor *feeds)
{
    for (size_t i = 0; i < options.inputs.count; i++)
        TRY(read_input(signature, options.inputs.values[i], arena, feeds));
    for (int i = 0; i < signature->inputs_count; i++) {
        if (feeds[i].dtype == DT_INVALID)
            return status_error(
                STATUS_INVALID_ARGUMENT,
                "input '%s' (%s %s) of signature '%s' is missing: give --input %s=…",
                signature->inputs[i].key, dtype_name(signature->inputs[i].dtype),
                shape_text(&signature->inputs[i].shape), signature->name, signature->inputs[i].key);
    }
    return status_ok();
}

/* Adds to a failure the input that may have caused it. A graph may take other shapes than its
 * signature says, so only a failure is a reason to compare them. */
static struct status with_misfit(struct status status, const struct signature *signature,
                                 const struct tensor *feeds)
{
    for (int i = 0; i < signature->inputs_count && !status_is_ok(status); i++) {
        const struct signature_tensor *input = &signature->inputs[i];
        if (!shape_compatible(&feeds[i].shape, &input->shape))
            return status_error(status.code, "%s (input '%s' has shape %s; the signature says %s)",
                                status.message, input->key, shape_text(&feeds[i].shape),
                                shape_text(&input->shape));
    }
    return status;
}

static void print_outputs(const struct signature *signature, const struct tensor *fetches)
{
    struct buffer text = { 0 };
    int computed = signature_computed_outputs(signature);
    for (int i = 0; i < computed; i++) {
        buffer_printf(&text, "%s: %s %s\n", signature->outputs[i].key, dtype_name(fetches[i].dtype),
                      shape_text(&fetches[i].shape));
        value_to_text(&fetches[i], &text);
        buffer_append_char(&text, '\n');
    }
    for (int i = computed; i < signature->outputs_count; i++)
        buffer_printf(&text, "%s: a sparse or composite tensor, which is not computed\n",
                      signature->outputs[i].key);
    fwrite(text.data, 1, text.size, stdout);
    buffer_finish(&text);
}

/* numpy has no dtype for bfloat16, for example. */
static bool has_npy_type(const struct tensor *tensor)
{
    return tensor->dtype == DT_STRING || npy_front_size(tensor->dtype, &tensor->shape) > 0;
}

/* The key of an output comes from the model, which must not choose a path outside the directory. */
static struct status find_output_file(const char *key, struct arena *arena, const char **out)
{
    if (strchr(key, '/') != NULL)
        return status_error(
            STATUS_INVALID_ARGUMENT,
            "--outdir: output '%s' has a '/' in its name, which a file cannot have: omit --outdir",
            key);
    *out = file_join(arena, options.outdir, arena_printf(arena, "%s.npy", key));
    if (!options.overwrite && file_exists(*out))
        return status_error(STATUS_ALREADY_EXISTS, "--outdir: '%s' exists: --overwrite replaces it",
                            *out);
    return status_ok();
}

static struct status save_output(const char *path, const struct tensor *tensor)
{
    struct buffer file = { 0 };
    struct status status = status_ok();
    if (tensor->dtype == DT_STRING) {
        status = npy_put_strings(tensor, &file);
    } else {
        npy_put_front(tensor->dtype, &tensor->shape, &file);
        buffer_append(&file, tensor->data, tensor_bytes(tensor));
    }
    if (status_is_ok(status))
        status = file_write(path, (struct bytes){ file.data, file.size });
    buffer_finish(&file);
    return status_in(status, "--outdir: '%s'", path);
}

/* Looks at all names before the first file is written. */
static struct status save_outputs(const struct signature *signature, const struct tensor *fetches,
                                  struct arena *arena)
{
    int count = signature_computed_outputs(signature);
    const char **paths = ARENA_ARRAY(arena, const char *, count + 1);
    for (int i = 0; i < count; i++) {
        if (has_npy_type(&fetches[i]))
            TRY(find_output_file(signature->outputs[i].key, arena, &paths[i]));
    }
    TRY(file_make_directories(options.outdir));
    for (int i = 0; i < count; i++) {
        if (has_npy_type(&fetches[i]))
            TRY(save_output(paths[i], &fetches[i]));
        else
            fprintf(stderr,
                    "savedmodel: output '%s' is %s, which numpy lacks: it is only printed\n",
                    signature->outputs[i].key, dtype_name(fetches[i].dtype));
    }
    return status_ok();
}

static int compare_times(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static struct status repeat(const struct plan *plan, struct run *run, const struct tensor *feeds,
                            int fetches_count, struct tensor *fetches)
{
    size_t count = (size_t)options.repeat;
    int64_t *times = zalloc(count * sizeof *times);
    struct status status = status_ok();
    for (size_t i = 0; i < count && status_is_ok(status); i++) {
        int64_t start = clock_now_ns(clock_monotonic());
        status = plan_run(plan, run, feeds, fetches);
        times[i] = clock_now_ns(clock_monotonic()) - start;
        tensors_release(fetches_count, fetches);
        run_reset(run);
    }
    if (status_is_ok(status)) {
        qsort(times, count, sizeof *times, compare_times);
        printf("latency over %zu run%s, µs: min %.1f  p50 %.1f  p90 %.1f  p99 %.1f  max %.1f\n",
               count, plural((int64_t)count), (double)times[0] / 1e3,
               (double)times[count / 2] / 1e3, (double)times[count * 9 / 10] / 1e3,
               (double)times[count * 99 / 100] / 1e3, (double)times[count - 1] / 1e3);
    }
    free(times);
    return status;
}

static struct status run_signature(struct savedmodel *model, const struct signature *signature,
                                   struct arena *arena)
{
    struct status status;
    const struct plan *plan;
    char missing[PARALLEL_TEXT_BYTES];
    parallel_set_width(options.threads);
    if (!parallel_start_all(missing))
        fprintf(stderr, "savedmodel: %s\n", missing);
    struct run *run = run_create(0);
    struct tensor *feeds = ARENA_ARRAY(arena, struct tensor, signature->inputs_count + 1);
    struct tensor *fetches = ARENA_ARRAY(arena, struct tensor, signature->outputs_count + 1);

    TRY_OR(done, command_line_fault(read_inputs(signature, arena, feeds)));
    TRY_OR(done, savedmodel_plan_only(model, signature, &plan));
    TRY_OR(done, with_misfit(plan_run(plan, run, feeds, fetches), signature, feeds));
    print_outputs(signature, fetches);
    if (options.outdir[0] != '\0')
        status = save_outputs(signature, fetches, arena);
    tensors_release(signature->outputs_count, fetches);
    run_reset(run);
    if (status_is_ok(status) && options.repeat > 0)
        TRY_OR(done, repeat(plan, run, feeds, signature->outputs_count, fetches));
done:
    tensors_release(signature->inputs_count, feeds);
    run_destroy(run);
    return status;
}

static struct status unknown_signature(const struct savedmodel *model)
{
    struct buffer names = { 0 };
    for (int i = 0; i < savedmodel_signatures_count(model); i++)
        buffer_printf(&names, "%s%s", i > 0 ? ", " : "", savedmodel_signature_at(model, i)->name);
    struct status status = status_error(
        STATUS_NOT_FOUND, "signature '%s' is not in '%s'; there are: %s", options.signature,
        savedmodel_directory(model), names.data ? names.data : "none");
    buffer_finish(&names);
    return status;
}

static struct status run_named_signature(struct savedmodel *model, struct arena *arena)
{
    const struct signature *signature = savedmodel_signature(model, bytes_of(options.signature));

    return signature != NULL ? run_signature(model, signature, arena) : unknown_signature(model);
}

struct status command_run(int argc, char **argv)
{
    return run_on_model(&flags, argc, argv, run_named_signature);
}
