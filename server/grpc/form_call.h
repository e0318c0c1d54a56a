/*
 * form_call: what the methods that run a model do with forms (predict_form.h): they recall the form
 * of a request instead of parsing it, fill the numbers into a copy of the last answer, and learn
 * the form of a request that they had to parse.
 *
 *     if (form_call_recall(request, &call))     call.callable and call.input are filled in
 *         return served_request_run(…);
 *     … parse; call.callable = …; call.learns = the only input, if the form may be learnt
 *
 *     when the outputs are there:
 *     if (form_call_put(&call, output))         the reply is complete
 *         return status_ok();
 *     … write; form_call_note(&call, request, output)   right behind the bytes of a lone output
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
    int output;          /* the only one to answer with, by index in the signature */

    const struct tensor *learns; /* an input whose form is to be learnt; NULL: none */
    struct tensor outcome;       /* type and shape of the answer, whose form is in the reply */
    char *numbers;               /* where its numbers belong; NULL: the form is not known */
    size_t answer_at; /* their offset in an answer that was written; 0: not to be learnt */
};

/* Was such a request answered before, by the same method and servable? Finds the servable. */
bool form_call_recall(struct served_request *request, struct form_call *out);

/* Fills the numbers into an answer whose form is known. False: it is not; the reply is empty. */
bool form_call_put(struct form_call *call, struct served_request *request,
                   const struct tensor *output);

/* The numbers of the only output are the last bytes of the reply so far. */
void form_call_note(struct form_call *call, const struct served_request *request,
                    const struct tensor *output);

/* Learns the forms of the request and the answer, unless they are known. */
void form_call_learn(struct served_request *request, const struct form_call *call);

#endif
