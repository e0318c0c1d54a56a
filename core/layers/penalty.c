/* penalty: the terms that regularizers add to the loss. */
#include "layers/build_state.h"
#include "layers/classes/classes.h"

static struct endpoint sum_all(struct builder *b, struct endpoint x)
{
    int32_t axes[SHAPE_RANK_MAX];
    int rank = endpoint_shape(x)->rank;

    for (int k = 0; k < rank; k++)
        axes[k] = k;
    return build_binary(b, "Sum", NULL, x, build_const_ints(b, NULL, rank, axes));
}

static void add_penalty(struct layer_context *context, struct endpoint sum, double factor)
{
    struct builder *b = &context->builder;
    struct endpoint term = build_binary(b, "Mul", NULL, sum, build_const_float(b, (float)factor));

    context->build->penalty = context->build->penalty.node == NULL
                                  ? term
                                  : build_binary(b, "AddV2", NULL, context->build->penalty, term);
}

/* A matrix of `size` rows with 0 on the diagonal and 1 elsewhere. */
static struct endpoint off_diagonal(struct builder *b, int64_t size)
{
    struct endpoint row = build_range(b, build_const_int(b, (int32_t)size));
    struct endpoint column = build_expand_dims(b, row, 1);
    struct endpoint apart = build_binary(b, "NotEqual", NULL, row, column);

    return build_cast(b, NULL, apart, DT_FLOAT);
}

/* Adds the mean |cos| of the angles between the rows, or the columns, of a matrix. */
static void penalise_angles(struct layer_context *context, const struct regularizer *regularizer,
                            struct endpoint w)
{
    struct builder *b = &context->builder;
    const struct shape shape = *endpoint_shape(w);
    const int32_t along = regularizer->columns ? 0 : 1;
    int64_t size = shape.rank == 2 ? shape.dims[1 - along] : 0;

    if (size < 2 || size > INT32_MAX) {
        b->status = status_keep(
            context->arena,
            status_error(STATUS_INVALID_ARGUMENT,
                         "OrthogonalRegularizer takes matrices of 2 %s or more, not a variable of "
                         "shape %s",
                         regularizer->columns ? "columns" : "rows", shape_text(&shape)));
        return;
    }
    struct endpoint unit = build_unit_vectors(context, w, 1, &along, 1e-7f);
    const struct endpoint both[] = { unit, unit };
    struct endpoint cosines = build(b, "MatMul", NULL, 2, both,
                                    (const struct attr[]){
                                        attr_bool("transpose_a", regularizer->columns),
                                        attr_bool("transpose_b", !regularizer->columns),
                                        ATTR_END,
                                    });
    cosines =
        build_binary(b, "Mul", NULL, build_unary(b, "Abs", NULL, cosines), off_diagonal(b, size));
    if (status_is_ok(b->status))
        add_penalty(context, sum_all(b, cosines),
                    regularizer->orthogonal / ((double)size * (double)(size - 1)));
}

/* Adds λ1 Σ|w| + λ2 Σw² to the penalty; for an activation, the mean over its rows, which inside a
 * TimeDistributed is one per step. */
static void penalise(struct layer_context *context, const struct regularizer *regularizer,
                     struct endpoint w, bool activation)
{
    struct builder *b = &context->builder;
    const double steps = context->build->steps > 0 ? (double)context->build->steps : 1;
    const struct {
        const char *op;
        double factor;
    } terms[] = { { "Abs", regularizer->l1 }, { "Square", regularizer->l2 } };

    for (size_t i = 0; i < COUNT(terms); i++) {
        double factor = terms[i].factor;
        if (factor == 0 || !status_is_ok(b->status))
            continue;
        struct endpoint x = build_unary(b, terms[i].op, NULL, w);
        if (activation && status_is_ok(b->status)) {
            const int32_t batch = 0;
            x = build_binary(b, "Mean", NULL, x, build_const_ints(b, NULL, 1, &batch));
            factor *= steps;
        }
        if (!status_is_ok(b->status))
            return;
        add_penalty(context, sum_all(b, x), factor);
    }
}

void layer_penalise_variable(struct layer_context *context, const struct regularizer *regularizer,
                             struct endpoint value)
{
    penalise(context, regularizer, value, false);
    if (regularizer->orthogonal != 0 && status_is_ok(context->builder.status))
        penalise_angles(context, regularizer, value);
}

void layer_penalise_activity(struct layer_context *context, const struct layer *layer,
                             const struct regularizer *regularizer, struct endpoint x)
{
    if (layer == context->build->unpenalised || !status_is_ok(context->builder.status))
        return;
    enum dtype before;
    x = layer_widen(context, x, &before);
    if (endpoint_dtype(x) != DT_FLOAT)
        layer_refuse(context, layer, "an activity_regularizer of an output of %s",
                     dtype_name(endpoint_dtype(x)));
    else if (regularizer->orthogonal != 0)
        layer_refuse(context, layer, "OrthogonalRegularizer as an activity_regularizer");
    else if (context->build->steps < 0)
        layer_refuse(context, layer,
                     "an activity_regularizer inside a TimeDistributed with an open number of "
                     "steps: give the InputLayer a size");
    if (context->mode != LAYERS_SERVE && status_is_ok(context->builder.status))
        penalise(context, regularizer, x, true);
    builder_set_float(&context->builder, before);
}
