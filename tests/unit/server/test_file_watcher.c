/* Tests that a file is read again when it has changed, and only then. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "server/file_watcher.h"

static char directory[64], path[128];
static _Atomic int reloads;
static _Atomic bool fails;

static struct status reload(void *context)
{
    assert_ptr_equal(context, path);
    atomic_fetch_add(&reloads, 1);
    return atomic_load(&fails) ? status_error(STATUS_INVALID_ARGUMENT, "not this") : status_ok();
}

/* A clock that counts the looks: the watcher waits after each. */
static _Atomic int waits;
static _Atomic int64_t time_ns;
static _Atomic bool ending;

static int64_t now(struct clock *clock)
{
    (void)clock;
    return atomic_load(&time_ns);
}

static bool wait(struct clock *clock, pthread_cond_t *changed, pthread_mutex_t *lock,
                 int64_t deadline_ns)
{
    (void)clock;
    (void)changed;
    atomic_fetch_add(&waits, 1);
    while (atomic_load(&time_ns) < deadline_ns && !atomic_load(&ending)) {
        pthread_mutex_unlock(lock);
        sched_yield();
        pthread_mutex_lock(lock);
    }
    return false;
}

static struct clock test_clock = { now, wait };

/* Lets the watcher look once more. */
static void look(void)
{
    int before = atomic_load(&waits);
    atomic_fetch_add(&time_ns, NS_PER_S);
    while (atomic_load(&waits) == before)
        sched_yield();
}

static void a_file_that_changes_is_read_again(void **state)
{
    struct watched_file file = { .flag = "--f", .path = path, .reload = reload, .context = path };
    struct file_watcher *watcher;
    (void)state;
    log_set_level(LOG_NONE);
    strcpy(directory, "/tmp/slipway-watch-XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/f", directory);
    assert_int_equal(file_write(path, bytes_of("one")).code, STATUS_OK);
    watched_file_note(&file);
    assert_int_equal(file_watcher_create(&file, 1, &test_clock, &watcher).code, STATUS_OK);
    while (atomic_load(&waits) == 0)
        sched_yield();
    look();
    assert_int_equal(atomic_load(&reloads), 0);
    assert_int_equal(file_write(path, bytes_of("two")).code, STATUS_OK);
    look();
    look();
    assert_int_equal(atomic_load(&reloads), 1);
    atomic_store(&fails, true);
    assert_int_equal(unlink(path), 0);
    look();
    look();
    assert_int_equal(atomic_load(&reloads), 3); /* it is tried again */
    atomic_store(&fails, false);
    look();
    look();
    assert_int_equal(atomic_load(&reloads), 4); /* not again while nothing changes */
    atomic_store(&fails, true);
    assert_int_equal(file_write(path, bytes_of("two")).code, STATUS_OK);
    for (int i = 0; i < 70; i++)
        look();
    assert_int_equal(atomic_load(&reloads), 65); /* not for ever */
    atomic_store(&ending, true);
    file_watcher_destroy(watcher);
}

static void a_change_before_the_watcher_begins_is_seen(void **state)
{
    struct watched_file file = { .flag = "--f", .path = path, .reload = reload, .context = path };
    struct file_watcher *watcher;
    (void)state;
    atomic_store(&ending, false);
    atomic_store(&fails, false);
    atomic_store(&waits, 0);
    atomic_store(&reloads, 0);
    watched_file_note(&file);
    assert_int_equal(file_write(path, bytes_of("later")).code, STATUS_OK);
    assert_int_equal(file_watcher_create(&file, 1, &test_clock, &watcher).code, STATUS_OK);
    while (atomic_load(&waits) == 0)
        sched_yield();
    assert_int_equal(atomic_load(&reloads), 1);
    atomic_store(&ending, true);
    file_watcher_destroy(watcher);
    assert_int_equal(file_remove_tree(directory).code, STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_file_that_changes_is_read_again),
                                        cmocka_unit_test(
                                            a_change_before_the_watcher_begins_is_seen) };
    return cmocka_run_group_tests_name("file_watcher", tests, NULL, NULL);
}
