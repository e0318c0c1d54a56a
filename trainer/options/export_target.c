#include "trainer/options/export_target.h"

#include "base/file.h"
#include "exporter/export.h"

/* Is this a server's base path: a directory of numbered versions, and not itself a model? */
static bool is_base(const char *directory)
{
    return export_next_version(directory) > 1 && savedmodel_find_file(directory) == NULL;
}

static struct status choose_directory(const struct flag_values *flags, const char *positional,
                                      struct arena *arena, struct options *out)
{
    const char *base = positional != NULL ? positional : flags->work_dir;
    bool given = *flags->export_dir != '\0';

    if (given && positional != NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "'%s' and --export_dir=%s: give one of them",
                            positional, flags->export_dir);
    if (given && flags->model_version >= 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--model_version=%lld and --export_dir=%s, which names the version: "
                            "give one of them",
                            (long long)flags->model_version, flags->export_dir);
    if (given)
        base = file_trim_slashes(arena, flags->export_dir);
    savedmodel_format_find(flags->export_format, &out->export_format); /* one of the choices */
    if (given ? is_base(base) : flags->model_version < 0)
        out->export_base = base;
    out->export_directory =
        out->export_base != NULL
            ? export_version_path(base, export_next_version(base), out->export_format, arena)
        : given ? arena_strdup(arena, base)
                : export_version_path(base, flags->model_version, out->export_format, arena);
    return status_ok();
}

/* A directory that is taken may contain the export of this very job, made before the chief was
 * killed. A job that resumes from a checkpoint, or has ps tasks that hold its values, can find
 * out. */
static struct status check_target(struct options *out)
{
    struct status status = export_check_target(out->export_directory);
    bool goes_on = *out->flags.checkpoint_dir != '\0' || !job_map_is_local(&out->map);

    out->export_taken = status.code == STATUS_ALREADY_EXISTS && goes_on &&
                        savedmodel_find_file(out->export_directory) != NULL;
    return out->export_taken ? status_ok() : status;
}

struct status options_choose_export(const char *positional, struct arena *arena,
                                    struct options *out)
{
    static const char *const of_export[] = { "work_dir", "model_version", "export_format" };
    const struct flag_values *flags = &out->flags;

    if (flags->export) {
        TRY(choose_directory(flags, positional, arena, out));
        return check_target(out);
    }
    if (*flags->export_dir != '\0' || positional != NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "--noexport and '%s': give one of them",
                            positional != NULL ? positional : flags->export_dir);
    const char *given = option_flags_first_given(of_export, COUNT(of_export));
    return given == NULL ? status_ok()
                         : status_error(STATUS_INVALID_ARGUMENT,
                                        "--noexport and --%s: give one of them", given);
}
