#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/poison.h"
#include "tensor/tensor_block.h"

static struct tensor take(struct tensor_block *block, int64_t size)
{
    struct tensor tensor;
    struct shape shape = shape_of(size);
    assert_int_equal(tensor_create_in(block, DT_INT8, &shape, &tensor).code, STATUS_OK);
    assert_int_equal((uintptr_t)tensor.data % TENSOR_ALIGNMENT, 0);
    memset(tensor.data, 1, (size_t)size);
    return tensor;
}

static struct tensor_block *block_for(size_t first_bytes, size_t second_bytes)
{
    struct tensor_block *block =
        tensor_block_create(tensor_block_room(first_bytes) + tensor_block_room(second_bytes));
    assert_non_null(block);
    return block;
}

static void tensors_follow_each_other(void **state)
{
    (void)state;
    struct tensor_block *block = block_for(100, 1000);
    struct tensor a = take(block, 100), b = take(block, 1000);
    assert_ptr_equal(a.buffer->block, block);
    assert_int_equal((char *)b.data - (char *)a.data, tensor_block_room(100));
    tensor_release(&a);
    tensor_release(&b);
    tensor_block_release(block);
}

static void a_tensor_that_does_not_fit_is_on_the_heap(void **state)
{
    (void)state;
    struct tensor_block *block = block_for(100, 100);
    struct tensor a = take(block, 1000), b = take(block, 100);
    assert_null(a.buffer->block);
    assert_ptr_equal(b.buffer->block, block);
    tensor_release(&a);
    tensor_release(&b);
    tensor_block_release(block);
}

static void a_tensor_outlives_the_creators_reference(void **state)
{
    (void)state;
    struct tensor_block *block = block_for(100, 100);
    struct tensor a = take(block, 100);
    tensor_block_release(block);
    assert_int_equal(((const char *)a.data)[99], 1);
    tensor_release(&a);
}

/* The neighbours of a tensor whose pages go back to the system keep their bytes. */
static void a_released_tensor_gives_back_only_its_own_pages(void **state)
{
    (void)state;
    enum { LARGE = 1 << 20 };
    struct tensor_block *block =
        tensor_block_create(2 * tensor_block_room(100) + tensor_block_room(LARGE));
    struct tensor a = take(block, 100), b = take(block, LARGE), c = take(block, 100);
    const char *middle = (const char *)b.data + LARGE / 2;
    tensor_release(&b);
    UNPOISON(middle, 1);
    assert_int_equal(*middle, 0); /* a new page */
    for (int i = 0; i < 100; i++)
        assert_int_equal(((const char *)a.data)[i] + ((const char *)c.data)[i], 2);
    tensor_release(&a);
    tensor_release(&c);
    tensor_block_release(block);
}

/* The flags that the system shows for the memory at `address`, such as "rd wr mr mw me ac hg". */
static void read_flags(const void *address, char *flags, size_t size)
{
    char line[256];
    uintptr_t begin, end, at = (uintptr_t)address;
    bool is_inside = false;
    FILE *maps = fopen("/proc/self/smaps", "re");
    assert_non_null(maps);
    flags[0] = 0;
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2)
            is_inside = at >= begin && at < end;
        if (is_inside && strncmp(line, "VmFlags:", 8) == 0)
            snprintf(flags, size, "%s", line + 8);
    }
    fclose(maps);
}

static void gets_no_more_huge_pages_when_its_tensors_are_made(void **state)
{
    (void)state;
    char flags[256];
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0)
        skip(); /* a system without huge pages */
    struct tensor_block *block = block_for(4 << 20, 100);
    struct tensor a = take(block, 4 << 20);
    read_flags(a.data, flags, sizeof flags);
    assert_non_null(strstr(flags, " hg"));
    tensor_block_release(block);
    read_flags(a.data, flags, sizeof flags);
    assert_null(strstr(flags, " hg"));
    assert_non_null(strstr(flags, " nh"));
    tensor_release(&a);
}

static void refuses_more_than_there_is(void **state)
{
    (void)state;
    assert_null(tensor_block_create(SIZE_MAX));
    assert_null(tensor_block_create(SIZE_MAX / 2));
    assert_true(tensor_block_room(SIZE_MAX) == SIZE_MAX);
    tensor_block_release(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_follow_each_other),
        cmocka_unit_test(a_tensor_that_does_not_fit_is_on_the_heap),
        cmocka_unit_test(a_tensor_outlives_the_creators_reference),
        cmocka_unit_test(a_released_tensor_gives_back_only_its_own_pages),
        cmocka_unit_test(gets_no_more_huge_pages_when_its_tensors_are_made),
        cmocka_unit_test(refuses_more_than_there_is),
    };
    return cmocka_run_group_tests_name("tensor block", tests, NULL, NULL);
}
