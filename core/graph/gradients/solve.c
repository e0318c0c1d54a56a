/* Gradients of least squares and of square roots of matrices. Source: TensorFlow's
 * linalg_grad.py. */
#include "graph/gradients/matrices.h"

/* A diagonal matrix with the same number n times. */
static struct endpoint scaled_identity(struct gradient_context *c, int64_t n,
                                       struct endpoint number_of_diagonal)
{
    const int32_t dims[] = { (int32_t)n };
    struct endpoint size = build_const_ints(c->builder, NULL, 1, dims);

    return unary(c, "MatrixDiag", binary(c, "Fill", size, number_of_diagonal));
}

/* ---- MatrixSolveLs ---- */

/* The Cholesky factor of a^H a + λ I, or of a a^H + λ I, whose side is n. */
static struct endpoint root_of_gramian(struct gradient_context *c, bool tall, int64_t n)
{
    struct endpoint a = input(c, 0);
    struct endpoint weight = as_type(c, input(c, 2), endpoint_dtype(a));
    struct endpoint gramian = product(c, a, tall, a, !tall);

    return unary(c, "Cholesky", binary(c, "AddV2", gramian, scaled_identity(c, n, weight)));
}

/* Solves the system whose matrix has the Cholesky factor `root`. */
static struct endpoint solve_by_root(struct gradient_context *c, struct endpoint root,
                                     struct endpoint right)
{
    return triangular(c, root, triangular(c, root, right, true, false), true, true);
}

/* x = (a^H a + λ I)^-1 a^H b. As in TensorFlow, the sum is with the transpose of complex matrices,
 * not with the adjoint. */
static void of_tall(struct gradient_context *c, struct endpoint root, int rank)
{
    struct endpoint a = input(c, 0), b = input(c, 1);
    struct endpoint z = solve_by_root(c, root, dy(c));
    struct endpoint xz = product(c, output(c), false, z, true);
    struct endpoint sum = binary(c, "AddV2", xz, transposed(c, xz, rank));

    send(c, 0, binary(c, "Sub", product(c, b, false, z, true), product(c, a, false, sum, false)));
    send(c, 1, product(c, a, false, z, false));
}

/* x = a^H (a a^H + λ I)^-1 b */
static void of_wide(struct gradient_context *c, struct endpoint root)
{
    struct endpoint a = input(c, 0);
    struct endpoint of_right = solve_by_root(c, root, product(c, a, false, dy(c), false));
    struct endpoint z = solve_by_root(c, root, input(c, 1));
    struct endpoint part = product(c, of_right, false, product(c, z, true, a, false), false);
    struct endpoint rest = binary(c, "Sub", dy(c), product(c, a, true, of_right, false));

    send(c, 0, binary(c, "Sub", product(c, z, false, rest, true), part));
    send(c, 1, of_right);
}

struct status gradient_matrix_solve_ls(struct gradient_context *c)
{
    int64_t rows = 0, columns = 0;
    bool fast;

    TRY(node_attr_bool(c->node, "fast", &fast));
    if (!fast)
        return status_error(STATUS_UNIMPLEMENTED,
                            "node '%s': MatrixSolveLs has a gradient for fast = true only",
                            c->node->name);
    TRY(read_sides(c, &rows, &columns));
    struct endpoint root = root_of_gramian(c, rows >= columns, rows >= columns ? columns : rows);
    if (rows >= columns)
        of_tall(c, root, endpoint_shape(input(c, 0))->rank);
    else
        of_wide(c, root);
    return status_ok();
}

/* ---- MatrixSquareRoot ---- */

/* The Kronecker product of two matrices [.., n, n], as [.., n, n, n, n]. */
static struct endpoint kronecker(struct gradient_context *c, struct endpoint a, struct endpoint b,
                                 int32_t n)
{
    const int32_t outer[] = { -1, n, 1, n, 1 }, inner[] = { -1, 1, n, 1, n };

    return binary(c, "Mul", binary(c, "Reshape", a, build_const_ints(c->builder, NULL, 5, outer)),
                  binary(c, "Reshape", b, build_const_ints(c->builder, NULL, 5, inner)));
}

#define SIDE_MAX 46340 /* the sizes of the system are int32, and its side is the square of this */

/* Of the root r: r dr + dr r = dy is a linear system in the elements of dr. As in TensorFlow, no
 * complex number is conjugated. */
struct status gradient_matrix_square_root(struct gradient_context *c)
{
    struct builder *b = c->builder;
    int64_t side = 0, columns = 0;

    TRY(read_sides(c, &side, &columns));
    if (side == 0)
        return flow(c, 0, dy(c));
    if (side > SIDE_MAX) /* a declared shape may be of any size */
        return status_error(STATUS_UNIMPLEMENTED,
                            "node '%s': MatrixSquareRoot has a gradient for matrices of up to %d "
                            "rows only",
                            c->node->name, SIDE_MAX);
    int32_t n = (int32_t)side;
    const int32_t square[] = { -1, n, n }, system[] = { -1, n * n, n * n },
                  column[] = { -1, n * n, 1 };
    struct endpoint stack = build_const_ints(b, NULL, 3, square);
    struct endpoint root = binary(c, "Reshape", output(c), stack);
    struct endpoint one = scaled_identity(c, n, number(c, root, 1));
    struct endpoint sum = binary(c, "AddV2", kronecker(c, one, transposed(c, root, 3), n),
                                 kronecker(c, root, one, n));
    struct endpoint right = transposed(c, binary(c, "Reshape", dy(c), stack), 3);
    const struct endpoint inputs[] = {
        binary(c, "Reshape", sum, build_const_ints(b, NULL, 3, system)),
        binary(c, "Reshape", right, build_const_ints(b, NULL, 3, column)),
    };
    struct endpoint found = with_adjoint(c, "MatrixSolve", false, 2, inputs);
    return flow(c, 0,
                reshape_like(c, transposed(c, binary(c, "Reshape", found, stack), 3), input(c, 0)));
}
