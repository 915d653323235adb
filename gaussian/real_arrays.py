"""The type of the arrays of real numbers that the Gaussian packages pass around."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
