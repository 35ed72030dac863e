"""Types of arrays, by the type of their numbers."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
AnyFloats = NDArray[np.floating]
Singles = NDArray[np.float32]
Halves = NDArray[np.float16]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
