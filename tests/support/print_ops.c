/* Prints docs/ops.md from the op table and the kernel tables. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "graph/gradients/gradients.h"
#include "runtime/kernel.h"

/* Does the plan run the op itself, without a kernel? */
static bool is_by_plan(const struct op *op)
{
    return op_has(op, OP_CALL | OP_CONTROL | OP_LOWERED) || strcmp(op->name, "Placeholder") == 0 ||
           strcmp(op->name, "_Arg") == 0;
}

/* Returns the union of the types of the op's kernels. */
static dtype_set kernel_types(const struct op *op, bool *has_kernel)
{
    size_t tables_count;
    const struct kernel_table *const *tables = kernel_tables(&tables_count);
    dtype_set types = 0;

    *has_kernel = false;
    for (size_t i = 0; i < tables_count; i++)
        for (size_t k = 0; k < tables[i]->count; k++)
            if (strcmp(tables[i]->rows[k].op, op->name) == 0) {
                types |= tables[i]->rows[k].dtypes;
                *has_kernel = true;
            }
    return types;
}

static bool has_type_attr(const struct op *op)
{
    for (int i = 0; i < op->attrs_count; i++)
        if (strcmp(op->attrs[i].type, "type") == 0 || strcmp(op->attrs[i].type, "list(type)") == 0)
            return true;
    return false;
}

static void print_names(dtype_set types)
{
    const char *separator = "";
    for (int i = 1; i < DTYPE_COUNT; i++)
        if ((types & DTYPES(i)) != 0) {
            printf("%s%s", separator, dtype_name((enum dtype)i));
            separator = " ";
        }
}

static void print_types(const struct op *op, dtype_set types)
{
    dtype_set lacking = ~types & ((DTYPES(DTYPE_COUNT) - 1) & ~(dtype_set)1);

    if (!has_type_attr(op)) {
        printf("-");
    } else if (lacking == 0) {
        printf("any");
    } else if (__builtin_popcountll(lacking) <= 3) {
        printf("any but ");
        print_names(lacking);
    } else {
        print_names(types);
    }
}

static bool has_op(const struct kernel_table *table, const struct op *op)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->rows[i].op, op->name) == 0)
            return true;
    return false;
}

static void print_files(const struct op *op)
{
    size_t count;
    const struct kernel_table *const *tables = kernel_tables(&count);
    const char *separator = "";
    for (size_t i = 0; i < count; i++)
        if (has_op(tables[i], op)) {
            printf("%s%s", separator, kernel_table_file(i));
            separator = ", ";
        }
}

static void print_row(const struct op *op, dtype_set types)
{
    printf("| %s | ", op->name);
    if (is_by_plan(op))
        printf("by the plan");
    else
        print_types(op, types);
    bool differentiable = op->gradient != gradient_none && op->gradient != gradient_stop;
    printf(" | %s | %s | ",
           op_has(op, OP_RANDOM)     ? "random"
           : op_has(op, OP_STATEFUL) ? "state"
                                     : "",
           differentiable                  ? "yes"
           : op->gradient == gradient_stop ? "stops here"
                                           : "");
    print_files(op);
    printf(" |\n");
}

static bool has_kernel(const struct op *op)
{
    bool found;
    kernel_types(op, &found);
    return found || is_by_plan(op);
}

static void print_table(void)
{
    bool found;
    printf(
        "# Supported ops\n\n"
        "Generated from `core/graph/ops.def` and the tables of `core/runtime/kernels`: "
        "`build/dev/tests/print_ops > docs/ops.md`.\n\n"
        "The second column lists the types for which the op has a kernel. An op with the effect "
        "\"state\" reads or writes something that outlives a run. If an op\nor a type is missing "
        "here, only signatures that need it fail; `savedmodel show` names them.\n\n"
        "Training fails at an op whose gradient column is empty, and names it. TensorFlow also "
        "registers gradients for TensorArrays of the first and second form,\nfor matrices "
        "in compressed rows (CSR) and for TensorMaps. Its public Python functions make none of "
        "these ops, and Slipway has no gradients for them.\n\n"
        "| op | types | effect | gradient | core/runtime/kernels |\n"
        "| --- | --- | --- | --- | --- |\n");
    for (int i = 0; i < op_count(); i++)
        if (has_kernel(op_at(i)))
            print_row(op_at(i), kernel_types(op_at(i), &found));
}

static void print_known(void)
{
    int count = 0;
    for (int i = 0; i < op_count(); i++)
        count += !has_kernel(op_at(i));
    if (count > 0)
        printf("\n## Known, but without a kernel yet\n\n"
               "They can be shown and written into graphs. Running one is UNIMPLEMENTED.\n\n");
    for (int i = 0; i < op_count(); i++)
        if (!has_kernel(op_at(i)))
            printf("* %s\n", op_at(i)->name);
}

/* What TensorFlow runs on a CPU and a graph for inference may contain. */
static const char *const serving_ops[] = {
#define SERVING_OP(name) #name,
#include "golden/ops/serving_ops.def"
#undef SERVING_OP
};

/* Why an op is not here, by patterns of its name (fnmatch). The first group that fits counts; the
 * last one takes the rest. */
static const struct group {
    const char *reason;
    const char *patterns[16];
} groups[] = {
    { "They write files, which a model must not do on a server. The save function of a SavedModel "
      "has them; no signature does",
      { "Save", "SaveSlices", "SaveV2", "MergeV2Checkpoints", "WriteFile", "SaveDataset*",
        "DatasetToTFRecord" } },
    { "TensorFlow 2.21 crashes when it runs them, so there is no answer to compare with",
      { "QuantizedConv2DWithBias*Sum*" } },
    { "They store, move, tune or spread a pipeline of tf.data; no answer to a request needs them",
      { "*erializeIterator", "Iterator*StringHandle*", "IteratorGet*", "DatasetFingerprint",
        "GetOptions", "ThreadPool*", "Rebatch*", "*DatasetVariant", "NonSerializableDataset",
        "*compressElement", "CompressElement", "LoadDataset", "*GlobalShuffle*",
        "GeneratorDataset" } },
    { "They read files by the queues of TensorFlow 1, or by another format's library",
      { "*Reader", "*ReaderV2", "Reader*", "RecordInput", "LMDBDataset", "SqlDataset", "DecodeJxl",
        "MatchingFilesDataset", "ImmutableConst" } },
    { "Exporters of today do not write them: they are old, or TensorFlow's own internals",
      { "Restore", "RestoreSlice", "FileSystemSetConfiguration" } },
    { "No function of TensorFlow's Python makes them. The answer of StochasticCastToInt depends on "
      "the CPU's vector width and on the number of threads",
      { "IndexFlatMapDataset", "WeightedFlatMapDataset", "StochasticCastToInt" } },
    { "TensorFlow's own kernel is a stub without output, which other builds replace",
      { "QuantizedConcatV2" } },
    { "Their answers come from a library that Slipway does without: from the order in which "
      "Eigen's AMD breaks ties",
      { "SparseMatrixOrderingAMD", "SparseMatrixSparseCholesky" } },
    { "Not written yet", { "*" } },
};

static bool is_in_group(const char *name, const struct group *group)
{
    for (size_t i = 0; i < COUNT(group->patterns) && group->patterns[i] != NULL; i++)
        if (fnmatch(group->patterns[i], name, 0) == 0)
            return true;
    return false;
}

static const struct group *group_of(const char *name)
{
    const struct group *group = groups;
    while (!is_in_group(name, group))
        group++;
    return group;
}

static bool is_missing(const char *name)
{
    const struct op *op = op_find(name);
    return op == NULL || !has_kernel(op);
}

static void print_missing(void)
{
    const size_t all = sizeof serving_ops / sizeof *serving_ops;
    size_t missing = 0;
    for (size_t i = 0; i < all; i++)
        missing += is_missing(serving_ops[i]);
    printf(
        "\n## What TensorFlow has and Slipway does not: %zu ops\n\n"
        "TensorFlow has a kernel for the CPU for %zu ops that a graph for inference may contain "
        "(`tests/golden/ops/serving_ops.py` says which it leaves\nout, and why: those of XLA, of "
        "other devices, of several tasks, of summaries and the like). These are the ones that "
        "Slipway does not run:",
        missing, all);
    printf("\n");
    for (const struct group *group = groups; group < groups + COUNT(groups); group++) {
        const char *separator = ": ";
        printf("\n* %s", group->reason);
        for (size_t i = 0; i < all; i++) {
            if (!is_missing(serving_ops[i]) || group_of(serving_ops[i]) != group)
                continue;
            printf("%s%s", separator, serving_ops[i]);
            separator = ", ";
        }
        printf("\n");
    }
}

int main(void)
{
    print_table();
    print_known();
    print_missing();
    return 0;
}
