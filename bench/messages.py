"""Messages of the gRPC rows, as bytes."""
import struct


def varint(n):
    return bytes((n % 128 | 128,)) + varint(n // 128) if n > 127 else bytes((n,))


def field(number, data):
    """A field of a protobuf message that holds bytes."""
    return bytes((number << 3 | 2,)) + varint(len(data)) + data


def digits(rows):
    return rows * struct.pack("<784f", *(float("0.%04d" % (1 + i * 7919 % 9999)) for i in range(784)))


def predict_message(model, signature, key, shape, values):
    """A PredictRequest with one input of floats."""
    dims = b"".join(field(2, b"\x08" + varint(n)) for n in shape)
    spec = field(1, model.encode()) + field(3, signature.encode())
    return field(1, spec) + field(2, field(1, key.encode()) + field(2, b"\x08\x01" + field(2, dims) + field(4, values)))
