/*
 * image_bytes: ops that decode and encode the files of images (image/image.h). All that decode take
 * most formats, whatever their names say.
 */
#include <limits.h>

#include "image/image.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

/* ---- decoding ---- */

enum decode_op {
    DECODE_JPEG,
    DECODE_CROPPED_JPEG,
    DECODE_PNG,
    DECODE_GIF,
    DECODE_BMP,
    DECODE_WEBP,
    DECODE_ANY,
};

struct decode_state {
    enum decode_op op;
    struct jpeg_options jpeg;
    int channels;
    enum dtype dtype;
    bool expand_animations;
};

static enum decode_op decode_op_of(const char *op)
{
    static const char *const names[] = { "DecodeJpeg", "DecodeAndCropJpeg", "DecodePng",
                                         "DecodeGif",  "DecodeBmp",         "DecodeWebP",
                                         "DecodeImage" };
    return (enum decode_op)BYTES_FIND(bytes_of(op), names); /* only rows of these ops get here */
}

/* `acceptable_fraction` has no effect, as in TensorFlow: a file either fails or is filled up. */
static struct status jpeg_attributes(const struct node *node, struct jpeg_options *out)
{
    int64_t ratio;
    struct bytes method;
    TRY(node_attr_int32(node, "ratio", &ratio));
    TRY(node_attr_bool(node, "fancy_upscaling", &out->fancy_upscaling));
    TRY(node_attr_bool(node, "try_recover_truncated", &out->recover_truncated));
    TRY(node_attr_string(node, "dct_method", &method));
    if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8)
        return status_error(STATUS_INVALID_ARGUMENT, "ratio must be 1, 2, 4, or 8, got %lld",
                            (long long)ratio);
    out->ratio = (int)ratio;
    out->accurate = bytes_equal(method, bytes_of("INTEGER_ACCURATE"));
    if (!out->accurate && method.size != 0 && !bytes_equal(method, bytes_of("INTEGER_FAST")))
        return status_error(STATUS_INVALID_ARGUMENT, "dct_method must be one of {'', "
                                                     "'INTEGER_FAST', 'INTEGER_ACCURATE'}");
    return status_ok();
}

static struct status decode_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct decode_state *state = prepare_state(p, sizeof *state, NULL);
    int64_t channels = 3;
    *state = (struct decode_state){ .op = decode_op_of(node->op_name),
                                    .jpeg = { .ratio = 1, .fancy_upscaling = true },
                                    .dtype = DT_UINT8,
                                    .expand_animations = true };
    if (state->op == DECODE_JPEG || state->op == DECODE_CROPPED_JPEG)
        TRY(jpeg_attributes(node, &state->jpeg));
    if (state->op == DECODE_PNG || state->op == DECODE_ANY)
        TRY(node_attr_type(node, "dtype", &state->dtype));
    if (state->op == DECODE_ANY)
        TRY(node_attr_bool(node, "expand_animations", &state->expand_animations));
    if (state->op != DECODE_GIF)
        TRY(node_attr_int32(node, "channels", &channels));
    if (channels != 0 && channels != 1 && channels != 3 && channels != 4)
        return status_error(STATUS_INVALID_ARGUMENT, "`channels` must be 0, 1, 3 or 4 but got %lld",
                            (long long)channels);
    state->channels = (int)channels;
    return status_ok();
}

/* One run of a decoder. */
struct decoding {
    struct kernel_context *k;
    enum image_format format;
    enum dtype dtype;      /* of the decoder's samples */
    struct tensor samples; /* if the output has another dtype */
    struct tensor work;    /* what the decoder allocates by itself, for the account only */
    struct tensor *out;
};

static struct status out_shape(const struct decoding *decoding, const struct image_extent *size,
                               struct shape *out)
{
    const struct decode_state *state = kernel_state(decoding->k);
    bool is_gif = decoding->format == IMAGE_GIF;
    *out = shape_of(size->frames, size->height, size->width, size->channels);
    if (is_gif && size->frames > 1 && (state->op == DECODE_PNG || state->op == DECODE_JPEG))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Got %lld frames, but animated gifs can only be decoded by "
                            "tf.io.decode_gif or tf.io.decode_image",
                            (long long)size->frames);
    bool keeps_frames = decoding->format == IMAGE_WEBP
                            ? state->expand_animations
                            : state->op == DECODE_GIF ||
                                  (is_gif && state->op == DECODE_ANY && state->expand_animations);
    if (!keeps_frames)
        *out = shape_of(size->height, size->width, size->channels);
    return shape_check(out->rank, out->dims, out);
}

static struct status make_room(void *context, const struct image_extent *size, void **pixels)
{
    struct decoding *decoding = context;
    const struct decode_state *state = kernel_state(decoding->k);
    struct shape shape, work = shape_of((int64_t)size->work_bytes);
    TRY(out_shape(decoding, size, &shape));
    TRY(kernel_scratch(decoding->k, DT_UINT8, &work, &decoding->work));
    TRY(kernel_output(decoding->k, 0, &shape, &decoding->out));
    *pixels = decoding->out->data;
    if (decoding->dtype == state->dtype)
        return status_ok();
    TRY(kernel_scratch(decoding->k, decoding->dtype, &shape, &decoding->samples));
    *pixels = decoding->samples.data;
    return status_ok();
}

static struct status check_run(void *context)
{
    const struct decoding *decoding = context;
    return kernel_check(decoding->k);
}

/* Samples of 8 or 16 bits to the dtype of the op. TensorFlow widens PNG by 257 (which libpng does)
 * and other formats by 256. */
static void convert_samples(const struct decoding *decoding)
{
    const struct tensor *out = decoding->out;
    const uint8_t *narrow = decoding->samples.data;
    const uint16_t *wide = decoding->samples.data;
    for (int64_t i = 0; i < out->size; i++) {
        if (out->dtype == DT_UINT16)
            ((uint16_t *)out->data)[i] = (uint16_t)(narrow[i] << 8);
        else if (decoding->dtype == DT_UINT8)
            ((float *)out->data)[i] = (float)narrow[i] * (float)(1. / UINT8_MAX);
        else
            ((float *)out->data)[i] = (float)wide[i] * (float)(1. / UINT16_MAX);
    }
}

static struct status read_crop(struct kernel_context *k, struct jpeg_crop *out)
{
    const struct tensor *window = kernel_input(k, 1);
    if (window->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "crop_window must be 1-D, got shape %s",
                            shape_text(&window->shape));
    if (window->size != 4)
        return status_error(STATUS_INVALID_ARGUMENT, "crop_size must have four elements %s",
                            shape_text(&window->shape));
    const int32_t *at = tensor_int32s(window);
    *out = (struct jpeg_crop){ .y = at[0], .x = at[1], .height = at[2], .width = at[3] };
    return status_ok();
}

/* Can this op decode that format, to that many channels? */
static struct status check_format(struct kernel_context *k, enum image_format format)
{
    const struct decode_state *state = kernel_state(k);
    const char *name = image_format_name(format);
    if (format == IMAGE_UNKNOWN)
        return status_error(STATUS_INVALID_ARGUMENT, "Unknown image file format. One of JPEG, "
                                                     "JPEG XL, PNG, GIF, BMP, WebP required.");
    if (format == IMAGE_WEBP)
        return state->dtype == DT_UINT8
                   ? status_ok()
                   : status_error(STATUS_INVALID_ARGUMENT, "WebP only supports uint8 for dtype");
    if (format == IMAGE_JPEG && state->channels == 4)
        return status_error(STATUS_INVALID_ARGUMENT, "JPEG does not support 4 channels");
    if (format == IMAGE_GIF && state->channels != 0 && state->channels != 3)
        return status_error(STATUS_INVALID_ARGUMENT, "channels must be 0 or 3 for GIF, got %d",
                            state->channels);
    if (format == IMAGE_BMP && state->channels == 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "`channels` must be 0, 3 or 4 for BMP, but got 1");
    if (state->op == DECODE_BMP && format != IMAGE_BMP)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Trying to decode %s format using DecodeBmp op. Use `decode_%s` or "
                            "`decode_image` instead.",
                            name,
                            format == IMAGE_JPEG  ? "jpeg"
                            : format == IMAGE_PNG ? "png"
                                                  : "gif");
    if (state->op == DECODE_CROPPED_JPEG && format != IMAGE_JPEG)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "DecodeAndCropJpeg operation can run on JPEG only, but detected %s.",
                            name);
    if (format == IMAGE_BMP && state->op != DECODE_BMP && state->op != DECODE_ANY)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Trying to decode BMP format using a wrong op. Use `decode_bmp` or "
                            "`decode_image` instead. Op used: %s",
                            kernel_node(k)->op_name);
    return status_ok();
}

static struct status decode(struct decoding *decoding, struct bytes file)
{
    const struct decode_state *state = kernel_state(decoding->k);
    const struct image_sink sink = { make_room, check_run, decoding };
    struct jpeg_options jpeg = state->jpeg;
    struct jpeg_crop crop;
    decoding->dtype = DT_UINT8;
    switch (decoding->format) {
    case IMAGE_JPEG:
        jpeg.channels = state->channels;
        if (state->op == DECODE_CROPPED_JPEG) {
            TRY(read_crop(decoding->k, &crop));
            jpeg.crop = &crop;
        }
        return jpeg_decode(file, &jpeg, &sink);
    case IMAGE_PNG:
        decoding->dtype = state->dtype == DT_UINT8 ? DT_UINT8 : DT_UINT16;
        return png_decode(file, state->channels, state->dtype == DT_UINT8 ? 8 : 16, &sink);
    case IMAGE_GIF:
        return gif_decode(file, state->expand_animations, &sink);
    case IMAGE_WEBP:
        return webp_decode(file, state->channels, state->expand_animations, &sink);
    default:
        return bmp_decode(file, state->channels, &sink);
    }
}

/* TensorFlow's words for a damaged file; what is wrong with it follows. */
static struct status damaged_file(enum image_format format, size_t size, struct status status)
{
    if (status.code != STATUS_DATA_LOSS)
        return status;
    if (format == IMAGE_JPEG)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "jpeg::Uncompress failed. Invalid JPEG data or crop window. (%s)",
                            status.message);
    if (format == IMAGE_PNG)
        return status_error(STATUS_INVALID_ARGUMENT, "Invalid PNG data, size %zu (%s)", size,
                            status.message);
    if (format == IMAGE_GIF)
        return status_error(STATUS_INVALID_ARGUMENT, "Invalid GIF data (size %zu), %s", size,
                            status.message);
    return status_error(STATUS_INVALID_ARGUMENT, "%s", status.message);
}

static struct status read_contents(struct kernel_context *k, struct bytes *out)
{
    const struct tensor *contents = kernel_input(k, 0);
    if (contents->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "`contents` must be scalar but got shape%s",
                            shape_text(&contents->shape));
    *out = tensor_strings(contents)[0];
    if (out->size == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Input is empty.");
    if (out->size > INT_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "Input contents are too large for int: %zu",
                            out->size);
    return status_ok();
}

static struct status decode_compute(struct kernel_context *k)
{
    struct bytes file;
    TRY(read_contents(k, &file));
    struct decoding decoding = { .k = k, .format = image_format_of(file) };
    TRY(check_format(k, decoding.format));
    struct status status = decode(&decoding, file);
    if (status_is_ok(status) && decoding.samples.data != NULL)
        convert_samples(&decoding);
    tensor_release(&decoding.samples);
    tensor_release(&decoding.work);
    return damaged_file(decoding.format, file.size, status);
}

static struct status jpeg_shape_compute(struct kernel_context *k)
{
    const struct tensor *contents = kernel_input(k, 0);
    struct image_extent size;
    struct shape shape = shape_of(3);
    struct tensor *out;
    if (contents->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "contents must be scalar, got shape %s",
                            shape_text(&contents->shape));
    if (tensor_strings(contents)[0].size > INT_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "JPEG contents are too large for int: %zu",
                            tensor_strings(contents)[0].size);
    struct status status = jpeg_read_size(tensor_strings(contents)[0], &size);
    if (!status_is_ok(status))
        return status_error(STATUS_INVALID_ARGUMENT, "Invalid JPEG data, size %zu (%s)",
                            tensor_strings(contents)[0].size, status.message);
    TRY(kernel_output(k, 0, &shape, &out));
    tensor_set_index(out, 0, size.height);
    tensor_set_index(out, 1, size.width);
    tensor_set_index(out, 2, size.channels);
    return status_ok();
}

/* ---- encoding ---- */

struct encode_jpeg_state {
    struct jpeg_encoding encoding;
    int channels; /* set by the attribute `format`; 0: those of the image */
};

static struct status encode_jpeg_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct encode_jpeg_state *state = prepare_state(p, sizeof *state, NULL);
    struct jpeg_encoding *encoding = &state->encoding;
    struct bytes format, unit;
    int64_t quality, x, y;
    TRY(node_attr_string(node, "format", &format));
    TRY(node_attr_int32(node, "quality", &quality));
    TRY(node_attr_bool(node, "progressive", &encoding->progressive));
    TRY(node_attr_bool(node, "optimize_size", &encoding->optimize_size));
    TRY(node_attr_bool(node, "chroma_downsampling", &encoding->chroma_downsampling));
    TRY(node_attr_string(node, "density_unit", &unit));
    TRY(node_attr_int32(node, "x_density", &x));
    TRY(node_attr_int32(node, "y_density", &y));
    TRY(node_attr_string(node, "xmp_metadata", &encoding->xmp_metadata));
    if (quality < 0 || quality > 100)
        return status_error(STATUS_INVALID_ARGUMENT, "quality must be in [0,100], got %lld",
                            (long long)quality);
    encoding->quality = (int)quality;
    encoding->density_in_cm = bytes_equal(unit, bytes_of("cm"));
    encoding->x_density = (int)x;
    encoding->y_density = (int)y;
    state->channels = bytes_equal(format, bytes_of("grayscale")) ? 1
                      : bytes_equal(format, bytes_of("rgb"))     ? 3
                                                                 : 0;
    return status_ok();
}

/* The extent of an image of this shape, [height, width, channels]. */
static struct status extent_of(const struct shape *shape, struct image_extent *out)
{
    *out = (struct image_extent){ 1, shape->dims[0], shape->dims[1], 0, 0 };
    if (out->height > INT_MAX || out->width > INT_MAX || shape_size(shape) > INT_MAX)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "image cannot have >= int32 max elements, got shape %s",
                            shape_text(shape));
    out->channels = shape->dims[2] < INT_MAX ? (int)shape->dims[2] : 0;
    return status_ok();
}

static struct status image_size_of(const struct tensor *image, struct image_extent *out)
{
    if (image->shape.rank != 3)
        return status_error(STATUS_INVALID_ARGUMENT, "image must be 3-dimensional%s",
                            shape_text(&image->shape));
    return extent_of(&image->shape, out);
}

static struct status check_kernel(void *context)
{
    return kernel_check(context);
}

/* The encoder's file becomes an output, in the run's memory. */
static struct status set_contents(struct kernel_context *k, const struct buffer *file,
                                  struct bytes *out)
{
    void *copy;
    TRY(arena_reserve(kernel_arena(k), file->size, &copy));
    memcpy(copy, file->data, file->size);
    *out = (struct bytes){ copy, file->size };
    return status_ok();
}

/* Accounts for the encoder's own memory: the file, and two bytes for each coefficient. */
static struct status account_work(struct kernel_context *k, enum dtype dtype, int64_t size,
                                  struct tensor *out)
{
    struct shape shape = shape_of(4 * size + 65536);
    return kernel_scratch(k, dtype, &shape, out);
}

static struct status encode_jpeg(struct kernel_context *k, const struct image_extent *size,
                                 const struct jpeg_encoding *encoding)
{
    const struct image_sink sink = { .check = check_kernel, .context = k };
    const struct tensor *image = kernel_input(k, 0);
    struct shape scalar = shape_scalar();
    struct tensor work, *out;
    struct buffer file = { 0 };
    TRY(kernel_output(k, 0, &scalar, &out));
    TRY(account_work(k, image->dtype, image->size, &work));
    struct status status = jpeg_encode(size, image->data, encoding, &sink, &file);
    if (status_is_ok(status))
        status = set_contents(k, &file, &tensor_strings_mut(out)[0]);
    else if (status.code == STATUS_DATA_LOSS || status.code == STATUS_INVALID_ARGUMENT)
        status = status_error(STATUS_INTERNAL, "JPEG encoding failed (%s)", status.message);
    buffer_finish(&file);
    tensor_release(&work);
    return status;
}

static struct status encode_jpeg_compute(struct kernel_context *k)
{
    const struct encode_jpeg_state *state = kernel_state(k);
    struct image_extent size;
    TRY(image_size_of(kernel_input(k, 0), &size));
    if (state->channels == 0 && size.channels != 1 && size.channels != 3)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "image must have 1 or 3 channels, got shape %s",
                            shape_text(&kernel_input(k, 0)->shape));
    if (state->channels != 0 && size.channels != state->channels)
        return status_error(STATUS_INVALID_ARGUMENT, "format %s expects %d channels, got %s",
                            state->channels == 1 ? "grayscale" : "rgb", state->channels,
                            shape_text(&kernel_input(k, 0)->shape));
    return encode_jpeg(k, &size, &state->encoding);
}

static struct status encode_quality_compute(struct kernel_context *k)
{
    const struct tensor *quality = kernel_input(k, 1);
    struct jpeg_encoding encoding = { .chroma_downsampling = true,
                                      .x_density = 300,
                                      .y_density = 300 };
    struct image_extent size;
    TRY(image_size_of(kernel_input(k, 0), &size));
    if (quality->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "quality must be scalar: %s",
                            shape_text(&quality->shape));
    encoding.quality = tensor_int32s(quality)[0];
    if (encoding.quality < 0 || encoding.quality > 100)
        return status_error(STATUS_INVALID_ARGUMENT, "quality must be in [0,100], got %d",
                            encoding.quality);
    if (size.channels != 1 && size.channels != 3)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "image must have 1 or 3 channels, got shape %s",
                            shape_text(&kernel_input(k, 0)->shape));
    return encode_jpeg(k, &size, &encoding);
}

static struct status encode_png_prepare(struct prepare_context *p)
{
    int *compression = prepare_state(p, sizeof *compression, NULL);
    int64_t value;
    TRY(node_attr_int32(prepare_node(p), "compression", &value));
    if (value < -1 || value > 9)
        return status_error(STATUS_INVALID_ARGUMENT, "compression should be in [-1,9], got %lld",
                            (long long)value);
    *compression = (int)value;
    return status_ok();
}

#define FAILED_BYTES_MAX 4096 /* of a list of images */

/* One image after the other. Appends to `failed` the numbers of those that libpng refuses. */
static struct status encode_pngs(struct kernel_context *k, const struct image_extent *size,
                                 struct tensor *out, struct buffer *failed)
{
    const struct image_sink sink = { .check = check_kernel, .context = k };
    const struct tensor *images = kernel_input(k, 0);
    const int *compression = kernel_state(k);
    size_t bytes = dtype_size(images->dtype);
    int64_t each = out->size > 0 ? images->size / out->size : 0;
    struct status status = status_ok();
    for (int64_t i = 0; i < out->size && status_is_ok(status); i++) {
        struct buffer file = { 0 };
        status = png_encode(size, (int)(8 * bytes), at_bytes_const(images->data, i * each, bytes),
                            *compression, &sink, &file);
        if (status_is_ok(status)) {
            status = set_contents(k, &file, &tensor_strings_mut(out)[i]);
        } else if (status.code == STATUS_DATA_LOSS || status.code == STATUS_INVALID_ARGUMENT) {
            buffer_printf(failed, "%s%lld", failed->size > 0 ? ", " : "", (long long)i);
            status = status_ok();
        }
        buffer_finish(&file);
        if (failed->size > FAILED_BYTES_MAX)
            break;
    }
    return status;
}

/* Any number of images of one size, in the dimensions before the last three. */
static struct status encode_png_compute(struct kernel_context *k)
{
    const struct tensor *images = kernel_input(k, 0);
    int rank = images->shape.rank;
    struct tensor work, *out;
    struct buffer failed = { 0 };
    struct image_extent size;
    if (rank < 3)
        return status_error(STATUS_INVALID_ARGUMENT, "images must be at least rank 3%s",
                            shape_text(&images->shape));
    struct shape batch = shape_make(rank - 3, images->shape.dims);
    struct shape image = shape_make(3, images->shape.dims + rank - 3);
    TRY(extent_of(&image, &size));
    if (size.channels < 1 || size.channels > 4)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "image must have 1, 2, 3, or 4 channels, got %d", size.channels);
    TRY(kernel_output(k, 0, &batch, &out));
    TRY(account_work(k, images->dtype, shape_size(&image), &work));
    struct status status = encode_pngs(k, &size, out, &failed);
    if (status_is_ok(status) && failed.size > 0)
        status = status_error(STATUS_INTERNAL,
                              "PNG encoding failed at the following flattened batch indices: %.*s",
                              (int)failed.size, failed.data);
    buffer_finish(&failed);
    tensor_release(&work);
    return status;
}

#define DECODE(op)                                                                           \
    {                                                                                        \
        op, DTYPES_ALL, .prepare = decode_prepare, .compute = decode_compute, .costly = true \
    }
static const struct kernel rows[] = {
    DECODE("DecodeJpeg"),
    DECODE("DecodeAndCropJpeg"),
    DECODE("DecodePng"),
    DECODE("DecodeGif"),
    DECODE("DecodeBmp"),
    DECODE("DecodeWebP"),
    DECODE("DecodeImage"),
    { "ExtractJpegShape", DTYPES_ALL, .compute = jpeg_shape_compute },
    { "EncodeJpeg", DTYPES_ALL, .prepare = encode_jpeg_prepare, .compute = encode_jpeg_compute,
      .costly = true },
    { "EncodeJpegVariableQuality", DTYPES_ALL, .compute = encode_quality_compute, .costly = true },
    { "EncodePng", DTYPES_ALL, .prepare = encode_png_prepare, .compute = encode_png_compute,
      .costly = true },
};
const struct kernel_table kernels_image_bytes = { rows, COUNT(rows) };
