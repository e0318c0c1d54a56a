/* file_data_images: the size to which image files are resized. */
#include "base/file.h"
#include "trainer/inputs/file_data_internal.h"
#include "trainer/records/image.h"
#include "trainer/records/image_records.h"

static void fit_images(struct file_data_maker *maker)
{
    const struct file_data_request *request = maker->request;

    for (int i = 0; i < request->feeds_count; i++) {
        const struct shape *shape = &request->feeds[i].spec.shape;
        if (request->feeds[i].role != FEED_INPUT || shape->rank < 3 || shape->rank > 4)
            continue;
        maker->records.image_height = shape->dims[1];
        maker->records.image_width = shape->dims[2];
        maker->records.image_channels = shape->rank == 4 ? (int)shape->dims[3] : 1;
    }
    if (maker->records.image_channels < 0)
        maker->records.image_channels = 3;
}

/* If a model takes images of any size, all are resized to the size of the first one. */
static struct status complete_image_size(struct file_data_maker *maker, const char *path)
{
    struct record_options *records = &maker->records;
    struct picture first = { 0 };
    struct buffer file = { 0 };

    if ((records->image_height >= 0 && records->image_width >= 0) ||
        !file_data_is_of_format(maker, path, &image_format))
        return status_ok();
    struct status status = file_read(path, IMAGE_BYTES_MAX, &file);
    if (status_is_ok(status))
        status =
            image_decode((struct bytes){ file.data, file.size }, records->image_channels, &first);
    if (status_is_ok(status) && records->image_height < 0)
        records->image_height = first.height;
    if (status_is_ok(status) && records->image_width < 0)
        records->image_width = first.width;
    image_finish(&first);
    buffer_finish(&file);
    return wrong_flag(maker->request->files_flag, status_in(status, "'%s'", path));
}

struct status file_data_choose_image_size(struct file_data_maker *maker)
{
    fit_images(maker);
    return complete_image_size(maker, maker->first_file);
}
