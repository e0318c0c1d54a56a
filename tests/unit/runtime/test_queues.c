/*
 * Queues, staging areas and the like against TensorFlow's answers. tests/golden/queues/graphs.py
 * writes the graphs, and says how they hold the answers. test_queue_waits.c tests runs that wait.
 */
#include "unit/runtime/answered_graph.h"

#define GRAPHS "tests/golden/queues/"

int main(void)
{
    return run_graphs("queues", GRAPHS, NULL, NULL, 0);
}
