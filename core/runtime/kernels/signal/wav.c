/*
 * wav: DecodeWav and EncodeWav, for sound of 16 bits a sample.
 *
 *     "RIFF" | u32 size | "WAVE" | chunks, each: 4 characters | u32 size | contents
 *     "fmt " | u32 16 or 18 | u16 1 (PCM) | u16 channels | u32 samples a second | u32 bytes a second
 *            | u16 bytes of a frame | u16 bits of a sample | u16, if the size is 18
 *     "data" | u32 size | frames of one i16 for each channel
 */
#include <limits.h>
#include <math.h>

#include "runtime/kernel.h"

#define HEADER_BYTES 44
#define FULL_SCALE   32768.0f

struct wav {
    int64_t frames;
    uint32_t rate;
    int channels;
    const char *samples; /* not aligned */
};

static uint16_t get_u16(const char *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* Takes `size` bytes from the front. */
static struct status take(struct bytes *file, size_t size, const char **out)
{
    if (size > file->size)
        return status_error(STATUS_INVALID_ARGUMENT, "Data too short when trying to read string");
    *out = file->data;
    *file = (struct bytes){ file->data + size, file->size - size };
    return status_ok();
}

static struct status take_u32(struct bytes *file, uint32_t *out)
{
    const char *at;
    TRY(take(file, 4, &at));
    *out = get_u32le(at);
    return status_ok();
}

static struct status expect(struct bytes *file, const char *text)
{
    const char *found;
    TRY(take(file, 4, &found));
    if (memcmp(found, text, 4) != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Header mismatch: Expected %s but found %.4s",
                            text, found);
    return status_ok();
}

/* Skips the chunks that may precede the format, and the format's name. */
static struct status find_format(struct bytes *file)
{
    static const char known[] = "JUNK bext iXML qlty mext levl link axml";
    const char *name, *skipped;
    uint32_t size;
    for (;;) {
        TRY(take(file, 4, &name));
        if (memcmp(name, "fmt ", 4) == 0)
            return status_ok();
        if (memmem(known, sizeof known, name, 4) == NULL)
            return status_error(STATUS_INVALID_ARGUMENT, "Unexpected field %.4s", name);
        TRY(take_u32(file, &size));
        TRY(take(file, size, &skipped));
    }
}

static struct status read_format(struct bytes *file, struct wav *out)
{
    uint32_t size;
    const char *at;
    TRY(take_u32(file, &size));
    if (size != 16 && size != 18)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Bad format chunk size for WAV: Expected 16 or 18, but got%u", size);
    TRY(take(file, 16, &at));
    int format = get_u16(at), frame_bytes = get_u16(at + 12), bits = get_u16(at + 14);
    uint32_t bytes_per_second = get_u32le(at + 8);
    out->channels = get_u16(at + 2);
    out->rate = get_u32le(at + 4);
    if (format != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Bad audio format for WAV: Expected 1 (PCM), but got%d", format);
    if (out->channels < 1)
        return status_error(STATUS_INVALID_ARGUMENT, "Bad number of channels for WAV: Expected at "
                                                     "least 1, but got 0");
    if (bits != 16)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Can only read 16-bit WAV files, but received %d", bits);
    if (frame_bytes != 2 * out->channels)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Bad bytes per sample in WAV header: Expected %d but got %d",
                            2 * out->channels, frame_bytes);
    if (bytes_per_second != (uint32_t)frame_bytes * out->rate)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Bad bytes per second in WAV header: Expected %u but got %u "
                            "(sample_rate=%u, bytes_per_sample=%d)",
                            (uint32_t)frame_bytes * out->rate, bytes_per_second, out->rate,
                            frame_bytes);
    return size == 18 ? take(file, 2, &at) : status_ok();
}

/* A chunk after the sound may be longer than the file. */
static struct status read_chunk(struct bytes *file, struct wav *out)
{
    const char *name;
    uint32_t size;
    TRY(take(file, 4, &name));
    TRY(take_u32(file, &size));
    if (size > INT32_MAX)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "WAV data chunk '%.4s' is too large: %u bytes, but the limit is %d",
                            name, size, INT32_MAX);
    if (memcmp(name, "data", 4) != 0) {
        size_t skipped = size < file->size ? size : file->size;
        *file = (struct bytes){ file->data + skipped, file->size - skipped };
        return status_ok();
    }
    if (out->samples != NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "More than one data chunk found in WAV");
    size_t frame = 2 * (size_t)out->channels;
    out->frames = (int64_t)(size / frame);
    return take(file, (size_t)out->frames * frame, &out->samples);
}

static struct status read_wav(struct bytes file, struct wav *out)
{
    uint32_t size;
    *out = (struct wav){ 0 };
    TRY(expect(&file, "RIFF"));
    TRY(take_u32(&file, &size));
    TRY(expect(&file, "WAVE"));
    TRY(find_format(&file));
    TRY(read_format(&file, out));
    while (file.size > 0)
        TRY(read_chunk(&file, out));
    if (out->samples == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "No data chunk found in WAV");
    return status_ok();
}

struct decode_wav_state {
    int64_t channels, samples; /* -1: those of the file */
};

static struct status decode_wav_prepare(struct prepare_context *p)
{
    struct decode_wav_state *state = prepare_state(p, sizeof *state, NULL);
    TRY(node_attr_int32(prepare_node(p), "desired_channels", &state->channels));
    return node_attr_int32(prepare_node(p), "desired_samples", &state->samples);
}

/* Missing frames are silent; missing channels repeat the last one. */
static void put_frames(const struct wav *wav, int64_t channels, int64_t frames, float *out)
{
    for (int64_t i = 0; i < frames; i++)
        for (int64_t c = 0; c < channels; c++) {
            int64_t from = c < wav->channels ? c : wav->channels - 1;
            int64_t at = 2 * (i * wav->channels + from);
            *out++ = i < wav->frames ? (float)(int16_t)get_u16(wav->samples + at) / FULL_SCALE : 0;
        }
}

static struct status decode_wav_compute(struct kernel_context *k)
{
    const struct decode_wav_state *state = kernel_state(k);
    const struct tensor *contents = kernel_input(k, 0);
    struct shape scalar = shape_scalar();
    struct tensor *audio, *rate;
    struct wav wav;
    if (contents->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "contents must be scalar, got shape %s",
                            shape_text(&contents->shape));
    if (tensor_strings(contents)[0].size > INT_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "WAV contents are too large for int: %zu",
                            tensor_strings(contents)[0].size);
    TRY(read_wav(tensor_strings(contents)[0], &wav));
    if (state->channels < -1)
        return status_error(STATUS_INVALID_ARGUMENT, "desired_channels must be >= -1, got %lld",
                            (long long)state->channels);
    if (state->samples < -1)
        return status_error(STATUS_INVALID_ARGUMENT, "desired_samples must be >= -1, got %lld",
                            (long long)state->samples);
    struct shape shape = shape_of(state->samples == -1 ? wav.frames : state->samples,
                                  state->channels == -1 ? wav.channels : state->channels);
    TRY(shape_check(2, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &audio));
    TRY(kernel_output(k, 1, &scalar, &rate));
    tensor_int32s_mut(rate)[0] = (int32_t)wav.rate;
    if (audio->size > 0)
        put_frames(&wav, shape.dims[1], shape.dims[0], tensor_floats_mut(audio));
    return status_ok();
}

/* ---- encoding ---- */

static char *put_u16(char *at, int64_t value)
{
    uint16_t low = (uint16_t)value;
    memcpy(at, &low, sizeof low);
    return at + 2;
}

static char *put_name(char *at, const char *name, int64_t size)
{
    memcpy(at, name, 4);
    put_u32le(at + 4, (uint32_t)size);
    return at + 8;
}

static int16_t sample_of(float x)
{
    float scaled = roundf(x * FULL_SCALE);
    return (int16_t)(!(scaled > INT16_MIN) ? INT16_MIN : scaled < INT16_MAX ? scaled : INT16_MAX);
}

static void write_wav(const struct tensor *audio, uint32_t rate, char *at)
{
    int64_t channels = audio->shape.dims[1], bytes = 2 * audio->size;
    at = put_name(at, "RIFF", HEADER_BYTES - 8 + bytes);
    memcpy(at, "WAVE", 4);
    at = put_name(at + 4, "fmt ", 16);
    at = put_u16(at, 1);
    at = put_u16(at, channels);
    put_u32le(at, rate);
    put_u32le(at + 4, rate * (uint32_t)(2 * channels));
    at = put_u16(at + 8, 2 * channels);
    at = put_u16(at, 16);
    at = put_name(at, "data", bytes);
    for (int64_t i = 0; i < audio->size; i++)
        at = put_u16(at, sample_of(tensor_floats(audio)[i]));
}

static struct status encode_wav_compute(struct kernel_context *k)
{
    const struct tensor *audio = kernel_input(k, 0), *rate = kernel_input(k, 1);
    struct shape scalar = shape_scalar();
    struct tensor *out;
    void *file;
    if (audio->shape.rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "audio must be 2-dimensional%s",
                            shape_text(&audio->shape));
    if (rate->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input sample_rate should be a scalar tensor, got %s instead.",
                            shape_text(&rate->shape));
    int64_t channels = audio->shape.dims[1], hertz = tensor_int32s(rate)[0];
    if (hertz <= 0)
        return status_error(STATUS_INVALID_ARGUMENT, "sample_rate must be in (0, 2^32), got: %lld",
                            (long long)hertz);
    if (channels <= 0 || channels > UINT16_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "num_channels must be in (0, 2^16), got: %lld",
                            (long long)channels);
    if (audio->size > (UINT32_MAX - HEADER_BYTES) / 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Provided channels and frames cannot be encoded as a WAV.");
    size_t size = HEADER_BYTES + 2 * (size_t)audio->size;
    TRY(kernel_output(k, 0, &scalar, &out));
    TRY(arena_reserve(kernel_arena(k), size, &file));
    write_wav(audio, (uint32_t)hertz, file);
    tensor_strings_mut(out)[0] = (struct bytes){ file, size };
    return status_ok();
}

static const struct kernel rows[] = {
    { "DecodeWav", DTYPES_ALL, .prepare = decode_wav_prepare, .compute = decode_wav_compute },
    { "EncodeWav", DTYPES_ALL, .compute = encode_wav_compute },
};
const struct kernel_table kernels_wav = { rows, COUNT(rows) };
