/*
 * audio_features: AudioSpectrogram, the power of each frequency in windows of samples, and Mfcc,
 * its cepstrum over bands that the ear hears as equally wide, for speech recognisers.
 *
 * Source  TensorFlow's spectrogram.cc, mfcc.cc, mfcc_mel_filterbank.cc and mfcc_dct.cc
 */
#include <math.h>

#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/fft.h"

/* ---- AudioSpectrogram ---- */

struct spectrogram_state {
    int64_t window, stride;
    bool squared;
};

static struct status spectrogram_prepare(struct prepare_context *p)
{
    struct spectrogram_state *state = prepare_state(p, sizeof *state, NULL);
    const struct node *node = prepare_node(p);
    TRY(node_attr_int(node, "window_size", &state->window));
    TRY(node_attr_int(node, "stride", &state->stride));
    TRY(node_attr_bool(node, "magnitude_squared", &state->squared));
    if (state->window < 2 || state->window > INT32_MAX / 4 || state->stride < 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s' (AudioSpectrogram): window_size must be at least 2 and "
                            "stride at least 1, not %lld and %lld",
                            node->name, (long long)state->window, (long long)state->stride);
    return status_ok();
}

/* The memory of one spectrogram: complex numbers. */
struct sound_frames {
    struct fft fft;
    int64_t length; /* of the transform, a power of two */
    double complex *in, *out;
    double *hann; /* [window] */
};

static struct status frames_make(struct kernel_context *k, int64_t window, struct tensor *memory,
                                 struct sound_frames *frames)
{
    frames->length = 1;
    while (frames->length < window)
        frames->length *= 2;
    int64_t plan = fft_memory(frames->length);
    struct shape shape = shape_of(plan + 2 * frames->length + window);
    TRY(kernel_scratch(k, DT_COMPLEX128, &shape, memory));
    double complex *at = memory->data;
    fft_init(&frames->fft, frames->length, false, at);
    frames->in = at + plan;
    frames->out = frames->in + frames->length;
    frames->hann = (double *)(frames->out + frames->length);
    for (int64_t i = 0; i < frames->length; i++)
        frames->in[i] = 0;
    for (int64_t i = 0; i < window; i++)
        frames->hann[i] = 0.5 - 0.5 * cos(2 * M_PI * (double)i / (double)window);
    return status_ok();
}

/* One window of one channel; samples of a channel are `channels` apart. */
static void put_frame(const struct spectrogram_state *state, const struct sound_frames *frames,
                      const float *samples, int64_t channels, float *out)
{
    for (int64_t i = 0; i < state->window; i++)
        frames->in[i] = (double)samples[i * channels] * frames->hann[i];
    fft_run(&frames->fft, frames->in, frames->out);
    for (int64_t i = 0; i <= frames->length / 2; i++) {
        double re = creal(frames->out[i]), im = cimag(frames->out[i]);
        float power = (float)(re * re + im * im);
        out[i] = state->squared ? power : sqrtf(power);
    }
}

static struct status put_spectrogram(struct kernel_context *k, const struct sound_frames *frames,
                                     struct tensor *out)
{
    const struct spectrogram_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    int64_t channels = out->shape.dims[0], count = out->shape.dims[1], width = out->shape.dims[2];
    for (int64_t c = 0; c < channels; c++)
        for (int64_t f = 0; f < count; f++) {
            TRY(kernel_check(k));
            put_frame(state, frames, tensor_floats(x) + f * state->stride * channels + c, channels,
                      tensor_floats_mut(out) + (c * count + f) * width);
        }
    return status_ok();
}

static struct status spectrogram_compute(struct kernel_context *k)
{
    const struct spectrogram_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct sound_frames frames;
    struct tensor *out, memory = { 0 };
    if (x->shape.rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "input must be 2-dimensional%s",
                            shape_text(&x->shape));
    int64_t samples = x->shape.dims[0], length = 1;
    while (length < state->window)
        length *= 2;
    int64_t count = samples < state->window ? 0 : 1 + (samples - state->window) / state->stride;
    struct shape shape = shape_of(x->shape.dims[1], count, 1 + length / 2);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    struct status status = frames_make(k, state->window, &memory, &frames);
    if (status_is_ok(status))
        status = put_spectrogram(k, &frames, out);
    tensor_release(&memory);
    return status;
}

/* ---- Mfcc ---- */

#define POWER_LEAST 1e-12 /* its logarithm means silence */

struct mfcc_state {
    double upper, lower; /* hertz */
    int64_t bands, coefficients;
};

static struct status mfcc_prepare(struct prepare_context *p)
{
    struct mfcc_state *state = prepare_state(p, sizeof *state, NULL);
    const struct node *node = prepare_node(p);
    float upper, lower;
    TRY(node_attr_float(node, "upper_frequency_limit", &upper));
    TRY(node_attr_float(node, "lower_frequency_limit", &lower));
    TRY(node_attr_int32(node, "filterbank_channel_count", &state->bands));
    TRY(node_attr_int32(node, "dct_coefficient_count", &state->coefficients));
    state->upper = (double)upper;
    state->lower = (double)lower;
    return status_ok();
}

static double mel_of(double hertz)
{
    return 1127.0 * log1p(hertz / 700.0);
}

/* Triangles over the frequencies, each from the middle of one band to that of the next. */
struct bands {
    int64_t first, last;    /* frequencies in use */
    double *middles;        /* [bands + 1] */
    double *weights;        /* [width], for the band on the left */
    int32_t *left;          /* [width]; -1: there is none */
    double *sums, *cosines; /* [bands], [coefficients, bands] */
};

static struct status mfcc_failed(struct kernel_context *k, int64_t width, int64_t rate)
{
    const struct mfcc_state *state = kernel_state(k);
    return kernel_error(k, STATUS_INVALID_ARGUMENT,
                        "Mfcc initialization failed for channel count %lld, sample rate %lld and "
                        "filterbank_channel_count %lld, dct_coefficient_count %lld, frequencies "
                        "%g to %g",
                        (long long)width, (long long)rate, (long long)state->bands,
                        (long long)state->coefficients, state->lower, state->upper);
}

static void find_bands(const struct mfcc_state *state, int64_t width, double per_bin,
                       struct bands *b)
{
    double low = mel_of(state->lower);
    double spacing = (mel_of(state->upper) - low) / (double)(state->bands + 1);
    int64_t band = 0;
    for (int64_t i = 0; i <= state->bands; i++)
        b->middles[i] = low + spacing * (double)(i + 1);
    for (int64_t i = 0; i < width; i++) {
        double mel = mel_of((double)i * per_bin);
        if (i < b->first || i > b->last)
            continue;
        while (band < state->bands && b->middles[band] < mel)
            band++;
        double left = band > 0 ? b->middles[band - 1] : low;
        b->left[i] = (int32_t)(band - 1);
        b->weights[i] = (b->middles[band] - mel) / (b->middles[band] - left);
    }
}

static struct status bands_make(struct kernel_context *k, int64_t width, int64_t rate,
                                struct tensor *memory, struct bands *b)
{
    const struct mfcc_state *state = kernel_state(k);
    int64_t bands = state->bands, coefficients = state->coefficients;
    double per_bin = 0.5 * (double)rate / (double)(width - 1);
    if (bands < 1 || coefficients < 1 || coefficients > bands || rate < 1 || width < 2 ||
        width > INT32_MAX || !(state->lower >= 0) || !(state->upper > state->lower))
        return mfcc_failed(k, width, rate);
    if (!(state->upper / per_bin < (double)width))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "upper_frequency_limit %g is beyond the spectrum of %lld channels at "
                            "sample rate %lld",
                            state->upper, (long long)width, (long long)rate);
    struct shape cells = shape_of(bands, coefficients);
    TRY(shape_check(2, cells.dims, &cells));
    struct shape shape = shape_of(2 * bands + 1 + shape_size(&cells) + 2 * width);
    TRY(shape_check(1, shape.dims, &shape));
    TRY(kernel_scratch(k, DT_DOUBLE, &shape, memory));
    b->middles = memory->data;
    b->sums = b->middles + bands + 1;
    b->cosines = b->sums + bands;
    b->weights = b->cosines + shape_size(&cells);
    b->left = (int32_t *)(b->weights + width);
    b->first = (int64_t)(1.5 + state->lower / per_bin);
    b->last = (int64_t)(state->upper / per_bin);
    find_bands(state, width, per_bin, b);
    for (int64_t i = 0; i < coefficients; i++)
        for (int64_t j = 0; j < bands; j++)
            b->cosines[i * bands + j] = sqrt(2.0 / (double)bands) *
                                        cos((double)i * (M_PI / (double)bands) * ((double)j + 0.5));
    return status_ok();
}

static void put_cepstrum(const struct mfcc_state *state, const struct bands *b, const float *powers,
                         float *out)
{
    for (int64_t j = 0; j < state->bands; j++)
        b->sums[j] = 0;
    for (int64_t i = b->first; i <= b->last; i++) {
        double amplitude = sqrt((double)powers[i]), falling = amplitude * b->weights[i];
        int64_t band = b->left[i];
        if (band >= 0)
            b->sums[band] += falling;
        if (band + 1 < state->bands)
            b->sums[band + 1] += amplitude - falling;
    }
    for (int64_t j = 0; j < state->bands; j++)
        b->sums[j] = log(b->sums[j] < POWER_LEAST ? POWER_LEAST : b->sums[j]);
    for (int64_t i = 0; i < state->coefficients; i++) {
        double sum = 0;
        for (int64_t j = 0; j < state->bands; j++)
            sum += b->cosines[i * state->bands + j] * b->sums[j];
        out[i] = (float)sum;
    }
}

static struct status mfcc_compute(struct kernel_context *k)
{
    const struct mfcc_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0), *rate = kernel_input(k, 1);
    struct bands bands = { 0 };
    struct status status;
    struct tensor *out, memory = { 0 };
    if (x->shape.rank != 3)
        return status_error(STATUS_INVALID_ARGUMENT, "spectrogram must be 3-dimensional%s",
                            shape_text(&x->shape));
    if (rate->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input sample_rate should be a scalar tensor, got %s instead.",
                            shape_text(&rate->shape));
    int64_t width = x->shape.dims[2];
    struct shape shape = x->shape;
    TRY_OR(done, bands_make(k, width, tensor_int32s(rate)[0], &memory, &bands));
    shape.dims[2] = state->coefficients;
    TRY_OR(done, shape_check(3, shape.dims, &shape));
    TRY_OR(done, kernel_output(k, 0, &shape, &out));
    for (int64_t i = 0; i < out->size / state->coefficients; i++) {
        TRY_OR(done, kernel_check(k));
        put_cepstrum(state, &bands, tensor_floats(x) + i * width,
                     tensor_floats_mut(out) + i * state->coefficients);
    }
done:
    tensor_release(&memory);
    return status;
}

static const struct kernel rows[] = {
    { "AudioSpectrogram", DTYPES_ALL, .prepare = spectrogram_prepare,
      .compute = spectrogram_compute, .costly = true },
    { "Mfcc", DTYPES_ALL, .prepare = mfcc_prepare, .compute = mfcc_compute, .costly = true },
};
const struct kernel_table kernels_audio_features = { rows, COUNT(rows) };
