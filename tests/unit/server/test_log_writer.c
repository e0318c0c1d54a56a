/* Tests that records arrive in files that can be read, whatever happens to the disk, and that
 * nobody waits for them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "server/inference/log_writer.h"
#include "storage/tfrecord.h"
#include "support/status.h"

#define RECORD_BYTES 100
#define FRAMED_BYTES (RECORD_BYTES + 16)

static char directory[64], prefix[128];
static struct arena *arena;
static struct log_file file;
static struct log_file_limits limits;

static int set_up(void **state)
{
    (void)state;
    log_set_level(LOG_NONE);
    strcpy(directory, "/tmp/slipway-log-XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(prefix, sizeof prefix, "%s/m", directory);
    arena = arena_create(0);
    file = (struct log_file){ .prefix = prefix };
    limits = (struct log_file_limits){ .file_bytes_max = 1 << 20 };
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    log_file_close(&file);
    arena_destroy(arena);
    return file_remove_tree(directory).code;
}

/* A record of RECORD_BYTES that begins with its number. */
static struct bytes framed_record(int number)
{
    static struct buffer out;
    char data[RECORD_BYTES] = { 0 };
    snprintf(data, sizeof data, "%d", number);
    out.size = 0;
    tfrecord_frame((struct bytes){ data, sizeof data }, &out);
    return (struct bytes){ out.data, out.size };
}

static struct status write_record(int number, int64_t now_ns)
{
    return log_file_write(&file, &limits, framed_record(number), now_ns);
}

/* The numbers in all files, in the order of their names: "1 2 | 3". */
static const char *contents(void)
{
    static char text[4096];
    struct file_list names;
    size_t size = 0;
    text[0] = '\0';
    assert_ok(file_list(directory, arena, &names));
    for (size_t i = 0; i < names.count; i++) {
        struct tfrecord_reader *reader;
        struct bytes record;
        bool found = true;
        if (i > 0)
            size += (size_t)snprintf(text + size, sizeof text - size, " |");
        assert_ok(tfrecord_reader_open(file_join(arena, directory, names.names[i]), TFRECORD_PLAIN,
                                       &reader));
        for (;;) {
            assert_ok(tfrecord_reader_next(reader, &record, &found));
            if (!found)
                break;
            assert_int_equal(record.size, RECORD_BYTES);
            size += (size_t)snprintf(text + size, sizeof text - size, " %s", record.data);
        }
        tfrecord_reader_close(reader);
    }
    return text;
}

static void a_full_file_is_followed_by_another(void **state)
{
    (void)state;
    limits.file_bytes_max = 2 * FRAMED_BYTES;
    for (int i = 1; i <= 5; i++)
        assert_ok(write_record(i, 1));
    assert_string_equal(contents(), " 1 2 | 3 4 | 5");
}

static void a_record_larger_than_a_file_has_one_of_its_own(void **state)
{
    (void)state;
    limits.file_bytes_max = 10;
    assert_ok(write_record(1, 1));
    assert_ok(write_record(2, 1));
    assert_string_equal(contents(), " 1 | 2");
}

static void an_old_file_is_followed_by_another(void **state)
{
    (void)state;
    limits.file_ns_max = 10;
    assert_ok(write_record(1, 1));
    assert_ok(write_record(2, 10));
    assert_ok(write_record(3, 11));
    assert_string_equal(contents(), " 1 2 | 3");
    log_file_age(&file, &limits, 20);
    assert_non_null(file.path);
    log_file_age(&file, &limits, 21);
    assert_null(file.path);
}

static void the_oldest_files_go(void **state)
{
    (void)state;
    limits.file_bytes_max = 1;
    limits.files_max = 2;
    for (int i = 1; i <= 5; i++)
        assert_ok(write_record(i, 1));
    assert_string_equal(contents(), " 4 | 5");
}

/* A file from the future: the clock was ahead when a process before this one began it. */
static void the_order_of_names_survives_a_clock_that_is_set_back(void **state)
{
    (void)state;
    limits.file_bytes_max = 1;
    limits.files_max = 2;
    assert_ok(file_write(file_join(arena, directory, "m-29990101-000000-000041.tfrecord"),
                         framed_record(0)));
    assert_ok(write_record(1, 1));
    assert_string_equal(contents(), " 0 | 1");
    assert_ok(write_record(2, 1));
    assert_ok(write_record(3, 1));
    assert_string_equal(contents(), " 2 | 3");
}

/* Those of a log whose prefix begins with ours, and those that are no logs. */
static void the_files_of_others_stay(void **state)
{
    (void)state;
    static const char *const others[] = { "m-00001-of-00002.tfrecord", "m-20200101.tfrecord",
                                          "m-20200101-000000-000001.tfrecord.gz",
                                          "m-x-20200101-000000-000001.tfrecord",
                                          "mx-20200101-000000-000001.tfrecord" };
    limits.file_bytes_max = limits.files_max = 1;
    for (size_t i = 0; i < COUNT(others); i++)
        assert_ok(file_write(file_join(arena, directory, others[i]), framed_record(0)));
    assert_ok(write_record(1, 1));
    assert_ok(write_record(2, 1));
    assert_string_equal(contents(), " 0 | 0 | 0 | 2 | 0 | 0");
}

/* The limit on the size of files stands for a full disk. */
static void a_full_disk_leaves_no_half_record(void **state)
{
    (void)state;
    struct rlimit before, small;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 2 * FRAMED_BYTES + 10;
    setrlimit(RLIMIT_FSIZE, &small);
    assert_ok(write_record(1, 1));
    assert_ok(write_record(2, 1));
    assert_int_not_equal(write_record(3, 1).code, STATUS_OK);
    assert_int_equal(write_record(4, 2).code, STATUS_UNAVAILABLE); /* the disk is not asked */
    setrlimit(RLIMIT_FSIZE, &before);
    assert_string_equal(contents(), " 1 2");
    assert_ok(write_record(5, 2 * NS_PER_S));
    assert_string_equal(contents(), " 1 2 5");
}

static void a_missing_directory_is_found_when_it_is_there(void **state)
{
    (void)state;
    snprintf(prefix, sizeof prefix, "%s/later/m", directory);
    assert_int_equal(write_record(1, 1).code, STATUS_NOT_FOUND);
    snprintf(prefix, sizeof prefix, "%s/later", directory);
    assert_int_equal(mkdir(prefix, 0755), 0);
    snprintf(prefix, sizeof prefix, "%s/later/m", directory);
    assert_ok(write_record(2, 2 * NS_PER_S));
}

/* ---- the thread ---- */

static struct budget budget;

static struct log_writer *start(size_t waiting_bytes_max)
{
    struct log_writer *writer;
    budget = (struct budget){ .limit_bytes = 1 << 20 };
    struct log_writer_options options = { .files = limits,
                                          .waiting_bytes_max = waiting_bytes_max,
                                          .budget = &budget };
    assert_ok(log_writer_create(&options, &writer));
    return writer;
}

static void add(struct log_writer *writer, uint64_t id, int number)
{
    struct log_entry *entry = log_writer_reserve(writer, id, RECORD_BYTES);
    assert_non_null(entry);
    memset(log_entry_data(entry), 0, RECORD_BYTES);
    snprintf(log_entry_data(entry), RECORD_BYTES, "%d", number);
    log_entry_submit(entry);
}

static void what_was_added_is_written_in_order(void **state)
{
    enum { COUNT_OF_RECORDS = 200 };
    uint64_t id, same;
    char expected[2048];
    size_t size = 0;
    (void)state;
    struct log_writer *writer = start(1 << 20);
    assert_ok(log_writer_open(writer, prefix, &id));
    assert_ok(log_writer_open(writer, prefix, &same));
    assert_int_equal(id, same);
    for (int i = 0; i < COUNT_OF_RECORDS; i++) {
        add(writer, id, i);
        size += (size_t)snprintf(expected + size, sizeof expected - size, " %d", i);
    }
    while (log_writer_counts(writer, id).written < COUNT_OF_RECORDS)
        sched_yield();
    assert_int_equal(log_writer_counts(writer, id).dropped, 0);
    log_writer_destroy(writer);
    assert_int_equal(budget.used_bytes, 0);
    assert_string_equal(contents(), expected);
}

static void what_waits_is_written_at_the_end(void **state)
{
    uint64_t id;
    (void)state;
    struct log_writer *writer = start(1 << 20);
    assert_ok(log_writer_open(writer, prefix, &id));
    add(writer, id, 1);
    log_writer_destroy(writer);
    assert_string_equal(contents(), " 1");
}

static void too_much_that_waits_is_dropped(void **state)
{
    uint64_t id;
    (void)state;
    struct log_writer *writer = start(2000);
    assert_ok(log_writer_open(writer, prefix, &id));
    struct log_entry *held = log_writer_reserve(writer, id, 1000);
    assert_non_null(held);
    assert_null(log_writer_reserve(writer, id, 1000));
    assert_null(log_writer_reserve(writer, id, SIZE_MAX - 5));
    log_entry_drop(held);
    assert_int_equal(log_writer_counts(writer, id).dropped, 2);
    held = log_writer_reserve(writer, id, 1000);
    assert_non_null(held);
    log_entry_drop(held);
    budget.limit_bytes = 500;
    assert_null(log_writer_reserve(writer, id, 1000));
    log_writer_destroy(writer);
    assert_int_equal(budget.used_bytes, 0);
}

static void records_for_a_missing_directory_are_counted(void **state)
{
    uint64_t id;
    (void)state;
    snprintf(prefix, sizeof prefix, "%s/none/m", directory);
    struct log_writer *writer = start(1 << 20);
    assert_ok(log_writer_open(writer, prefix, &id));
    for (int i = 0; i < 10; i++)
        add(writer, id, i);
    while (log_writer_counts(writer, id).dropped < 10)
        sched_yield();
    log_writer_destroy(writer);
    assert_int_equal(budget.used_bytes, 0);
}

static void open_all(struct log_writer *writer, uint64_t *ids)
{
    for (int i = 0; i < 1024; i++) {
        char name[32];
        snprintf(name, sizeof name, "/%d", i);
        assert_ok(log_writer_open(writer, name, &ids[i]));
    }
}

static void the_number_of_open_logs_has_a_limit(void **state)
{
    uint64_t ids[1024], id;
    (void)state;
    struct log_writer *writer = start(1 << 20);
    open_all(writer, ids);
    struct status status = log_writer_open(writer, prefix, &id);
    assert_int_equal(status.code, STATUS_RESOURCE_EXHAUSTED);
    assert_ok(log_writer_open(writer, "/7", &id));
    assert_int_equal(id, ids[7]);
    log_writer_destroy(writer);
}

/* In place of another log, which the writer's thread may look at just now. */
static uint64_t open_in_place(struct log_writer *writer, const char *name)
{
    uint64_t id;
    while (!status_is_ok(log_writer_open(writer, name, &id)))
        sched_yield();
    return id;
}

/* As after many reloads of a configuration. */
static void a_closed_log_gives_its_place_to_another(void **state)
{
    uint64_t ids[1024], id;
    (void)state;
    struct log_writer *writer = start(1 << 20);
    open_all(writer, ids);
    log_writer_close(writer, ids[3]);
    assert_int_equal(log_writer_find(writer, "/3"), ids[3]); /* while there is room */
    log_writer_close(writer, ids[3]);
    id = open_in_place(writer, prefix);
    assert_int_equal(log_writer_find(writer, "/3"), 0);
    assert_null(log_writer_reserve(writer, ids[3], RECORD_BYTES)); /* and not a record for `id` */
    add(writer, id, 1);
    log_writer_destroy(writer);
    assert_int_equal(budget.used_bytes, 0);
    assert_string_equal(contents(), " 1");
}

static void a_closed_log_stays_while_a_record_waits(void **state)
{
    uint64_t ids[1024], id;
    (void)state;
    struct log_writer *writer = start(1 << 20);
    open_all(writer, ids);
    struct log_entry *held = log_writer_reserve(writer, ids[0], RECORD_BYTES);
    log_writer_close(writer, ids[0]);
    assert_int_equal(log_writer_open(writer, prefix, &id).code, STATUS_RESOURCE_EXHAUSTED);
    log_entry_drop(held);
    id = open_in_place(writer, prefix);
    assert_int_not_equal(id, ids[0]);
    log_writer_destroy(writer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_full_file_is_followed_by_another),
        TEST(a_record_larger_than_a_file_has_one_of_its_own),
        TEST(an_old_file_is_followed_by_another),
        TEST(the_oldest_files_go),
        TEST(the_order_of_names_survives_a_clock_that_is_set_back),
        TEST(the_files_of_others_stay),
        TEST(a_full_disk_leaves_no_half_record),
        TEST(a_missing_directory_is_found_when_it_is_there),
        TEST(what_was_added_is_written_in_order),
        TEST(what_waits_is_written_at_the_end),
        TEST(too_much_that_waits_is_dropped),
        TEST(records_for_a_missing_directory_are_counted),
        TEST(the_number_of_open_logs_has_a_limit),
        TEST(a_closed_log_gives_its_place_to_another),
        TEST(a_closed_log_stays_while_a_record_waits),
    };
    return cmocka_run_group_tests_name("log_writer", tests, NULL, NULL);
}
