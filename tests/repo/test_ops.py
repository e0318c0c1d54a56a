"""Every op that has a kernel has a definition, and rows that test it against TensorFlow's values."""
import re
import unittest

from harness import main
from tree import files, text

# A row of a kernel table: { "Relu", DTYPES_REAL, … }; of the definitions: OP(Relu, …
KERNEL_ROW = re.compile(r'\{\s*"([A-Z_]\w*)",\s*(?:DTYPES?_|DTYPE_)')
DEFINITION = re.compile(r"^OP\((\w+),", re.M)


def kernels():
    return {op for path in files(".c") if path.startswith("core/runtime/kernels/") for op in KERNEL_ROW.findall(text(path))}


def tested():
    """Every word of the files that hold rows: those of the runtime's unit tests and what they read. A script is not a row."""
    words = set()
    for path in files():
        if path.startswith(("tests/unit/runtime/", "tests/golden/kernels/")) and not path.endswith((".py", ".md", "CMakeLists.txt")):
            words |= set(re.findall(r"\w+", text(path)))
    return words


class Ops(unittest.TestCase):
    def test_every_kernel_has_a_definition(self):
        have = kernels()
        self.assertGreater(len(have), 50)
        self.assertEqual(sorted(have - set(DEFINITION.findall(text("core/graph/ops.def")))), [])

    def test_every_kernel_has_rows_of_test(self):
        words = tested()
        self.assertEqual(sorted(op for op in kernels() if op not in words), [])

    def test_an_op_without_rows_would_be_seen(self):
        self.assertEqual(KERNEL_ROW.findall('{ "NoSuchOp", DTYPES_ALL, .compute = f },'), ["NoSuchOp"])
        self.assertNotIn("NoSuchOp", tested())


if __name__ == "__main__":
    main()
