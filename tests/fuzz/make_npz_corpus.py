"""Writes tests/fuzz/corpus/npz: archives as numpy writes them, and damaged ones. Run it with a Python that has numpy."""
import io
import os
import struct
import zipfile

import numpy as np

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "npz")


def write(name, data):
    with open(os.path.join(OUT, name), "wb") as file:
        file.write(data)


def saved(save, **arrays):
    file = io.BytesIO()
    save(file, **arrays)
    return file.getvalue()


def zipped(members, **options):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **options) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return file.getvalue()


def zip64(data):
    """The same archive, with its end in 64-bit numbers and its members' sizes and offsets in extra fields."""
    end = data.rindex(b"PK\5\6")
    count, size, offset = struct.unpack("<HII", data[end + 10:end + 20])
    entries, at = b"", offset
    for _ in range(count):
        entry = bytearray(data[at:at + 46])
        packed, unpacked, name, extra, comment = struct.unpack("<IIHHH", entry[20:34])
        local = struct.unpack("<I", entry[42:46])[0]
        more = struct.pack("<HHQQQ", 1, 24, unpacked, packed, local)
        entry[20:28] = b"\xff" * 8
        entry[42:46] = b"\xff" * 4
        entry[30:34] = struct.pack("<HH", len(more), 0)
        entries += bytes(entry) + data[at + 46:at + 46 + name] + more
        at += 46 + name + extra + comment
    end64 = struct.pack("<IQHHIIQQQQ", 0x06064b50, 44, 45, 45, 0, 0, count, count, len(entries), offset)
    locator = struct.pack("<IIQI", 0x07064b50, 0, offset + len(entries), 1)
    last = struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, count, count, 0xffffffff, 0xffffffff, 0)
    return data[:offset] + entries + end64 + locator + last


def main():
    os.makedirs(OUT, exist_ok=True)
    x = np.arange(6, dtype=np.float32).reshape(3, 2) / 2
    y = np.array([1, 0, 2], dtype=np.int32)
    wide = np.arange(5000, dtype=np.float32).reshape(1000, 5)
    write("stored.npz", saved(np.savez, x=x, y=y))
    write("deflated.npz", saved(np.savez_compressed, x=x, y=y))
    write("zip64.npz", zip64(saved(np.savez, x=x, y=y)))
    write("types.npz", saved(np.savez_compressed, x=np.array([[1, 255], [3, 4]], np.uint8), y=np.array([True, False])))
    write("doubles.npz", saved(np.savez, x=np.array([.5, -2.5]), y=np.array([2**40, -1])))
    write("rows.npz", saved(np.savez, x=x, y=y[:2]))
    write("text.npz", saved(np.savez, x=np.array(["a", "b"]), y=y[:2]))
    write("scalar.npz", saved(np.savez, x=np.float32(1), y=y))
    write("floats.npz", saved(np.savez, x=x, y=x))
    write("large.npz", saved(np.savez_compressed, x=wide, y=np.arange(1000) % 7))
    good = saved(np.savez, x=x, y=y)
    write("cut.npz", good[:300])
    flipped = bytearray(good)
    flipped[good.index(b"NUMPY") + 130] ^= 1
    write("flipped.npz", bytes(flipped))
    deflated = bytearray(saved(np.savez_compressed, x=x, y=y))
    deflated[60] ^= 0x10
    write("flipped_deflated.npz", bytes(deflated))
    write("comment.npz", good[:-2] + b"\x05\x00hello")
    npy = io.BytesIO()
    np.save(npy, np.zeros((2, 2), np.float32))
    write("short_array.npz", zipped([("x.npy", npy.getvalue()[:-4]), ("y.npy", npy.getvalue())]))
    write("bzip2.npz", zipped([("x.npy", npy.getvalue())], compression=zipfile.ZIP_BZIP2))
    write("not_npy.npz", zipped([("x.npy", b"hello, this is no array"), ("y.npy", npy.getvalue())]))
    write("empty.npz", zipped([]))
    write("nothing", b"")


if __name__ == "__main__":
    main()
