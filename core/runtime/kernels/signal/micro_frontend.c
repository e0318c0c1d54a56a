/*
 * micro_frontend: AudioMicrofrontend, the features that keyword spotters on small devices compute
 * in integers: a window, its spectrum, bands that the ear hears as equally wide, of which noise is
 * subtracted, an automatic gain, and a logarithm. The answers are those of TensorFlow Lite's
 * microfrontend library, bit by bit.
 */
#include <math.h>

#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/fixed_fft.h"

#define WINDOW_BITS 12 /* after the point, of the window's coefficients */
#define BAND_BITS   12 /* of the weights of bands */
#define NOISE_BITS  14 /* of smoothing factors */
#define SNR_BITS    12 /* of a signal divided by its noise */
#define GAIN_BITS   6  /* of the result of the automatic gain */
#define LOG_BITS    16 /* of logarithms */
#define LOG_PIECES  128

#define WINDOW_MAX    65536 /* samples: places in the spectrum are numbers of 16 bits there */
#define CHANNELS_MAX  4096
#define GAIN_INTERVAL 33 /* of the gain's table: 2^(i - 1) to 2^i for i up to 32 */

/* The frequencies of a band. A channel rises over one band and falls over the next. */
struct sound_band {
    int begin, end;
};

struct frontend_state {
    int window, step; /* samples */
    int channels, left, right, stride, out_scale;
    int noise_shift, log_shift, snr_shift, correction;
    uint16_t even_smoothing, odd_smoothing, least_signal;
    bool zero_padding, has_gain, has_log;
    int16_t *coefficients; /* [window] */
    struct fixed_fft fft;
    int end;                         /* of the frequencies that any band has */
    struct sound_band *bands;        /* [channels + 1] */
    int16_t *rising, *falling;       /* the weights of each frequency */
    int16_t gains[GAIN_INTERVAL][3]; /* a value, and the coefficients of t and t²; [0] and [1]: of
                                        0 and 1 */
    uint16_t logs[LOG_PIECES + 1];   /* log2(1 + x) - x */
};

static int bits_of(uint64_t x)
{
    return x == 0 ? 0 : 64 - __builtin_clzll(x);
}

/* ---- preparing ---- */

static float mel_of(float hertz)
{
    return (float)(1127.0 * log1p((double)hertz / 700.0));
}

struct band_limits {
    float lower, upper; /* hertz */
};

static struct status outside_spectrum(void)
{
    return status_error(STATUS_INTERNAL, "failed to populate frontend state");
}

/* Finds the frequencies of each band, and their weights: a weight of the band falls from 1 to 0. */
static struct status find_bands(struct frontend_state *state, struct band_limits limits, int rate,
                                struct arena *arena)
{
    int spectrum = state->fft.length / 2 + 1, count = state->channels + 1;
    float hertz = (float)(0.5 * rate / (double)((float)spectrum - 1));
    float low = mel_of(limits.lower), high = mel_of(limits.upper);
    float spacing = (high - low) / (float)count, begin = low;
    state->bands = ARENA_ARRAY(arena, struct sound_band, count);
    state->rising = ARENA_ARRAY(arena, int16_t, spectrum);
    state->falling = ARENA_ARRAY(arena, int16_t, spectrum);
    if (limits.lower / hertz >= (float)spectrum)
        return outside_spectrum();
    state->end = (int)(1.5 + (double)(limits.lower / hertz));
    for (int i = 0; i < count; i++) {
        float center = low + spacing * (float)(i + 1);
        state->bands[i].begin = state->end;
        for (; mel_of((float)state->end * hertz) <= center; state->end++) {
            if (state->end >= spectrum - 1)
                return outside_spectrum();
            float weight = (center - mel_of((float)state->end * hertz)) / (center - begin);
            state->falling[state->end] = (int16_t)floor((double)(weight * (1 << BAND_BITS)) + 0.5);
            state->rising[state->end] =
                (int16_t)floor((1.0 - (double)weight) * (1 << BAND_BITS) + 0.5);
        }
        state->bands[i].end = state->end;
        begin = center;
    }
    return state->end < spectrum ? status_ok() : outside_spectrum();
}

struct gain_config {
    float strength, offset;
    int gain_bits, input_bits;
};

static int16_t gain_at(const struct gain_config *config, uint32_t noise)
{
    float x = (float)noise / (float)(UINT32_C(1) << config->input_bits);
    float gain =
        (float)(UINT32_C(1) << config->gain_bits) * powf(x + config->offset, -config->strength);
    return gain > INT16_MAX ? INT16_MAX : (int16_t)(gain + 0.5f);
}

/* A parabola through the ends and the middle of each interval. */
static void make_gains(const struct gain_config *config, struct frontend_state *state)
{
    state->gains[0][0] = gain_at(config, 0);
    state->gains[1][0] = gain_at(config, 1);
    for (int i = 2; i < GAIN_INTERVAL; i++) {
        uint32_t begin = UINT32_C(1) << (i - 1);
        uint32_t end = i == GAIN_INTERVAL - 1 ? UINT32_MAX : 2 * begin;
        int32_t first = gain_at(config, begin);
        int32_t middle = gain_at(config, begin + begin / 2) - first;
        int32_t last = gain_at(config, end) - first;
        state->gains[i][0] = (int16_t)first;
        state->gains[i][1] = (int16_t)(4 * middle - last);
        state->gains[i][2] = (int16_t)(last - (4 * middle - last));
    }
}

static int fft_length(const struct frontend_state *state)
{
    int length = 4;
    while (length < state->window)
        length *= 2;
    return length;
}

/* Counts the tables, up to half a megabyte that a node of a few bytes makes. */
static struct status count_tables(struct prepare_context *p, const struct frontend_state *state)
{
    size_t length = (size_t)fft_length(state), left = prepare_memory_left(p);
    size_t bytes = length * sizeof(struct fixed_complex) + (length / 2 + 1) * 2 * sizeof(int16_t) +
                   (size_t)state->window * sizeof(int16_t) +
                   ((size_t)state->channels + 1) * sizeof(struct sound_band);
    if (left > 0 && bytes > left)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "node '%s' (%s): tables of %zu bytes, of which the load may keep %zu",
                            prepare_node(p)->name, prepare_node(p)->op_name, bytes, left);
    prepare_count_memory(p, bytes);
    return status_ok();
}

static void make_window(struct frontend_state *state, struct arena *arena)
{
    float angle = (float)(M_PI * 2.0 / (double)(float)state->window);
    int length = fft_length(state);
    fixed_fft_init(&state->fft, length, ARENA_ARRAY(arena, struct fixed_complex, length));
    state->coefficients = ARENA_ARRAY(arena, int16_t, state->window);
    for (int i = 0; i < state->window; i++) {
        float value = (float)(0.5 - 0.5 * cos((double)angle * (i + 0.5)));
        state->coefficients[i] = (int16_t)floor((double)(value * (1 << WINDOW_BITS)) + 0.5);
    }
    for (int i = 0; i <= LOG_PIECES; i++) {
        double x = (double)i / LOG_PIECES;
        state->logs[i] = (uint16_t)floor((1 << LOG_BITS) * (log2(1 + x) - x) + 0.5);
    }
}

/* An attribute within limits, beyond which TensorFlow crashes, hangs or overflows. */
static struct status read_int(const struct node *node, const char *name, int64_t least,
                              int64_t most, int *out)
{
    int64_t value;
    TRY(node_attr_int(node, name, &value));
    *out = (int)value;
    if (value >= least && value <= most)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "node '%s' (%s): %s is %lld, must be from %lld to %lld", node->name,
                        node->op_name, name, (long long)value, (long long)least, (long long)most);
}

/* A factor from 0 to 1. */
static struct status read_factor(const struct node *node, const char *name, uint16_t *out)
{
    float value;
    TRY(node_attr_float(node, name, &value));
    if (!(value >= 0 && value <= 1))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s' (%s): %s is %g, must be from 0 to 1", node->name,
                            node->op_name, name, (double)value);
    *out = (uint16_t)(value * (1 << NOISE_BITS));
    return status_ok();
}

static struct status read_window(const struct node *node, struct frontend_state *state, int *rate)
{
    int window_ms, step_ms;
    TRY(read_int(node, "sample_rate", 1, INT32_MAX, rate));
    TRY(read_int(node, "window_size", 1, WINDOW_MAX, &window_ms));
    TRY(read_int(node, "window_step", 1, WINDOW_MAX, &step_ms));
    int64_t window = (int64_t)window_ms * *rate / 1000, step = (int64_t)step_ms * *rate / 1000;
    if (window < 3 || window > WINDOW_MAX || step < 1 || step > window)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s' (%s): windows of %lld samples, %lld apart", node->name,
                            node->op_name, (long long)window, (long long)step);
    state->window = (int)window;
    state->step = (int)step;
    return status_ok();
}

static struct status read_gain(const struct node *node, struct frontend_state *state)
{
    struct gain_config config;
    TRY(node_attr_bool(node, "enable_pcan", &state->has_gain));
    if (!state->has_gain)
        return status_ok();
    TRY(node_attr_float(node, "pcan_strength", &config.strength));
    TRY(node_attr_float(node, "pcan_offset", &config.offset));
    TRY(read_int(node, "gain_bits", SNR_BITS + state->correction, 31, &config.gain_bits));
    config.input_bits = state->noise_shift - state->correction;
    if (!isfinite(config.strength) || !(config.offset > 0) || config.input_bits < 0 ||
        config.input_bits > 31)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s' (%s): a gain of strength %g with an offset of %g and %d "
                            "smoothing_bits",
                            node->name, node->op_name, (double)config.strength,
                            (double)config.offset, state->noise_shift);
    state->snr_shift = config.gain_bits - state->correction - SNR_BITS;
    make_gains(&config, state);
    return status_ok();
}

static struct status frontend_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct frontend_state *state = prepare_state(p, sizeof *state, NULL);
    struct band_limits limits;
    int rate;
    TRY(read_window(node, state, &rate));
    TRY(read_int(node, "num_channels", 1, CHANNELS_MAX, &state->channels));
    TRY(read_int(node, "left_context", 0, WINDOW_MAX, &state->left));
    TRY(read_int(node, "right_context", 0, WINDOW_MAX, &state->right));
    TRY(read_int(node, "frame_stride", 1, INT32_MAX, &state->stride));
    TRY(read_int(node, "out_scale", 1, INT32_MAX, &state->out_scale));
    TRY(read_int(node, "smoothing_bits", 0, 31, &state->noise_shift));
    TRY(read_int(node, "scale_shift", 0, 31, &state->log_shift));
    TRY(read_factor(node, "even_smoothing", &state->even_smoothing));
    TRY(read_factor(node, "odd_smoothing", &state->odd_smoothing));
    TRY(read_factor(node, "min_signal_remaining", &state->least_signal));
    TRY(node_attr_bool(node, "zero_padding", &state->zero_padding));
    TRY(node_attr_bool(node, "enable_log", &state->has_log));
    TRY(node_attr_float(node, "lower_band_limit", &limits.lower));
    TRY(node_attr_float(node, "upper_band_limit", &limits.upper));
    if (!(limits.lower >= 0 && limits.upper > limits.lower && isfinite(limits.upper)))
        return status_error(STATUS_INVALID_ARGUMENT, "node '%s' (%s): bands from %g to %g hertz",
                            node->name, node->op_name, (double)limits.lower, (double)limits.upper);
    TRY(count_tables(p, state));
    make_window(state, prepare_arena(p));
    state->correction = bits_of((uint64_t)state->fft.length) - 1 - BAND_BITS / 2;
    TRY(read_gain(node, state));
    return find_bands(state, limits, rate, prepare_arena(p));
}

/* ---- one frame ---- */

/* The memory of a run. */
struct frontend_work {
    int16_t *samples;               /* [length]: of a window */
    struct fixed_complex *numbers;  /* [length / 2] */
    struct fixed_complex *spectrum; /* [length / 2 + 1] */
    uint32_t *signal, *noise;       /* [channels]; noise: of the frames so far */
};

/* Returns how far the samples were shifted up to make use of all bits. */
static int apply_window(const struct frontend_state *state, const int16_t *samples, int16_t *out)
{
    int16_t greatest = 0;
    for (int i = 0; i < state->window; i++) {
        out[i] = (int16_t)((samples[i] * state->coefficients[i]) >> WINDOW_BITS);
        int16_t magnitude = (int16_t)(out[i] < 0 ? -out[i] : out[i]);
        greatest = magnitude > greatest ? magnitude : greatest;
    }
    int shift = 15 - bits_of((uint64_t)greatest);
    for (int i = 0; i < state->window; i++)
        out[i] = (int16_t)((uint16_t)out[i] << shift);
    return shift;
}

/* The energy of a frequency. The one that needs 32 bits is negative, and its sign extended. */
static uint64_t energy_of(struct fixed_complex x)
{
    uint32_t energy = (uint32_t)(x.re * x.re) + (uint32_t)(x.im * x.im);
    return (uint64_t)(int32_t)energy;
}

/* The root, rounded; of the greatest number of 32 or 64 bits rounded down. */
static uint32_t root_of(uint64_t x)
{
    uint64_t root = 0, limit = x >> 32 == 0 ? UINT16_MAX : UINT32_MAX;
    for (uint64_t bit = UINT64_C(1) << 31; bit > 0; bit /= 2)
        if ((root + bit) * (root + bit) <= x)
            root += bit;
    return (uint32_t)(x - root * root > root && root != limit ? root + 1 : root);
}

static void sum_bands(const struct frontend_state *state, const struct fixed_complex *spectrum,
                      int shift, uint32_t *signal)
{
    uint64_t rising = 0;
    for (int i = 0; i <= state->channels; i++) {
        uint64_t sum = rising;
        rising = 0;
        for (int f = state->bands[i].begin; f < state->bands[i].end; f++) {
            uint64_t energy = energy_of(spectrum[f]);
            sum += (uint64_t)state->falling[f] * energy;
            rising += (uint64_t)state->rising[f] * energy;
        }
        if (i > 0) /* what falls over the first band is no channel */
            signal[i - 1] = root_of(sum) >> shift;
    }
}

static void subtract_noise(const struct frontend_state *state, uint32_t *signal, uint32_t *noise)
{
    for (int i = 0; i < state->channels; i++) {
        uint64_t smoothing = i % 2 == 0 ? state->even_smoothing : state->odd_smoothing;
        uint32_t wide = signal[i] << state->noise_shift;
        uint32_t estimate =
            (uint32_t)((wide * smoothing + noise[i] * ((1 << NOISE_BITS) - smoothing)) >>
                       NOISE_BITS);
        uint32_t least = (uint32_t)((uint64_t)signal[i] * state->least_signal >> NOISE_BITS);
        uint32_t rest = estimate < wide ? (wide - estimate) >> state->noise_shift : 0;
        noise[i] = estimate;
        signal[i] = rest > least ? rest : least;
    }
}

static int16_t find_gain(const struct frontend_state *state, uint32_t noise)
{
    int interval = bits_of(noise);
    if (noise < 2)
        return state->gains[noise][0];
    const int16_t *gain = state->gains[interval];
    if (noise == 2)
        return gain[0];
    int32_t t = (int32_t)(interval < 11 ? noise << (11 - interval) : noise >> (interval - 11));
    t &= 0x3ff; /* the place in the interval */
    int32_t slope = (gain[2] * t >> 5) + (int32_t)((uint32_t)gain[1] << 5);
    int32_t change = (int32_t)((uint32_t)slope * (uint32_t)t + (1 << 14)) >> 15;
    return (int16_t)(change + gain[0]);
}

static void apply_gain(const struct frontend_state *state, uint32_t *signal, const uint32_t *noise)
{
    for (int i = 0; i < state->channels; i++) {
        uint32_t gain = (uint32_t)find_gain(state, noise[i]);
        uint32_t snr = (uint32_t)(((uint64_t)signal[i] * gain) >> state->snr_shift);
        signal[i] = snr < 2 << SNR_BITS ? snr * snr >> (2 + 2 * SNR_BITS - GAIN_BITS)
                                        : (snr >> (SNR_BITS - GAIN_BITS)) - (1 << GAIN_BITS);
    }
}

static uint32_t logarithm(const struct frontend_state *state, uint32_t x)
{
    const uint32_t ln_2 = 45426, half = 1 << (LOG_BITS - 1), piece = (1 << LOG_BITS) / LOG_PIECES;
    int whole = bits_of(x) - 1;
    if (x < 2)
        return 0;
    uint32_t rest = x - (UINT32_C(1) << whole);
    rest = whole < LOG_BITS ? rest << (LOG_BITS - whole) : rest >> (whole - LOG_BITS);
    const uint16_t *log = &state->logs[rest / piece];
    int32_t between = ((log[1] - log[0]) * (int32_t)(rest % piece)) >> LOG_BITS;
    uint32_t log_2 = ((uint32_t)whole << LOG_BITS) + rest + log[0] + (uint32_t)between;
    uint32_t natural = (uint32_t)(((uint64_t)ln_2 * log_2 + half) >> LOG_BITS);
    return ((natural << state->log_shift) + half) >> LOG_BITS;
}

static void put_features(const struct frontend_state *state, const uint32_t *signal, uint16_t *out)
{
    for (int i = 0; i < state->channels; i++) {
        uint32_t value = signal[i];
        if (state->has_log)
            value = logarithm(state, state->correction < 0 ? value >> -state->correction
                                                           : value << state->correction);
        out[i] = (uint16_t)(value < UINT16_MAX ? value : UINT16_MAX);
    }
}

static void compute_frame(const struct frontend_state *state, const int16_t *samples,
                          const struct frontend_work *work, uint16_t *out)
{
    int shift = apply_window(state, samples, work->samples);
    fixed_fft_run(&state->fft, work->samples, work->numbers, work->spectrum);
    sum_bands(state, work->spectrum, shift, work->signal);
    subtract_noise(state, work->signal, work->noise);
    if (state->has_gain)
        apply_gain(state, work->signal, work->noise);
    put_features(state, work->signal, out);
}

/* ---- all frames ---- */

static struct status take_work(struct kernel_context *k, struct tensor *memory,
                               struct frontend_work *work)
{
    const struct frontend_state *state = kernel_state(k);
    int64_t length = state->fft.length, channels = state->channels;
    /* in units of four bytes, a complex number or a uint32 */
    struct shape shape = shape_of(length / 2 + length / 2 + (length / 2 + 1) + 2 * channels);
    TRY(kernel_scratch(k, DT_UINT32, &shape, memory));
    memset(memory->data, 0, tensor_bytes(memory)); /* there is no noise yet */
    work->signal = memory->data;
    work->noise = work->signal + channels;
    work->numbers = (struct fixed_complex *)(work->noise + channels);
    work->spectrum = work->numbers + length / 2;
    work->samples = (int16_t *)(work->spectrum + length / 2 + 1);
    return status_ok();
}

static struct status compute_frames(struct kernel_context *k, int64_t count, uint16_t *frames)
{
    const struct frontend_state *state = kernel_state(k);
    const int16_t *audio = kernel_input(k, 0)->data;
    struct frontend_work work;
    struct tensor memory;
    int64_t done = 0;
    TRY(take_work(k, &memory, &work));
    struct status status = status_ok();
    for (int64_t i = 0; i < count && status_is_ok(status); i++) {
        compute_frame(state, audio + i * state->step, &work, frames + i * state->channels);
        status = kernel_work(k, &done, 16 * state->fft.length);
    }
    tensor_release(&memory);
    return status;
}

static void put_scaled(const struct frontend_state *state, const uint16_t *frame,
                       struct tensor *out, int64_t at)
{
    for (int i = 0; i < state->channels; i++, at++) {
        uint16_t value = frame != NULL ? frame[i] : 0;
        if (out->dtype == DT_FLOAT)
            tensor_floats_mut(out)[at] = (float)value / (float)state->out_scale;
        else
            tensor_set_index(out, at, value / state->out_scale);
    }
}

/* Each row is a frame with its neighbours. Beyond the ends are zeros, or the frame at the end. */
static void put_rows(const struct frontend_state *state, const uint16_t *frames, int64_t count,
                     struct tensor *out)
{
    int64_t at = 0;
    for (int64_t i = 0; i < count; i += state->stride)
        for (int64_t f = i - state->left; f <= i + state->right; f++, at += state->channels) {
            int64_t inside = f < 0 ? 0 : f >= count ? count - 1 : f;
            bool is_zero = state->zero_padding && inside != f;
            put_scaled(state, is_zero ? NULL : frames + inside * state->channels, out, at);
        }
}

static struct status frontend_compute(struct kernel_context *k)
{
    const struct frontend_state *state = kernel_state(k);
    const struct tensor *audio = kernel_input(k, 0);
    struct tensor *out, frames;
    if (audio->shape.rank != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "audio is not a vector");
    int64_t count =
        audio->size < state->window ? 0 : (audio->size - state->window) / state->step + 1;
    int64_t dims[] = { (count + state->stride - 1) / state->stride,
                       (int64_t)state->channels * (1 + state->left + state->right) };
    struct shape shape, all = shape_of(count, state->channels);
    TRY(shape_check(2, dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    TRY(kernel_scratch(k, DT_UINT16, &all, &frames));
    struct status status = compute_frames(k, count, frames.data);
    if (status_is_ok(status))
        put_rows(state, frames.data, count, out);
    tensor_release(&frames);
    return status;
}

static const struct kernel rows[] = {
    { "AudioMicrofrontend", DTYPES(DT_UINT16) | DTYPES(DT_FLOAT), "out_type",
      .prepare = frontend_prepare, .compute = frontend_compute, .costly = true },
};
const struct kernel_table kernels_micro_frontend = { rows, COUNT(rows) };
