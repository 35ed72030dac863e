"""Short names of numpy array types, one for each type of number (float64, float16, bool, ...)."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
AnyFloats = NDArray[np.floating]
Singles = NDArray[np.float32]
Halves = NDArray[np.float16]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
