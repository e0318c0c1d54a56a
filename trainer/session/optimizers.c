/* Chooses the optimizer of each variable. */
#include "trainer/options/other_optimizers.h"
#include "trainer/session/prepare.h"

static const struct optimizer *optimizer_of(const struct client_job *job, int variable)
{
    return optimizer_find(client_job_optimizer(job, client_job_number(job, variable)).name);
}

/* Assigns an optimizer to the variables that Keras' Muon does not train itself. */
static struct status complete_muon(struct session *session)
{
    const struct model *model = session->model;
    struct muon_variable *variables =
        ARENA_ARRAY(session->arena, struct muon_variable, model->variables_count);

    for (int v = 0; v < model->variables_count; v++)
        variables[v] =
            (struct muon_variable){ model->variables[v].name, model->variables[v].shape.rank == 2 };
    return other_optimizers_beside_muon(variables, model->variables_count, session->arena,
                                        &session->options.job);
}

static struct status choose_other_optimizers(struct session *session)
{
    const struct model *model = session->model;
    struct client_job *job = &session->options.job;
    const char **names = ARENA_ARRAY(session->arena, const char *, model->variables_count);
    const struct layers_other_optimizer *described = session->options.described_others;

    if (*session->options.flags.optimizer_for == '\0' && described == NULL)
        return status_ok();
    if (optimizer_find(job->optimizer)->averages)
        return status_error(STATUS_UNIMPLEMENTED, "%s with --use_ema",
                            described != NULL ? "MultiOptimizer" : "--optimizer_for");
    for (int v = 0; v < model->variables_count; v++)
        names[v] = model->variables[v].name;
    if (described != NULL)
        return status_in(other_optimizers_match(described, session->options.model->name, names,
                                                model->variables_count, session->arena, job),
                         "MultiOptimizer");
    return status_in(other_optimizers_read(session->options.flags.optimizer_for, names,
                                           model->variables_count, session->arena, job),
                     "--optimizer_for");
}

static bool has_setting(const struct client_job *job, const char *name)
{
    for (int i = 0; i < job->settings_count; i++)
        if (strcmp(job->settings[i].name, name) == 0)
            return job->settings[i].value != 0;
    return false;
}

/* Rows that would not change need not be updated, however large the table is. */
static void spare_resting_rows(struct session *session)
{
    struct client_job *job = &session->options.job;
    bool rests = optimizer_find(job->optimizer)->rests && job->schedule.kind == NULL &&
                 *session->options.flags.init_from == '\0' &&
                 !has_setting(job, "l2_shrinkage_regularization_strength");

    for (int v = 0; v < session->graph.variables_count; v++)
        rests &= client_job_number(job, v) > 0 || session->graph.variables[v].starts_at_zero ||
                 !training_variable_is_sparse(&session->graph.variables[v]);
    job->all_rows &= !rests;
}

/* Each ps checks this again; here it is checked before any ps exists. */
static struct status check_tables(const struct session *session)
{
    const struct client_job *job = &session->options.job;

    for (int v = 0; v < session->model->variables_count; v++) {
        const struct placed_variable *variable = &session->model->variables[v];
        const struct optimizer *optimizer = optimizer_of(job, v);
        if (!variable->by_keys)
            continue;
        TRY(status_in(row_keys_can_train(&variable->keys, placement_row_bytes(variable), optimizer),
                      "variable '%s'", variable->name));
        if (client_job_optimizer(job, client_job_number(job, v)).all_rows)
            return status_error(STATUS_UNIMPLEMENTED,
                                "variable '%s': Keras' '%s' changes every row with each update, "
                                "and a hash table has no end of rows: take --lazy_rows",
                                variable->name, optimizer->name);
    }
    return status_ok();
}

/* From the pieces of a variable whose rows are split, a ps cannot tell where the rows end. */
static struct status check_whole_variables(const struct session *session)
{
    const struct client_job *job = &session->options.job;

    for (int v = 0; v < session->model->variables_count; v++) {
        const struct placed_variable *variable = &session->model->variables[v];
        const struct optimizer *optimizer = optimizer_of(job, v);
        if (variable->trainable && !variable->by_keys && optimizer->whole != NULL &&
            placement_row_bytes(variable) > PLACEMENT_PIECE_MAX)
            return status_error(STATUS_UNIMPLEMENTED,
                                "variable '%s': the optimizer '%s' does not take rows of more than "
                                "%zu bytes",
                                variable->name, optimizer->name, (size_t)PLACEMENT_PIECE_MAX);
    }
    return status_ok();
}

/* Checks the variables that SpectralNormalization divides before each update. */
static struct status check_divided_variables(const struct session *session)
{
    const struct client_job *job = &session->options.job;

    for (int v = 0; v < session->model->variables_count; v++) {
        const struct placed_variable *variable = &session->model->variables[v];
        const struct optimizer *optimizer = optimizer_of(job, v);
        if (variable->power_iterations == 0)
            continue;
        if (optimizer_joins_pieces(optimizer))
            return status_error(STATUS_UNIMPLEMENTED,
                                "variable '%s': SpectralNormalization with the optimizer '%s'",
                                variable->name, optimizer->name);
        if (session->options.accumulation > 1)
            return status_error(STATUS_UNIMPLEMENTED,
                                "variable '%s': SpectralNormalization with "
                                "gradient_accumulation_steps, in which each batch would divide it",
                                variable->name);
    }
    return status_ok();
}

struct status session_choose_optimizers(struct session *session)
{
    TRY(choose_other_optimizers(session));
    TRY(complete_muon(session));
    spare_resting_rows(session);
    TRY(check_tables(session));
    TRY(check_whole_variables(session));
    return check_divided_variables(session);
}
