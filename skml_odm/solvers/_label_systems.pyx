"""One small linear system per label: I + Φᵀ W_k Φ for features Φ and weights W of rows and labels.

They serve a preconditioner: products of features are summed up in the precision of the features,
factors are kept in double precision.
"""

from libc.math cimport sqrt
from scipy.linalg.cython_blas cimport ssyrk
from scipy.linalg.cython_lapack cimport dpotrf, dpotrs


def factor(
    const float[:, ::1] features,
    const float[:, ::1] weights,
    float[:, ::1] scaled,
    float[:, ::1] gram,
    double[:, :, ::1] systems,
):
    """Factor the systems of all labels; they are never less definite than the identity.

    Features are Φᵀ (r × m), weights W (m × q), ``systems`` (q × r × r) gets the Cholesky factors;
    ``scaled`` (r × m) and ``gram`` (r × r) are room to work.
    """
    cdef int m = <int> features.shape[1], r = <int> features.shape[0], a, b, k, info
    cdef Py_ssize_t i
    cdef float one = 1.0, zero = 0.0
    # lower halves of Fortran matrices are upper halves here
    cdef char lower = b"L", transposed = b"T"
    with nogil:
        for k in range(weights.shape[1]):
            for i in range(m):
                scaled[0, i] = <float> sqrt(weights[i, k])
            for a in range(r - 1, -1, -1):
                for i in range(m):
                    scaled[a, i] = scaled[0, i] * features[a, i]
            ssyrk(&lower, &transposed, &r, &m, &one, &scaled[0, 0], &m, &zero, &gram[0, 0], &r)
            for a in range(r):
                for b in range(a, r):
                    systems[k, a, b] = gram[a, b]
                systems[k, a, a] += 1.0
            dpotrf(&lower, &r, &systems[k, 0, 0], &r, &info)


def solve(double[:, :, ::1] systems, double[:, ::1] sides):
    """Solve each label's system for its row of ``sides`` (q × r), in place."""
    cdef int r = <int> sides.shape[1], one = 1, info, k
    cdef char lower = b"L"
    with nogil:
        for k in range(sides.shape[0]):
            dpotrs(&lower, &r, &one, &systems[k, 0, 0], &r, &sides[k, 0], &r, &info)
