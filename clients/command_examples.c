/*
 * The commands `modelclient classify` and `modelclient regress`, which send a list of examples.
 */
#include "base/text_print.h"
#include "clients/client_type.h"
#include "clients/commands.h"
#include "clients/example_text.h"
#include "clients/session.h"

static const char *context_of(const struct client_session *session)
{
    return session->options->context[0] != '\0' ? session->options->context : NULL;
}

/* Over gRPC, converts the examples once, so that a mistake in them counts as a command-line error.
 * Over REST, the server reads them. */
static struct status check_examples(const struct client_session *session)
{
    const char *examples = session->options->examples, *context = context_of(session);
    struct buffer scratch = { 0 };
    if (examples[0] == '\0')
        return command_usage("--examples is missing: give --examples '[{\"feature\": value}]'");
    if (rest_address(session->options->server) != NULL)
        return status_ok();
    struct status status = status_in(examples_from_json(examples, 1, &scratch), "--examples");
    if (status_is_ok(status) && context != NULL)
        status = status_in(example_from_json(context, 1, &scratch), "--context");
    buffer_finish(&scratch);
    return command_line_fault(status);
}

static struct status repeat(struct client_session *session, const char *verb)
{
    struct load_options load = session_load_options(session);
    struct load_result result;
    if (load.count == 0)
        return status_ok();
    TRY(load_examples(session->options->server, &load, &session->target, verb,
                      session->options->examples, context_of(session), &result));
    session_print_load(session, &result);
    return status_ok();
}

static struct status classify(struct client_session *session)
{
    struct client_classes answer;
    struct buffer *out = &session->out;
    TRY(check_examples(session));
    TRY(client_classify(session->client, &session->target, session->options->examples,
                        context_of(session), session->arena, &answer));
    buffer_append_text(out, session->json ? "{\"results\": [" : "");
    for (int i = 0; i < answer.examples_count; i++) {
        if (session->json)
            buffer_append_text(out, i > 0 ? ",\n[" : "[");
        else
            buffer_printf(out, "example %d\n", i);
        for (int j = 0; j < answer.classes_count[i]; j++) {
            const struct client_class *class = &answer.rows[i][j];
            buffer_append_text(out, !session->json ? "  " : j > 0 ? ", [" : "[");
            if (session->json)
                json_print_string(out, class->label);
            else
                buffer_printf(out, "%-24.*s", (int)class->label.size, class->label.data);
            buffer_printf(out, session->json ? ", %.9g]" : " %.9g\n", (double)class->score);
        }
        buffer_append_text(out, session->json ? "]" : "");
    }
    buffer_append_text(out, session->json ? "]}\n" : "");
    return repeat(session, "classify");
}

static struct status regress(struct client_session *session)
{
    struct client_values answer;
    struct buffer *out = &session->out;
    TRY(check_examples(session));
    TRY(client_regress(session->client, &session->target, session->options->examples,
                       context_of(session), session->arena, &answer));
    buffer_append_text(out, session->json ? "{\"results\": [" : "");
    for (int i = 0; i < answer.count; i++)
        if (session->json)
            buffer_printf(out, "%s%.9g", i > 0 ? ", " : "", (double)answer.values[i]);
        else
            buffer_printf(out, "%.9g\n", (double)answer.values[i]);
    buffer_append_text(out, session->json ? "]}\n" : "");
    return repeat(session, "regress");
}

struct status command_classify(int argc, char **argv)
{
    return session_run(argc, argv,
                       "usage: modelclient classify [flags]\n\n"
                       "Sends examples and prints the labels and scores of each:\n"
                       "  modelclient classify --examples '[{\"x\": 1.0}]' --format json",
                       classify);
}

struct status command_regress(int argc, char **argv)
{
    return session_run(argc, argv,
                       "usage: modelclient regress [flags]\n\n"
                       "Sends examples and prints a value for each:\n"
                       "  modelclient regress --examples '[{\"x\": 1.0}, {\"x\": 2.0}]'",
                       regress);
}
