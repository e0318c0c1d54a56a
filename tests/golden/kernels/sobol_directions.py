"""Writes core/runtime/kernels/random/sobol_directions.def: what SobolSample's first 1111 dimensions begin with.

    python tests/golden/kernels/sobol_directions.py > core/runtime/kernels/random/sobol_directions.def

The numbers are those of Joe and Kuo (new-joe-kuo-6.21201, 2008), taken from the copy in SciPy 1.17. TensorFlow uses the same.
"""
import importlib.util
import pathlib

import numpy as np

DIMENSIONS = 1111  # the first, and one for each primitive polynomial of degrees 1 to 13

scipy = pathlib.Path(importlib.util.find_spec("scipy").origin).parent
numbers = np.load(scipy / "stats/_sobol_direction_numbers.npz")

print("""/*
 * Written by tests/golden/kernels/sobol_directions.py: SOBOL(a primitive polynomial over GF(2), one
 * bit for each coefficient, as many numbers as its degree) for each dimension.
 *
 * The numbers are Joe and Kuo's: "Constructing Sobol sequences with better two-dimensional
 * projections", SIAM J. Sci. Comput. 30 (2008), file new-joe-kuo-6.21201. Copyright (c) 2008
 * Frances Y. Kuo and Stephen Joe, whose licence (BSD) allows redistribution with this notice.
 */""")
for polynomial, first in zip(numbers["poly"][:DIMENSIONS].tolist(), numbers["vinit"].tolist()):
    degree = polynomial.bit_length() - 1
    print("SOBOL(%s)" % ", ".join(map(str, [polynomial] + (first[:degree] or [1]))))
