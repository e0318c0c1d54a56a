/* Predict requests and answers other than JSON: one tensor as raw elements or as a .npy file,
 * and PredictResponse. */
#include "server/grpc/request.h"
#include "server/oip/datatype.h"
#include "server/oip/raw.h"
#include "server/oip/tensor_body.h"
#include "server/rest/predict.h"

enum { RESPONSE_SPEC = 2 }; /* of PredictResponse */

bool predict_body_is_tensor(const struct exchange *exchange)
{
    if (exchange->route->handle != answer_predict)
        return false;
    enum media media = media_of_body(exchange_header(exchange, "Content-Type"));
    /* with a shape, the elements may be any number of strings */
    return media == MEDIA_NPY ||
           (media == MEDIA_OCTETS && exchange_header(exchange, SHAPE_HEADER) == NULL);
}

struct status predict_read_tensor(struct exchange *exchange, enum media media,
                                  struct predict_call *call)
{
    struct served_request *request = &exchange->served;
    const char *name = exchange_header(exchange, SIGNATURE_HEADER);
    const char *shape = exchange_header(exchange, SHAPE_HEADER);
    struct infer_request infer;
    struct infer_match match;
    TRY(predict_find_callable(request, bytes_of(name != NULL ? name : ""), &call->callable));
    const struct signature *signature = call->callable->signature;
    if (media == MEDIA_NPY)
        TRY(tensor_body_read_npy(request->body, signature, request->arena, &infer));
    else
        TRY(tensor_body_read_raw(request->body, shape, signature, request->arena, &infer));
    TRY(infer_match(&infer, signature, request->arena, &match));
    call->inputs = match.inputs;
    return status_ok();
}

struct status predict_check_answer(const struct signature *signature, enum media media)
{
    bool one = media == MEDIA_OCTETS || media == MEDIA_NPY;
    if (!one || signature->outputs_count == 1)
        return status_ok();
    return status_error(
        STATUS_INVALID_ARGUMENT,
        "Accept: %s holds one tensor, but the signature '%s' has %d outputs; %s and "
        "%s hold several",
        media_name(media), signature->name, signature->outputs_count, media_name(MEDIA_JSON),
        media_name(MEDIA_PROTOBUF));
}

struct status predict_answer_octets(struct served_request *request,
                                    const struct signature *signature, const struct tensor *outputs)
{
    (void)signature;
    struct exchange *exchange = exchange_of(request);
    const char *shape = tensor_body_shape_text(&outputs[0].shape, request->arena);
    uint64_t size = raw_size(&outputs[0]);
    if (datatype_name(outputs[0].dtype) == NULL || size == UINT64_MAX)
        return status_error(STATUS_UNIMPLEMENTED, "raw elements of type %s",
                            dtype_name(outputs[0].dtype));
    TRY(served_request_reserve_reply(request, (size_t)size));
    raw_put(&outputs[0], &request->reply);
    exchange->content_type = media_name(MEDIA_OCTETS);
    exchange_add_header(exchange, SHAPE_HEADER, shape);
    exchange_add_header(exchange, DATATYPE_HEADER, datatype_name(outputs[0].dtype));
    return status_ok();
}

struct status predict_answer_npy(struct served_request *request, const struct signature *signature,
                                 const struct tensor *outputs)
{
    size_t size;
    (void)signature;
    TRY(tensor_body_npy_size(&outputs[0], &size));
    TRY(served_request_reserve_reply(request, size));
    tensor_body_put_npy(&outputs[0], &request->reply);
    exchange_of(request)->content_type = media_name(MEDIA_NPY);
    return status_ok();
}

struct status predict_answer_protobuf(struct served_request *request,
                                      const struct signature *signature,
                                      const struct tensor *outputs)
{
    for (int i = 0; i < signature->outputs_count; i++)
        TRY(grpc_put_predict_output(request, signature, i, &outputs[i]));
    model_spec_put(&request->reply, RESPONSE_SPEC, request->servable, bytes_of(signature->name));
    exchange_of(request)->content_type = media_name(MEDIA_PROTOBUF);
    return status_ok();
}
