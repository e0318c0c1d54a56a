/*
 * functional: shared by the files that read a Functional model: functional_calls.c reads the
 * arguments of each call of a layer; functional.c lists the calls before that and orders them
 * afterwards; functional_turns.c finds the order in which Keras runs them. Internal to layers/.
 */
#ifndef LAYERS_FUNCTIONAL_H
#define LAYERS_FUNCTIONAL_H

#include "layers/read_model.h"

/* A call as the file lists it, before the calls are ordered. */
struct file_call {
    int layer;
    const struct json_value *node; /* NULL: an InputLayer */
    struct call_input *inputs;     /* `call` is an index of file calls */
    int inputs_count, inputs_capacity;
    struct call_constant *constants;
    int constants_count, constants_capacity;
    int place; /* its index in the order of execution; -1: not ordered yet */
};

struct connections {
    struct arena *arena;
    const struct json_value *entries; /* of the layers */
    const struct layers_model *model; /* its layers */
    struct file_call *calls;
    int calls_count, inputs_count;
    int *first_call; /* of each layer */
    int *calls_of;   /* each layer's number of calls */
};

/* Is the value [layer, call, output], or [layer, call, output, keywords]? */
bool is_history(const struct json_value *value);
/* Finds the file call and the output that a history names. `port`: it is listed in input_layers
 * or output_layers. */
struct status functional_find_value(const struct connections *c, const struct json_value *history,
                                    bool port, struct call_input *out);
/* Reads the arguments of every call. */
struct status functional_read_calls(struct connections *c, const struct layers_model *model);
/* Finds model->turns. `by_name`: the outputs are an object, which Keras walks by sorted keys. */
void functional_find_turns(struct layers_model *model, bool by_name, struct arena *arena);

#endif
