/*
 * Datasets of tf.data in graphs, against TensorFlow's answers: tests/golden/datasets/graphs.py
 * writes the graphs.
 */
#include "unit/runtime/answered_graph.h"

#define GRAPHS "tests/golden/datasets/"

int main(void)
{
    return run_graphs("datasets", GRAPHS, NULL, NULL, 0);
}
