/* The manager's threads with one model. test_reload.c has several models. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <unistd.h>

#include "fake_models.h"
#include "support/test_group.h"

#define SWAPS 50

/* ---- tests ---- */

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
    atomic_store(&at("/m")->damaged, V(1));
    options.poll_wait_seconds = 0;
    start(V(1));
    assert_int_equal(wait_until_it_sleeps(), atomic_load(&now_ns) + RETRY_NS);
    take_turn();
    assert_int_equal(starts, 0); /* one attempt is left */
    wake();
    take_turn();
    assert_int_equal(starts, 1);
    assert_int_equal(start_code, STATUS_UNKNOWN);
    assert_string_equal(start_text,
                        "1 servable(s) did not become available: {{{name: m version: 1} "
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

/* Counts the lines on stderr while the test runs. */
static FILE *caught;
static int stderr_before;

static void catch_lines(void)
{
    log_set_level(LOG_ERROR);
    caught = tmpfile();
    stderr_before = dup(STDERR_FILENO);
    assert_true(dup2(fileno(caught), STDERR_FILENO) >= 0);
}

static int count_lines(void)
{
    int lines = 0;
    rewind(caught);
    for (int c; (c = getc(caught)) != EOF;)
        lines += c == '\n';
    return lines;
}

static void stop_catching(void)
{
    assert_true(dup2(stderr_before, STDERR_FILENO) >= 0);
    close(stderr_before);
    fclose(caught);
}

static void a_missing_base_path_is_logged_once_and_then_once_a_minute(void **state)
{
    (void)state;
    int logged[4];
    atomic_store(&unreadable, true);
    catch_lines();
    start(V(1));
    for (int i = 0; i < 30; i++)
        wake();
    logged[0] = count_lines();
    for (int i = 0; i < 60; i++)
        wake();
    logged[1] = count_lines();
    atomic_store(&unreadable, false);
    wake();
    logged[2] = count_lines();
    atomic_store(&unreadable, true);
    wake();
    logged[3] = count_lines();
    stop_catching();
    assert_int_equal(logged[0], 1);
    assert_int_equal(logged[1], 2);
    assert_int_equal(logged[2], 2);
    assert_int_equal(logged[3], 3);
}

static void a_failed_version_is_loaded_once_it_is_whole(void **state)
{
    (void)state;
    options.load_retries_max = 0;
    atomic_store(&at("/m")->damaged, V(1));
    start(V(1));
    wake();
    assert_string_equal(states(), "1 END");
    atomic_store(&at("/m")->damaged, 0);
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
    atomic_store(&at("/m")->present, V(1) | V(2));
    set_now(atomic_load(&now_ns) + POLL_NS);
    wait_until_it_loads(2);
    assert_int_equal(latest(), 1);
    assert_string_equal(states(), "2 LOADING, 1 AVAILABLE");
    atomic_store(&endless, 0);
    wait_until_it_sleeps();
    assert_int_equal(latest(), 2);
}

static void loads_have_a_lower_priority_after_the_start(void **state)
{
    (void)state;
    int own = getpriority(PRIO_PROCESS, 0);
    start(V(1));
    wait_until_it_sleeps();
    assert_int_equal(atomic_load(&load_nice), own);
    take_turn();
    assert_int_equal(starts, 1);
    put(V(1) | V(2));
    assert_string_equal(states(), "2 AVAILABLE, 1 END");
    assert_int_equal(atomic_load(&load_nice), own < 10 ? 10 : own);
}

static void a_load_ends_if_its_version_vanishes(void **state)
{
    (void)state;
    atomic_store(&endless, V(1));
    start(V(1));
    wait_until_it_loads(1);
    atomic_store(&at("/m")->present, 0);
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
    atomic_store(&at("/m")->present, V(1) | V(2));
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
    atomic_store(&at("/m")->present, V(1) | V(2));
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

/* ---- requests from other threads during many swaps ---- */

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
    static const struct CMUnitTest plain[] = {
        TEST(the_server_starts_when_a_version_serves),
        TEST(the_start_fails_if_the_version_does_for_good),
        TEST(a_base_path_that_cannot_be_read_changes_nothing),
        TEST(a_missing_base_path_is_logged_once_and_then_once_a_minute),
        TEST(a_failed_version_is_loaded_once_it_is_whole),
        TEST(a_version_drains_while_a_request_holds_it),
        TEST(requests_are_answered_during_a_load),
        TEST(loads_have_a_lower_priority_after_the_start),
        TEST(a_load_ends_if_its_version_vanishes),
        TEST(a_load_ends_for_a_newer_version),
        TEST(stopping_ends_a_load),
        TEST(stopping_frees_what_drains),
        TEST(a_request_names_a_model_and_a_version),
        TEST(the_status_of_what_is_not_there_is_an_error),
        TEST(swaps_leave_no_gap_and_free_nothing_that_is_held),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS_WITH(&group, polls, label, the_base_path_is_polled_as_often_as_asked, set_up_poll,
                  tear_down);
    return test_group_run(&group, "manager", NULL, NULL);
}
