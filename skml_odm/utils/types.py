"""Types for annotations of public methods."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, spmatrix

if TYPE_CHECKING:
    from typing_extensions import Self
else:
    # Python 3.10 has none, and only type checkers ask
    Self = Any

Matrix: TypeAlias = ArrayLike | spmatrix
Weights: TypeAlias = NDArray | Sequence[float] | None

__all__ = ["ArrayLike", "Matrix", "NDArray", "Self", "Weights", "csr_matrix"]
