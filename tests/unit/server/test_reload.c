/* The manager's configurations: models that come, go and move, labels, and who waits for them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "fake_models.h"
#include "server/metrics/metrics.h"

static char config_path[64];

/* Reads a config of models. Each is "NAME PATH", then what else the model's message has. */
static struct model_configs *read_models(const char *const *models, size_t count)
{
    struct buffer text = { 0 };
    struct model_configs *configs;
    buffer_append_text(&text, "model_config_list {\n");
    for (size_t i = 0; i < count; i++)
        buffer_printf(&text,
                      "config { name: '%.1s' base_path: '%.2s' model_platform: 'tensorflow' %s }\n",
                      models[i], models[i] + 2, models[i] + 4);
    buffer_append_text(&text, "}\n");
    assert_ok(file_write(config_path, (struct bytes){ text.data, text.size }));
    assert_ok(model_configs_read_file(config_path, &configs));
    buffer_finish(&text);
    return configs;
}

#define MODELS(...)                                   \
    read_models((const char *const[]){ __VA_ARGS__ }, \
                sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

static void hold(const char *path, unsigned versions)
{
    atomic_store(&at(path)->present, versions);
}

static int reloads;
static enum status_code reload_code;
static char reload_text[256];

static void on_reloaded(void *context, struct status status)
{
    assert_ptr_equal(context, &reloads);
    reloads++;
    reload_code = status.code;
    snprintf(reload_text, sizeof reload_text, "%s", status.message);
}

static struct status reload(struct model_configs *configs)
{
    reloads = 0;
    return manager_reload(manager, configs, options.loop, on_reloaded, &reloads);
}

/* Waits until the manager has done what is due, and the loop what was posted. */
static void rest(void)
{
    wait_until_it_sleeps();
    take_turn();
    wait_until_it_sleeps(); /* what was posted may have woken it */
}

static void start_models(struct model_configs *configs)
{
    assert_ok(manager_start(&options, configs, &manager));
}

/* ---- the set of models ---- */

static void the_start_waits_for_each_model(void **state)
{
    (void)state;
    hold("/m", V(1));
    start_models(MODELS("m /m ", "n /n "));
    rest();
    assert_int_equal(latest_of("m"), 1);
    assert_int_equal(starts, 0);
    hold("/n", V(4));
    wake();
    rest();
    assert_int_equal(starts, 1);
    assert_int_equal(start_code, STATUS_OK);
    assert_int_equal(latest_of("n"), 4);
}

static void a_failed_model_fails_the_start_once_the_others_are_settled(void **state)
{
    (void)state;
    options.load_retries_max = 0;
    atomic_store(&at("/m")->damaged, V(1));
    hold("/m", V(1));
    start_models(MODELS("m /m ", "n /n "));
    rest();
    assert_int_equal(starts, 0);
    hold("/n", V(1));
    wake();
    rest();
    assert_int_equal(starts, 1);
    assert_int_equal(start_code, STATUS_UNKNOWN);
    assert_string_equal(start_text, "1 servable(s) did not become available: {{{name: m version: "
                                    "1} due to error: DATA_LOSS: it is damaged}, }");
    assert_int_equal(latest_of("n"), 1);
}

static void it_can_start_without_models_that_fail_or_are_not_there(void **state)
{
    (void)state;
    options.load_retries_max = 0;
    options.keep_going = true;
    atomic_store(&at("/m")->damaged, V(1));
    hold("/m", V(1));
    hold("/o", V(2));
    start_models(MODELS("m /m ", "n /n ", "o /o "));
    rest();
    assert_int_equal(starts, 1);
    assert_int_equal(start_code, STATUS_OK);
    assert_int_equal(latest_of("o"), 2);
    hold("/n", V(1));
    wake();
    assert_int_equal(latest_of("n"), 1);
}

static void models_come_and_go(void **state)
{
    (void)state;
    hold("/m", V(1));
    hold("/n", V(2));
    hold("/o", V(3));
    start_models(MODELS("m /m ", "n /n "));
    rest();
    struct servable *held = find_in("m", 0);
    assert_ok(reload(MODELS("n /n ", "o /o ")));
    assert_int_equal(reloads, 0);
    rest();
    assert_int_equal(reloads, 1);
    assert_int_equal(reload_code, STATUS_OK);
    assert_int_equal(latest_of("m"), 0);
    assert_int_equal(latest_of("n"), 2);
    assert_int_equal(latest_of("o"), 3);
    assert_string_equal(states_of("m"), "1 UNLOADING");
    servable_release(held);
    wake();
    assert_string_equal(states_of("m"), "1 END"); /* and still known */
    assert_ok(reload(MODELS("m /m ", "n /n ")));
    rest();
    assert_int_equal(reloads, 1);
    assert_string_equal(states_of("m"), "1 AVAILABLE");
    assert_int_equal(latest_of("o"), 0);
}

static void a_model_that_comes_back_while_it_drains_is_loaded_again(void **state)
{
    (void)state;
    options.poll_wait_seconds = 0;
    hold("/m", V(1));
    hold("/n", V(1));
    start_models(MODELS("m /m "));
    rest();
    struct servable *held = find(0);
    assert_ok(reload(MODELS("n /n ")));
    rest();
    assert_string_equal(states(), "1 UNLOADING");
    assert_ok(reload(MODELS("m /m ")));
    wait_until_it_sleeps();
    servable_release(held);
    wake();
    rest();
    assert_string_equal(states(), "1 AVAILABLE");
    assert_int_equal(reloads, 1);
}

static void a_model_moves_without_a_gap(void **state)
{
    (void)state;
    hold("/m", V(1));
    hold("/n", V(2) | V(3));
    start_models(MODELS("m /m "));
    rest();
    assert_ok(reload(MODELS("m /n ")));
    rest();
    assert_int_equal(reloads, 1); /* nothing new to wait for */
    wake();
    assert_string_equal(states(), "3 AVAILABLE, 1 END");
}

static void the_same_configuration_changes_nothing(void **state)
{
    (void)state;
    hold("/m", V(1));
    start_models(MODELS("m /m "));
    rest();
    int before = atomic_load(&scans);
    assert_ok(reload(MODELS("m /m ")));
    rest();
    assert_int_equal(atomic_load(&scans), before);
    assert_int_equal(reloads, 1);
    assert_int_equal(atomic_load(&servables_made), 1);
}

/* As a client asks for it. */
static struct status set_unloaded(const char *name, bool unloaded)
{
    reloads = 0;
    return manager_set_unloaded(manager, bytes_of(name), unloaded, options.loop, on_reloaded,
                                &reloads);
}

static void an_unloaded_model_stays_unloaded_until_it_is_loaded(void **state)
{
    (void)state;
    options.poll_wait_seconds = 1;
    hold("/m", V(1));
    start_models(MODELS("m /m "));
    rest();
    struct servable *held = find(0);
    assert_ok(set_unloaded("m", true));
    rest();
    assert_int_equal(reloads, 1); /* no new request gets it */
    assert_string_equal(states(), "1 UNLOADING");
    servable_release(held);
    wake();
    assert_string_equal(states(), "1 END");
    hold("/m", V(1) | V(2));
    for (int i = 1; i < 4; i++) { /* it is polled, and its configuration comes again */
        set_now(i * 2 * NS_PER_S);
        wake();
        assert_ok(reload(MODELS("m /m ")));
        rest();
        assert_int_equal(reloads, 1);
    }
    assert_string_equal(states(), "1 END");
    assert_ok(set_unloaded("m", false));
    rest();
    assert_int_equal(reloads, 1);
    assert_int_equal(reload_code, STATUS_OK);
    assert_string_equal(states(), "2 AVAILABLE");
    assert_fails(set_unloaded("x", false), STATUS_NOT_FOUND, "model 'x' is not configured");
    assert_fails(set_unloaded("x", true), STATUS_NOT_FOUND, "model 'x' is not configured");
}

static void loading_a_model_without_versions_fails(void **state)
{
    (void)state;
    hold("/m", V(1));
    start_models(MODELS("m /m "));
    rest();
    assert_ok(set_unloaded("m", true));
    rest();
    hold("/m", 0);
    assert_ok(set_unloaded("m", false));
    rest();
    assert_int_equal(reloads, 1);
    assert_int_equal(reload_code, STATUS_UNKNOWN);
    assert_non_null(strstr(reload_text, "{name: m} has no version in its base path"));
}

static void a_reload_that_waits_ends_when_its_model_is_unloaded(void **state)
{
    (void)state;
    hold("/m", V(1));
    start_models(MODELS("m /m "));
    rest();
    assert_ok(reload(MODELS("m /m ", "n /n ")));
    rest();
    assert_int_equal(reloads, 0);
    assert_ok(set_unloaded("n", true));
    rest();
    assert_int_equal(reloads, 2); /* the reload and the unload */
}

static void a_reload_tells_that_a_new_model_failed(void **state)
{
    (void)state;
    options.load_retries_max = 0;
    hold("/m", V(1));
    hold("/n", V(1));
    atomic_store(&at("/n")->damaged, V(1));
    start_models(MODELS("m /m "));
    rest();
    assert_ok(reload(MODELS("m /m ", "n /n ")));
    rest();
    assert_int_equal(reload_code, STATUS_UNKNOWN);
    assert_string_equal(reload_text, "1 model(s) did not become available: {{{name: n version: 1} "
                                     "due to error: DATA_LOSS: it is damaged}, }");
    assert_int_equal(latest(), 1);
}

static void a_caller_may_wait_later_or_not_at_all(void **state)
{
    struct models_waiter *waiter;
    (void)state;
    reloads = 0;
    hold("/m", V(1));
    start_models(MODELS("m /m "));
    rest();
    assert_ok(manager_replace(manager, MODELS("m /m ", "n /n "), &waiter));
    hold("/n", V(2));
    wake();
    rest();
    assert_int_equal(latest_of("n"), 2);
    assert_int_equal(reloads, 0);
    manager_wait(waiter, options.loop, on_reloaded, &reloads);
    rest();
    assert_int_equal(reloads, 1);
    assert_int_equal(reload_code, STATUS_OK);
    assert_ok(manager_replace(manager, MODELS("m /m ", "o /o "), &waiter));
    rest();
    manager_forget_waiter(waiter);
    assert_ok(reload(MODELS("m /m "))); /* forgets o, for which nobody waits */
    rest();
    assert_false(manager_knows(manager, bytes_of("o")));
    assert_int_equal(reloads, 1);
}

static void a_reload_that_is_refused_changes_nothing(void **state)
{
    (void)state;
    hold("/m", V(1));
    start_models(MODELS("m /m "));
    rest();
    struct model_configs *custom = model_configs_single("x", "/x");
    custom->kind = CONFIGS_CUSTOM;
    assert_fails(reload(custom), STATUS_FAILED_PRECONDITION,
                 "Cannot transition to requested config. It is only legal to transition from one "
                 "ModelConfigList to another.");
    struct model_configs *other = MODELS("m /n ", "n /n ");
    other->items[0].platform = "other";
    assert_fails(reload(other), STATUS_INVALID_ARGUMENT,
                 "Illegal to change a model's platform. For model m platform was tensorflow and "
                 "new platform requested is other");
    struct model_configs *both = MODELS("n /n version_labels { key: 'stable' value: 1 }", "m /n ");
    both->items[1].platform = "other";
    assert_fails(reload(both), STATUS_INVALID_ARGUMENT,
                 "Illegal to change a model's platform. For model m platform was tensorflow and "
                 "new platform requested is other");
    struct model_configs *unknown = MODELS("m /n ", "n /n ");
    unknown->items[1].platform = "other";
    assert_fails(reload(unknown), STATUS_INVALID_ARGUMENT,
                 "Model n requests unsupported platform other");
    struct model_configs *nothing = model_configs_single("x", "/x");
    nothing->kind = CONFIGS_NONE;
    assert_ok(reload(nothing));
    wake();
    assert_string_equal(states(), "1 AVAILABLE");
    assert_string_equal(states_of("n"), "");
}

static void loads_and_the_reloads_that_wait_for_them_can_be_ended(void **state)
{
    (void)state;
    options.load_retries_max = 0;
    hold("/m", V(1));
    start_models(MODELS("m /m "));
    rest();
    assert_ok(reload(MODELS("m /m ", "n /n ")));
    rest();
    assert_int_equal(reloads, 0);
    atomic_store(&endless, V(2));
    hold("/m", V(1) | V(2));
    set_now(wait_until_it_sleeps());
    wait_until_it_loads(2);
    manager_end_loads(manager);
    rest();
    assert_int_equal(reloads, 1);
    assert_int_equal(reload_code, STATUS_UNAVAILABLE);
    assert_string_equal(reload_text, "the server is going down");
    assert_string_equal(states(), "2 END, 1 AVAILABLE");
    put(V(1) | V(2) | V(3));
    assert_string_equal(states(), "3 START, 2 END, 1 AVAILABLE");
    assert_int_equal(latest(), 1);
}

/* ---- models that were removed ---- */

static struct budget budget;

/* The model's name is its number, and then x for 64 KiB. */
static const char *long_name(int number)
{
    static char name[64 << 10];
    memset(name, 'x', sizeof name - 1);
    name[snprintf(name, sizeof name, "%d", number)] = 'x';
    return name;
}

static void removed_models_are_forgotten_before_they_fill_the_memory(void **state)
{
    enum { MODELS_COUNT = 40 };
    (void)state;
    hold("/m", V(1));
    budget = (struct budget){ .limit_bytes = 1 << 30 };
    options.budget = &budget;
    start_models(model_configs_single(long_name(0), "/m"));
    rest();
    for (int i = 1; i <= MODELS_COUNT; i++) {
        assert_ok(reload(model_configs_single(long_name(i), "/m")));
        rest();
        assert_int_equal(latest_of(long_name(i)), 1);
        assert_string_equal(states_of(long_name(i - 1)), "1 END");
    }
    assert_string_equal(states_of(long_name(0)), "");
    assert_true(budget.used_bytes < 20 * 64 << 10);
    manager_stop(manager);
    manager = NULL;
    assert_int_equal(budget.used_bytes, 0);
}

static void a_removed_model_that_never_had_a_version_is_forgotten(void **state)
{
    (void)state;
    budget = (struct budget){ .limit_bytes = 1 << 30 };
    options.budget = &budget;
    start_models(MODELS("m /m "));
    rest();
    uint64_t before = budget.used_bytes;
    for (int i = 0; i < 3; i++) {
        assert_ok(reload(MODELS("m /m ", "n /n ")));
        rest();
        assert_ok(reload(MODELS("m /m ")));
        rest();
    }
    assert_ok(reload(MODELS("m /m ")));
    assert_int_equal(budget.used_bytes, before);
}

static void the_states_of_versions_are_paid_for(void **state)
{
    (void)state;
    budget = (struct budget){ .limit_bytes = 1 << 30 };
    options.budget = &budget;
    hold("/m", V(1));
    start_models(MODELS("m /m "));
    rest();
    int64_t one = budget.used_bytes;
    hold("/m", V(1) | V(2) | V(3));
    wake();
    assert_int_equal(budget.used_bytes,
                     one + 2 * (int64_t)(sizeof(struct model_version) + sizeof "/m/1"));
    manager_stop(manager);
    manager = NULL;
    assert_int_equal(budget.used_bytes, 0);
}

static void a_reload_that_exceeds_the_budget_changes_nothing(void **state)
{
    (void)state;
    hold("/m", V(1));
    budget = (struct budget){ .limit_bytes = 64 << 10 };
    options.budget = &budget;
    start_models(MODELS("m /m "));
    rest();
    uint64_t before = budget.used_bytes;
    assert_int_equal(reload(model_configs_single(long_name(0), "/m")).code,
                     STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(budget.used_bytes, before);
    assert_int_equal(latest(), 1);
}

/* ---- policies ---- */

static void a_policy_changes_while_versions_serve(void **state)
{
    (void)state;
    hold("/m", V(1) | V(2) | V(3) | V(4));
    start_models(MODELS("m /m model_version_policy { latest { num_versions: 2 } }"));
    rest();
    assert_string_equal(states(), "4 AVAILABLE, 3 AVAILABLE");
    assert_ok(reload(MODELS("m /m model_version_policy { all {} }")));
    rest();
    assert_string_equal(states(), "4 AVAILABLE, 3 AVAILABLE, 2 AVAILABLE, 1 AVAILABLE");
    assert_ok(reload(MODELS("m /m model_version_policy { specific { versions: [2, 7] } }")));
    wake();
    assert_string_equal(states(), "4 END, 3 END, 2 AVAILABLE, 1 END");
    assert_ok(reload(MODELS("m /m model_version_policy { specific {} }")));
    wake();
    assert_string_equal(states(), "4 END, 3 END, 2 AVAILABLE, 1 END");
    assert_ok(reload(MODELS("m /m ")));
    wake();
    assert_string_equal(states(), "4 AVAILABLE, 3 END, 2 END, 1 END");
}

static void resources_are_freed_before_the_new_version_is_loaded(void **state)
{
    (void)state;
    options.resource_preserving = true;
    start(V(1));
    wait_until_it_sleeps();
    struct servable *held = find(1);
    put(V(2));
    assert_string_equal(states(), "2 START, 1 UNLOADING");
    wake();
    assert_string_equal(states(), "2 START, 1 UNLOADING");
    servable_release(held);
    wake();
    assert_string_equal(states(), "2 AVAILABLE, 1 END");
}

/* ---- labels ---- */

static struct status find_label(const char *name, const char *label, int64_t *version)
{
    struct version_choice choice = { .kind = VERSION_LABELLED, .label = bytes_of(label) };
    struct servable *servable = NULL;
    struct status status = manager_find(manager, bytes_of(name), &choice, &servable);
    *version = servable != NULL ? servable->version : 0;
    servable_release(servable);
    return status;
}

#define ALL          "model_version_policy { all {} } "
#define STABLE(text) "version_labels { key: 'stable' value: " text " }"
#define CANARY(text) "version_labels { key: 'canary' value: " text " }"

static void a_label_stands_for_an_available_version(void **state)
{
    int64_t version;
    (void)state;
    hold("/m", V(1) | V(2));
    start_models(MODELS("m /m " ALL));
    rest();
    assert_ok(reload(MODELS("m /m " ALL STABLE("1") CANARY("2"))));
    assert_ok(find_label("m", "stable", &version));
    assert_int_equal(version, 1);
    assert_ok(find_label("m", "canary", &version));
    assert_int_equal(version, 2);
    assert_fails(find_label("m", "other", &version), STATUS_INVALID_ARGUMENT,
                 "Unrecognized servable version label: other");
    assert_fails(find_label("n", "stable", &version), STATUS_INVALID_ARGUMENT,
                 "Unrecognized servable version label: stable");
    assert_fails(reload(MODELS("m /m " ALL STABLE("3"))), STATUS_FAILED_PRECONDITION,
                 "Request to assign label to version 3 of model m, which is not currently "
                 "available for inference");
    assert_ok(find_label("m", "stable", &version));
    assert_int_equal(version, 1);
    put(V(2)); /* the label stays, and its version does not */
    assert_fails(find_label("m", "stable", &version), STATUS_NOT_FOUND,
                 "Servable not found for request: Specific(m, 1)");
    assert_ok(reload(MODELS("m /m ")));
    assert_int_equal(find_label("m", "canary", &version).code, STATUS_INVALID_ARGUMENT);
}

static void labels_at_the_start_need_the_flag(void **state)
{
    (void)state;
    hold("/m", V(1));
    assert_fails(manager_start(&options, MODELS("m /m " STABLE("1")), &manager),
                 STATUS_FAILED_PRECONDITION,
                 "Request to assign label to version 1 of model m, which is not currently "
                 "available for inference");
}

static void a_new_label_may_come_in_advance_but_not_move(void **state)
{
    int64_t version;
    (void)state;
    options.labels_in_advance = true;
    hold("/m", V(1));
    start_models(MODELS("m /m " ALL STABLE("1") CANARY("2")));
    rest();
    assert_ok(find_label("m", "stable", &version));
    assert_fails(find_label("m", "canary", &version), STATUS_NOT_FOUND,
                 "Servable not found for request: Specific(m, 2)");
    assert_int_equal(reload(MODELS("m /m " ALL STABLE("2") CANARY("2"))).code,
                     STATUS_FAILED_PRECONDITION);
    put(V(1) | V(2));
    assert_ok(reload(MODELS("m /m " ALL STABLE("2") CANARY("2"))));
    assert_ok(find_label("m", "stable", &version));
    assert_int_equal(version, 2);
}

/* ---- memory ---- */

static void a_version_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    options.load_retries_max = 0;
    options.memory_bytes = (uint64_t)64 << 30;
    start(V(1));
    wait_until_it_sleeps();
    atomic_store(&at("/m")->bytes, (uint64_t)65 << 30);
    put(V(1) | V(2));
    assert_string_equal(states(), "2 END, 1 AVAILABLE");
    assert_int_equal(latest(), 1);
}

/* ---- the config file ---- */

static void the_config_file_is_read_again(void **state)
{
    (void)state;
    hold("/m", V(1));
    hold("/n", V(1));
    options.config_file = config_path;
    options.config_poll_wait_seconds = 1;
    start_models(MODELS("m /m "));
    rest();
    wait_until_it_sleeps();
    model_configs_destroy(MODELS("n /n ")); /* writes the file */
    wake();
    wake();
    assert_int_equal(latest_of("m"), 0);
    assert_int_equal(latest_of("n"), 1);
    assert_ok(file_write(config_path, bytes_of("model_config_list { config { nam: 'm' } }")));
    wake();
    wake();
    assert_int_equal(latest_of("n"), 1);
    unlink(config_path);
    wake();
    assert_int_equal(latest_of("n"), 1);
}

static uint64_t reloads_of_file(const char *status)
{
    return metric_value(
        metric_series(METRIC_CONFIG_RELOADS, METRIC_LABELS(bytes_of("file"), bytes_of(status))));
}

static void an_unchanged_config_file_is_no_reload(void **state)
{
    (void)state;
    hold("/m", V(1));
    hold("/n", V(1));
    options.config_file = config_path;
    options.config_poll_wait_seconds = 1;
    start_models(MODELS("m /m "));
    rest();
    uint64_t before = reloads_of_file("OK");
    wake();
    wake();
    assert_int_equal(reloads_of_file("OK"), before);
    model_configs_destroy(MODELS("n /n ")); /* writes the file */
    wake();
    wake();
    assert_int_equal(reloads_of_file("OK"), before + 1);
    struct model_configs *other = model_configs_single("m", "/m");
    assert_ok(reload(other));
    rest();
    assert_int_equal(latest_of("m"), 1);
    wake();
    assert_int_equal(latest_of("n"), 1);
    assert_int_equal(reloads_of_file("OK"), before + 2);
}

static void write_wrong(const char *text)
{
    assert_ok(file_write(config_path, bytes_of(text)));
}

/* It is polled five times. */
static void assert_refused(uint64_t count)
{
    bool accepted = true;
    for (int i = 0; i < 5; i++)
        wake();
    assert_true(manager_polls_config_file(manager, &accepted));
    assert_false(accepted);
    assert_int_equal(reloads_of_file("INVALID_ARGUMENT"), count);
}

static void a_file_that_stays_wrong_counts_once(void **state)
{
    bool accepted = false;
    (void)state;
    hold("/m", V(1));
    options.config_file = config_path;
    options.config_poll_wait_seconds = 1;
    start_models(MODELS("m /m "));
    rest();
    uint64_t before = reloads_of_file("INVALID_ARGUMENT");
    write_wrong("model_config_list { config { nam: 'm' } }");
    assert_refused(before + 1);
    write_wrong("model_config_list { config { nome: 'm' } }");
    assert_refused(before + 2);
    model_configs_destroy(MODELS("m /m ")); /* as before, which is no reload */
    wake();
    wake();
    assert_true(manager_polls_config_file(manager, &accepted));
    assert_true(accepted);
    write_wrong("model_config_list { config { nome: 'm' } }");
    assert_refused(before + 3);
}

/* A slow disk: when the first base path is read, the file changes and is due again. */
static void change_the_file(const char *base_path)
{
    if (strcmp(base_path, "/m") != 0)
        return;
    atomic_store(&during_scan, NULL);
    model_configs_destroy(MODELS("m /m "));
    atomic_fetch_add(&now_ns, NS_PER_S);
}

static void the_config_file_is_read_between_two_base_paths(void **state)
{
    (void)state;
    hold("/m", V(1));
    hold("/n", V(1));
    options.config_file = config_path;
    options.config_poll_wait_seconds = 1;
    start_models(MODELS("m /m ", "n /n "));
    rest();
    wait_until_it_sleeps();
    int before = atomic_load(&at("/n")->scans);
    atomic_store(&during_scan, change_the_file);
    wake();
    assert_int_equal(atomic_load(&at("/n")->scans), before);
    assert_int_equal(latest_of("n"), 0);
}

/* ---- threads that load and free ---- */

#define CHANGES 60

static void wait_for_latest(const char *name, int64_t version)
{
    while (latest_of(name) != version) {
        sched_yield();
        set_now(atomic_load(&now_ns) + POLL_NS);
        take_turn();
    }
}

static _Atomic bool asking;

static void *ask(void *context)
{
    (void)context;
    while (atomic_load(&asking)) {
        struct servable *servable = find_in("m", 0);
        assert_non_null(servable); /* it is in all configurations, and always has versions */
        sched_yield();
        servable_release(servable);
    }
    return NULL;
}

static void threads_load_and_free_while_configurations_change(void **state)
{
    pthread_t asker;
    (void)state;
    options.load_threads = 2;
    options.unload_threads = 2;
    options.start_threads = 2;
    hold("/m", V(1));
    hold("/n", V(1) | V(2));
    hold("/o", V(5));
    start_models(MODELS("m /m ", "n /n " ALL));
    wait_for_latest("m", 1);
    wait_for_latest("n", 2);
    atomic_store(&asking, true);
    assert_int_equal(pthread_create(&asker, NULL, ask, NULL), 0);
    for (int i = 0; i < CHANGES; i++) {
        hold("/m", V(1 + i % 3));
        hold("/n", V(1 + i % 5) | V(6));
        assert_ok(reload(i % 2 == 0 ? MODELS("m /m ", "o /o ") : MODELS("m /m ", "n /n " ALL)));
        wait_for_latest(i % 2 == 0 ? "o" : "n", i % 2 == 0 ? 5 : 6);
        take_turn();
    }
    wait_for_latest("m", 1 + (CHANGES - 1) % 3);
    atomic_store(&asking, false);
    pthread_join(asker, NULL);
}

static int set_up_path(void **state)
{
    snprintf(config_path, sizeof config_path, "/tmp/slipway-reload-%d", (int)getpid());
    return set_up(state);
}

static int tear_down_path(void **state)
{
    unlink(config_path);
    return tear_down(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_path, tear_down_path)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_start_waits_for_each_model),
        TEST(a_failed_model_fails_the_start_once_the_others_are_settled),
        TEST(it_can_start_without_models_that_fail_or_are_not_there),
        TEST(models_come_and_go),
        TEST(a_model_that_comes_back_while_it_drains_is_loaded_again),
        TEST(a_model_moves_without_a_gap),
        TEST(the_same_configuration_changes_nothing),
        TEST(an_unloaded_model_stays_unloaded_until_it_is_loaded),
        TEST(loading_a_model_without_versions_fails),
        TEST(a_reload_that_waits_ends_when_its_model_is_unloaded),
        TEST(a_reload_tells_that_a_new_model_failed),
        TEST(a_caller_may_wait_later_or_not_at_all),
        TEST(a_reload_that_is_refused_changes_nothing),
        TEST(loads_and_the_reloads_that_wait_for_them_can_be_ended),
        TEST(removed_models_are_forgotten_before_they_fill_the_memory),
        TEST(a_removed_model_that_never_had_a_version_is_forgotten),
        TEST(the_states_of_versions_are_paid_for),
        TEST(a_reload_that_exceeds_the_budget_changes_nothing),
        TEST(a_policy_changes_while_versions_serve),
        TEST(resources_are_freed_before_the_new_version_is_loaded),
        TEST(a_label_stands_for_an_available_version),
        TEST(labels_at_the_start_need_the_flag),
        TEST(a_new_label_may_come_in_advance_but_not_move),
        TEST(a_version_that_does_not_fit_is_refused),
        TEST(the_config_file_is_read_again),
        TEST(an_unchanged_config_file_is_no_reload),
        TEST(a_file_that_stays_wrong_counts_once),
        TEST(the_config_file_is_read_between_two_base_paths),
        TEST(threads_load_and_free_while_configurations_change),
    };
    return cmocka_run_group_tests_name("reload", tests, NULL, NULL);
}
