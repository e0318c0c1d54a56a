#include "trainer/data/batch_source.h"

#include <string.h>

int data_split_column(const struct data_split *split, const char *name)
{
    for (int c = 0; c < split->columns_count; c++)
        if (strcmp(split->columns[c].spec.name, name) == 0)
            return c;
    return -1;
}

void data_destroy(struct data *data)
{
    if (data != NULL)
        data->destroy(data);
}
