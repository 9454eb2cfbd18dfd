"""One linear system per label, restricted to the rows where the label has curvature.

For label k let a be its active rows, d > 0 their curvatures and h = √d. The systems

    (I + h K_aa h) x = y

are symmetric and positive definite. They serve a preconditioner only, so single precision is enough
for their Cholesky factors.
"""

from cython cimport floating
from scipy.linalg.cython_blas cimport strsv
from scipy.linalg.cython_lapack cimport spotrf


def factor(
    const floating[:, ::1] matrix,
    double shift,
    const int[::1] rows,
    const int[::1] first,
    const float[::1] root,
    float[::1] factors,
    long long[::1] start,
    int begin,
    int end,
):
    """Factor the systems of the labels ``begin`` … ``end`` − 1; return how many were factored.

    The active rows of label k and their h are ``rows[first[k]:first[k + 1]]`` and ``root`` there.
    K is ``matrix + shift``. Its factor goes to ``factors`` from ``start[k]`` on. A system that is
    not positive definite in single precision ends the work.
    """
    cdef Py_ssize_t a, b
    cdef const floating* row
    cdef float* block
    cdef int k, n, info
    cdef char lower = b"L"
    with nogil:
        for k in range(begin, end):
            n = first[k + 1] - first[k]
            if n == 0:
                continue
            block = &factors[start[k]]
            for a in range(n):
                row = &matrix[rows[first[k] + a], 0]
                # columns of a Fortran matrix: its lower half
                for b in range(a, n):
                    block[a * n + b] = (
                        root[first[k] + a] * root[first[k] + b]
                        * <float> (row[rows[first[k] + b]] + shift)
                    )
                block[a * n + a] += 1.0
            spotrf(&lower, &n, block, &n, &info)
            if info != 0:
                with gil:
                    return k - begin
    return end - begin


def correct(
    const double[:, ::1] product,
    const int[::1] rows,
    const int[::1] first,
    const float[::1] root,
    float[::1] factors,
    const long long[::1] start,
    float[::1] work,
    double[:, ::1] result,
):
    """Subtract h (I + h K_aa h)⁻¹ h · ``product`` from the active entries of ``result``."""
    cdef Py_ssize_t a
    cdef int k, n, one = 1, q = <int> product.shape[1]
    cdef char lower = b"L", plain = b"N", transposed = b"T"
    with nogil:
        for k in range(q):
            n = first[k + 1] - first[k]
            if n == 0:
                continue
            for a in range(n):
                work[a] = root[first[k] + a] * <float> product[rows[first[k] + a], k]
            strsv(&lower, &plain, &plain, &n, &factors[start[k]], &n, &work[0], &one)
            strsv(&lower, &transposed, &plain, &n, &factors[start[k]], &n, &work[0], &one)
            for a in range(n):
                result[rows[first[k] + a], k] -= root[first[k] + a] * work[a]
