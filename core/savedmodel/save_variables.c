#include "savedmodel/save_variables.h"

#include <stdlib.h>

#include "base/file.h"
#include "storage/bundle_writer.h"
#include "storage/checkpoint_v1_writer.h"

static int compare_variables(const void *a, const void *b)
{
    return strcmp(((const struct saved_variable *)a)->name,
                  ((const struct saved_variable *)b)->name);
}

/* Strings come in one chunk. */
static struct status take_strings(const struct saved_variable *variable,
                                  struct value_source *source, struct tensor *out)
{
    struct bytes chunk;
    TRY(source->begin(source, variable->name));
    TRY(source->next(source, &chunk));
    if (chunk.size != (size_t)shape_size(&variable->shape) * sizeof(struct bytes))
        return status_error(STATUS_INVALID_ARGUMENT, "%zu strings came, its shape is %s",
                            chunk.size / sizeof(struct bytes), shape_text(&variable->shape));
    *out = tensor_borrow(DT_STRING, &variable->shape, chunk.data);
    return status_ok();
}

/* ---- a bundle ---- */

static struct status write_to_bundle(struct bundle_writer *writer,
                                     const struct saved_variable *variable,
                                     struct value_source *source)
{
    struct bytes chunk;
    struct tensor strings;
    if (variable->dtype == DT_STRING) {
        TRY(take_strings(variable, source, &strings));
        return bundle_writer_add(writer, variable->name, &strings);
    }
    TRY(bundle_writer_begin(writer, variable->name, variable->dtype, &variable->shape));
    TRY(source->begin(source, variable->name));
    for (;;) {
        TRY(source->next(source, &chunk));
        if (chunk.size == 0)
            return bundle_writer_end(writer); /* checks the size */
        TRY(bundle_writer_append(writer, chunk.data, chunk.size));
    }
}

static struct status write_bundle(const char *directory, const struct saved_variable *variables,
                                  size_t count, struct value_source *source, struct arena *arena)
{
    struct bundle_writer *writer = NULL;
    struct status status;
    TRY(file_make_directories(file_join(arena, directory, "variables")));
    TRY(bundle_writer_open(savedmodel_variables_prefix(directory, FORMAT_SAVED_MODEL, arena),
                           &writer));
    for (size_t i = 0; i < count; i++)
        TRY_OR(fail, status_in(write_to_bundle(writer, &variables[i], source), "variable '%s'",
                               variables[i].name));
    return bundle_writer_commit(writer);

fail:
    bundle_writer_abandon(writer);
    return status;
}

/* ---- format V1 ---- */

static struct status write_to_v1(struct checkpoint_v1_writer *writer,
                                 const struct saved_variable *variable, struct value_source *source)
{
    struct bytes chunk;
    struct tensor strings;
    if (variable->dtype == DT_STRING) {
        TRY(take_strings(variable, source, &strings));
        return checkpoint_v1_writer_add(writer, &strings);
    }
    TRY(source->begin(source, variable->name));
    for (;;) {
        TRY(source->next(source, &chunk));
        if (chunk.size == 0)
            return checkpoint_v1_writer_end(writer);
        TRY(checkpoint_v1_writer_append(writer, chunk.data, chunk.size));
    }
}

static struct status write_v1(const char *directory, const struct saved_variable *variables,
                              size_t count, struct value_source *source, struct arena *arena)
{
    struct checkpoint_v1_writer *writer = NULL;
    struct status status;
    struct checkpoint_v1_tensor *tensors = ARENA_ARRAY(arena, struct checkpoint_v1_tensor, count);
    for (size_t i = 0; i < count; i++)
        tensors[i] = (struct checkpoint_v1_tensor){ variables[i].name, variables[i].dtype,
                                                    variables[i].shape };
    TRY(checkpoint_v1_writer_open(file_join(arena, directory, "export-00000-of-00001"), tensors,
                                  count, &writer));
    for (size_t i = 0; i < count; i++)
        TRY_OR(fail, status_in(write_to_v1(writer, &variables[i], source), "variable '%s'",
                               variables[i].name));
    return checkpoint_v1_writer_commit(writer);

fail:
    checkpoint_v1_writer_abandon(writer);
    return status;
}

struct status save_variables(const char *directory, enum savedmodel_format format,
                             const struct saved_variable *variables, int count,
                             struct value_source *source)
{
    static struct status (*const writers[])(const char *directory,
                                            const struct saved_variable *variables, size_t count,
                                            struct value_source *source, struct arena *arena) = {
        [FORMAT_SAVED_MODEL] = write_bundle,
        [FORMAT_SESSION_BUNDLE] = write_v1,
    };
    size_t size = (size_t)count;
    struct arena *arena = arena_create(0);
    struct saved_variable *order = ARENA_ARRAY(arena, struct saved_variable, size);
    memcpy(order, variables, size * sizeof *order);
    /* as TensorFlow's savers do */
    qsort(order, size, sizeof *order, compare_variables);
    struct status status = writers[format](directory, order, size, source, arena);
    arena_destroy(arena);
    return status;
}
