/*
 * Sparse matrices in compressed rows, against TensorFlow's answers: tests/golden/csr/graphs.py
 * writes the graphs.
 */
#include "unit/runtime/answered_graph.h"

#define GRAPHS "tests/golden/csr/"

int main(void)
{
    return run_graphs("csr", GRAPHS, NULL, NULL, 0);
}
