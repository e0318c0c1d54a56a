#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "trainer/protocol/placement.h"

static struct placed_variable variable(const char *name, int64_t rows, int64_t columns)
{
    return (struct placed_variable){
        .name = name, .dtype = DT_FLOAT, .shape = shape_of(rows, columns), .trainable = true
    };
}

static void pieces_cover_each_variable_without_gaps(void **state)
{
    (void)state;
    struct placed_variable variables[] = { variable("a", 784, 512), variable("b", 1, 512),
                                           variable("c", 1003, 7), variable("d", 2, 1 << 20) };
    struct placement placement;

    placement_create(variables, 4, 3, 1 << 20, PLACE_BY_BYTES, &placement);
    assert_int_equal(placement.variables[0].pieces_count, 2); /* 1.6 MB */
    assert_int_equal(placement.variables[1].pieces_count, 1);
    assert_int_equal(placement.variables[3].pieces_count, 2); /* a row stays whole */
    for (int v = 0; v < 4; v++) {
        size_t offset = 0;
        const struct placed_variable *placed = &placement.variables[v];
        for (int i = 0; i < placed->pieces_count; i++) {
            const struct piece *piece = &placement.pieces[placed->first_piece + i];
            assert_int_equal(piece->variable, v);
            assert_int_equal(piece->offset, offset);
            assert_true(piece->ps >= 0 && piece->ps < 3);
            offset += piece->size;
        }
        assert_int_equal(offset, shape_size(&placed->shape) * 4);
    }
    placement_finish(&placement);
}

static void the_first_pieces_have_the_rows_left_over(void **state)
{
    (void)state;
    struct placed_variable variables[] = { variable("a", 10, 2) };
    struct placement placement;

    placement_create(variables, 1, 1, 32, PLACE_BY_BYTES, &placement); /* 4, 3 and 3 rows */
    assert_int_equal(placement.pieces_count, 3);
    assert_int_equal(placement.pieces[0].size, 4 * 8);
    assert_int_equal(placement.pieces[1].size, 3 * 8);
    assert_int_equal(placement.pieces[2].size, 3 * 8);
    placement_finish(&placement);
}

/* A row of 3.2 GB does not fit in a message. Placement reads only the shapes, so the test needs no
 * memory for it. */
static void a_row_is_cut_if_it_is_too_large_for_a_message(void **state)
{
    (void)state;
    struct placed_variable variables[] = { variable("a", 2, 800000001), variable("b", 1, 100) };
    struct placement placement;
    size_t offset = 0;

    placement_create(variables, 2, 1, 1 << 20, PLACE_BY_BYTES, &placement);
    assert_int_equal(placement.variables[0].pieces_count, 6);
    assert_int_equal(placement.variables[1].pieces_count, 1);
    for (int i = 0; i < 6; i++) {
        const struct piece *piece = &placement.pieces[i];
        assert_int_equal(piece->offset, offset);
        assert_int_equal(piece->size % sizeof(float), 0);
        assert_in_range(piece->size, PLACEMENT_PIECE_MAX / 2, PLACEMENT_PIECE_MAX);
        offset += piece->size;
    }
    assert_true(offset == 2 * (size_t)800000001 * sizeof(float));
    placement_finish(&placement);
}

static void bytes_are_balanced_where_turns_are_not(void **state)
{
    (void)state;
    struct placed_variable variables[] = { variable("w1", 100, 10), variable("b1", 1, 10),
                                           variable("w2", 100, 10), variable("b2", 1, 10) };
    struct placement by_bytes, in_turn;

    placement_create(variables, 4, 2, 1 << 20, PLACE_BY_BYTES, &by_bytes);
    placement_create(variables, 4, 2, 1 << 20, PLACE_IN_TURN, &in_turn);
    assert_int_equal(placement_bytes(&by_bytes, 0), placement_bytes(&by_bytes, 1));
    assert_int_equal(placement_bytes(&in_turn, 0), 8000);
    assert_int_equal(placement_bytes(&in_turn, 1), 80);
    assert_true(by_bytes.hash != in_turn.hash);
    placement_finish(&by_bytes);
    placement_finish(&in_turn);
}

static void the_hash_tells_models_and_clusters_apart(void **state)
{
    (void)state;
    struct placed_variable variables[] = { variable("w", 4, 4) },
                           renamed[] = { variable("v", 4, 4) };
    struct placement a, b, c, d;

    placement_create(variables, 1, 2, 1 << 20, PLACE_BY_BYTES, &a);
    placement_create(variables, 1, 2, 1 << 20, PLACE_BY_BYTES, &b);
    placement_create(variables, 1, 3, 1 << 20, PLACE_BY_BYTES, &c);
    placement_create(renamed, 1, 2, 1 << 20, PLACE_BY_BYTES, &d);
    assert_true(a.hash == b.hash && a.hash != c.hash && a.hash != d.hash);
    placement_finish(&a);
    placement_finish(&b);
    placement_finish(&c);
    placement_finish(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_cover_each_variable_without_gaps),
        cmocka_unit_test(the_first_pieces_have_the_rows_left_over),
        cmocka_unit_test(a_row_is_cut_if_it_is_too_large_for_a_message),
        cmocka_unit_test(bytes_are_balanced_where_turns_are_not),
        cmocka_unit_test(the_hash_tells_models_and_clusters_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
