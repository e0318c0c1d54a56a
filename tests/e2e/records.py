"""TFRecord files of tf.Examples, written without TensorFlow."""
import struct


def crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = crc_table()


def crc32c(data):
    """As TFRecords have it: rotated, and moved by a constant."""
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    crc ^= 0xffffffff
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def record(data):
    size = struct.pack("<Q", len(data))
    return size + struct.pack("<I", crc32c(size)) + data + struct.pack("<I", crc32c(data))


def read(data):
    """The whole records of a file's bytes, whose checksums must be right. The last one may still be in the making."""
    at = 0
    while at + 12 <= len(data):
        size, = struct.unpack_from("<Q", data, at)
        body = data[at + 12:at + 12 + size]
        if at + 16 + size > len(data):
            return
        assert data[at:at + 16 + size] == record(body), "a damaged record at %d" % at
        yield body
        at += 16 + size


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def message(field, data):
    return bytes([field << 3 | 2]) + varint(len(data)) + data


def floats(values):
    return message(2, message(1, struct.pack("<%df" % len(values), *values)))


def integers(values):
    return message(3, message(1, b"".join(varint(v) for v in values)))


def example(**features):
    """An Example of these features: floats(…) or integers(…)."""
    return message(1, b"".join(message(1, message(1, name.encode()) + message(2, value)) for name, value in features.items()))
