#include "trainer/data/batch_source.h"

void data_destroy(struct data *data)
{
    if (data != NULL)
        data->destroy(data);
}
