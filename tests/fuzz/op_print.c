#include <stdio.h>

#include "fuzz/op_graph.h"

static void print_element(const struct tensor *tensor, int64_t i)
{
    const uint8_t *at = (const uint8_t *)tensor->data + (size_t)i * dtype_size(tensor->dtype);
    double wide;
    float narrow;
    if (tensor->dtype == DT_STRING) {
        printf(" '%.*s'", (int)tensor_strings(tensor)[i].size, tensor_strings(tensor)[i].data);
    } else if (tensor->dtype == DT_DOUBLE) {
        memcpy(&wide, at, sizeof wide);
        printf(" %g", wide);
    } else if (tensor->dtype == DT_FLOAT) {
        memcpy(&narrow, at, sizeof narrow);
        printf(" %g", (double)narrow);
    } else if (dtype_is_integer(tensor->dtype)) {
        printf(" %lld", (long long)tensor_index(tensor, i));
    } else {
        printf(" %02x", *at);
    }
}

static void print_tensor(const struct tensor *tensor)
{
    printf("%s %s:", dtype_name(tensor->dtype), shape_text(&tensor->shape));
    for (int64_t i = 0; i < tensor->size && i < 12; i++)
        print_element(tensor, i);
    printf("%s", tensor->size > 12 ? " …" : "");
}

static void print_value(const struct attr_value *value)
{
    switch (value->kind) {
    case ATTR_TYPE:
        printf("%s (%d)", dtype_name(dtype_base(value->type)), value->type);
        break;
    case ATTR_INT:
        printf("%lld", (long long)value->i);
        break;
    case ATTR_FLOAT:
        printf("%g", (double)value->f);
        break;
    case ATTR_BOOL:
        printf("%s", value->b ? "true" : "false");
        break;
    case ATTR_STRING:
        printf("'%.*s'", (int)value->s.size, value->s.data);
        break;
    case ATTR_SHAPE:
        printf("%s", shape_text(value->shape));
        break;
    case ATTR_FUNC:
        printf("%s", value->func->name);
        break;
    case ATTR_TENSOR:
        print_tensor(value->tensor);
        break;
    default:
        printf("[");
        for (int i = 0; i < value->count; i++) {
            printf("%s", i > 0 ? ", " : "");
            print_value(&value->elements[i]);
        }
        printf("]");
    }
}

void op_graph_print(const struct op_graph *op_graph)
{
    for (int i = 0; i < op_graph->graph->count; i++) {
        const struct node *node = op_graph->graph->nodes[i];
        printf("  %s = %s(", node->name, node->op_name);
        for (int k = 0; k < node->inputs_count; k++)
            printf("%s%s", k > 0 ? ", " : "", endpoint_text(node->inputs[k]));
        printf(")");
        for (int k = 0; k < node->attrs_count; k++) {
            printf(" %s=", node->attrs[k].name);
            print_value(&node->attrs[k].value);
        }
        printf("\n");
    }
    for (int i = 0; i < op_graph->feeds_count; i++) {
        printf("  feed %s: ", op_graph->feeds[i]);
        print_tensor(&op_graph->values[i]);
        printf("\n");
    }
    for (int i = 0; i < op_graph->variables_count; i++) {
        printf("  variable %s: ", op_graph->variables[i]);
        print_tensor(&op_graph->initial[i]);
        printf("\n");
    }
}
