/*
 * Tokenizers of TensorFlow Text that need a table, against TensorFlow's answers:
 * tests/golden/text/graphs.py writes the graphs.
 */
#include "unit/runtime/answered_graph.h"

#define GRAPHS "tests/golden/text/"

int main(void)
{
    return run_graphs("tokenizers", GRAPHS, NULL, NULL, 0);
}
