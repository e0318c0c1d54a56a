#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/event.pb-c.h"
#include "proto/message.h"
#include "storage/event_file.h"
#include "storage/tfrecord.h"
#include "support/directory.h"

/* The path of the only file in a directory. */
static const char *only_file(const char *where)
{
    struct file_list list;

    assert_ok(file_list(where, arena, &list));
    assert_int_equal(list.count, 1);
    return file_join(arena, where, list.names[0]);
}

static Tensorflow__Event *next(struct tfrecord_reader *reader)
{
    Tensorflow__Event *event;
    struct bytes record;
    bool found;

    assert_ok(tfrecord_reader_next(reader, &record, &found));
    if (!found)
        return NULL;
    assert_ok(proto_unpack(&tensorflow__event__descriptor, record, arena, &event));
    return event;
}

static void events_come_back(void **state)
{
    (void)state;
    struct event_file *file;
    struct tfrecord_reader *reader;
    const struct event_scalar scalars[] = { { "loss", .5 }, { "zero", 0 } };

    assert_ok(event_file_create(in("a/b"), &file));
    assert_ok(event_file_add_start(file, 1.5, 7));
    assert_ok(event_file_add_scalars(file, 2.5, 8, scalars, 2));
    assert_ok(event_file_flush(file));

    const char *path = only_file(in("a/b")); /* it can be read before it is closed */
    assert_non_null(strstr(path, "/events.out.tfevents.1"));
    assert_ok(tfrecord_reader_open(path, TFRECORD_PLAIN, &reader));
    Tensorflow__Event *event = next(reader);
    assert_string_equal(event->file_version, "brain.Event:2");
    assert_true(event->wall_time > 1.7e9);
    event = next(reader);
    assert_int_equal(event->what_case, TENSORFLOW__EVENT__WHAT_SESSION_LOG);
    assert_int_equal(event->session_log->status, TENSORFLOW__SESSION_LOG__SESSION_STATUS__START);
    assert_true(event->wall_time == 1.5 && event->step == 7);
    event = next(reader);
    assert_int_equal(event->summary->n_value, 2);
    assert_string_equal(event->summary->value[0]->tag, "loss");
    assert_true(event->summary->value[0]->simple_value == .5f && event->step == 8);
    /* a 0 is a value, too */
    assert_int_equal(event->summary->value[1]->value_case,
                     TENSORFLOW__SUMMARY__VALUE__VALUE_SIMPLE_VALUE);
    assert_null(next(reader));
    tfrecord_reader_close(reader);
    assert_ok(event_file_close(file));
    assert_ok(event_file_close(NULL));
}

static void two_files_of_a_second_have_two_names(void **state)
{
    (void)state;
    struct event_file *files[3];
    struct file_list list;

    for (size_t i = 0; i < COUNT(files); i++)
        assert_ok(event_file_create(directory, &files[i]));
    for (size_t i = 0; i < COUNT(files); i++)
        assert_ok(event_file_close(files[i]));
    assert_ok(file_list(directory, arena, &list));
    assert_int_equal(list.count, COUNT(files));
}

static void a_directory_that_cannot_be_made_is_named(void **state)
{
    (void)state;
    struct event_file *file;

    assert_ok(file_write(in("a"), bytes_of("x")));
    struct status status = event_file_create(in("a/b"), &file);
    assert_false(status_is_ok(status));
    assert_non_null(strstr(status.message, in("a")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIRECTORY(events_come_back),
        TEST_IN_DIRECTORY(two_files_of_a_second_have_two_names),
        TEST_IN_DIRECTORY(a_directory_that_cannot_be_made_is_named),
    };
    return cmocka_run_group_tests_name("event_file", tests, NULL, NULL);
}
