"""Numbers that mean the same everywhere."""

import numpy as np

# the smallest positive number with all its digits: keeps quotients finite
TINY = float(np.finfo(np.float64).tiny)

# the rounding of a sum or a product, relative to its size
EPSILON = float(np.finfo(np.float64).eps)

# Multiplications, or label pairs, that one compiled call handles, about: a tenth of a second, so
# that Ctrl-C is noticed soon.
WORK_PER_CALL = 50_000_000
