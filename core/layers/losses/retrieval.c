/* retrieval. Source: tensorflow_recommenders/tasks/retrieval.py and layers/loss.py. */
#include "layers/losses/retrieval.h"

#include <float.h>

#include "layers/build_state.h"
#include "layers/losses/loss.h"

/* TensorFlow Recommenders' limits. SCORE_MAX outweighs any score, and their sum is finite. */
#define SCORE_MAX       (FLT_MAX / 100.0f)
#define PROBABILITY_MIN 1e-6f

const struct layer_arg retrieval_args[RETRIEVAL_ARGS_COUNT] = {
    { "candidates", ARG_VALUE, REQUIRED },
    { "temperature", ARG_NULL_OR_NUMBER, "null" },
    { "num_hard_negatives", ARG_NULL_OR_INT, "null" },
    { "remove_accidental_hits", ARG_BOOL, "false" },
    { "candidate_ids", ARG_NULL_OR_VALUE, "null" },
    { "candidate_sampling_probability", ARG_NULL_OR_VALUE, "null" },
};

/* An option that is a name; NULL: not given, or not text. */
static const char *option_text(const struct loss *loss, const char *name)
{
    const struct arg_value *option = loss_option(loss, name);

    return option->is_null || option->value->kind != JSON_VALUE_TEXT ? NULL : option->value->text;
}

static int find_port(const struct layers_port *ports, int count, const char *name)
{
    for (int i = 0; name != NULL && i < count; i++)
        if (strcmp(ports[i].name, name) == 0)
            return i;
    return -1;
}

int retrieval_candidates(const struct layers_model *model, int output)
{
    return find_port(model->outputs, model->outputs_count,
                     option_text(model->targets[output].loss, "candidates"));
}

int retrieval_id_input(const struct layers_model *model, int output)
{
    return find_port(model->inputs, model->inputs_count,
                     option_text(model->targets[output].loss, "candidate_ids"));
}

const char *retrieval_column(const struct loss *loss)
{
    return option_text(loss, "candidate_sampling_probability");
}

/* ---- checks ---- */

static struct status check_vectors(const struct layers_model *model, int output,
                                   const struct layers_head *heads)
{
    int candidates = retrieval_candidates(model, output);

    if (candidates < 0 || candidates == output)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "argument 'candidates': expected the name of another output");
    const struct shape *queries = endpoint_shape(heads[output].output),
                       *items = endpoint_shape(heads[candidates].output);
    if (queries->rank == 2 && items->rank == 2 && queries->dims[1] == items->dims[1])
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "the queries have shape %s and the candidates '%s' %s; expected vectors "
                        "[batch, n] of the same n",
                        shape_text(queries), model->outputs[candidates].name, shape_text(items));
}

static struct status check_ids(const struct layers_model *model, int output)
{
    const struct loss *loss = model->targets[output].loss;
    bool removes = loss_option(loss, "remove_accidental_hits")->boolean;
    bool given = !loss_option(loss, "candidate_ids")->is_null;

    if (removes && !given)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "remove_accidental_hits needs candidate_ids, the name of an input of "
                            "the model");
    if (!given)
        return status_ok();
    int input = retrieval_id_input(model, output);
    if (input < 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "argument 'candidate_ids': expected the name of an input of the model");
    const struct layers_port *port = &model->inputs[input];
    bool one = port->shape.rank == 1 || (port->shape.rank == 2 && port->shape.dims[1] == 1);
    if (port->layout == TENSOR_DENSE && one)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "argument 'candidate_ids': the input '%s' has shape %s%s, expected one id "
                        "per row",
                        port->name, shape_text(&port->shape),
                        port->layout == TENSOR_DENSE ? "" : " and is not dense");
}

static struct status check_numbers(const struct loss *loss)
{
    const struct arg_value *temperature = loss_option(loss, "temperature"),
                           *negatives = loss_option(loss, "num_hard_negatives"),
                           *column = loss_option(loss, "candidate_sampling_probability");

    if (!temperature->is_null && !((float)temperature->number > 0))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "argument 'temperature': got %g, expected a number above 0",
                            temperature->number);
    if (!negatives->is_null && (negatives->integer < 1 || negatives->integer >= INT32_MAX))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "argument 'num_hard_negatives': got %lld, expected a positive integer",
                            (long long)negatives->integer);
    if (!column->is_null && retrieval_column(loss) == NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "argument 'candidate_sampling_probability': expected the name of a "
                            "column of the data");
    return status_ok();
}

struct status retrieval_check(const struct layers_model *model, int output,
                              const struct layers_head *heads)
{
    const struct loss *loss = model->targets[output].loss;

    TRY(check_vectors(model, output, heads));
    TRY(check_ids(model, output));
    return check_numbers(loss);
}

/* ---- the graph ---- */

/* The scores under construction. */
struct scores {
    struct builder *builder;
    struct endpoint rows;   /* int32 scalar: their number */
    struct endpoint places; /* int32 [batch]: 0, 1, … */
    struct endpoint values; /* [batch, batch] */
};

static struct endpoint binary(struct scores *s, const char *op, struct endpoint x,
                              struct endpoint y)
{
    return build_binary(s->builder, op, NULL, x, y);
}

static void multiply_towers(struct scores *s, struct endpoint queries, struct endpoint candidates)
{
    struct builder *b = s->builder;
    const struct endpoint towers[] = { queries, candidates };
    const struct endpoint first[] = { build_unary(b, "Shape", NULL, queries), build_const_int(b, 0),
                                      build_const_int(b, 0) };

    s->values = build(b, "MatMul", "scores", 2, towers,
                      (const struct attr[]){ attr_bool("transpose_b", true), ATTR_END });
    s->rows = build(b, "GatherV2", NULL, 3, first, NULL);
    s->places = build_range(b, s->rows);
}

/* `value` at each row's own candidate, 0 elsewhere. */
static struct endpoint at_own(struct scores *s, float value)
{
    struct builder *b = s->builder;
    const struct endpoint inputs[] = { s->places, s->rows, build_const_float(b, value),
                                       build_const_float(b, 0) };

    return build(b, "OneHot", NULL, 4, inputs, NULL);
}

/* A frequent candidate is a negative of many rows; without this correction, it would be scored
 * too low. */
static void correct_sampling(struct scores *s, struct endpoint probabilities)
{
    struct builder *b = s->builder;
    const struct endpoint inputs[] = { probabilities, build_const_float(b, PROBABILITY_MIN),
                                       build_const_float(b, 1) };
    struct endpoint clipped = build(b, "ClipByValue", NULL, 3, inputs, NULL);

    s->values = binary(s, "Sub", s->values, build_unary(b, "Log", NULL, clipped));
}

/* Another row with the same candidate is not a negative: lowers its score until the softmax
 * ignores it. */
static void remove_hits(struct scores *s, struct endpoint ids)
{
    struct builder *b = s->builder;

    ids = binary(s, "Reshape", ids, build_const_ints(b, NULL, 1, (const int32_t[]){ -1 }));
    struct endpoint equal = binary(s, "Equal", build_expand_dims(s->builder, ids, 1),
                                   build_expand_dims(s->builder, ids, 0));
    equal = build_cast(b, NULL, equal, DT_FLOAT);
    struct endpoint hits = binary(s, "Sub", equal, at_own(s, 1));
    struct endpoint low = binary(s, "Mul", hits, build_const_float(b, -SCORE_MAX));
    s->values = binary(s, "AddV2", s->values, low);
}

/* Keeps each row's own score and the `count` largest of the others. The own score is raised
 * above all others before sorting, so it comes first. */
static void mine_negatives(struct scores *s, int64_t count)
{
    struct builder *b = s->builder;
    struct endpoint raised = binary(s, "AddV2", s->values, at_own(s, SCORE_MAX));
    struct endpoint kept = binary(s, "Minimum", build_const_int(b, (int32_t)(count + 1)), s->rows);
    const struct endpoint of_top[] = { raised, kept };
    struct endpoint columns = { build(b, "TopKV2", NULL, 2, of_top, NULL).node, 1 };
    struct endpoint flat =
        binary(s, "Reshape", s->values, build_const_ints(b, NULL, 1, (const int32_t[]){ -1 }));
    struct endpoint begins = build_expand_dims(s->builder, binary(s, "Mul", s->places, s->rows), 1);
    const struct endpoint gathering[] = { flat, binary(s, "AddV2", begins, columns),
                                          build_const_int(b, 0) };

    s->values = build(b, "GatherV2", "hard_negatives", 3, gathering, NULL);
    s->places = build_unary(b, "ZerosLike", NULL, s->places);
}

static struct endpoint place_column(struct builder *b, const char *name, struct endpoint queries)
{
    const char *scope = b->scope;

    b->scope = "columns/";
    struct endpoint column =
        build_placeholder(b, name, DT_FLOAT, shape_of(endpoint_shape(queries)->dims[0]));
    b->scope = scope;
    return column;
}

void retrieval_compare(struct layer_context *context, const struct layers_model *model, int output)
{
    struct layers_head *head = &context->build->out->heads[output];
    const struct loss *loss = model->targets[output].loss;
    const struct arg_value *temperature = loss_option(loss, "temperature"),
                           *negatives = loss_option(loss, "num_hard_negatives");
    struct builder *b = &context->builder;
    struct scores s = { .builder = b };

    multiply_towers(&s, head->output,
                    context->build->out->heads[retrieval_candidates(model, output)].output);
    if (!temperature->is_null)
        s.values =
            binary(&s, "RealDiv", s.values, build_const_float(b, (float)temperature->number));
    if (retrieval_column(loss) != NULL && status_is_ok(b->status)) {
        head->column = place_column(b, model->outputs[output].name, head->output);
        correct_sampling(&s, head->column);
    }
    if (loss_option(loss, "remove_accidental_hits")->boolean)
        remove_hits(&s, context->build->out->inputs[retrieval_id_input(model, output)]);
    if (!negatives->is_null)
        mine_negatives(&s, negatives->integer);
    head->predictions = s.values;
    head->truths = s.places;
}
