"""The sketch of a kernel matrix: K ≤ Φ Φᵀ + λ I."""

import numpy as np
import pytest

from skml_odm.features.kernels import gaussian_kernel
from skml_odm.features.operators import KernelOperator, LinearOperator
from skml_odm.features.sketch import Sketch, upper_bound


@pytest.mark.parametrize("gamma", [1e-4, 1e-1, 10.0])
@pytest.mark.parametrize("intercept", [0.0, 1.0, 100.0])
def test_sketches_bound_the_kernel(gamma, intercept):
    X = np.random.default_rng(0).normal(size=(80, 4))
    K = gaussian_kernel(X, gamma)
    sketch = Sketch(KernelOperator(K, intercept), 8)
    rest = np.linalg.eigvalsh(K + intercept - sketch.features @ sketch.features.T)
    size = np.linalg.eigvalsh(K + intercept)[-1]
    assert rest[-1] <= sketch.rest + 1e-9 * size
    # no better than a sketch of that rank can be, and not much worse
    best = np.linalg.eigvalsh(K + intercept)[-9]
    assert sketch.rest <= max(2.0 * best, 1.1e-5 * size)


def test_a_kernel_of_low_rank_is_sketched_whole():
    X = np.random.default_rng(0).normal(size=(50, 3))
    sketch = Sketch(LinearOperator(X, 1.0), 10)
    assert sketch.features.shape == (50, 4)
    np.testing.assert_allclose(sketch.features @ sketch.features.T, X @ X.T + 1.0, atol=1e-9)
    assert sketch.rest <= 1.1e-5 * np.linalg.norm(X @ X.T + 1.0, 2)


def test_the_bound_is_close_to_the_largest_eigenvalue():
    rng = np.random.default_rng(0)
    for size in (1, 2, 5, 60):
        matrix = rng.normal(size=(size, size))
        matrix = matrix + matrix.T
        largest = np.linalg.eigvalsh(matrix)[-1]
        found = upper_bound(lambda v, matrix=matrix: matrix @ v, rng.normal(size=(size, 1)))
        assert max(largest, 0.0) <= found <= 1.5 * max(largest, 0.0) + 1e-12


@pytest.mark.parametrize("seed", range(60))
def test_the_bound_holds_for_flat_spectra(seed):
    """A few steps do not find the largest value of many that are nearly as large."""
    rng = np.random.default_rng(seed)
    values = rng.exponential(size=305)
    # a diagonal matrix, seen from a random vector
    found = upper_bound(lambda v: values[:, None] * v, rng.normal(size=(305, 1)))
    assert values.max() <= found <= 1.4 * values.max()
