/*
 * Ops of XLA that run functions against TensorFlow's answers. tests/golden/xla/graphs.py writes the
 * graphs. The other ops of XLA have rows (tests/golden/kernels/xla_rows.py).
 */
#include "unit/runtime/answered_graph.h"

#define GRAPHS "tests/golden/xla/"

int main(void)
{
    return run_graphs("xla", GRAPHS, NULL, NULL, 0);
}
