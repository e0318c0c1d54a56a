#include "trainer/launch/launch_plan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/flags.h"
#include "tensor/shell_value.h"
#include "trainer/job/host_list.h"
#include "trainer/job/job_map.h"

#define HERE "localhost"

struct launch_maker {
    const struct launch_request *request;
    struct arena *arena;
    struct host_list hosts;
    int count;                           /* tasks */
    const char *ps_hosts, *worker_hosts; /* the flags of all tasks */
};

/* ---- checks ---- */

static bool is_here(const char *host)
{
    return strcmp(host, HERE) == 0;
}

static struct status check_hosts(const struct host_list *hosts)
{
    for (int i = 0; i < hosts->count; i++) {
        const char *host = hosts->hosts[i], *name = strrchr(host, '@');
        name = name != NULL ? name + 1 : host;
        if (*host == '-' || *name == '-' || *name == '\0' || *host == '@')
            return status_error(STATUS_INVALID_ARGUMENT, "--hosts: '%s' is not a host or user@host",
                                host);
        if (is_here(name) != is_here(hosts->hosts[0]))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "--hosts: '%s' and '%s': other hosts cannot reach a task by the "
                                "name localhost; give this host's name",
                                hosts->hosts[0], host);
    }
    return status_ok();
}

/* The launcher appends its own flags of tasks, which would silently override these. */
static struct status check_flags(const struct launch_request *request)
{
    static const char *const own[] = { "ps_hosts",   "worker_hosts", "chief_hosts", "job_name",
                                       "task_index", "num_ps",       "hosts",       "first_port" };

    for (int i = 0; i < request->flags_count; i++) {
        const char *flag = request->flags[i];
        size_t dashes = strspn(flag, "-"), size = strcspn(flag + dashes, "=");
        if (strcmp(flag, "--") == 0)
            return status_error(STATUS_INVALID_ARGUMENT, "a second -- among the tasks' flags");
        for (size_t k = 0; k < COUNT(own) && dashes > 0; k++)
            if (strlen(own[k]) == size && strncmp(flag + dashes, own[k], size) == 0)
                return status_error(STATUS_INVALID_ARGUMENT,
                                    "--%s after --: the launcher sets it for each task", own[k]);
    }
    return status_ok();
}

/* ---- the tasks ---- */

static const char *host_of(const struct launch_maker *maker, int task)
{
    return maker->hosts.hosts[task % maker->hosts.count];
}

static const char *address_of(const struct launch_maker *maker, int task)
{
    const char *host = host_of(maker, task), *name = strrchr(host, '@');
    int port = maker->request->first_port;

    name = name != NULL ? name + 1 : host;
    for (int i = 0; i < task; i++) {
        const char *other = host_of(maker, i), *other_name = strrchr(other, '@');
        port += strcmp(other_name != NULL ? other_name + 1 : other, name) == 0;
    }
    return arena_printf(maker->arena, "%s:%d", name, port);
}

static const char *join_addresses(const struct launch_maker *maker, const char *flag, int first,
                                  int end)
{
    struct buffer text = { 0 };

    buffer_printf(&text, "--%s=", flag);
    for (int i = first; i < end; i++)
        buffer_printf(&text, "%s%s", i > first ? "," : "", address_of(maker, i));
    const char *kept = arena_memdup(maker->arena, text.data, text.size);
    buffer_finish(&text);
    return kept;
}

struct word_list {
    char **words;
    int count;
};

static void add_word(struct word_list *list, const char *word)
{
    list->words[list->count++] = (char *)(uintptr_t)word;
}

static struct status add_environment(const struct launch_maker *maker, struct word_list *out)
{
    const struct launch_request *request = maker->request;

    for (int i = 0; i < request->environment_count; i++) {
        const char *text = request->environment[i], *equals = strchr(text, '=');
        const char *value = equals == NULL ? getenv(text) : NULL;
        if (*text == '\0' || equals == text)
            return status_error(STATUS_INVALID_ARGUMENT, "--env=%s: the name is missing", text);
        if (equals == NULL && value == NULL)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "--env=%s: not set here; give it a value: --env %s=VALUE", text,
                                text);
        add_word(out, equals != NULL ? arena_printf(maker->arena, "--env=%s", text)
                                     : arena_printf(maker->arena, "--env=%s=%s", text, value));
    }
    return status_ok();
}

/* Adds the command for the task's host. */
static struct status add_command(const struct launch_maker *maker, int task, struct word_list *out)
{
    const struct launch_request *request = maker->request;
    bool ps = task < request->num_ps;

    add_word(out, request->program);
    add_word(out, "supervise");
    add_word(out, arena_printf(maker->arena, "--stop_timeout=%d", request->stop_timeout_s));
    add_word(out, arena_printf(maker->arena, "--directory=%s", request->directory));
    TRY(add_environment(maker, out));
    add_word(out, "--");
    add_word(out, request->program);
    for (int i = 0; i < request->flags_count; i++)
        add_word(out, request->flags[i]);
    add_word(out, maker->ps_hosts);
    add_word(out, maker->worker_hosts);
    add_word(out, arena_printf(maker->arena, "--job_name=%s", ps ? "ps" : "worker"));
    add_word(out,
             arena_printf(maker->arena, "--task_index=%d", ps ? task : task - request->num_ps));
    return status_ok();
}

static struct word_list word_list_create(const struct launch_maker *maker, int more)
{
    const struct launch_request *request = maker->request;
    int words = request->flags_count + request->environment_count + 16 + more;

    return (struct word_list){ .words = ARENA_ARRAY(maker->arena, char *, words) };
}

/* Adds the words of a command, separated by spaces, as rsync -e splits them. */
static void add_ssh(const struct launch_maker *maker, const char *host, struct word_list *out)
{
    char *rest = arena_strdup(maker->arena, maker->request->ssh), *word;

    while ((word = strsep(&rest, " \t")) != NULL)
        if (*word != '\0')
            add_word(out, word);
    add_word(out, host);
}

/* ssh joins its arguments to one text for the user's shell on the host. */
static const char *join_words(const struct word_list *list, struct arena *arena)
{
    struct buffer text = { 0 };

    buffer_append_text(&text, "exec");
    for (int i = 0; i < list->count; i++) {
        buffer_append_char(&text, ' ');
        shell_word_print(list->words[i], &text);
    }
    const char *kept = arena_memdup(arena, text.data, text.size);
    buffer_finish(&text);
    return kept;
}

static struct status make_task(const struct launch_maker *maker, int task,
                               struct launched_task *out)
{
    int num_ps = maker->request->num_ps;
    bool ps = task < num_ps;
    struct word_list command = word_list_create(maker, 0);

    out->host = host_of(maker, task);
    out->name =
        arena_printf(maker->arena, "%s %d", ps ? "ps" : "worker", ps ? task : task - num_ps);
    TRY(add_command(maker, task, &command));
    out->argv = command.words;
    if (!is_here(out->host)) {
        struct word_list remote = word_list_create(maker, (int)strlen(maker->request->ssh));
        add_ssh(maker, out->host, &remote);
        add_word(&remote, join_words(&command, maker->arena));
        out->argv = remote.words;
    }
    return status_ok();
}

static struct status count_tasks(struct launch_maker *maker)
{
    const struct launch_request *request = maker->request;
    int workers = request->num_workers;

    if (workers == 0)
        workers = maker->hosts.count > request->num_ps ? maker->hosts.count - request->num_ps : 1;
    maker->count = request->num_ps + workers;
    if (maker->count > JOB_TASKS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "%d tasks, at most %d", maker->count,
                            JOB_TASKS_MAX);
    if (request->first_port + maker->count / maker->hosts.count >= 65535)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--first_port=%d: not enough ports are left for %d tasks",
                            request->first_port, maker->count);
    return status_ok();
}

struct status launch_plan_make(const struct launch_request *request, struct arena *arena,
                               struct launch_plan *out)
{
    struct launch_maker maker = { .request = request, .arena = arena };

    TRY(status_in(host_list_expand(request->hosts, arena, &maker.hosts), "--hosts"));
    TRY(check_hosts(&maker.hosts));
    TRY(check_flags(request));
    TRY(count_tasks(&maker));
    maker.ps_hosts = join_addresses(&maker, "ps_hosts", 0, request->num_ps);
    maker.worker_hosts = join_addresses(&maker, "worker_hosts", request->num_ps, maker.count);
    out->count = maker.count;
    out->tasks = ARENA_ARRAY(arena, struct launched_task, maker.count);
    for (int i = 0; i < maker.count; i++)
        TRY(make_task(&maker, i, &out->tasks[i]));
    return status_ok();
}

void launch_plan_print(const struct launched_task *task, struct buffer *out)
{
    for (char **word = task->argv; *word != NULL; word++) {
        if (word != task->argv)
            buffer_append_char(out, ' ');
        shell_word_print(*word, out);
    }
}
