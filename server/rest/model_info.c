/* The routes for the status of a model or of all, and for a model's metadata. */
#include <stdio.h>

#include "server/json/pretty_message.h"
#include "server/rest/exchange.h"

static void print_versions(struct json_pretty *pretty, const struct version_status *versions,
                           size_t count)
{
    json_pretty_open(pretty, "model_version_status", '[');
    for (size_t i = 0; i < count; i++) {
        json_pretty_open(pretty, NULL, '{');
        json_pretty_number(pretty, "version", versions[i].number);
        json_pretty_text(pretty, "state", versions[i].state);
        json_pretty_open(pretty, "status", '{');
        json_pretty_text(pretty, "error_code", status_code_name(versions[i].status.code));
        json_pretty_text(pretty, "error_message", versions[i].status.message);
        json_pretty_close(pretty, '}');
        json_pretty_close(pretty, '}');
    }
    json_pretty_close(pretty, ']');
}

struct status answer_model_status(struct exchange *exchange)
{
    struct served_request *request = &exchange->served;
    struct version_status *versions;
    size_t count;
    TRY(manager_status(request->server->manager, request->spec.name, &request->spec.version,
                       request->arena, &versions, &count));
    struct json_pretty pretty = { .out = &request->reply };
    json_pretty_open(&pretty, NULL, '{');
    print_versions(&pretty, versions, count);
    json_pretty_close(&pretty, '}');
    return status_ok();
}

struct status answer_model_list(struct exchange *exchange)
{
    struct served_request *request = &exchange->served;
    struct model_listing *models;
    size_t count = manager_list(request->server->manager, request->arena, false, &models);
    struct json_pretty pretty = { .out = &request->reply };
    json_pretty_open(&pretty, NULL, '{');
    json_pretty_open(&pretty, "models", '[');
    for (size_t i = 0; i < count; i++) {
        json_pretty_open(&pretty, NULL, '{');
        json_pretty_text(&pretty, "name", models[i].name);
        print_versions(&pretty, models[i].versions, models[i].versions_count);
        json_pretty_close(&pretty, '}');
    }
    json_pretty_close(&pretty, ']');
    json_pretty_close(&pretty, '}');
    return status_ok();
}

static void print_shape(struct json_pretty *pretty, const struct signature_tensor *tensor)
{
    const struct shape *shape = &tensor->shape;
    json_pretty_open(pretty, "tensor_shape", '{');
    json_pretty_open(pretty, "dim", '[');
    for (int i = 0; i < shape->rank; i++) {
        json_pretty_open(pretty, NULL, '{');
        json_pretty_number(pretty, "size", shape->dims[i]);
        json_pretty_text(pretty, "name", tensor->dim_names != NULL ? tensor->dim_names[i] : "");
        json_pretty_close(pretty, '}');
    }
    json_pretty_close(pretty, ']');
    json_pretty_word(pretty, "unknown_rank", shape->rank < 0 ? "true" : "false");
    json_pretty_close(pretty, '}');
}

static void print_coo(struct json_pretty *pretty, const struct signature_coo *coo)
{
    json_pretty_open(pretty, "coo_sparse", '{');
    json_pretty_text(pretty, "values_tensor_name", coo->values);
    json_pretty_text(pretty, "indices_tensor_name", coo->indices);
    json_pretty_text(pretty, "dense_shape_tensor_name", coo->dense_shape);
    json_pretty_close(pretty, '}');
}

/* The number of a reference type is the base type's plus 100; its name ends in _REF. */
static void print_tensors(struct json_pretty *pretty, const char *key,
                          const struct signature_tensor *tensors, int count)
{
    json_pretty_open(pretty, key, '{');
    for (int i = 0; i < count; i++) {
        const struct signature_tensor *tensor = &tensors[i];
        char dtype[64];
        snprintf(dtype, sizeof dtype, "%s%s", dtype_enum_name(tensor->dtype),
                 tensor->is_ref ? "_REF" : "");
        json_pretty_open(pretty, tensor->key, '{');
        json_pretty_text(pretty, "dtype", dtype);
        if (tensor->has_shape)
            print_shape(pretty, tensor);
        if (tensor->coo != NULL)
            print_coo(pretty, tensor->coo);
        else if (tensor->composite != NULL)
            json_pretty_message(pretty, "composite_tensor", tensor->composite);
        else
            json_pretty_text(pretty, "name", tensor->tensor_name);
        json_pretty_close(pretty, '}');
    }
    json_pretty_close(pretty, '}');
}

static void print_signature(struct json_pretty *pretty, const struct signature *signature)
{
    json_pretty_open(pretty, signature->name, '{');
    print_tensors(pretty, "inputs", signature->inputs, signature->inputs_count);
    print_tensors(pretty, "outputs", signature->outputs, signature->outputs_count);
    json_pretty_text(pretty, "method_name", signature->method);
    json_pretty_open(pretty, "defaults", '{');
    json_pretty_close(pretty, '}');
    json_pretty_close(pretty, '}');
}

static void print_model_spec(const struct servable *servable, struct buffer *out)
{
    struct json_pretty pretty = { .out = out };
    json_pretty_open(&pretty, NULL, '{');
    json_pretty_text(&pretty, "name", servable->name);
    json_pretty_text(&pretty, "signature_name", "");
    json_pretty_number(&pretty, "version", servable->version);
    json_pretty_close(&pretty, '}');
}

static void print_signatures(const struct servable *servable, struct buffer *out)
{
    struct json_pretty pretty = { .out = out };
    json_pretty_open(&pretty, NULL, '{');
    json_pretty_open(&pretty, "signature_def", '{');
    for (int i = 0; i < servable->callables_count; i++)
        print_signature(&pretty, servable->callables[i].signature);
    json_pretty_close(&pretty, '}');
    json_pretty_close(&pretty, '}');
}

/* Like TensorFlow Serving, prints two documents and joins them, each with its own indentation. */
struct status answer_metadata(struct exchange *exchange)
{
    TRY(served_request_find_servable(&exchange->served));
    struct buffer *out = &exchange->served.reply;
    buffer_append_text(out, "{\n\"model_spec\":");
    print_model_spec(exchange->served.servable, out);
    buffer_append_text(out, ",\n\"metadata\": {\"signature_def\": ");
    print_signatures(exchange->served.servable, out);
    buffer_append_text(out, "}\n}\n");
    return status_ok();
}
