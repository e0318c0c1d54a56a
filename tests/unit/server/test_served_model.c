/* The states of a model's versions. The test controls the time, the base path and the loader. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "fake_servable.h"
#include "server/metrics/reading.h"
#include "server/models/load_metrics.h"
#include "server/models/served_model.h"

#define RETRIES     2
#define INTERVAL_NS (60 * NS_PER_S)
#define VERSIONS    6 /* versions 1 to 6, in the random tests */

static struct served_model model;
static struct model_config config;
static int64_t now_ns;
static int changes;

static void on_changed(void *context)
{
    assert_ptr_equal(context, &model);
    changes++;
}

static int set_up(void **state)
{
    (void)state;
    const struct served_model_options options = { .name = "m",
                                                  .load_retries_max = RETRIES,
                                                  .load_retry_interval_ns = INTERVAL_NS,
                                                  .changed = on_changed,
                                                  .context = &model };
    log_set_level(LOG_NONE);
    served_model_init(&model, &options);
    config = (struct model_config){ .name = "m", .policy = { .kind = POLICY_LATEST, .latest = 1 } };
    served_model_configure(&model, &config);
    now_ns = NS_PER_S;
    changes = 0;
    return 0;
}

static int tear_down(void **state)
{
    struct servable *servable;
    (void)state;
    while ((servable = served_model_take_servable(&model)) != NULL)
        free_servable(servable);
    served_model_finish(&model);
    assert_int_equal(servables_alive(), 0);
    return 0;
}

/* ---- helpers for the base path and the steps ---- */

/* Shows the model the versions whose bits are set, in directories named `prefix` and number. */
static void see_spelled(unsigned versions, const char *prefix)
{
    struct source_version items[VERSIONS + 1];
    struct source_versions found = { .items = items };
    char directories[VERSIONS + 1][32];
    for (int number = 1; number <= VERSIONS; number++)
        if (versions & 1U << number) {
            snprintf(directories[number], sizeof directories[number], "%s%d", prefix, number);
            items[found.count++] = (struct source_version){ number, directories[number] };
        }
    served_model_set_found(&model, &found);
}

#define V(number) (1U << (number))

static void see(unsigned versions)
{
    see_spelled(versions, "/m/");
}

static struct model_version *find_version(int64_t number)
{
    for (struct model_version *version = model.versions; version != NULL; version = version->next)
        if (version->number == number)
            return version;
    return NULL;
}

static void assert_state(int64_t number, enum version_state state)
{
    const struct model_version *version = find_version(number);
    assert_non_null(version);
    assert_int_equal(version->state, state);
}

static struct model_step step(void)
{
    return served_model_begin_step(&model, STEP_ANY, now_ns);
}

static void assert_no_step(void)
{
    assert_int_equal(step().kind, STEP_NONE);
}

static struct model_version *begin_load(int64_t number)
{
    struct model_step next = step();
    assert_int_equal(next.kind, STEP_LOAD);
    assert_int_equal(next.version->number, number);
    assert_state(number, STATE_LOADING);
    return next.version;
}

static void succeed(struct model_version *version)
{
    served_model_end_load(&model, version, status_ok(), make_servable(version->number), now_ns);
}

static void fail_load(struct model_version *version)
{
    served_model_end_load(&model, version, status_error(STATUS_DATA_LOSS, "it is damaged"), NULL,
                          now_ns);
}

static void cancel(struct model_version *version)
{
    assert_true(served_model_should_end_load(&model, version));
    served_model_end_load(&model, version, status_error(STATUS_CANCELLED, "not wanted"), NULL,
                          now_ns);
}

static void load(int64_t number)
{
    succeed(begin_load(number));
    assert_state(number, STATE_AVAILABLE);
}

/* Fails all attempts to load the version. */
static void fail_for_good(int64_t number)
{
    for (int i = 0; i <= RETRIES; i++, now_ns += INTERVAL_NS)
        fail_load(begin_load(number));
    assert_state(number, STATE_END);
}

static void begin_unload(int64_t number)
{
    struct model_step next = step();
    assert_int_equal(next.kind, STEP_UNLOAD);
    assert_int_equal(next.version->number, number);
    assert_state(number, STATE_UNLOADING);
}

static void take_and_free(int64_t number)
{
    struct model_step next = step();
    assert_int_equal(next.kind, STEP_FREE);
    assert_int_equal(next.version->number, number);
    assert_int_equal(next.servable->version, number);
    assert_state(number, STATE_UNLOADING);
    free_servable(next.servable);
    served_model_end_free(&model, next.version);
}

static enum model_outcome outcome(void)
{
    const struct model_version *failed;
    return served_model_outcome(&model, &failed);
}

static struct servable *acquire(int64_t number)
{
    const struct version_choice choice = { .kind = number != 0 ? VERSION_SPECIFIC : VERSION_LATEST,
                                           .number = number };
    return served_model_acquire(&model, &choice);
}

/* The version that serves requests for the latest one, or 0. */
static int64_t latest(void)
{
    struct servable *servable = acquire(0);
    int64_t number = servable != NULL ? servable->version : 0;
    servable_release(servable);
    return number;
}

static uint64_t files_now;

static void look_at_files(uint64_t files, unsigned versions)
{
    struct failed_version *failed;
    size_t count = served_model_list_failed(&model, &failed);
    files_now = files;
    for (size_t i = 0; i < count; i++) {
        assert_non_null(failed[i].directory);
        failed[i].files = files;
    }
    served_model_note_failed(&model, failed, count);
    see(versions);
}

/* ---- the life cycle of a version ---- */

static void the_highest_version_is_loaded(void **state)
{
    (void)state;
    assert_no_step();
    see(V(1) | V(3) | V(2));
    assert_int_equal(latest(), 0);
    load(3);
    assert_int_equal(latest(), 3);
    assert_no_step();
    assert_state(1, STATE_START);
    assert_state(2, STATE_START);
    assert_int_equal(changes, 2);
    assert_int_equal(outcome(), MODEL_SERVES);
}

static void the_old_version_serves_until_the_new_one_does(void **state)
{
    (void)state;
    see(V(1));
    load(1);
    see(V(1) | V(2));
    struct model_version *two = begin_load(2);
    assert_int_equal(latest(), 1);
    succeed(two);
    assert_int_equal(latest(), 2);
    begin_unload(1);
    assert_null(acquire(1));
    take_and_free(1);
    assert_no_step();
    assert_int_equal(latest(), 2);
}

static void a_version_is_freed_after_its_last_request(void **state)
{
    (void)state;
    see(V(1));
    load(1);
    struct servable *first = acquire(1), *second = acquire(0);
    see(V(1) | V(2));
    load(2);
    begin_unload(1);
    assert_true(served_model_is_draining(&model));
    assert_no_step();
    servable_release(first);
    assert_no_step();
    servable_release(second);
    take_and_free(1);
    assert_false(served_model_is_draining(&model));
}

static void see_every(int64_t step_size, int64_t least, size_t count)
{
    static char directory[] = "/m/v";
    struct source_versions found = { .items = zalloc(count * sizeof *found.items), .count = count };
    for (size_t i = 0; i < count; i++)
        found.items[i] = (struct source_version){ least + (int64_t)i * step_size, directory };
    served_model_set_found(&model, &found);
    free(found.items);
}

/* Comparing each version with each would take minutes. */
static void a_base_path_may_hold_hundreds_of_thousands_of_versions(void **state)
{
    const size_t count = 200000;
    size_t present = 0, known = 0;
    (void)state;
    see_every(2, INT64_MIN, count);
    see_every(3, INT64_MIN + 3, count);
    for (const struct model_version *v = model.versions; v != NULL; v = v->next) {
        assert_true(v->next == NULL || v->next->number < v->number);
        uint64_t offset = (uint64_t)v->number - (uint64_t)INT64_MIN;
        assert_int_equal(v->present, offset > 0 && offset % 3 == 0);
        present += v->present;
        known++;
    }
    assert_int_equal(present, count);
    assert_int_equal(known, count); /* the others are absent, and were never loaded */
    begin_load(INT64_MIN + 3 * (int64_t)count);
}

/* The path of the version is a label of its series. */
static void load_and_count_attempt(int64_t number)
{
    struct model_version *version = begin_load(number);
    char path[32];
    snprintf(path, sizeof path, "/m/%lld", (long long)number);
    load_metrics_attempt("m", path, status_ok(), 0, &version->attempts_series);
    succeed(version);
}

static size_t count_attempt_series(void)
{
    size_t count;
    free(metrics_list(METRIC_TF_LOAD_ATTEMPTS, &count));
    return count;
}

static void of_ended_versions_a_thousand_are_remembered(void **state)
{
    const int64_t last = MODEL_ENDED_VERSIONS_MAX + 10;
    size_t known = 0;
    (void)state;
    for (int64_t number = 1; number <= last; number++) {
        see_every(1, number, 1);
        load_and_count_attempt(number);
        if (number > 1) {
            begin_unload(number - 1);
            take_and_free(number - 1);
        }
    }
    see_every(1, last, 1);
    for (const struct model_version *v = model.versions; v != NULL; v = v->next)
        known++;
    assert_int_equal(known, MODEL_ENDED_VERSIONS_MAX + 1);
    assert_null(find_version(last - MODEL_ENDED_VERSIONS_MAX - 1));
    assert_state(last - MODEL_ENDED_VERSIONS_MAX, STATE_END);
    assert_int_equal(count_attempt_series(), known);
}

static void all_versions_are_unloaded_if_none_is_there(void **state)
{
    (void)state;
    see(V(1));
    load(1);
    see(0);
    begin_unload(1);
    take_and_free(1);
    assert_no_step();
    assert_int_equal(latest(), 0);
    see(V(1)); /* the version is back */
    load(1);
}

static void the_version_before_serves_again_if_the_newest_is_taken_away(void **state)
{
    (void)state;
    see(V(1) | V(2));
    load(2);
    see(V(1));
    struct model_version *one = begin_load(1);
    assert_int_equal(latest(), 2);
    succeed(one);
    begin_unload(2);
    take_and_free(2);
    assert_int_equal(latest(), 1);
}

static void a_version_that_comes_back_while_it_drains_is_loaded_once_it_is_gone(void **state)
{
    (void)state;
    see(V(1));
    load(1);
    struct servable *held = acquire(1);
    see(0);
    begin_unload(1);
    see(V(1));
    assert_no_step();
    servable_release(held);
    take_and_free(1);
    see(V(1));
    load(1);
}

static void a_version_ends_once_its_memory_is_free(void **state)
{
    (void)state;
    see(V(1));
    load(1);
    see(0);
    begin_unload(1);
    struct model_step next = step();
    assert_int_equal(next.kind, STEP_FREE);
    see(V(1)); /* comes back meanwhile: waits, because both together may not fit in memory */
    assert_state(1, STATE_UNLOADING);
    assert_false(served_model_is_draining(&model));
    assert_no_step();
    see(0);
    free_servable(next.servable);
    served_model_end_free(&model, next.version);
    assert_state(1, STATE_END);
}

static void a_version_that_comes_back_spelled_differently_is_loaded_from_there(void **state)
{
    (void)state;
    see(V(1));
    load(1);
    struct servable *held = acquire(1);
    see(0);
    begin_unload(1);
    see_spelled(V(1), "/m/00");
    servable_release(held);
    take_and_free(1);
    see_spelled(V(1), "/m/00");
    assert_string_equal(begin_load(1)->directory, "/m/001");
}

/* ---- loads that fail ---- */

static void a_failed_load_is_tried_again_after_the_interval(void **state)
{
    (void)state;
    see(V(1));
    for (int i = 0; i < RETRIES; i++) {
        fail_load(begin_load(1));
        assert_state(1, STATE_LOADING);
        assert_int_equal(served_model_retry_time(&model), now_ns + INTERVAL_NS);
        assert_no_step();
        now_ns += INTERVAL_NS - 1;
        assert_no_step();
        now_ns += 1;
    }
    load(1);
    assert_null(find_version(1)->error);
    assert_int_equal(served_model_retry_time(&model), CLOCK_NEVER);
}

static void a_model_has_failed_after_the_last_attempt(void **state)
{
    const struct model_version *failed;
    (void)state;
    assert_int_equal(outcome(), MODEL_EMPTY);
    see(V(5));
    for (int i = 0; i <= RETRIES; i++, now_ns += INTERVAL_NS) {
        assert_int_equal(outcome(), MODEL_PENDING);
        fail_load(begin_load(5));
    }
    assert_state(5, STATE_END);
    assert_int_equal(served_model_outcome(&model, &failed), MODEL_FAILED);
    assert_int_equal(failed->number, 5);
    assert_string_equal(failed->error, "it is damaged");
    now_ns += 1000 * INTERVAL_NS;
    see(V(5));
    assert_no_step();
    see(V(5) | V(6));
    assert_int_equal(outcome(), MODEL_PENDING);
    load(6);
    assert_int_equal(outcome(), MODEL_SERVES);
}

static void a_newer_version_that_fails_leaves_the_older_one(void **state)
{
    (void)state;
    see(V(1));
    load(1);
    see(V(1) | V(2));
    fail_for_good(2);
    assert_no_step();
    assert_int_equal(latest(), 1);
    see(V(1) | V(2));
    assert_no_step();
    assert_state(1, STATE_AVAILABLE);
}

static void retries_end_if_the_version_is_gone(void **state)
{
    (void)state;
    see(V(1));
    fail_load(begin_load(1));
    see(0);
    assert_int_equal(served_model_retry_time(&model), CLOCK_NEVER);
    now_ns += INTERVAL_NS;
    assert_no_step();
    assert_state(1, STATE_END);
    assert_int_equal(outcome(), MODEL_EMPTY);
}

static void retries_end_if_a_newer_version_comes(void **state)
{
    (void)state;
    see(V(1));
    fail_load(begin_load(1));
    see(V(1) | V(2));
    now_ns += INTERVAL_NS;
    load(2);
    assert_state(1, STATE_END);
    assert_no_step();
    assert_int_equal(outcome(), MODEL_SERVES);
}

static void a_failed_version_is_tried_again_if_it_was_gone_in_between(void **state)
{
    (void)state;
    see(V(1));
    fail_for_good(1);
    see(0);
    see(V(1));
    assert_state(1, STATE_START);
    fail_load(begin_load(1));
    assert_state(1, STATE_LOADING); /* has all its attempts again */
}

static void a_failed_version_is_tried_again_once_its_files_have_settled(void **state)
{
    (void)state;
    see(V(1));
    for (int i = 0; i <= RETRIES; i++, now_ns += INTERVAL_NS) {
        struct model_version *version = begin_load(1);
        served_model_set_tried_files(version, 100);
        fail_load(version);
    }
    look_at_files(100, V(1));
    assert_state(1, STATE_END);
    look_at_files(101, V(1)); /* still being copied */
    assert_state(1, STATE_END);
    look_at_files(102, V(1));
    assert_state(1, STATE_END);
    look_at_files(102, V(1));
    assert_state(1, STATE_START);
    fail_for_good(1);
    see(V(1));
    assert_state(1, STATE_END); /* no retry with the same files */
}

static void a_retry_comes_early_if_the_files_have_settled(void **state)
{
    (void)state;
    see(V(1));
    struct model_version *version = begin_load(1);
    served_model_set_tried_files(version, 100);
    fail_load(version);
    look_at_files(101, V(1));
    assert_no_step();
    look_at_files(101, V(1));
    load(1);
}

/* ---- loads that are no longer wanted ---- */

static void a_version_that_vanishes_ends_its_load(void **state)
{
    (void)state;
    see(V(1));
    struct model_version *version = begin_load(1);
    assert_false(served_model_should_end_load(&model, version));
    see(0);
    cancel(version);
    assert_state(1, STATE_END);
    assert_no_step();
    assert_int_equal(outcome(), MODEL_EMPTY);
    see(V(1));
    load(1);
}

static void a_load_that_ends_stays_ended_if_the_version_comes_back(void **state)
{
    (void)state;
    see(V(1));
    struct model_version *version = begin_load(1);
    see(0);
    assert_true(served_model_should_end_load(&model, version));
    see(V(1));
    cancel(version);
    assert_state(1, STATE_LOADING); /* still wanted: will be retried */
    now_ns += INTERVAL_NS;
    version = begin_load(1);
    assert_false(served_model_should_end_load(&model, version));
    succeed(version);
}

static void a_version_that_vanishes_and_is_loaded_all_the_same_goes(void **state)
{
    (void)state;
    see(V(1));
    load(1);
    see(V(1) | V(2));
    struct model_version *two = begin_load(2);
    see(V(1));
    succeed(two);
    begin_unload(2);
    take_and_free(2);
    assert_int_equal(latest(), 1);
}

static void of_two_versions_that_nobody_wants_the_lower_one_goes(void **state)
{
    (void)state;
    see(V(1));
    load(1);
    see(V(1) | V(2));
    struct model_version *two = begin_load(2);
    see(V(1) | V(2) | V(3));
    succeed(two); /* finished without a check */
    begin_unload(1);
    take_and_free(1);
    struct model_version *three = begin_load(3);
    assert_int_equal(latest(), 2);
    succeed(three);
    begin_unload(2);
}

static void a_newer_version_ends_a_load_but_not_two_in_a_row(void **state)
{
    (void)state;
    see(V(1));
    struct model_version *version = begin_load(1);
    see(V(1) | V(2));
    cancel(version);
    assert_state(1, STATE_END);
    version = begin_load(2);
    see(V(1) | V(2) | V(3));
    assert_false(served_model_should_end_load(&model, version));
    succeed(version);
    assert_int_equal(latest(), 2);
    version = begin_load(3); /* cancellable again: a load has finished */
    see(V(3) | V(4));
    cancel(version);
    load(4);
}

/* ---- requests ---- */

static void a_request_gets_the_version_that_it_names(void **state)
{
    (void)state;
    see(V(1));
    load(1);
    see(V(1) | V(2));
    load(2);
    struct servable *one = acquire(1), *two = acquire(2);
    assert_int_equal(one->version, 1);
    assert_int_equal(two->version, 2);
    assert_int_equal(atomic_load(&one->references), 2);
    assert_null(acquire(3));
    servable_release(one);
    servable_release(two);
}

static void assert_row(const struct version_status *row, int64_t number, const char *state,
                       const char *error)
{
    assert_int_equal(row->number, number);
    assert_string_equal(row->state, state);
    assert_string_equal(row->status.message, error);
    assert_int_equal(row->status.code, *error != '\0' ? STATUS_DATA_LOSS : STATUS_OK);
}

static void versions_that_were_wanted_are_listed(void **state)
{
    (void)state;
    struct version_choice all = { .kind = VERSION_LATEST };
    struct version_choice three = { .kind = VERSION_SPECIFIC, .number = 3 };
    struct version_status *rows;
    struct arena *arena = arena_create(0);
    see(V(1) | V(2));
    load(2);
    see(V(1) | V(2) | V(3));
    fail_load(begin_load(3));
    assert_int_equal(served_model_list(&model, &all, arena, &rows), 2);
    assert_row(&rows[0], 3, "LOADING", ""); /* attempts are left */
    assert_row(&rows[1], 2, "AVAILABLE", "");
    for (int i = 0; i < RETRIES; i++) {
        now_ns += INTERVAL_NS;
        fail_load(begin_load(3));
    }
    see(V(3) | V(4));
    assert_int_equal(served_model_list(&model, &all, arena, &rows), 3);
    assert_row(&rows[0], 4, "START", "");
    assert_row(&rows[1], 3, "END", "it is damaged");
    assert_row(&rows[2], 2, "AVAILABLE", "");
    assert_int_equal(served_model_list(&model, &three, arena, &rows), 1);
    assert_row(&rows[0], 3, "END", "it is damaged");
    three.number = 1;
    assert_int_equal(served_model_list(&model, &three, arena, &rows), 0);
    arena_destroy(arena);
}

/* ---- random sequences of events ---- */

#define LOADS_MAX 2 /* at the same time */

struct play {
    struct random random;
    unsigned present;                       /* versions on the base path */
    bool removed;                           /* the model is not configured */
    struct model_version *loads[LOADS_MAX]; /* in progress, or NULL */
    struct servable *held[8];               /* by simulated requests */
    int64_t specific[2];                    /* of the policy */
};

static uint64_t draw(struct play *play, uint64_t below)
{
    return random_below(&play->random, below);
}

static int count_available(void)
{
    int count = 0;
    for (const struct model_version *v = model.versions; v != NULL; v = v->next)
        count += v->state == STATE_AVAILABLE;
    return count;
}

static const struct model_version *wanted(void)
{
    for (const struct model_version *v = model.versions; v != NULL; v = v->next)
        if (v->wanted)
            return v;
    return NULL;
}

static int count_bits(unsigned bits)
{
    return __builtin_popcount(bits);
}

/* What the policy wants, worked out by another way than the model does. */
static bool should_be_wanted(const struct play *play, int64_t number)
{
    unsigned above = play->present & ~(V(number) * 2 - 1);
    if (play->removed || !(play->present & V(number)))
        return false;
    if (config.policy.kind == POLICY_SPECIFIC)
        return number == play->specific[0] || number == play->specific[1];
    return config.policy.kind == POLICY_ALL || count_bits(above) < (int)config.policy.latest;
}

static void check_version(const struct play *play, const struct model_version *version)
{
    bool serves = version->state == STATE_AVAILABLE || version->state == STATE_UNLOADING;
    bool present = !play->removed && (play->present & V(version->number)) != 0;
    assert_int_equal(version->present, present);
    assert_int_equal(version->wanted, should_be_wanted(play, version->number));
    assert_int_equal(version->servable != NULL, serves);
    if (serves) {
        assert_int_equal(version->servable->version, version->number);
        assert_true(atomic_load(&version->servable->references) >= 1);
    }
    assert_true(version->attempts <= RETRIES + 1);
    if (version->next != NULL)
        assert_true(version->number > version->next->number);
}

static void check_invariants(const struct play *play)
{
    int with_servable = 0;
    int64_t highest = 0;
    for (const struct model_version *v = model.versions; v != NULL; v = v->next) {
        check_version(play, v);
        with_servable += v->servable != NULL;
        if (v->state == STATE_AVAILABLE && v->number > highest)
            highest = v->number;
    }
    assert_int_equal(servables_alive(), with_servable);
    assert_int_equal(latest(), highest);
}

static struct model_version **find_slot(struct play *play, const struct model_version *version)
{
    for (size_t i = 0; i < LOADS_MAX; i++)
        if (play->loads[i] == version)
            return &play->loads[i];
    return NULL;
}

static void check_resources_are_free(void)
{
    for (const struct model_version *v = model.versions; v != NULL; v = v->next)
        assert_true(v->wanted || v->servable == NULL);
}

static void play_step(struct play *play, unsigned kinds)
{
    int before = count_available();
    bool was_wanted = wanted() != NULL;
    struct model_step next = served_model_begin_step(&model, kinds, now_ns);
    assert_true(next.kind == STEP_NONE || (next.kind & kinds) != 0);
    if (next.kind == STEP_LOAD) {
        assert_null(find_slot(play, next.version)); /* at most one load of a version */
        *find_slot(play, NULL) = next.version;
        served_model_set_tried_files(next.version, files_now);
        assert_true(next.version->wanted);
        if (model.options.resource_preserving)
            check_resources_are_free();
    } else if (next.kind == STEP_FREE) {
        free_servable(next.servable);
        served_model_end_free(&model, next.version);
    } else if (next.kind == STEP_UNLOAD)
        assert_false(next.version->wanted);
    /* A swap never leaves requests without a version. */
    if (before > 0 && was_wanted && !model.options.resource_preserving)
        assert_true(count_available() > 0);
    assert_true(count_available() >= before - 1);
}

static void play_end_load(struct play *play)
{
    struct model_version **slot = &play->loads[draw(play, LOADS_MAX)], *version = *slot;
    if (version == NULL)
        return;
    *slot = NULL;
    if (served_model_should_end_load(&model, version) && draw(play, 4) > 0)
        cancel(version);
    else if (draw(play, 2) == 0)
        fail_load(version);
    else
        succeed(version);
}

static void play_reload(struct play *play)
{
    play->removed = draw(play, 4) == 0;
    play->specific[0] = 1 + (int64_t)draw(play, VERSIONS);
    play->specific[1] = 1 + (int64_t)draw(play, VERSIONS);
    config.policy = (struct version_policy){ .kind = draw(play, 3),
                                             .latest = 1 + (uint32_t)draw(play, 3),
                                             .versions = play->specific,
                                             .versions_count = COUNT(play->specific) };
    served_model_configure(&model, play->removed ? NULL : &config);
    see(play->present);
}

static void play_request(struct play *play)
{
    struct servable **held = &play->held[draw(play, COUNT(play->held))];
    if (*held != NULL) {
        servable_release(*held);
        *held = NULL;
    } else
        *held = acquire((int64_t)draw(play, VERSIONS + 1));
}

static void play_look(struct play *play)
{
    if (draw(play, 3) == 0)
        play->present = (unsigned)draw(play, 1U << VERSIONS) << 1;
    look_at_files(draw(play, 3) == 0 ? files_now + 1 : files_now, play->present);
}

static void play_event(struct play *play)
{
    bool room = find_slot(play, NULL) != NULL;
    switch (draw(play, 8)) {
    case 0:
        play_look(play);
        break;
    case 1:
        play_request(play);
        break;
    case 2:
        now_ns += (int64_t)draw(play, INTERVAL_NS);
        break;
    case 3:
    case 4:
        play_end_load(play);
        break;
    case 5:
        if (draw(play, 4) == 0)
            play_reload(play);
        break;
    default:
        play_step(play, room ? STEP_ANY : STEP_UNLOAD | STEP_FREE);
    }
}

/* Without failures and new versions, only the highest version must serve in the end. */
static void settle(struct play *play)
{
    play->present |= V(1);
    play->removed = false;
    config.policy = (struct version_policy){ .kind = POLICY_LATEST, .latest = 1 };
    served_model_configure(&model, &config);
    for (size_t i = 0; i < COUNT(play->held); i++)
        servable_release(play->held[i]);
    for (int quiet = 0; quiet < 3;) {
        for (size_t i = 0; i < LOADS_MAX; i++)
            if (play->loads[i] != NULL)
                succeed(play->loads[i]);
        memset(play->loads, 0, sizeof play->loads);
        look_at_files(1 << 20, play->present);
        now_ns += INTERVAL_NS;
        int before = changes;
        play_step(play, STEP_ANY);
        check_invariants(play);
        quiet = changes == before ? quiet + 1 : 0;
    }
    assert_non_null(wanted());
    assert_int_equal(latest(), wanted()->number);
    assert_int_equal(servables_alive(), 1);
    assert_int_equal(outcome(), MODEL_SERVES);
}

static void play_in_any_order(void **state, bool resource_preserving)
{
    for (uint64_t seed = 0; seed < 2000; seed++) {
        struct play play = { 0 };
        random_init(&play.random, seed, 0);
        model.options.resource_preserving = resource_preserving;
        files_now = 1;
        for (int i = 0; i < 400; i++) {
            play_event(&play);
            check_invariants(&play);
        }
        settle(&play);
        tear_down(state);
        set_up(state);
    }
}

static void any_order_keeps_the_invariants(void **state)
{
    play_in_any_order(state, false);
}

static void any_order_keeps_the_invariants_if_resources_are_preserved(void **state)
{
    play_in_any_order(state, true);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_highest_version_is_loaded),
        TEST(the_old_version_serves_until_the_new_one_does),
        TEST(a_version_is_freed_after_its_last_request),
        TEST(a_base_path_may_hold_hundreds_of_thousands_of_versions),
        TEST(of_ended_versions_a_thousand_are_remembered),
        TEST(all_versions_are_unloaded_if_none_is_there),
        TEST(the_version_before_serves_again_if_the_newest_is_taken_away),
        TEST(a_version_that_comes_back_while_it_drains_is_loaded_once_it_is_gone),
        TEST(a_version_ends_once_its_memory_is_free),
        TEST(a_version_that_comes_back_spelled_differently_is_loaded_from_there),
        TEST(a_failed_load_is_tried_again_after_the_interval),
        TEST(a_model_has_failed_after_the_last_attempt),
        TEST(a_newer_version_that_fails_leaves_the_older_one),
        TEST(retries_end_if_the_version_is_gone),
        TEST(retries_end_if_a_newer_version_comes),
        TEST(a_failed_version_is_tried_again_if_it_was_gone_in_between),
        TEST(a_failed_version_is_tried_again_once_its_files_have_settled),
        TEST(a_retry_comes_early_if_the_files_have_settled),
        TEST(a_version_that_vanishes_ends_its_load),
        TEST(a_load_that_ends_stays_ended_if_the_version_comes_back),
        TEST(a_version_that_vanishes_and_is_loaded_all_the_same_goes),
        TEST(of_two_versions_that_nobody_wants_the_lower_one_goes),
        TEST(a_newer_version_ends_a_load_but_not_two_in_a_row),
        TEST(a_request_gets_the_version_that_it_names),
        TEST(versions_that_were_wanted_are_listed),
        TEST(any_order_keeps_the_invariants),
        TEST(any_order_keeps_the_invariants_if_resources_are_preserved),
    };
    return cmocka_run_group_tests_name("served_model", tests, NULL, NULL);
}
