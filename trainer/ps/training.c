#include "trainer/ps/training.h"

#include "trainer/protocol/row_keys.h"

static struct status choose_rule(const struct optimizer_choice *from, struct training_rule *out)
{
    TRY(optimizer_choose(from, out->settings, &out->optimizer));
    out->rate = from->learning_rate;
    out->ratio = from->rate_ratio;
    out->all_rows = from->all_rows;
    return status_ok();
}

static struct status choose_others(const struct create_request *request, struct training *out)
{
    if (request->others_count > OPTIMIZERS_MAX - 1)
        return status_error(STATUS_INVALID_ARGUMENT, "%zu other optimizers, and at most %d",
                            request->others_count, OPTIMIZERS_MAX - 1);
    for (size_t i = 0; i < request->others_count; i++) {
        TRY(choose_rule(&request->others[i], &out->rules[1 + i]));
        TRY(optimizer_can_be_another(out->rules[1 + i].optimizer));
    }
    out->rules_count = 1 + (int)request->others_count;
    for (size_t i = 0; i < request->pieces_count; i++)
        if (request->pieces[i].optimizer >= (uint32_t)out->rules_count)
            return status_error(STATUS_INVALID_ARGUMENT, "piece %u: optimizer %u of %d",
                                request->pieces[i].id, request->pieces[i].optimizer,
                                out->rules_count);
    return status_ok();
}

int training_first_scalar(const struct training *training, int rule)
{
    int first = 0;

    for (int r = 0; r < rule; r++)
        first += training->rules[r].optimizer->scalars_count;
    return first;
}

static struct status choose_optimizers(const struct create_request *request, struct training *out)
{
    const struct optimizer_choice job = { .name = request->optimizer,
                                          .learning_rate = request->learning_rate,
                                          .settings = request->settings,
                                          .settings_count = (int)request->settings_count,
                                          .all_rows = request->all_rows };

    TRY(choose_rule(&job, &out->rules[0]));
    TRY(choose_others(request, out));
    int scalars_count = training_first_scalar(out, out->rules_count);
    if (request->scalars_count != 0 && request->scalars_count != (size_t)scalars_count)
        return status_error(STATUS_INVALID_ARGUMENT, "optimizer '%s' has %d scalars, %zu came",
                            out->rules[0].optimizer->name, scalars_count, request->scalars_count);
    out->batches_per_step = request->batches_per_step > 0 ? request->batches_per_step : 1;
    return schedule_read(request->schedule, request->schedule_values,
                         request->schedule_values_count, &out->schedule);
}

/* Checks piece i of a variable that its optimizer takes as a whole: its shape must match that of
 * the piece before it. */
static struct status check_whole(const struct create_request *request, size_t i)
{
    const struct created_piece *piece = &request->pieces[i], *before = i > 0 ? piece - 1 : NULL;
    bool fits = (uint64_t)shape_size(&piece->shape) * sizeof(float) == piece->size_bytes;

    if (piece->continues)
        fits = fits && before != NULL && before->optimizer == piece->optimizer &&
               before->trainable && before->shape.rank == piece->shape.rank &&
               piece->shape.rank > 0;
    for (int d = 1; fits && piece->continues && d < piece->shape.rank; d++)
        fits = before->shape.dims[d] == piece->shape.dims[d];
    if (fits)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "piece %u: the shape %s is not that of a part of a whole variable",
                        piece->id, shape_text(&piece->shape));
}

/* Checks the rules of all hash tables with their optimizers. */
static struct status check_rules(const struct create_request *request,
                                 const struct training *training)
{
    for (size_t i = 0; i < request->pieces_count; i++) {
        const struct created_piece *piece = &request->pieces[i];
        const struct training_rule *rule = &training->rules[piece->optimizer];
        if (piece->keys != NULL && rule->all_rows)
            return status_error(STATUS_UNIMPLEMENTED,
                                "piece %u: Keras' '%s' changes every row with each update, and a "
                                "hash table has no end of rows: take --lazy_rows",
                                piece->id, rule->optimizer->name);
        if (piece->power_iterations > 0 && optimizer_joins_pieces(rule->optimizer))
            return status_error(STATUS_UNIMPLEMENTED,
                                "piece %u is divided, which is not implemented for '%s'", piece->id,
                                rule->optimizer->name);
        if (rule->optimizer->whole != NULL && piece->trainable && piece->keys == NULL)
            TRY(check_whole(request, i));
        if (piece->keys != NULL)
            TRY(status_in(row_keys_can_train(&piece->keys->spec, piece->row_bytes, rule->optimizer),
                          "piece %u", piece->id));
    }
    return status_ok();
}

struct status training_choose(const struct create_request *request, struct training *out)
{
    TRY(choose_optimizers(request, out));
    return check_rules(request, out);
}
