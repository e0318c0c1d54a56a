#include "trainer/next_commands.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tensor/shell_value.h"

/* Splits "model/1" into "model" and the rest; "." for "1". *version: is the last part a number? */
static void split_directory(const char *directory, char *base, size_t size, bool *version)
{
    const char *slash = strrchr(directory, '/'), *name = slash != NULL ? slash + 1 : directory;

    *version = *name != '\0';
    for (const char *at = name; *at != '\0'; at++)
        *version = *version && isdigit((unsigned char)*at);
    snprintf(base, size, "%.*s",
             slash == NULL        ? 1
             : slash == directory ? 1
                                  : (int)(slash - directory),
             slash == NULL ? "." : directory);
}

/* Prints the path of modelserver beside this program, or else only its name. */
static void print_server(const char *program, const char *base)
{
    const char *slash = strrchr(program, '/');
    char beside[PATH_MAX];
    struct buffer command = { 0 };

    if (slash == NULL ||
        snprintf(beside, sizeof beside, "%.*s/modelserver", (int)(slash - program), program) < 0 ||
        access(beside, X_OK) != 0)
        snprintf(beside, sizeof beside, "modelserver");
    shell_word_print(beside, &command);
    buffer_append_text(&command, " --model_base_path=");
    shell_word_print(base, &command);
    printf("Serve it:  %.*s\n", (int)command.size, command.data);
    buffer_finish(&command);
}

/* The model and inputs of a request. */
struct question {
    const struct layers_model *model;
    const struct layers_serving_options *serving;
    const struct layers_port *inputs;
    int count;
    struct arena *arena; /* of sample values */
};

/* The raw column that is this input of the request; NULL: none. */
static const struct raw_column *column_of(const struct question *question, int input)
{
    const struct layers_columns *columns = question->serving->columns;

    for (int i = 0; columns != NULL && i < question->model->inputs_count; i++)
        for (int k = 0; k < columns[i].count; k++)
            if (strcmp(columns[i].list[k].spec.name, question->inputs[input].name) == 0)
                return &columns[i].list[k];
    return NULL;
}

/* A sample value of an input, for use between double quotes: of a column with classes, the first
 * one. */
static const char *sample_value(const struct question *question, int input)
{
    const struct raw_column *column = column_of(question, input);
    bool text = question->inputs[input].dtype == DT_STRING;
    const char *quote = text ? "\\\"" : "";

    if (column != NULL && column->classes != NULL)
        return arena_printf(question->arena, "%s%.*s%s", quote, (int)column->classes[0].size,
                            column->classes[0].data, quote);
    if (text)
        return "\\\"a\\\"";
    return question->inputs[input].dtype == DT_FLOAT ? "0.5" : "1";
}

/* A row of one value: the parts of a SparseTensor or RaggedTensor, under the signature's names. */
static void print_lists(const struct layers_port *input, const char *key, struct buffer *body)
{
    if (input->layout == TENSOR_SPARSE)
        buffer_printf(body, "\\\"%s\\\":[[0,0]],\\\"%s_1\\\":[0.5],\\\"%s_2\\\":[1,%lld]", key, key,
                      key, (long long)input->shape.dims[1]);
    else
        buffer_printf(body, "\\\"%s\\\":[%s],\\\"%s_1\\\":[0,1]", key,
                      input->dtype == DT_FLOAT ? "0.5" : "0", key);
}

static bool has_lists(const struct question *question)
{
    for (int i = 0; i < question->count; i++)
        if (question->inputs[i].layout != TENSOR_DENSE)
            return true;
    return false;
}

/* The key of an input in the signature; see layers_build_serving. */
static const char *input_key(const struct question *question, int input)
{
    const struct layers_model *model = question->model;

    if (!layers_takes_only_input(model, question->serving))
        return question->inputs[input].name;
    return model->targets[0].kind == LAYERS_CLASSIFIER ? "images" : "x";
}

/* Prints an instance; or a value by name, if there are several inputs or parts. */
static uint64_t print_inputs(const struct question *question, struct buffer *body)
{
    uint64_t expanded = 0;
    bool named =
        !layers_takes_only_input(question->model, question->serving) || has_lists(question);

    buffer_append_text(body, named ? "\\\"inputs\\\":{" : "\\\"instances\\\":");
    for (int i = 0; i < question->count; i++) {
        const struct layers_port *input = &question->inputs[i];
        const char *sample = sample_value(question, i);
        uint64_t size = 0;
        if (i > 0)
            buffer_append_char(body, ',');
        if (input->layout != TENSOR_DENSE) {
            print_lists(input, input_key(question, i), body);
            continue;
        }
        size = shell_value_expanded(&input->shape, sample);
        if (named)
            buffer_printf(body, "\\\"%s\\\":", input_key(question, i));
        shell_value_print(&input->shape, sample, body);
        if (__builtin_add_overflow(expanded, size, &expanded))
            expanded = UINT64_MAX;
    }
    if (named)
        buffer_append_char(body, '}');
    return expanded;
}

/* The signature with the method predict; see layers_build_serving. */
static const char *predict_signature(const struct question *question)
{
    const struct layers_model *model = question->model;
    const struct shape *output = &model->outputs[0].shape;

    if (model->outputs_count == 1 && model->targets[0].kind == LAYERS_CLASSIFIER)
        return layers_takes_only_input(model, question->serving) ? "predict_images" : "predict";
    return output->rank == 1 || (output->rank == 2 && output->dims[1] == 1) ? "predict"
                                                                            : "serving_default";
}

/* Would a shell or JSON take the text otherwise than it is written, in the quotes around it? */
static bool needs_escapes(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] < ' ' || strchr("\\\"'`$!|&;()<>*?#", text.data[i]) != NULL)
            return true;
    return false;
}

static bool can_ask(const struct question *question)
{
    for (int i = 0; i < question->count; i++) {
        const struct raw_column *column = column_of(question, i);
        if (needs_escapes(bytes_of(question->inputs[i].name)) ||
            (column != NULL && column->classes != NULL && needs_escapes(column->classes[0])))
            return false;
    }
    return true;
}

static void print_question(const struct question *question)
{
    struct buffer body = { 0 }, command = { 0 };

    buffer_printf(&body, "{\\\"signature_name\\\":\\\"%s\\\",", predict_signature(question));
    uint64_t expanded = print_inputs(question, &body);
    buffer_append_char(&body, '}');
    shell_command_print((struct bytes){ body.data, body.size }, expanded,
                        "http://localhost:8501/v1/models/default:predict", &command);
    printf("Ask it:    %.*s\n", (int)command.size, command.data);
    buffer_finish(&body);
    buffer_finish(&command);
}

void next_commands_print(const char *program, const struct layers_model *model,
                         const struct layers_serving_options *serving, const char *directory)
{
    struct question question = { .model = model, .serving = serving };
    char base[PATH_MAX];
    bool version;

    split_directory(directory, base, sizeof base, &version);
    if (!version) {
        printf("A server looks for directories whose names are numbers: move this one to MODEL/1 "
               "to serve it.\n");
        return;
    }
    print_server(program, base);
    question.arena = arena_create(0);
    question.count = layers_request_inputs(model, serving, question.arena, &question.inputs);
    if (model->body == NULL && can_ask(&question))
        print_question(&question);
    arena_destroy(question.arena);
    fflush(stdout);
}
