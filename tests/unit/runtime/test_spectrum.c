/*
 * The vectors of Svd, SelfAdjointEigV2, XLA's variants of the two, and Eig have no certain sign or
 * phase, so that rows of TensorFlow's values cannot hold them: here their products are compared
 * with the matrix.
 */
#include "unit/runtime/plan_fixture.h"

#include <complex.h>
#include <math.h>

#define MATRICES 2

static const struct size {
    const char *label;
    int rows, columns;
} sizes[] = { { "one element", 1, 1 }, { "square", 5, 5 }, { "wide", 3, 7 }, { "tall", 7, 3 } };
static const enum dtype dtypes[] = { DT_FLOAT, DT_DOUBLE, DT_COMPLEX64, DT_COMPLEX128 };

static bool is_complex(enum dtype dtype)
{
    return dtype == DT_COMPLEX64 || dtype == DT_COMPLEX128;
}

static double tolerance(enum dtype dtype)
{
    return dtype == DT_FLOAT || dtype == DT_COMPLEX64 ? 1e-5 : 1e-12; /* of numbers up to 10 */
}

static double complex get(const struct tensor *x, int64_t i)
{
    switch (x->dtype) {
    case DT_FLOAT:
        return (double)((const float *)x->data)[i];
    case DT_DOUBLE:
        return ((const double *)x->data)[i];
    case DT_COMPLEX64:
        return ((const float complex *)x->data)[i];
    default:
        return ((const double complex *)x->data)[i];
    }
}

static void set(struct tensor *x, int64_t i, double complex value)
{
    if (x->dtype == DT_FLOAT)
        ((float *)x->data)[i] = (float)creal(value);
    else if (x->dtype == DT_DOUBLE)
        ((double *)x->data)[i] = creal(value);
    else if (x->dtype == DT_COMPLEX64)
        ((float complex *)x->data)[i] = (float complex)value;
    else
        ((double complex *)x->data)[i] = value;
}

/* Matrices whose elements look random; Hermitian ones if asked for. */
static struct tensor make(enum dtype dtype, int rows, int columns, bool hermitian)
{
    struct shape shape = shape_of(MATRICES, rows, columns);
    struct tensor x =
        tensor_borrow(dtype, &shape, ARENA_ARRAY(arena, double complex, shape_size(&shape)));
    unsigned state = 7;
    for (int64_t i = 0; i < x.size; i++) {
        double parts[2];
        for (int p = 0; p < 2; p++) {
            state = state * 1664525u + 1013904223u;
            parts[p] = (double)(state >> 16) / 65536 - 0.5;
        }
        set(&x, i, is_complex(dtype) ? CMPLX(parts[0], parts[1]) : CMPLX(parts[0], 0));
    }
    for (int n = 0; n < MATRICES && hermitian; n++)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j <= i; j++) {
                int64_t at = ((int64_t)n * rows + i) * rows + j;
                double complex value = i == j ? creal(get(&x, at)) : get(&x, at);
                set(&x, at, value);
                set(&x, ((int64_t)n * rows + j) * rows + i, conj(value));
            }
    return x;
}

static void run_op(const char *op, const struct tensor *x, int count, const struct attr *attrs,
                   struct tensor *out)
{
    struct endpoint in = build_placeholder(&b, "x", x->dtype, shape_unknown()), fetches[3];
    struct node *node = build_node(&b, op, op, 1, &in, 0, NULL, attrs);
    for (int i = 0; i < count; i++)
        fetches[i] = (struct endpoint){ node, i };
    struct plan *plan = plan_of(1, &in, count, fetches, NULL);
    assert_ok(plan_run(plan, run, x, out));
    plan_destroy(plan);
}

static void assert_near(double complex a, double complex c, double within)
{
    if (!(cabs(a - c) <= within))
        fail_msg("%g%+gi is not %g%+gi", creal(a), cimag(a), creal(c), cimag(c));
}

/* Are the columns of each q [rows, columns] orthogonal, and of length 1? */
static void assert_orthonormal(const struct tensor *q)
{
    int64_t rows = q->shape.dims[1], columns = q->shape.dims[2];
    for (int64_t n = 0; n < MATRICES; n++)
        for (int64_t i = 0; i < columns; i++)
            for (int64_t j = 0; j < columns; j++) {
                double complex sum = 0;
                for (int64_t r = 0; r < rows; r++)
                    sum += conj(get(q, (n * rows + r) * columns + i)) *
                           get(q, (n * rows + r) * columns + j);
                assert_near(sum, i == j, tolerance(q->dtype));
            }
}

/* left · diag(values) · right^H = x */
static void assert_product(const struct tensor *x, const struct tensor *values,
                           const struct tensor *left, const struct tensor *right)
{
    int64_t rows = x->shape.dims[1], columns = x->shape.dims[2], p = values->shape.dims[1];
    int64_t l = left->shape.dims[2], r = right->shape.dims[2];
    for (int64_t n = 0; n < MATRICES; n++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++) {
                double complex sum = 0;
                for (int64_t k = 0; k < p; k++)
                    sum += get(left, (n * rows + i) * l + k) * get(values, n * p + k) *
                           conj(get(right, (n * columns + j) * r + k));
                assert_near(sum, get(x, (n * rows + i) * columns + j), tolerance(x->dtype));
            }
}

static void singular_vectors_multiply_to_the_matrix(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT(dtypes); t++)
        for (size_t s = 0; s < COUNT(sizes); s++)
            for (int full = 0; full < 2; full++) {
                struct attr attrs[] = { attr_bool("full_matrices", full), ATTR_END };
                struct tensor x = make(dtypes[t], sizes[s].rows, sizes[s].columns, false), out[3];
                run_op("Svd", &x, 3, attrs, out);
                assert_orthonormal(&out[1]);
                assert_orthonormal(&out[2]);
                assert_product(&x, &out[0], &out[1], &out[2]);
                tensors_release(3, out);
            }
}

/* Makes NaN of a triangle of [6, 6] that no op may read. */
static void spoil_triangle(struct tensor *x, bool lower)
{
    for (int64_t i = 0; i < x->size; i++)
        if (lower ? i % 6 < i / 6 % 6 : i % 6 > i / 6 % 6)
            set(x, i, NAN);
}

static void eigenvectors_of_hermitian_matrices_multiply_to_them(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT(dtypes); t++) {
        struct tensor whole = make(dtypes[t], 6, 6, true), x = make(dtypes[t], 6, 6, true), out[2];
        spoil_triangle(&x, false);
        run_op("SelfAdjointEigV2", &x, 2, NULL, out);
        assert_orthonormal(&out[1]);
        assert_product(&whole, &out[0], &out[1], &out[1]);
        tensors_release(2, out);
    }
}

/* XLA's ops: all vectors, and the triangle that `lower` names. */
static void xlas_vectors_multiply_to_the_matrix(void **state)
{
    (void)state;
    struct attr iterations[] = { attr_int("max_iter", 100), attr_float("epsilon", 1e-6f),
                                 attr_text("precision_config", ""), ATTR_END };
    for (size_t t = 0; t < 2; t++)
        for (size_t s = 0; s < COUNT(sizes); s++) {
            struct tensor x = make(dtypes[t], sizes[s].rows, sizes[s].columns, false), out[3];
            run_op("XlaSvd", &x, 3, iterations, out);
            assert_int_equal(out[1].shape.dims[2], sizes[s].rows);
            assert_int_equal(out[2].shape.dims[2], sizes[s].columns);
            assert_orthonormal(&out[1]);
            assert_orthonormal(&out[2]);
            assert_product(&x, &out[0], &out[1], &out[2]);
            tensors_release(3, out);
        }
    for (int lower = 0; lower < 2; lower++) {
        struct attr attrs[] = { attr_bool("lower", lower), attr_int("max_iter", 100),
                                attr_float("epsilon", 1e-6f), ATTR_END };
        struct tensor whole = make(DT_DOUBLE, 6, 6, true), x = make(DT_DOUBLE, 6, 6, true), out[2];
        spoil_triangle(&x, !lower);
        run_op("XlaSelfAdjointEig", &x, 2, attrs, out);
        assert_orthonormal(&out[1]);
        assert_product(&whole, &out[0], &out[1], &out[1]);
        tensors_release(2, out);
    }
}

/* x · v = v · diag(e), and v has columns of length 1 */
static void assert_eigen(const struct tensor *x, const struct tensor *e, const struct tensor *v)
{
    int64_t size = x->shape.dims[1];
    for (int64_t n = 0; n < MATRICES; n++)
        for (int64_t c = 0; c < size; c++) {
            double length = 0;
            for (int64_t i = 0; i < size; i++) {
                double complex sum = 0, of_v = get(v, (n * size + i) * size + c);
                for (int64_t k = 0; k < size; k++)
                    sum += get(x, (n * size + i) * size + k) * get(v, (n * size + k) * size + c);
                assert_near(sum, of_v * get(e, n * size + c), tolerance(x->dtype));
                length += creal(of_v * conj(of_v));
            }
            assert_near(length, 1, tolerance(x->dtype));
        }
}

static void eigenvectors_of_any_matrix_keep_their_direction(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT(dtypes); t++) {
        bool narrow = dtypes[t] == DT_FLOAT || dtypes[t] == DT_COMPLEX64;
        struct attr attrs[] = { attr_type("Tout", narrow ? DT_COMPLEX64 : DT_COMPLEX128),
                                ATTR_END };
        struct tensor x = make(dtypes[t], 6, 6, false), out[2];
        run_op("Eig", &x, 2, attrs, out);
        assert_eigen(&x, &out[0], &out[1]);
        tensors_release(2, out);
    }
}

static void what_is_not_finite_gives_nan(void **state)
{
    (void)state;
    struct tensor x = make(DT_DOUBLE, 3, 3, true), out[3];
    set(&x, 4, INFINITY); /* in the first matrix */
    run_op("Svd", &x, 3, NULL, out);
    assert_true(isnan(creal(get(&out[0], 0))) && isnan(creal(get(&out[1], 0))));
    assert_false(isnan(creal(get(&out[0], 3))));
    tensors_release(3, out);
    run_op("SelfAdjointEigV2", &x, 2, NULL, out);
    assert_true(isnan(creal(get(&out[0], 0))) && isnan(creal(get(&out[1], 0))));
    assert_false(isnan(creal(get(&out[0], 3))));
    tensors_release(2, out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(singular_vectors_multiply_to_the_matrix, setup, teardown),
        cmocka_unit_test_setup_teardown(eigenvectors_of_hermitian_matrices_multiply_to_them, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(xlas_vectors_multiply_to_the_matrix, setup, teardown),
        cmocka_unit_test_setup_teardown(eigenvectors_of_any_matrix_keep_their_direction, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_not_finite_gives_nan, setup, teardown),
    };
    return cmocka_run_group_tests_name("spectrum", tests, NULL, NULL);
}
