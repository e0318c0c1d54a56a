"""Rows of ops on sound."""
import struct

import numpy as np

from rows import Rows


def wav(samples, channels=1, rate=8000, before=b"", behind=b"", size=16, code=1, bits=16, frame=None, second=None, announced=None):
    frame = 2 * channels if frame is None else frame
    form = struct.pack("<HHIIHH", code, channels, rate, frame * rate if second is None else second, frame, bits) + b"\0\0" * (size == 18)
    data = np.array(samples, np.int16).tobytes()
    return (b"RIFF\x24\x01\0\0WAVE" + before + b"fmt " + struct.pack("<I", size) + form + b"data" + struct.pack("<I", len(data) if announced is None else announced) + data + behind)


def audio_wav():
    rows = Rows("audio_wav")
    sound = [1, -2, 300, -32768, 32767, 77]

    def decode(file, **attrs):
        rows.add("DecodeWav", [np.array(file, object)], **attrs)
    for channels in [1, 2, 3]:
        for attrs in [{}, dict(desired_channels=2), dict(desired_samples=2), dict(desired_samples=9, desired_channels=4), dict(desired_samples=0), dict(desired_channels=0)]:
            decode(wav(sound, channels), **attrs)
    decode(wav(sound, before=b"JUNK\x03\0\0\0abc", behind=b"LIST\x02\0\0\0xy", size=18, rate=44100))
    decode(wav(sound, behind=b"LIST\xff\0\0\0xy"))
    decode(wav([]))
    for wrong in [dict(code=3), dict(bits=8), dict(frame=3), dict(second=5), dict(size=17), dict(announced=400), dict(announced=1 << 31), dict(before=b"what\0\0\0\0"), dict(channels=0),
                  dict(behind=b"data\0\0\0\0"), dict(behind=b"ab"), dict(announced=3)]:
        decode(wav(sound, **wrong))
    for size in [0, 3, 8, 12, 20, 36, 40]:
        decode(wav(sound)[:size])
    decode(b"RIFX" + wav(sound)[4:])
    decode(wav(sound), desired_channels=-2)
    decode(wav(sound), desired_samples=-2)
    for wrong in [dict(desired_channels=1 << 32), dict(desired_samples=1 << 32)]:
        decode(wav(sound), text=False, **wrong)
    rows.add("DecodeWav", [np.array([wav(sound)], object)])
    values = np.array([[0.5, -0.25], [1, -1], [2, -3], [0.00001, 0.99999]], np.float32)
    for rate in [8000, 44100, 0, -1]:
        rows.add("EncodeWav", [values, np.int32(rate)], text=False)
    rows.add("EncodeWav", [values[:0], np.int32(8000)])
    for wrong in [(values[0], np.int32(8000)), (values, np.array([8000], np.int32)), (values[:, :0], np.int32(8000))]:
        rows.add("EncodeWav", list(wrong))
    rows.write()


def audio_mfcc():
    """Spectrograms, and their cepstra."""
    rows = Rows("audio_mfcc")
    random = np.random.RandomState(5)
    sound = random.uniform(-1, 1, (50, 2)).astype(np.float32)
    for window, stride in [(16, 8), (10, 3), (2, 1), (50, 50), (33, 20), (51, 1)]:
        for squared in [False, True]:
            rows.add("AudioSpectrogram", [sound], window_size=window, stride=stride, magnitude_squared=squared)
    rows.add("AudioSpectrogram", [np.zeros((20, 1), np.float32)], window_size=16, stride=2)
    rows.add("AudioSpectrogram", [np.array([[0.5], [np.nan], [1], [2]], np.float32)], window_size=2, stride=2)
    for shape in [(0, 1), (20, 0)]:
        rows.add("AudioSpectrogram", [np.zeros(shape, np.float32)], window_size=4, stride=2)
    rows.add("AudioSpectrogram", [sound[0]], window_size=4, stride=2)
    for window, stride in [(1, 1), (4, 0)]:  # TensorFlow ends at -1
        rows.add("AudioSpectrogram", [sound], window_size=window, stride=stride, text=False)
    powers = random.uniform(0, 5, (2, 3, 129)).astype(np.float32)
    for rate in [16000, 8000]:
        for attrs in [{}, dict(dct_coefficient_count=40), dict(filterbank_channel_count=20, lower_frequency_limit=300.0, upper_frequency_limit=3000.0), dict(filterbank_channel_count=1, dct_coefficient_count=1),
                      dict(lower_frequency_limit=0.0)]:
            rows.add("Mfcc", [powers, np.int32(rate)], **attrs) if rate > 8000 or "upper_frequency_limit" in attrs else None
    rows.add("Mfcc", [0 * powers, np.int32(16000)])
    rows.add("Mfcc", [powers[:0], np.int32(16000)])
    rows.add("Mfcc", [powers[:, :0], np.int32(16000)])
    for x, rate in [(powers[0], np.int32(16000)), (powers, np.array([16000, 2], np.int32)), (powers, np.int32(0)), (powers[..., :1], np.int32(16000))]:
        rows.add("Mfcc", [x, rate], text=False)
    for attrs in [dict(dct_coefficient_count=41), dict(dct_coefficient_count=0), dict(filterbank_channel_count=0), dict(lower_frequency_limit=-1.0), dict(lower_frequency_limit=5000.0)]:
        rows.add("Mfcc", [powers, np.int32(16000)], text=False, **attrs)
    rows.write()


def micro_frontend():
    """Features of keyword spotters: noise and a tone, silence, the loudest samples, few samples."""
    rows = Rows("micro_frontend")
    random = np.random.RandomState(6)
    sound = (random.normal(0, 900, 4000) + 8000 * np.sin(np.arange(4000) / 7)).astype(np.int16)

    def add(audio, **attrs):
        rows.add("AudioMicrofrontend", [audio], **attrs)
    for attrs in [{}, dict(enable_pcan=True), dict(enable_log=False), dict(enable_pcan=True, enable_log=False), dict(out_type=np.float32, out_scale=64), dict(out_scale=3),
                  dict(left_context=2, right_context=1), dict(left_context=1, right_context=3, zero_padding=True, frame_stride=2), dict(frame_stride=5),
                  dict(num_channels=40, upper_band_limit=3800, lower_band_limit=60, sample_rate=8000), dict(window_size=30, window_step=20), dict(window_size=32, window_step=32),
                  dict(smoothing_bits=6, even_smoothing=0.2, odd_smoothing=0.4, min_signal_remaining=0.3), dict(scale_shift=3), dict(num_channels=3),
                  dict(enable_pcan=True, pcan_strength=0.5, pcan_offset=10, gain_bits=19), dict(sample_rate=400, window_step=5, upper_band_limit=150, lower_band_limit=20)]:
        add(sound, **attrs)
    for audio in [np.zeros(1000, np.int16), np.full(1000, -32768, np.int16), np.full(1000, 32767, np.int16), np.tile(np.array([32767, -32768], np.int16), 500), sound[:400], sound[:399], sound[:0],
                  (sound // 4096).astype(np.int16)]:
        add(audio)
        add(audio, enable_pcan=True, left_context=1, zero_padding=True)
    add(sound[:1000].reshape(2, 500))
    add(sound[:1000], upper_band_limit=9000)
    rows.write()


FAMILIES = [audio_wav, audio_mfcc, micro_frontend]
