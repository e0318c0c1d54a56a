/* What a loop's thread remembers of the manager: requests find servables without the manager's
 * lock, never an old one, and no version is freed while a cache or a request holds it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "fake_models.h"
#include "server/models/servable_cache.h"

#define THREADS 4

static struct servable_cache *cache;

static int set_up_cache(void **state)
{
    int failed = set_up(state);
    options.loops = THREADS;
    cache = servable_cache_create(1);
    servable_cache_enter(cache);
    return failed;
}

static int tear_down_cache(void **state)
{
    servable_cache_destroy(cache);
    return tear_down(state);
}

static struct servable *find_labelled(const char *label)
{
    struct servable *servable = NULL;
    struct version_choice choice = { .kind = VERSION_LABELLED, .label = bytes_of(label) };
    status_ignore(manager_find(manager, bytes_of("m"), &choice, &servable));
    return servable;
}

static void a_warm_find_takes_no_lock(void **state)
{
    (void)state;
    start(V(1) | V(2));
    wait_until_it_sleeps();
    servable_release(find(0));
    servable_release(find(2));
    pthread_mutex_lock(&manager->lock);
    assert_int_equal(latest(), 2);
    struct servable *servable = find(2);
    assert_int_equal(servable->version, 2);
    servable_release(servable);
    pthread_mutex_unlock(&manager->lock);
}

static void a_request_finds_a_new_version_at_once(void **state)
{
    (void)state;
    start(V(1));
    wait_until_it_sleeps();
    assert_int_equal(latest(), 1);
    put(V(1) | V(2));
    assert_int_equal(latest(), 2); /* nobody has called manager_refresh_cache */
    assert_null(find(1));
}

static void a_version_drains_while_a_cache_holds_it(void **state)
{
    (void)state;
    start(V(1));
    wait_until_it_sleeps();
    assert_int_equal(latest(), 1);
    put(V(1) | V(2));
    wake();
    assert_string_equal(states(), "2 AVAILABLE, 1 UNLOADING");
    manager_refresh_cache(manager);
    wake();
    assert_string_equal(states(), "2 AVAILABLE, 1 END");
    assert_int_equal(servables_alive(), 1);
}

static void a_version_drains_while_a_request_of_a_loop_holds_it(void **state)
{
    (void)state;
    start(V(1));
    wait_until_it_sleeps();
    struct servable *held = find(1), *again = find(1);
    put(V(1) | V(2));
    manager_refresh_cache(manager);
    servable_release(again);
    wake();
    assert_string_equal(states(), "2 AVAILABLE, 1 UNLOADING");
    servable_release(held);
    wake();
    assert_string_equal(states(), "2 AVAILABLE, 1 END");
}

static void *find_in_pool(void *out)
{
    *(struct servable **)out = find(1);
    return NULL;
}

/* A large request is read in the pool, and ends in its loop. */
static void a_loop_gives_back_what_the_pool_took(void **state)
{
    (void)state;
    pthread_t thread;
    struct servable *held = NULL;
    start(V(1));
    wait_until_it_sleeps();
    assert_int_equal(pthread_create(&thread, NULL, find_in_pool, &held), 0);
    pthread_join(thread, NULL);
    assert_int_equal(servable_references(held), 2);
    put(V(1) | V(2));
    assert_string_equal(states(), "2 AVAILABLE, 1 UNLOADING");
    servable_release(held);
    assert_int_equal(atomic_load(&held->own[0].count), -1);
    wake();
    assert_string_equal(states(), "2 AVAILABLE, 1 END");
}

static const char config_text[] =
    "model_config_list { config { name: 'm' base_path: '/m' model_platform: 'tensorflow'\n"
    "model_version_policy { all {} } version_labels { key: 'stable' value: %d } } }\n";

static struct model_configs *labelled(int version)
{
    char path[] = "/tmp/test_servable_cache.XXXXXX";
    struct model_configs *configs;
    struct buffer text = { 0 };
    buffer_printf(&text, config_text, version);
    close(mkstemp(path));
    assert_ok(file_write(path, (struct bytes){ text.data, text.size }));
    assert_ok(model_configs_read_file(path, &configs));
    unlink(path);
    buffer_finish(&text);
    return configs;
}

static void on_reloaded(void *context, struct status status)
{
    (void)context;
    assert_ok(status);
}

static void a_label_that_moves_is_found_at_once(void **state)
{
    (void)state;
    options.labels_in_advance = true;
    atomic_store(&at("/m")->present, V(1) | V(2));
    assert_ok(manager_start(&options, labelled(1), &manager));
    wait_until_it_sleeps();
    for (int i = 0; i < 2; i++) {
        struct servable *servable = find_labelled("stable");
        assert_int_equal(servable->version, 1);
        servable_release(servable);
    }
    assert_null(find_labelled("other"));
    assert_ok(manager_reload(manager, labelled(2), options.loop, on_reloaded, NULL));
    struct servable *servable = find_labelled("stable");
    assert_int_equal(servable->version, 2);
    servable_release(servable);
    wait_until_it_sleeps();
    take_turn();
}

/* ---- loops that find and give back while versions come and go ---- */

static _Atomic bool ending;

struct reader {
    pthread_t thread;
    struct servable_cache *cache;
    _Atomic int finds;
};

/* The fake loader checks that nobody holds what it frees. */
static void *read_for_a_while(void *context)
{
    struct reader *reader = context;
    struct servable *held[3] = { NULL };
    servable_cache_enter(reader->cache);
    for (unsigned i = 0; !atomic_load(&ending); i++) {
        servable_release(held[i % COUNT(held)]);
        held[i % COUNT(held)] = find(0);
        assert_non_null(held[i % COUNT(held)]);
        assert_true(held[i % COUNT(held)]->version > 0);
        atomic_fetch_add(&reader->finds, 1);
        if (i % 64 == 0)
            manager_refresh_cache(manager);
    }
    for (size_t i = 0; i < COUNT(held); i++)
        servable_release(held[i]);
    return NULL;
}

static void no_version_is_freed_while_a_loop_holds_it(void **state)
{
    (void)state;
    struct reader readers[THREADS] = { 0 };
    atomic_store(&ending, false);
    start(V(1));
    wait_until_it_sleeps();
    for (int i = 0; i < THREADS; i++) {
        readers[i].cache = servable_cache_create(i + 1);
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_for_a_while, &readers[i]),
                         0);
    }
    for (int64_t version = 2; version < 42; version++) {
        unsigned now = V(1 + (version - 1) % 7), before = V(1 + (version - 2) % 7);
        put(before | now);
        put(now);
        while (servables_alive() > 1) {
            wake();
            manager_refresh_cache(manager);
        }
    }
    atomic_store(&ending, true);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(readers[i].thread, NULL);
        assert_true(atomic_load(&readers[i].finds) > 0);
        servable_cache_destroy(readers[i].cache);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_cache, tear_down_cache)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_warm_find_takes_no_lock),
        TEST(a_request_finds_a_new_version_at_once),
        TEST(a_version_drains_while_a_cache_holds_it),
        TEST(a_version_drains_while_a_request_of_a_loop_holds_it),
        TEST(a_loop_gives_back_what_the_pool_took),
        TEST(a_label_that_moves_is_found_at_once),
        TEST(no_version_is_freed_while_a_loop_holds_it),
    };
    return cmocka_run_group_tests_name("servable cache", tests, NULL, NULL);
}
