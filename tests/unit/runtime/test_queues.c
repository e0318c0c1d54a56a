/*
 * Queues, staging areas and the like against TensorFlow's answers. tests/golden/queues/graphs.py
 * writes the graphs, and says how they hold the answers. test_queue_waits.c tests runs that wait.
 */
#include "unit/runtime/answered_graph.h"

#define GRAPHS "tests/golden/queues/"

static bool is_left_out(const char *path)
{
    (void)path;
    return false;
}

int main(void)
{
    return run_graphs("queues", GRAPHS, is_left_out, NULL, 0);
}
