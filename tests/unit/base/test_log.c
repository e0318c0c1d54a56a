#include <fcntl.h>
#include <pthread.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"

static char captured[8192];

/* Logs a line with stderr redirected to a pipe, and returns the output. */
static const char *capture(enum log_level level, const char *text)
{
    int ends[2], old = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    log_line(level, "%s", text);
    dup2(old, STDERR_FILENO); /* closes the last write end */
    close(old);
    ssize_t size = read(ends[0], captured, sizeof captured - 1);
    close(ends[0]);
    captured[size < 0 ? 0 : size] = '\0';
    return captured;
}

static void a_line_has_time_level_and_text(void **state)
{
    (void)state;
    const char *line = capture(LOG_WARNING, "disk is full");
    int year, month, day, hour, minute, second, ms, end = 0;
    assert_int_equal(sscanf(line, "%4d-%2d-%2d %2d:%2d:%2d.%3d W disk is full\n%n", &year, &month,
                            &day, &hour, &minute, &second, &ms, &end),
                     7);
    assert_int_equal(end, strlen(line));
}

static void a_level_below_the_limit_is_silent(void **state)
{
    (void)state;
    assert_string_equal(capture(LOG_DEBUG, "x"), "");
    log_set_level(LOG_ERROR);
    assert_string_equal(capture(LOG_WARNING, "x"), "");
    assert_string_not_equal(capture(LOG_ERROR, "x"), "");
    log_set_level(LOG_INFO);
}

static void a_stranger_cannot_forge_a_line(void **state)
{
    (void)state;
    const char *line = capture(LOG_INFO, "path '/a\n2026 E forged\033[2J'");
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    assert_null(strchr(line, '\033'));
}

static void a_long_text_is_whole(void **state)
{
    (void)state;
    char text[3000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_non_null(strstr(capture(LOG_INFO, text), text));
}

static void lines_are_lost_while_nobody_reads(void **state)
{
    (void)state;
    char text[200], drain[65536];
    int ends[2], old = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_true(fcntl(ends[1], F_SETPIPE_SZ, 16384) > 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    log_set_patience(20);
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < 200; i++)
        log_line(LOG_INFO, "%s", text); /* far more than the pipe holds, and each waits once */
    assert_true(read(ends[0], drain, sizeof drain) > 8000);
    log_line(LOG_INFO, "back");
    log_set_patience(-1);
    dup2(old, STDERR_FILENO);
    close(old);
    ssize_t size = read(ends[0], drain, sizeof drain - 1);
    close(ends[0]);
    drain[size < 0 ? 0 : size] = '\0';
    int count = 0;
    const char *line = strstr(drain, " W ");
    assert_non_null(line);
    assert_int_equal(sscanf(line, " W %d lines of this log are lost", &count), 1);
    assert_in_range(count, 100, 199);
    assert_non_null(strstr(line, "I back\n"));
}

static _Atomic int delay_us, wall_ahead_s;
static _Atomic bool poll_waits, poll_began;

/* Replaces the C library's: the wall clock may be set while a thread waits. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME)
        now->tv_sec += wall_ahead_s;
    return result;
}

/* Replaces the C library's: another thread may write before the caller does. */
int poll(struct pollfd *files, nfds_t count, int timeout_ms)
{
    struct timespec timeout = { timeout_ms / 1000, timeout_ms % 1000 * 1000000 };
    poll_began = true;
    while (poll_waits)
        usleep(1000);
    long ready = syscall(SYS_ppoll, files, count, timeout_ms < 0 ? NULL : &timeout, NULL, 8);
    usleep((unsigned)delay_us);
    return (int)ready;
}

static void *speak(void *context)
{
    log_line(LOG_INFO, "%s", (const char *)context);
    return NULL;
}

/* The pipe has room for one line, which both threads see. */
static void threads_do_not_write_to_the_same_room(void **state)
{
    (void)state;
    char text[3000], drain[8192];
    pthread_t threads[2];
    int ends[2], old = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[1], F_SETPIPE_SZ, 4096), 4096);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    log_set_patience(0);
    delay_us = 100000;
    alarm(30); /* ends the test if a thread hangs */
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, speak, text), 0);
    for (size_t i = 0; i < COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    alarm(0);
    delay_us = 0;
    ssize_t size = read(ends[0], drain, sizeof drain);
    assert_in_range(size, sizeof text, sizeof text + LOG_HEAD_MAX);
    log_set_patience(-1);
    dup2(old, STDERR_FILENO);
    close(old);
    close(ends[0]);
}

static void level_names_parse(void **state)
{
    (void)state;
    enum log_level level;
    assert_true(log_level_parse("warning", &level));
    assert_int_equal(level, LOG_WARNING);
    assert_false(log_level_parse("loud", &level));
}

/* A day later than it was when the deadline was chosen, or what is the same, a day earlier now. */
static void a_clock_that_is_set_does_not_prolong_the_wait_for_room(void **state)
{
    (void)state;
    char words[] = "words", drain[8192];
    pthread_t threads[2];
    int ends[2], old = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    log_set_patience(1);
    wall_ahead_s = 86400;
    poll_began = false;
    poll_waits = true;
    alarm(30); /* ends the test if a thread hangs */
    assert_int_equal(pthread_create(&threads[0], NULL, speak, words), 0);
    while (!poll_began)
        usleep(1000);
    assert_int_equal(pthread_create(&threads[1], NULL, speak, words), 0);
    pthread_join(threads[1], NULL);
    poll_waits = false;
    pthread_join(threads[0], NULL);
    alarm(0);
    wall_ahead_s = 0;
    log_set_patience(-1);
    dup2(old, STDERR_FILENO);
    close(old);
    assert_true(read(ends[0], drain, sizeof drain) > 0);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_time_level_and_text),
        cmocka_unit_test(a_level_below_the_limit_is_silent),
        cmocka_unit_test(a_stranger_cannot_forge_a_line),
        cmocka_unit_test(a_long_text_is_whole),
        cmocka_unit_test(lines_are_lost_while_nobody_reads),
        cmocka_unit_test(threads_do_not_write_to_the_same_room),
        cmocka_unit_test(a_clock_that_is_set_does_not_prolong_the_wait_for_room),
        cmocka_unit_test(level_names_parse),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
