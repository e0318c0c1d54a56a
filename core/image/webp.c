/* webp: WebP files by libwebp, with one picture or the frames of an animation. */

#include <webp/decode.h>
#include <webp/demux.h>

#include "image/image.h"

static struct status invalid(const char *text)
{
    return status_error(STATUS_INVALID_ARGUMENT, "%s", text);
}

static struct status check(const struct image_sink *sink)
{
    return sink->check != NULL ? sink->check(sink->context) : status_ok();
}

/* ---- one picture ---- */

/* libwebp's memory for a picture: its pixels in libwebp's form, the alpha, and cached rows. */
static size_t work_bytes(int64_t width, int64_t height)
{
    return (size_t)(width * height) * 5 + (size_t)width * 64;
}

static struct status decode_picture(struct bytes file, const struct image_extent *size,
                                    const struct image_sink *sink)
{
    void *pixels;
    WebPDecoderConfig config;
    TRY(sink->make_room(sink->context, size, &pixels));
    if (!WebPInitDecoderConfig(&config))
        return status_error(STATUS_INTERNAL, "libwebp is of another version than its headers");
    config.output.colorspace = size->channels == 4 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = pixels;
    config.output.u.RGBA.stride = (int)size->width * size->channels;
    config.output.u.RGBA.size = (size_t)(size->width * size->height * size->channels);
    VP8StatusCode code = WebPDecode((const uint8_t *)file.data, file.size, &config);
    if (code == VP8_STATUS_OUT_OF_MEMORY)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for libwebp");
    return code == VP8_STATUS_OK ? check(sink) : invalid("Failed to decode WebP image.");
}

/* ---- an animation ---- */

static struct status no_animation(void)
{
    return invalid("Failed to decode WebP Animation: failed to decode WebP Animation");
}

/* Each frame is the whole canvas, after what its part changes. */
static struct status decode_frames(WebPAnimDecoder *decoder, const struct image_extent *size,
                                   const struct image_sink *sink, uint8_t *pixels)
{
    size_t frame_bytes = (size_t)(size->width * size->height) * 4;
    for (int64_t i = 0; i < size->frames; i++) {
        uint8_t *canvas;
        int timestamp;
        if (!WebPAnimDecoderGetNext(decoder, &canvas, &timestamp))
            return no_animation();
        memcpy(pixels + (size_t)i * frame_bytes, canvas, frame_bytes);
        TRY(check(sink));
    }
    return status_ok();
}

static struct status decode_animation(struct bytes file, struct image_extent *size, bool all_frames,
                                      const struct image_sink *sink)
{
    const WebPData data = { (const uint8_t *)file.data, file.size };
    WebPDemuxer *demuxer = WebPDemux(&data);
    WebPAnimDecoderOptions options;
    void *pixels;
    if (demuxer == NULL)
        return no_animation();
    size->frames = all_frames ? WebPDemuxGetI(demuxer, WEBP_FF_FRAME_COUNT) : 1;
    size->width = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_WIDTH);
    size->height = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_HEIGHT);
    WebPDemuxDelete(demuxer);
    /* two canvases, and the work of a frame */
    size->work_bytes =
        work_bytes(size->width, size->height) + (size_t)(size->width * size->height) * 8;
    TRY(sink->make_room(sink->context, size, &pixels));
    if (!WebPAnimDecoderOptionsInit(&options))
        return status_error(STATUS_INTERNAL, "libwebp is of another version than its headers");
    options.color_mode = MODE_RGBA;
    WebPAnimDecoder *decoder = WebPAnimDecoderNew(&data, &options);
    if (decoder == NULL)
        return no_animation();
    struct status status = decode_frames(decoder, size, sink, pixels);
    WebPAnimDecoderDelete(decoder);
    return status;
}

struct status webp_decode(struct bytes file, int channels, bool all_frames,
                          const struct image_sink *sink)
{
    WebPBitstreamFeatures features;
    if (channels == 1)
        return invalid("WebP only supports 3 or 4 channels");
    if (WebPGetFeatures((const uint8_t *)file.data, file.size, &features) != VP8_STATUS_OK)
        return invalid("Failed to decode WebP header.");
    struct image_extent size = { 1, features.height, features.width, features.has_alpha ? 4 : 3,
                                 work_bytes(features.width, features.height) };
    if (channels != 0 && channels != size.channels)
        return invalid("Number of channels requested does not match input");
    if (features.has_animation && size.channels != 4)
        return invalid("WebP Animation must be 4 channel RGBA");
    return features.has_animation ? decode_animation(file, &size, all_frames, sink)
                                  : decode_picture(file, &size, sink);
}
