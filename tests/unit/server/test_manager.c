/* The manager's thread, with a fake clock, base path and loader. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/log.h"
#include "fake_servable.h"
#include "server/models/manager.h"

#define VERSIONS_MAX 8
#define POLL_NS      NS_PER_S
#define RETRY_NS     (60 * NS_PER_S)
#define SWAPS        50

static inline void assert_ok(struct status status)
{
    if (!status_is_ok(status))
        fail_msg("%s: %s", status_code_name(status.code), status.message);
}

static inline void assert_fails(struct status status, enum status_code code, const char *text)
{
    assert_string_equal(status.message, text);
    assert_int_equal(status.code, code);
}

/* ---- The clock, which knows whether the manager sleeps, and until when. ---- */

static _Atomic int64_t now_ns;
static _Atomic int64_t sleeps_until_ns; /* 0: it does not sleep */
/* The manager's; NULL until it first sleeps. */
static pthread_mutex_t *_Atomic sleeper_lock;
static pthread_cond_t *_Atomic sleeper_changed;

static int64_t read_now_ns(struct clock *clock)
{
    (void)clock;
    return atomic_load(&now_ns);
}

/* Returns only at the deadline or when the manager is signalled, unlike base/clock.h's fake clock.
 * When the test sees the manager sleep, it has therefore done everything that was due. The wait has
 * no timeout, because a timeout can swallow a signal that arrives with it. */
static bool sleep_until(struct clock *clock, pthread_cond_t *changed, pthread_mutex_t *lock,
                        int64_t deadline_ns)
{
    (void)clock;
    atomic_store(&sleeper_changed, changed);
    atomic_store(&sleeper_lock, lock);
    atomic_store(&sleeps_until_ns, deadline_ns);
    if (atomic_load(&now_ns) < deadline_ns)
        pthread_cond_wait(changed, lock);
    atomic_store(&sleeps_until_ns, 0);
    return atomic_load(&now_ns) < deadline_ns;
}

static void set_now(int64_t ns)
{
    atomic_store(&now_ns, ns);
    pthread_mutex_t *lock = atomic_load(&sleeper_lock);
    if (lock == NULL)
        return;
    pthread_mutex_lock(lock);
    /* Signal only once the deadline has passed: a signal ends the sleep. */
    if (atomic_load(&sleeps_until_ns) != 0 && atomic_load(&sleeps_until_ns) <= ns)
        pthread_cond_signal(atomic_load(&sleeper_changed));
    pthread_mutex_unlock(lock);
}

static struct clock test_clock = { read_now_ns, sleep_until };

/* Waits until the manager has done everything that is due. Returns when it will wake. */
static int64_t wait_until_it_sleeps(void)
{
    int64_t until_ns;
    while ((until_ns = atomic_load(&sleeps_until_ns)) <= atomic_load(&now_ns))
        sched_yield();
    return until_ns;
}

/* Advances the time to the end of the manager's sleep and waits until it sleeps again. */
static void wake(void)
{
    set_now(wait_until_it_sleeps());
    wait_until_it_sleeps();
}

/* ---- The base path. ---- */

static _Atomic unsigned present; /* a bit for each version on the base path */
static _Atomic bool unreadable;
static _Atomic int scans;
static _Atomic uint64_t edits; /* changes the files' fingerprint */

#define V(number) (1U << (number))

static struct status scan(const char *base_path, struct source_versions *out)
{
    char directory[32];
    assert_string_equal(base_path, "/m");
    atomic_fetch_add(&scans, 1);
    if (atomic_load(&unreadable))
        return status_error(STATUS_NOT_FOUND, "open '/m'");
    unsigned versions = atomic_load(&present);
    *out = (struct source_versions){ .items = zalloc(VERSIONS_MAX * sizeof *out->items) };
    for (int number = 1; number < VERSIONS_MAX; number++)
        if (versions & V(number)) {
            snprintf(directory, sizeof directory, "/m/%d", number);
            out->items[out->count++] = (struct source_version){ number, xstrdup(directory) };
        }
    return status_ok();
}

static uint64_t fingerprint(const char *directory)
{
    return bytes_hash(bytes_of(directory)) + atomic_load(&edits);
}

static const struct version_source source = { scan, fingerprint };

/* ---- The loader. ---- */

static _Atomic unsigned damaged; /* versions that fail to load */
static _Atomic unsigned endless; /* versions that load until they are cancelled */
static _Atomic int64_t loading;  /* the endless version being loaded, or 0 */

static struct status load(const char *name, int64_t version, const char *directory,
                          const struct savedmodel_options *options, struct servable **out)
{
    char expected[32];
    const struct work_limits *limits = options->limits;
    snprintf(expected, sizeof expected, "/m/%d", (int)version);
    assert_string_equal(directory, expected);
    assert_string_equal(name, "m");
    TRY(limits->check(limits->context));
    while (atomic_load(&endless) & V(version)) {
        atomic_store(&loading, version);
        struct status status = limits->check(limits->context);
        if (!status_is_ok(status)) {
            atomic_store(&loading, 0);
            return status;
        }
        sched_yield();
    }
    atomic_store(&loading, 0);
    if (atomic_load(&damaged) & V(version))
        return status_error(STATUS_DATA_LOSS, "it is damaged");
    *out = make_servable(version);
    return status_ok();
}

static const struct servable_loader loader = { load, free_servable };

static void wait_until_it_loads(int64_t version)
{
    while (atomic_load(&loading) != version)
        sched_yield();
}

/* ---- The server. ---- */

static struct manager *manager;
static struct manager_options options;
static int starts, changes;
static enum status_code start_code;
static char start_text[256];

static void on_started(void *context, struct status status)
{
    assert_ptr_equal(context, &options);
    starts++;
    start_code = status.code;
    snprintf(start_text, sizeof start_text, "%s", status.message);
}

static void on_changed(void *context)
{
    assert_ptr_equal(context, &options);
    changes++;
}

static int set_up(void **state)
{
    (void)state;
    log_set_level(LOG_NONE);
    atomic_store(&present, 0);
    atomic_store(&unreadable, false);
    atomic_store(&scans, 0);
    atomic_store(&damaged, 0);
    atomic_store(&endless, 0);
    atomic_store(&sleeps_until_ns, 0);
    atomic_store(&sleeper_lock, NULL);
    starts = changes = 0;
    atomic_store(&now_ns, NS_PER_S);
    atomic_store(&servables_made, 0);
    atomic_store(&servables_freed, 0);
    options = (struct manager_options){ .model_name = "m",
                                        .base_path = "/m",
                                        .poll_wait_seconds = 1,
                                        .load_retries_max = 1,
                                        .load_retry_interval_us = RETRY_NS / 1000,
                                        .clock = &test_clock,
                                        .source = &source,
                                        .loader = &loader,
                                        .started = on_started,
                                        .changed = on_changed,
                                        .context = &options };
    return loop_create(&options.loop).code;
}

static int tear_down(void **state)
{
    (void)state;
    manager_stop(manager);
    manager = NULL;
    loop_destroy(options.loop);
    assert_int_equal(servables_alive(), 0);
    return 0;
}

static void start(unsigned versions)
{
    atomic_store(&present, versions);
    assert_ok(manager_start(&options, &manager));
}

/* Replaces the versions on the base path and waits until the manager has reacted. */
static void put(unsigned versions)
{
    atomic_store(&present, versions);
    wake();
}

static void take_turn(void)
{
    assert_ok(loop_turn(options.loop, 0));
}

static struct servable *find(int64_t number)
{
    struct servable *servable = NULL;
    struct version_choice choice = { .kind = number != 0 ? VERSION_SPECIFIC : VERSION_LATEST,
                                     .number = number };
    struct status status = manager_find(manager, bytes_of("m"), &choice, &servable);
    assert_int_equal(status_is_ok(status), servable != NULL);
    return servable;
}

static int64_t latest(void)
{
    struct servable *servable = find(0);
    int64_t number = servable != NULL ? servable->version : 0;
    servable_release(servable);
    return number;
}

/* Formats the model's status as "3 AVAILABLE, 2 END". */
static const char *states(void)
{
    static char text[256];
    struct version_choice all = { .kind = VERSION_LATEST };
    struct version_status *rows;
    size_t count, size = 0;
    struct arena *arena = arena_create(0);
    struct status status = manager_status(manager, bytes_of("m"), &all, arena, &rows, &count);
    text[0] = '\0';
    for (size_t i = 0; status_is_ok(status) && i < count; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%d %s", i > 0 ? ", " : "",
                                 (int)rows[i].number, rows[i].state);
    arena_destroy(arena);
    return text;
}

/* ---- Tests. ---- */

static void the_server_starts_when_a_version_serves(void **state)
{
    (void)state;
    start(V(1) | V(2));
    assert_int_equal(wait_until_it_sleeps(), atomic_load(&now_ns) + POLL_NS);
    take_turn();
    assert_int_equal(starts, 1);
    assert_int_equal(start_code, STATUS_OK);
    assert_int_equal(changes, 1); /* one notification for three states */
    assert_string_equal(states(), "2 AVAILABLE");
    put(V(1) | V(2) | V(3));
    take_turn();
    assert_int_equal(starts, 1);
    assert_int_equal(changes, 2);
    assert_string_equal(states(), "3 AVAILABLE, 2 END");
}

static void the_start_fails_if_the_version_does_for_good(void **state)
{
    (void)state;
    atomic_store(&damaged, V(1));
    options.poll_wait_seconds = 0;
    start(V(1));
    assert_int_equal(wait_until_it_sleeps(), atomic_load(&now_ns) + RETRY_NS);
    take_turn();
    assert_int_equal(starts, 0); /* one attempt is left */
    wake();
    take_turn();
    assert_int_equal(starts, 1);
    assert_int_equal(start_code, STATUS_UNKNOWN);
    assert_string_equal(start_text, "1 servable(s) did not become available: {{name: m version: 1} "
                                    "due to error: DATA_LOSS: it is damaged}, }");
    assert_string_equal(states(), "1 END");
}

static const struct poll {
    const char *label;
    int seconds;
} polls[] = {
    { "the base path is never read", -1 },
    { "the base path is read once", 0 },
    { "the base path is read every second", 1 },
    { "the base path is read every 30 seconds", 30 },
};

static const struct poll *poll; /* the row under test */

static int set_up_poll(void **state)
{
    poll = *state;
    int result = set_up(state);
    options.poll_wait_seconds = poll->seconds;
    return result;
}

static void the_base_path_is_polled_as_often_as_asked(void **state)
{
    (void)state;
    start(V(1));
    int64_t until_ns = wait_until_it_sleeps();
    assert_int_equal(until_ns, poll->seconds > 0 ? atomic_load(&now_ns) + poll->seconds * NS_PER_S
                                                 : CLOCK_NEVER);
    assert_int_equal(atomic_load(&scans), poll->seconds < 0 ? 0 : 1);
    assert_string_equal(states(), poll->seconds < 0 ? "" : "1 AVAILABLE");
}

static void a_base_path_that_cannot_be_read_changes_nothing(void **state)
{
    (void)state;
    start(V(1));
    wait_until_it_sleeps();
    atomic_store(&unreadable, true);
    put(0);
    assert_int_equal(atomic_load(&scans), 2);
    assert_string_equal(states(), "1 AVAILABLE");
    atomic_store(&unreadable, false);
    put(0);
    assert_string_equal(states(), "1 END");
}

static void a_failed_version_is_loaded_once_it_is_whole(void **state)
{
    (void)state;
    options.load_retries_max = 0;
    atomic_store(&damaged, V(1));
    start(V(1));
    wake();
    assert_string_equal(states(), "1 END");
    atomic_store(&damaged, 0);
    atomic_fetch_add(&edits, 1);
    wake();
    assert_string_equal(states(), "1 END");
    wake();
    assert_string_equal(states(), "1 AVAILABLE");
}

static void a_version_drains_while_a_request_holds_it(void **state)
{
    (void)state;
    start(V(1));
    wait_until_it_sleeps();
    struct servable *held = find(1);
    put(V(1) | V(2));
    assert_string_equal(states(), "2 AVAILABLE, 1 UNLOADING");
    assert_null(find(1));
    assert_true(wait_until_it_sleeps() - atomic_load(&now_ns) <= 10 * NS_PER_MS);
    wake();
    assert_string_equal(states(), "2 AVAILABLE, 1 UNLOADING");
    assert_int_equal(servables_alive(), 2);
    servable_release(held);
    wake();
    assert_string_equal(states(), "2 AVAILABLE, 1 END");
    assert_int_equal(servables_alive(), 1);
}

static void requests_are_answered_during_a_load(void **state)
{
    (void)state;
    start(V(1));
    wait_until_it_sleeps();
    atomic_store(&endless, V(2));
    atomic_store(&present, V(1) | V(2));
    set_now(atomic_load(&now_ns) + POLL_NS);
    wait_until_it_loads(2);
    assert_int_equal(latest(), 1);
    assert_string_equal(states(), "2 LOADING, 1 AVAILABLE");
    atomic_store(&endless, 0);
    wait_until_it_sleeps();
    assert_int_equal(latest(), 2);
}

static void a_load_ends_if_its_version_vanishes(void **state)
{
    (void)state;
    atomic_store(&endless, V(1));
    start(V(1));
    wait_until_it_loads(1);
    atomic_store(&present, 0);
    set_now(atomic_load(&now_ns) + POLL_NS); /* the load's check reads the base path */
    wait_until_it_sleeps();
    assert_string_equal(states(), "1 END");
    take_turn();
    assert_int_equal(starts, 0);
}

static void a_load_ends_for_a_newer_version(void **state)
{
    (void)state;
    atomic_store(&endless, V(1));
    start(V(1));
    wait_until_it_loads(1);
    atomic_store(&present, V(1) | V(2));
    set_now(atomic_load(&now_ns) + POLL_NS);
    wait_until_it_sleeps();
    assert_string_equal(states(), "2 AVAILABLE, 1 END");
}

static void stopping_ends_a_load(void **state)
{
    (void)state;
    start(V(1));
    wait_until_it_sleeps();
    atomic_store(&endless, V(2));
    atomic_store(&present, V(1) | V(2));
    set_now(atomic_load(&now_ns) + POLL_NS);
    wait_until_it_loads(2);
} /* tear_down stops the load and checks that version 1 is freed */

static void stopping_frees_what_drains(void **state)
{
    (void)state;
    start(V(1));
    wait_until_it_sleeps();
    struct servable *held = find(1);
    put(V(2));
    assert_string_equal(states(), "2 AVAILABLE, 1 UNLOADING");
    servable_release(held);
}

static void a_request_names_a_model_and_a_version(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct version_choice choice;
        enum status_code code;
        const char *text;
    } rows[] = {
        { "",
          { .kind = VERSION_LATEST },
          STATUS_INVALID_ARGUMENT,
          "ModelSpec has no name specified." },
        { "m",
          { .kind = VERSION_LABELLED, .label = { "stable", 6 } },
          STATUS_INVALID_ARGUMENT,
          "Unrecognized servable version label: stable" },
        { "m",
          { .kind = VERSION_SPECIFIC, .number = 7 },
          STATUS_NOT_FOUND,
          "Servable not found for request: Specific(m, 7)" },
        { "other",
          { .kind = VERSION_LATEST },
          STATUS_NOT_FOUND,
          "Servable not found for request: Latest(other)" },
        { "m", { .kind = VERSION_SPECIFIC, .number = 1 }, STATUS_OK, "" },
        { "m", { .kind = VERSION_LATEST }, STATUS_OK, "" },
    };
    start(V(1));
    wait_until_it_sleeps();
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct servable *servable = NULL;
        assert_fails(manager_find(manager, bytes_of(rows[i].name), &rows[i].choice, &servable),
                     rows[i].code, rows[i].text);
        assert_int_equal(servable != NULL, rows[i].code == STATUS_OK);
        servable_release(servable);
    }
}

static void the_status_of_what_is_not_there_is_an_error(void **state)
{
    (void)state;
    struct version_choice all = { .kind = VERSION_LATEST };
    struct version_choice seven = { .kind = VERSION_SPECIFIC, .number = 7 };
    struct version_status *rows;
    size_t count;
    struct arena *arena = arena_create(0);
    start(V(1));
    wait_until_it_sleeps();
    assert_fails(manager_status(manager, bytes_of("other"), &all, arena, &rows, &count),
                 STATUS_NOT_FOUND, "Could not find any versions of model other");
    assert_fails(manager_status(manager, bytes_of("m"), &seven, arena, &rows, &count),
                 STATUS_NOT_FOUND, "Could not find version 7 of model m");
    arena_destroy(arena);
}

/* ---- Requests from other threads during many swaps. ---- */

static _Atomic bool asking;

static void *ask(void *context)
{
    (void)context;
    while (atomic_load(&asking)) {
        struct servable *servable = find(0);
        assert_non_null(servable); /* a swap leaves no gap */
        assert_true(servable->version > 0 && servable->version < VERSIONS_MAX);
        sched_yield();
        servable_release(servable);
    }
    return NULL;
}

static void swaps_leave_no_gap_and_free_nothing_that_is_held(void **state)
{
    (void)state;
    pthread_t threads[2];
    start(V(1));
    wait_until_it_sleeps();
    atomic_store(&asking, true);
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask, NULL), 0);
    for (int i = 0; atomic_load(&servables_made) < SWAPS; i++) {
        put(V(1 + i % 2) | V(3 + i % 3));
        take_turn();
    }
    atomic_store(&asking, false);
    for (size_t i = 0; i < COUNT(threads); i++)
        pthread_join(threads[i], NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    struct CMUnitTest tests[COUNT(polls) + 13] = {
        TEST(the_server_starts_when_a_version_serves),
        TEST(the_start_fails_if_the_version_does_for_good),
        TEST(a_base_path_that_cannot_be_read_changes_nothing),
        TEST(a_failed_version_is_loaded_once_it_is_whole),
        TEST(a_version_drains_while_a_request_holds_it),
        TEST(requests_are_answered_during_a_load),
        TEST(a_load_ends_if_its_version_vanishes),
        TEST(a_load_ends_for_a_newer_version),
        TEST(stopping_ends_a_load),
        TEST(stopping_frees_what_drains),
        TEST(a_request_names_a_model_and_a_version),
        TEST(the_status_of_what_is_not_there_is_an_error),
        TEST(swaps_leave_no_gap_and_free_nothing_that_is_held),
    };
    for (size_t i = 0; i < COUNT(polls); i++)
        tests[13 + i] = (struct CMUnitTest){ .name = polls[i].label,
                                             .test_func = the_base_path_is_polled_as_often_as_asked,
                                             .setup_func = set_up_poll,
                                             .teardown_func = tear_down,
                                             .initial_state = (void *)(uintptr_t)&polls[i] };
    return cmocka_run_group_tests_name("manager", tests, NULL, NULL);
}
