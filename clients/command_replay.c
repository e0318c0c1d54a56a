/*
 * The command `modelclient replay LOG --against HOST`.
 */
#include <stdlib.h>
#include <unistd.h>

#include "clients/client_type.h"
#include "clients/commands.h"
#include "clients/replay.h"
#include "clients/session.h"

static struct status replay(struct client_session *session)
{
    const struct modelclient_options *given = session->options;
    struct load_options load = session_load_options(session);
    struct client_target target = session->target;
    struct replay_options options = {
        .load = &load,
        .rate = given->rate,
        .target = &target,
        .tolerance = { given->rtol, given->atol },
        .shown_max = given->show,
        .draws = isatty(STDERR_FILENO) == 1,
    };
    struct replay_result result;
    struct tfrecord_reader *reader;
    if (given->log == NULL)
        return command_usage("the log is missing: modelclient replay LOG --against HOST:PORT");
    if (rest_address(given->server) != NULL)
        return command_usage("--against=%s: a log holds gRPC's messages, and is replayed over gRPC",
                             given->server);
    target.model = or_null(given->model); /* NULL: the one that the request names */
    TRY(command_line_fault(tfrecord_reader_open(given->log, TFRECORD_DETECT, &reader)));
    struct status status = replay_run(reader, given->server, &options, &session->out, &result);
    tfrecord_reader_close(reader);
    TRY(status);
    replay_print(&result, given->concurrency, &session->out);
    free(result.load.times_ns);
    if (result.different + result.refused > 0)
        command_exit_with(1);
    return status_ok();
}

struct status command_replay(int argc, char **argv)
{
    return session_run(argc, argv,
                       "usage: modelclient replay LOG --against HOST:PORT [flags]\n\n"
                       "Sends the requests of a log again and prints the answers that differ:\n"
                       "  modelclient replay requests.log --against localhost:8500 --concurrency 8",
                       replay);
}
