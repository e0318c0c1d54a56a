#include "graph/training_graph.h"

void training_graph_finish(struct training_graph *graph)
{
    graph_finish(graph->step.graph);
    graph_finish(graph->evaluation.graph);
    *graph = (struct training_graph){ 0 };
}
