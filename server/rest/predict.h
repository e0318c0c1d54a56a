/* predict: declarations shared by the files of the predict route: predict.c reads the request
 * and chooses the form of the answer; predict_tensor.c has the forms other than JSON. */
#ifndef SERVER_REST_PREDICT_H
#define SERVER_REST_PREDICT_H

#include "server/json/predict.h"
#include "server/rest/exchange.h"
#include "server/rest/media.h"

#define SHAPE_HEADER     "x-slipway-shape"     /* "2,3": of the tensor in the body */
#define SIGNATURE_HEADER "x-slipway-signature" /* of a body of one tensor */
#define DATATYPE_HEADER  "x-slipway-datatype"  /* "FP32": of the tensor in the answer */

/* The request headers that answer_predict reads. */
extern const char *const predict_headers[];

/* Writes the signature's outputs to the reply, and sets the headers. */
typedef struct status predict_writer(struct served_request *request,
                                     const struct signature *signature,
                                     const struct tensor *outputs);

/* A predict request; served.method points to it, unless a PredictRequest gets a PredictResponse. */
struct predict_call {
    struct predict_request json; /* signature; for a JSON body also the rest */
    const struct tensor *inputs;
    struct callable *callable;
    const int *chosen; /* the outputs that a PredictRequest chooses, by index; NULL: all */
    int chosen_count;
    struct signature answered; /* the callable's, with the chosen outputs only */
    predict_writer *write;
};

/* INVALID_ARGUMENT: no such signature; the errors of served_request_find_servable. */
struct status predict_find_callable(struct served_request *request, struct bytes signature_name,
                                    struct callable **out);

/* Reads a body that is one tensor: raw elements, or a .npy file. */
struct status predict_read_tensor(struct exchange *exchange, enum media media,
                                  struct predict_call *call);

/* Is the body one tensor whose elements are used in place? Reading it then takes one pass over
 * its bytes at most. */
bool predict_body_is_tensor(const struct exchange *exchange);

/* Can these outputs be sent in this form? INVALID_ARGUMENT: it allows one tensor, and there are
 * several. */
struct status predict_check_answer(const struct signature *signature, enum media media);

predict_writer predict_answer_octets, predict_answer_npy, predict_answer_protobuf;

#endif
