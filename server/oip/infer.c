#include "server/oip/infer.h"

#include "base/text_print.h"
#include "server/oip/datatype.h"
#include "server/oip/raw.h"

#define NAMES_MAX 1024 /* characters of a list of names in an error text */
#define NAME_MAX  256  /* of a client's name in an error text */

/* "a, b, c", cut off if it is too long. */
static const char *names_text(const struct signature_tensor *tensors, int count,
                              struct arena *arena)
{
    struct buffer text = { 0 };
    for (int i = 0; i < count && text.size < NAMES_MAX; i++)
        buffer_printf(&text, "%s%s", i > 0 ? ", " : "", tensors[i].key);
    const char *kept = arena_memdup(arena, text.size > 0 ? text.data : "", text.size);
    buffer_finish(&text);
    return kept;
}

static struct status check_input(const struct tensor *tensor, const struct signature_tensor *wanted)
{
    if (tensor->dtype != wanted->dtype)
        return status_error(STATUS_INVALID_ARGUMENT, "input '%s': datatype %s, signature wants %s",
                            wanted->key, datatype_show(tensor->dtype),
                            datatype_show(wanted->dtype));
    if (wanted->has_shape && !shape_compatible(&tensor->shape, &wanted->shape))
        return status_error(STATUS_INVALID_ARGUMENT, "input '%s': shape %s, signature wants %s",
                            wanted->key, shape_text(&tensor->shape), shape_text(&wanted->shape));
    return status_ok();
}

static struct status match_inputs(const struct infer_request *request,
                                  const struct signature *signature, struct arena *arena,
                                  const struct tensor **out)
{
    int count = signature->inputs_count;
    struct tensor *inputs = ARENA_ARRAY(arena, struct tensor, count);
    for (int i = 0; i < request->inputs_count; i++) {
        const struct infer_input *given = &request->inputs[i];
        int input = signature_input(signature, given->name);
        if (input < 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "input '%s' is not in the signature '%s', which has: %s",
                                text_print_name(bytes_first(given->name, NAME_MAX)),
                                signature->name, names_text(signature->inputs, count, arena));
        if (inputs[input].dtype != DT_INVALID)
            return status_error(STATUS_INVALID_ARGUMENT, "input '%s' is given twice",
                                signature->inputs[input].key);
        TRY(check_input(&given->tensor, &signature->inputs[input]));
        inputs[input] = given->tensor;
    }
    for (int i = 0; i < count; i++) {
        const struct signature_tensor *wanted = &signature->inputs[i];
        if (inputs[i].dtype == DT_INVALID && wanted->default_value.dtype == DT_INVALID)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "input '%s' of the signature '%s' is not in the request",
                                wanted->key, signature->name);
        if (inputs[i].dtype == DT_INVALID)
            inputs[i] = wanted->default_value;
    }
    *out = inputs;
    return status_ok();
}

static struct status choose_named(const struct infer_request *request,
                                  const struct signature *signature, struct arena *arena,
                                  struct infer_choice *choices)
{
    bool *chosen = ARENA_ARRAY(arena, bool, signature->outputs_count);
    for (int i = 0; i < request->outputs_count; i++) {
        const struct infer_output *wanted = &request->outputs[i];
        int output = signature_output(signature, wanted->name);
        if (output < 0)
            return status_error(
                STATUS_INVALID_ARGUMENT, "output '%s' is not in the signature '%s', which has: %s",
                text_print_name(bytes_first(wanted->name, NAME_MAX)), signature->name,
                names_text(signature->outputs, signature->outputs_count, arena));
        if (chosen[output])
            return status_error(STATUS_INVALID_ARGUMENT, "output '%s' is asked for twice",
                                signature->outputs[output].key);
        chosen[output] = true;
        bool binary = wanted->form == INFER_FORM_DEFAULT ? request->binary
                                                         : wanted->form == INFER_FORM_BINARY;
        TRY(signature_check_output(signature, output));
        choices[i] = (struct infer_choice){ output, binary };
    }
    return status_ok();
}

struct status infer_match(const struct infer_request *request, const struct signature *signature,
                          struct arena *arena, struct infer_match *out)
{
    int count = signature->outputs_count;
    struct infer_choice *choices = ARENA_ARRAY(arena, struct infer_choice, count);
    TRY(match_inputs(request, signature, arena, &out->inputs));
    out->choices = choices;
    out->choices_count = request->outputs_count > 0 ? request->outputs_count : count;
    if (request->outputs_count > 0)
        return choose_named(request, signature, arena, choices);
    TRY(signature_check_outputs(signature));
    for (int i = 0; i < count; i++)
        choices[i] = (struct infer_choice){ i, request->binary };
    return status_ok();
}

struct status infer_check_outputs(const struct infer_answer *answer, const struct tensor *outputs)
{
    for (int i = 0; i < answer->choices_count; i++) {
        const char *key = answer->signature->outputs[answer->choices[i].output].key;
        const struct tensor *output = &outputs[answer->choices[i].output];
        if (datatype_name(output->dtype) == NULL)
            return status_error(STATUS_UNIMPLEMENTED,
                                "output '%s' is of type %s, for which the Open Inference Protocol "
                                "has no datatype",
                                key, dtype_enum_name(output->dtype));
        if (raw_size(output) > SIZE_MAX / 2)
            return status_error(STATUS_INVALID_ARGUMENT, "output '%s' has a string of 4 GiB", key);
    }
    return status_ok();
}
