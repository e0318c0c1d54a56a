#include "trainer/options/cluster.h"

#include <stdlib.h>

#include "base/characters.h"
#include "base/file.h"

#define TOKEN_BYTES_MAX ((size_t)4096)
#define TOKEN_SIZE_MIN  16

static struct status check_tls(const struct flag_values *flags)
{
    bool cert = *flags->tls_cert != '\0', key = *flags->tls_key != '\0',
         ca = *flags->tls_ca != '\0';

    if (cert == key && key == ca)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "--%s is missing: --tls_cert, --tls_key and --tls_ca belong together",
                        !cert  ? "tls_cert"
                        : !key ? "tls_key"
                               : "tls_ca");
}

/* Refuses flags that have an effect only in the other kind of job. In a cluster, the lists of
 * hosts determine the numbers of tasks. */
static struct status check_kind(const struct options *options)
{
    static const char *const counts[] = { "ps", "workers" };
    static const char *const of_cluster[] = {
        "cluster_id",         "linger_timeout", "eval_start_delay_secs",
        "eval_throttle_secs", "first_port",     "num_ps"
    };
    static const char *const of_memory[] = { "memory_budget_bytes" };
    bool local = job_map_is_local(&options->map);
    /* tasks of Slurm or MPI that train separately */
    size_t ranks = options->flags.num_ps == 0 ? 2 : 0;
    const char *given = local ? option_flags_first_given(of_cluster, COUNT(of_cluster) - ranks)
                              : option_flags_first_given(counts, COUNT(counts));

    if (local && given == NULL && *options->flags.candidate_files == '\0')
        given = option_flags_first_given(of_memory, COUNT(of_memory));
    if (given == NULL)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        local ? "--%s applies to a cluster, and none is given"
                              : "--%s applies to a job in one process, and a cluster is given",
                        given);
}

/* Reads the first line of the file, which becomes a header of each call. */
static struct status read_token(const char *path, struct arena *arena, const char **out)
{
    struct buffer file = { 0 };

    if (*path == '\0')
        return status_ok();
    TRY(status_in(file_read(path, TOKEN_BYTES_MAX, &file), "--cluster_token_file"));
    size_t size = 0;
    while (size < file.size && file.data[size] > ' ' && file.data[size] <= '~')
        size++;
    size_t rest = size;
    while (rest < file.size && is_one_of(file.data[rest], "\r\n"))
        rest++;
    bool fits = size >= TOKEN_SIZE_MIN && rest == file.size;
    *out = arena_memdup(arena, file.size > 0 ? file.data : "", size);
    buffer_finish(&file);
    return fits ? status_ok()
                : status_error(STATUS_INVALID_ARGUMENT,
                               "--cluster_token_file: '%s' must hold one line of at least %d "
                               "characters, without spaces, in ASCII",
                               path, TOKEN_SIZE_MIN);
}

static const char *get_variable(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

struct status options_read_cluster(bool need_self, struct arena *arena, struct options *out)
{
    struct job_flags flags = { .ps_hosts = out->flags.ps_hosts,
                               .worker_hosts = out->flags.worker_hosts,
                               .chief_hosts = out->flags.chief_hosts,
                               .job_name = out->flags.job_name,
                               .task_index = out->flags.task_index,
                               .num_ps = out->flags.num_ps,
                               .first_port = out->flags.first_port,
                               .hosts = out->flags.hosts };
    const struct job_variables variables = { get_variable, NULL };

    TRY(job_map_read(&flags, &variables, need_self, arena, &out->map));
    TRY(check_tls(&out->flags));
    TRY(read_token(out->flags.cluster_token_file, arena, &out->token));
    if (out->token != NULL && job_map_is_local(&out->map))
        return status_error(STATUS_INVALID_ARGUMENT, "--cluster_token_file needs --ps_hosts");
    if (*out->flags.tls_cert != '\0' && job_map_is_local(&out->map))
        return status_error(STATUS_INVALID_ARGUMENT, "--tls_cert needs --ps_hosts");
    return check_kind(out);
}
