"""Value, gradient coefficients and Hessian products of the pair loss, row by row.

For scores F (m × q) and row weights c, with the relevant labels Y_i and irrelevant labels N_i,

    L(F)    = Σ_i c_i Σ_{k∈Y_i, l∈N_i} ℓ(f_ik − f_il),
    ℓ(γ)    = ½ (lower − γ)₊² + ½ μ (γ − upper)₊²,
    G(F)    = −∇L(F),
    D(F)[V] = the generalised Hessian of L at F applied to V.

``order[i]`` lists the labels of row i, its ``n_relevant[i]`` relevant ones first. Rows that lack
relevant or irrelevant labels have no pair and contribute zero.
"""

from cython cimport floating
from libc.stdlib cimport free, malloc
from skml_odm.problems._pairs cimport pair_curvature
from skml_odm.problems._sorted_pairs cimport (
    bucket_workspace,
    row_hessian_diagonal,
    row_hessian_product,
    row_terms,
)


def evaluate(
    const double[:, ::1] scores,
    const int[:, ::1] order,
    const int[::1] n_relevant,
    const double[::1] weight,
    double lower,
    double upper,
    double mu,
    double[:, ::1] gradient,
):
    """Return L(scores) and write G(scores) into ``gradient``."""
    cdef Py_ssize_t m = scores.shape[0], q = scores.shape[1], i, j, p
    cdef double loss = 0.0
    cdef double* row = <double*> malloc((2 * q + bucket_workspace(q)) * sizeof(double))
    cdef double* pull = row + q
    if row == NULL:
        raise MemoryError()
    with nogil:
        for i in range(m):
            p = n_relevant[i]
            if p == 0 or p == q or weight[i] == 0.0:
                for j in range(q):
                    gradient[i, j] = 0.0
                continue
            for j in range(q):
                row[j] = scores[i, order[i, j]]
            loss += row_terms(row, p, q, weight[i], lower, upper, mu, pull, row + 2 * q)
            for j in range(p):
                gradient[i, order[i, j]] = pull[j]
            for j in range(p, q):
                gradient[i, order[i, j]] = -pull[j]
    free(row)
    return loss


def hessian_product(
    const double[:, ::1] scores,
    const floating[:, ::1] direction,
    const double[::1] shift,
    const int[:, ::1] order,
    const int[::1] n_relevant,
    const double[::1] weight,
    double lower,
    double upper,
    double mu,
    floating[:, ::1] result,
):
    """Write D(scores)[direction + shift] into ``result``; all rows are shifted by the same."""
    cdef Py_ssize_t m = scores.shape[0], q = scores.shape[1], i, j, p
    cdef double* row = <double*> malloc((3 * q + bucket_workspace(q)) * sizeof(double))
    cdef double* step = row + q
    cdef double* out = row + 2 * q
    if row == NULL:
        raise MemoryError()
    with nogil:
        for i in range(m):
            p = n_relevant[i]
            if p == 0 or p == q or weight[i] == 0.0:
                for j in range(q):
                    result[i, j] = 0.0
                continue
            for j in range(q):
                row[j] = scores[i, order[i, j]]
                step[j] = direction[i, order[i, j]] + shift[order[i, j]]
            row_hessian_product(row, step, p, q, weight[i], lower, upper, mu, out, row + 3 * q)
            for j in range(q):
                result[i, order[i, j]] = <floating> out[j]
    free(row)


def add_hessian(
    const double[:, ::1] scores,
    const int[:, ::1] order,
    const int[::1] n_relevant,
    const double[::1] weight,
    double lower,
    double upper,
    double mu,
    double[:, ::1] total,
):
    """Add the rows' Hessians (q × q graph Laplacians) to ``total``."""
    cdef Py_ssize_t m = scores.shape[0], q = scores.shape[1], i, a, b, k, other, p
    cdef double curvature
    with nogil:
        for i in range(m):
            p = n_relevant[i]
            if weight[i] == 0.0:
                continue
            for a in range(p):
                k = order[i, a]
                for b in range(p, q):
                    other = order[i, b]
                    curvature = weight[i] * pair_curvature(
                        scores[i, k] - scores[i, other], lower, upper, mu
                    )
                    if curvature == 0.0:
                        continue
                    total[k, k] += curvature
                    total[other, other] += curvature
                    total[k, other] -= curvature
                    total[other, k] -= curvature


def hessian_diagonal(
    const double[:, ::1] scores,
    const int[:, ::1] order,
    const int[::1] n_relevant,
    const double[::1] weight,
    double lower,
    double upper,
    double mu,
    double[:, ::1] result,
):
    """Write the diagonal of D(scores) into ``result``."""
    cdef Py_ssize_t m = scores.shape[0], q = scores.shape[1], i, j, p
    cdef double* row = <double*> malloc((2 * q + bucket_workspace(q)) * sizeof(double))
    cdef double* out = row + q
    if row == NULL:
        raise MemoryError()
    with nogil:
        for i in range(m):
            p = n_relevant[i]
            if p == 0 or p == q or weight[i] == 0.0:
                for j in range(q):
                    result[i, j] = 0.0
                continue
            for j in range(q):
                row[j] = scores[i, order[i, j]]
            row_hessian_diagonal(row, p, q, weight[i], lower, upper, mu, out, row + 2 * q)
            for j in range(q):
                result[i, order[i, j]] = out[j]
    free(row)
