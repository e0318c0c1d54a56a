#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "support/status.h"

static struct arena *arena;
static char *directory;

static const char *in(const char *name)
{
    return file_join(arena, directory, name);
}

static int setup(void **state)
{
    (void)state;
    arena = arena_create(0);
    directory = arena_strdup(arena, "/tmp/slipway_file_XXXXXX");
    return mkdtemp(directory) == NULL;
}

static int teardown(void **state)
{
    (void)state;
    struct status status = file_remove_tree(directory);
    bool left = file_exists(directory);
    arena_destroy(arena);
    return !status_is_ok(status) || left;
}

static void a_written_file_is_read_back(void **state)
{
    (void)state;
    struct buffer buffer = { 0 };
    assert_ok(file_write(in("a"), bytes_of("first")));
    assert_ok(file_write(in("a"), (struct bytes){ "se\0cond", 7 }));
    assert_ok(file_read(in("a"), 7, &buffer));
    assert_int_equal(buffer.size, 7);
    assert_memory_equal(buffer.data, "se\0cond", 7);
    struct file_list list;
    assert_ok(file_list(directory, arena, &list));
    assert_int_equal(list.count, 1); /* no temporary file is left */
    buffer.size = 0;
    assert_int_equal(file_read(in("a"), 6, &buffer).code, STATUS_RESOURCE_EXHAUSTED);
    buffer_finish(&buffer);
}

/* Holes take no disk, but memory once they are read. */
static void a_file_over_the_limit_is_not_read(void **state)
{
    (void)state;
    struct buffer buffer = { 0 };
    assert_ok(file_write(in("a"), bytes_of("x")));
    assert_ok(file_read(in("a"), 0, &buffer));
    size_t capacity = buffer.capacity;
    assert_int_equal(truncate(in("a"), (off_t)1 << 40), 0);
    assert_int_equal(file_read(in("a"), 1 << 20, &buffer).code, STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(buffer.capacity, capacity);
    assert_int_equal(buffer.size, 1);
    buffer_finish(&buffer);
}

static void a_file_larger_than_memory_is_refused(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* they need more address space than the limit */
#endif
    struct buffer buffer = { 0 };
    const struct rlimit little = { .rlim_cur = (rlim_t)1 << 38, .rlim_max = (rlim_t)1 << 38 };
    assert_ok(file_write(in("a"), bytes_of("x")));
    assert_int_equal(truncate(in("a"), (off_t)1 << 42), 0);
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_AS, &little);
        _exit(file_read(in("a"), 0, &buffer).code == STATUS_RESOURCE_EXHAUSTED ? 0 : 1);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
}

static void errors_name_the_path(void **state)
{
    (void)state;
    struct buffer buffer = { 0 };
    struct status status = file_read(in("none"), 0, &buffer);
    assert_int_equal(status.code, STATUS_NOT_FOUND);
    assert_non_null(strstr(status.message, in("none")));
    assert_int_equal(file_read(directory, 0, &buffer).code, STATUS_FAILED_PRECONDITION);
    assert_int_equal(file_write(in("none/a"), bytes_of("x")).code, STATUS_NOT_FOUND);
    struct file_list list;
    assert_int_equal(file_list(in("none"), arena, &list).code, STATUS_NOT_FOUND);
    buffer_finish(&buffer);
}

static void what_is_no_file_is_refused_without_waiting(void **state)
{
    (void)state;
    struct buffer buffer = { 0 };
    assert_int_equal(mkfifo(in("fifo"), 0600), 0);
    struct status status = file_read(in("fifo"), 0, &buffer); /* must not wait for a writer */
    assert_int_equal(status.code, STATUS_FAILED_PRECONDITION);
    assert_non_null(strstr(status.message, "/fifo': it is not a regular file"));
    assert_int_equal(file_read("/dev/zero", 0, &buffer).code, STATUS_FAILED_PRECONDITION);
    assert_int_equal(file_read("/proc/self/status", 0, &buffer).code, STATUS_OK);
    buffer_finish(&buffer);
}

static void directories_are_made_listed_and_removed(void **state)
{
    (void)state;
    assert_ok(file_make_directories(in("x/y//z/")));
    assert_ok(file_make_directories(in("x/y")));
    assert_true(file_is_directory(in("x/y/z")));
    assert_ok(file_write(in("x/b"), bytes_of("")));
    assert_ok(file_write(in("x/a"), bytes_of("")));
    assert_int_equal(symlink("/", in("x/link")), 0);
    struct file_list list;
    assert_ok(file_list(in("x"), arena, &list));
    assert_int_equal(list.count, 4);
    assert_string_equal(list.names[0], "a");
    assert_string_equal(list.names[3], "y");
    assert_int_equal(file_make_directories(in("x/a/c")).code, STATUS_FAILED_PRECONDITION);
    assert_ok(file_remove_tree(in("x")));
    assert_false(file_exists(in("x")));
    assert_ok(file_remove_tree(in("x")));
}

static void a_writer_takes_pieces_of_any_size(void **state)
{
    (void)state;
    struct file_writer writer;
    struct buffer expected = { 0 }, read = { 0 };
    static char data[700000];
    memset(data, 'x', sizeof data);
    assert_ok(file_writer_open(in("w"), &writer));
    const size_t sizes[] = { 1, 0, 262143, 2, 700000, 5, 262144, 100 };
    for (size_t i = 0; i < COUNT(sizes); i++) {
        data[0] = (char)('a' + i);
        assert_ok(file_writer_append(&writer, data, sizes[i]));
        buffer_append(&expected, data, sizes[i]);
        assert_int_equal(writer.offset, expected.size);
    }
    assert_ok(file_writer_finish(&writer));
    assert_ok(file_read(in("w"), 0, &read));
    assert_int_equal(read.size, expected.size);
    assert_memory_equal(read.data, expected.data, read.size);
    buffer_finish(&expected);
    buffer_finish(&read);
    assert_int_equal(file_writer_open(in("w"), &writer).code, STATUS_ALREADY_EXISTS);
}

/* The number of the file's bytes that are in the page cache. */
static size_t cached_bytes(const char *path, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = size / page, cached = 0;
    unsigned char *found = malloc(pages);
    int fd = open(path, O_RDWR);
    void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

    assert_true(map != MAP_FAILED);
    assert_int_equal(mincore(map, size, found), 0);
    for (size_t i = 0; i < pages; i++)
        cached += found[i] & 1 ? page : 0;
    munmap(map, size);
    close(fd);
    free(found);
    return cached;
}

#define MIB ((size_t)1 << 20)

/* Opens a writer past the page cache; false: the file system cannot. */
static bool open_past_the_cache(struct file_writer *writer)
{
    struct statfs of;

    assert_int_equal(statfs(directory, &of), 0);
    if (of.f_type == TMPFS_MAGIC) /* has nothing but its cache */
        return false;
    assert_ok(file_writer_open(in("w"), writer));
    file_writer_bypass_cache(writer);
    if (!writer->direct)
        file_writer_abandon(writer);
    return writer->fd >= 0;
}

static void a_writer_past_the_cache_leaves_only_the_end_there(void **state)
{
    (void)state;
    struct file_writer writer;
    struct buffer read = { 0 };
    static char data[MIB];
    size_t size = 0;

    if (!open_past_the_cache(&writer))
        skip();
    for (size_t i = 0; i < 64; i++) {
        memset(data, (int)i, sizeof data);
        assert_ok(file_writer_append(&writer, data, sizeof data - i));
        size += sizeof data - i;
        assert_int_equal(writer.offset, size);
    }
    assert_ok(file_writer_finish(&writer));
    assert_true(cached_bytes(in("w"), 60 * MIB) <= 8 * MIB);
    assert_ok(file_read(in("w"), 0, &read));
    assert_int_equal(read.size, size);
    const char *at = read.data;
    for (size_t i = 0; i < 64; i++)
        for (size_t k = 0; k < MIB - i; k++)
            if (*at++ != (char)i)
                fail_msg("byte %zu of piece %zu is %d", k, i, at[-1]);
    buffer_finish(&read);
}

static void large_pieces_past_the_cache_are_written_in_place(void **state)
{
    static const size_t sizes[] = { 2 * MIB, 4096, MIB + 4096, MIB + 1, 2 * MIB, 5000, 3 * MIB };
    static _Alignas(4096) char pages[3 * MIB];
    (void)state;
    struct file_writer writer;
    struct buffer read = { 0 };

    if (!open_past_the_cache(&writer))
        skip();
    for (size_t i = 0; i < COUNT(sizes); i++) {
        memset(pages, (int)i, sizes[i]);
        assert_ok(file_writer_append(&writer, pages, sizes[i]));
        if (i == 0 || i == 2)
            assert_int_equal(writer.written, writer.offset);
        if (i == 3) /* from here on, the pieces begin within a block of the file */
            assert_int_equal(writer.used, 1);
    }
    assert_ok(file_writer_finish(&writer));
    assert_ok(file_read(in("w"), 0, &read));
    const char *at = read.data;
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t k = 0; k < sizes[i]; k++)
            if (*at++ != (char)i)
                fail_msg("byte %zu of piece %zu is %d", k, i, at[-1]);
    assert_int_equal(at - read.data, read.size);
    buffer_finish(&read);
}

/* The kernel cuts a write at the limit, and refuses what is left of it past the cache. */
static void a_limit_within_a_write_past_the_cache_is_named(void **state)
{
    (void)state;
    struct file_writer writer;
    struct rlimit before, limit;
    static char data[MIB];
    struct status status = status_ok();

    if (!open_past_the_cache(&writer))
        skip();
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){ 5 * MIB + 100, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int i = 0; i < 9 && status_is_ok(status); i++)
        status = file_writer_append(&writer, data, sizeof data);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_fails_naming(status, STATUS_RESOURCE_EXHAUSTED, "File too large");
    file_writer_abandon(&writer);
    assert_false(file_exists(in("w")));
}

static void an_abandoned_file_is_gone(void **state)
{
    (void)state;
    struct file_writer writer;
    assert_ok(file_writer_open(in("w"), &writer));
    assert_ok(file_writer_append(&writer, "abc", 3));
    file_writer_abandon(&writer);
    file_writer_abandon(&writer);
    assert_false(file_exists(in("w")));
}

static void a_full_device_is_an_error_and_leaves_nothing(void **state)
{
    (void)state;
    struct file_writer writer = { 0 };
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_ok(file_writer_open(in("w"), &writer));
    int full = open("/dev/full", O_WRONLY);
    assert_int_equal(dup2(full, writer.fd), writer.fd);
    close(full);
    assert_ok(file_writer_append(&writer, "abc", 3));
    struct status status = file_writer_finish(&writer);
    assert_int_equal(status.code, STATUS_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(status.message, in("w")));
    assert_false(file_exists(in("w")));
}

static void a_reader_reads_anywhere_but_past_the_end(void **state)
{
    (void)state;
    struct file_reader reader;
    char data[4];
    assert_ok(file_write(in("r"), bytes_of("0123456789")));
    assert_ok(file_reader_open(in("r"), &reader));
    assert_int_equal(reader.size, 10);
    assert_ok(file_reader_get(&reader, 6, data, 4));
    assert_memory_equal(data, "6789", 4);
    struct status status = file_reader_get(&reader, 7, data, 4);
    assert_int_equal(status.code, STATUS_OUT_OF_RANGE);
    assert_non_null(strstr(status.message, "Read less bytes than requested"));
    file_reader_close(&reader);
    file_reader_close(&reader);
}

static void what_ended_processes_left_beside_is_removed_and_nothing_else(void **state)
{
    (void)state;
    pid_t ended = fork();
    if (ended == 0)
        _exit(0);
    assert_int_equal(waitpid(ended, NULL, 0), ended);
    char *left = arena_printf(arena, "%s.temp%ld_3", in("1"), (long)ended);
    char *of_another = arena_printf(arena, "%s.temp%ld_3", in("11"), (long)ended);
    char *ours = file_beside(arena, in("1"));
    assert_ok(file_make_directories(arena_printf(arena, "%s/variables", left)));
    assert_ok(file_make_directories(of_another));
    assert_ok(file_make_directories(ours));
    assert_ok(file_make_directories(in("1.tempted")));
    assert_ok(file_remove_leftovers(in("1")));
    assert_false(file_exists(left));
    assert_true(file_exists(of_another));
    assert_true(file_exists(ours));
    assert_true(file_exists(in("1.tempted")));
}

static void other_file_systems_are_refused(void **state)
{
    (void)state;
    static const char *const local[] = { "", "a", "/a:/b", "a/b://c", "gs:/a", "://a", "C:\\a" };
    for (size_t i = 0; i < COUNT(local); i++)
        assert_ok(file_check_local(local[i]));
    struct status status = file_check_local("gs://bucket/1");
    assert_int_equal(status.code, STATUS_UNIMPLEMENTED);
    assert_string_equal(status.message,
                        "File system scheme 'gs' not implemented (file: 'gs://bucket/1')");
}

static void the_scheme_of_local_files_is_cut(void **state)
{
    (void)state;
    assert_string_equal(file_path_of_uri("file:///a/b"), "/a/b");
    assert_string_equal(file_path_of_uri("file://host/a"), "/a");
    static const char *const same[] = { "", "/a", "a", "file:/a", "file://a", "gs://a/b" };
    for (size_t i = 0; i < COUNT(same); i++)
        assert_string_equal(file_path_of_uri(same[i]), same[i]);
}

static void the_parent_of_a_path(void **state)
{
    (void)state;
    assert_string_equal(file_parent(arena, "a/b"), "a");
    assert_string_equal(file_parent(arena, "/a/b/c"), "/a/b");
    assert_string_equal(file_parent(arena, "b"), ".");
    assert_string_equal(file_parent(arena, "/b"), "/");
}

static void slashes_at_the_end_of_a_path_are_cut(void **state)
{
    (void)state;
    assert_string_equal(file_trim_slashes(arena, "a/b//"), "a/b");
    assert_string_equal(file_trim_slashes(arena, "a"), "a");
    assert_string_equal(file_trim_slashes(arena, "//"), "/");
    assert_string_equal(file_trim_slashes(arena, ""), "");
}

/* Their directory is synchronised after the rename. */
static void files_of_the_working_directory_are_written(void **state)
{
    (void)state;
    int before = open(".", O_RDONLY | O_DIRECTORY);
    assert_int_equal(chdir(directory), 0);
    struct status status = file_write("name", bytes_of("x"));
    assert_int_equal(fchdir(before), 0);
    close(before);
    assert_ok(status);
    assert_true(file_exists(in("name")));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_parent_of_a_path),
        TEST(slashes_at_the_end_of_a_path_are_cut),
        TEST(files_of_the_working_directory_are_written),
        TEST(a_written_file_is_read_back),
        TEST(a_file_over_the_limit_is_not_read),
        TEST(a_file_larger_than_memory_is_refused),
        TEST(errors_name_the_path),
        TEST(what_is_no_file_is_refused_without_waiting),
        TEST(directories_are_made_listed_and_removed),
        TEST(a_writer_takes_pieces_of_any_size),
        TEST(a_writer_past_the_cache_leaves_only_the_end_there),
        TEST(large_pieces_past_the_cache_are_written_in_place),
        TEST(a_limit_within_a_write_past_the_cache_is_named),
        TEST(an_abandoned_file_is_gone),
        TEST(a_full_device_is_an_error_and_leaves_nothing),
        TEST(a_reader_reads_anywhere_but_past_the_end),
        TEST(what_ended_processes_left_beside_is_removed_and_nothing_else),
        TEST(other_file_systems_are_refused),
        TEST(the_scheme_of_local_files_is_cut),
    };
    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
