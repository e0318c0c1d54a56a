/*
 * form_call: how the methods that run a model use forms (predict_form.h): they recall the form of a
 * request instead of parsing it, copy the last answer with new numbers, and learn the form of a
 * request that they had to parse.
 *
 *     if (form_call_recall(request, &call))     call.callable and call.input are filled in
 *         return served_request_run(…);
 *     … parse; call.callable = …; call.learns = the only input, if the form may be learnt
 *
 *     when the outputs are available:
 *     if (form_call_put(&call, output))         the reply is complete
 *         return status_ok();
 *     … write; form_call_note(&call, request, output)   right after the bytes of the only output
 *
 *     request->next: form_call_learn(request, &call)
 *
 * Threads: recall and learn in the loop's thread.
 */
#ifndef SERVER_GRPC_FORM_CALL_H
#define SERVER_GRPC_FORM_CALL_H

#include "server/grpc/predict_form.h"
#include "server/inference/served_request.h"

struct form_call {
    struct callable *callable;
    struct tensor input; /* of a form that is known */
    int output;          /* the only output of the answer, by index in the signature */

    const struct tensor *learns; /* the input whose form is to be learnt; NULL: none */
    struct tensor outcome;       /* dtype and shape of the answer, whose form is in the reply */
    char *numbers;               /* address of its numbers; NULL: the form is unknown */
    size_t answer_at;            /* offset of the numbers in a written answer; 0: do not learn it */
};

/* Has the same method of the same servable answered a request of this form? Finds the servable. */
bool form_call_recall(struct served_request *request, struct form_call *out);

/* Fills the numbers into an answer of a known form. Returns false, with an empty reply, if the
 * form is unknown. */
bool form_call_put(struct form_call *call, struct served_request *request,
                   const struct tensor *output);

/* The numbers of the only output are the last bytes of the reply so far. */
void form_call_note(struct form_call *call, const struct served_request *request,
                    const struct tensor *output);

/* Learns the forms of the request and the answer, unless they are known. */
void form_call_learn(struct served_request *request, const struct form_call *call);

#endif
