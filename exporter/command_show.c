#include "exporter/commands.h"

#include "exporter/model_report.h"

static struct {
    const char *plan;
    bool json;
} options;

static const struct flag rows[] = {
    { "json", FLAG_BOOL, &options.json, "false", .help = "print JSON" },
    { "plan", FLAG_TEXT, &options.plan, "", .help = "print the steps that run this signature" },
    COMMON_FLAGS,
};

static const struct flag_set flags = {
    "usage: savedmodel show [flags] DIR\n\n"
    "Prints the signatures, variables and ops of a SavedModel, and which ops this build can run.",
    rows, COUNT(rows)
};

static struct status print_plan(struct savedmodel *model, const char *name)
{
    const struct signature *signature = savedmodel_signature(model, bytes_of(name));
    const struct plan *plan;
    if (signature == NULL)
        return status_error(STATUS_NOT_FOUND, "signature '%s' is not in '%s'", name,
                            savedmodel_directory(model));
    TRY(savedmodel_plan(model, signature, &plan));
    struct buffer text = { 0 };
    plan_print(plan, &text);
    fwrite(text.data, 1, text.size, stdout);
    buffer_finish(&text);
    return status_ok();
}

static struct status show_model(struct savedmodel *model, struct arena *arena)
{
    struct model_report report;
    struct buffer text = { 0 };
    if (options.plan[0] != '\0')
        return print_plan(model, options.plan);
    model_report_make(model, arena, &report);
    if (options.json)
        model_report_to_json(&report, &text);
    else
        model_report_to_text(&report, &text);
    fwrite(text.data, 1, text.size, stdout);
    buffer_finish(&text);
    return status_ok();
}

struct status command_show(int argc, char **argv)
{
    return run_on_model(&flags, argc, argv, show_model);
}
