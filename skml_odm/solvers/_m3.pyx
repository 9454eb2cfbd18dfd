"""Multiplicative margin maximisation (M³, Sha et al. 2002) as the block solver of paper 000.

Block i of the dual, with the pair multipliers η = [α; β] ≥ 0 of one instance, is

    min_η  ½ ηᵀ H η + vᵀ η,     H = [A + I/c, −A; −A, A + I/(cμ)],
    v_α = γ⁰ − lower,           v_β = upper − γ⁰,

where γ⁰ are the margins that the other blocks give and A_(kl),(k'l') = κ(δ_kk' + δ_ll') ≥ 0. Split
into H = H⁺ − H⁻ with nonnegative parts, one update multiplies every variable by

    λ = (−v + √(v² + 4 (H⁺η)(H⁻η))) / (2 H⁺η)

and never increases the objective. A·α is a row sum plus a column sum of the pair matrix, so an
update costs O(|Y||N|) and no matrix is ever formed. Zero is absorbing: a block starts from its
last multipliers, lifted to a small positive floor.
"""

from libc.math cimport fabs, sqrt
from libc.stdlib cimport free, malloc
from skml_odm.problems._block cimport Block
from skml_odm.problems._pair_rows cimport ExactBlocks
from skml_odm.problems._pairs cimport RowPairs

import numpy as np

# Multipliers start at least this far (times the row's weight) from the absorbing zero.
cdef double FLOOR = 1e-10
# Updates end when no multiplier changes by more than this share of the duality gap so far.
cdef double SHARE_OF_GAP = 0.01
cdef double LEAST_CHANGE = 1e-12
cdef int MAX_UPDATES = 100


cdef inline double growth(double v, double plus, double minus) noexcept nogil:
    """The factor λ, written so that nothing cancels."""
    cdef double root = sqrt(v * v + 4.0 * plus * minus)
    if plus == 0.0:
        # all multipliers are zero and stay so
        return 1.0
    if v > 0.0:
        return 2.0 * minus / (v + root)
    return (root - v) / (2.0 * plus)


cdef void multiplicative_updates(
    const Block* block, double* alpha, double* beta, double tol, double* sums,
) noexcept nogil:
    """Update the multipliers in place until no variable changes by more than ``tol`` · largest.

    ``sums`` has room for 4q doubles: row and column sums of α and β, old and new.
    """
    cdef const RowPairs* row = &block.pairs
    cdef const double* centre = block.centre
    cdef Py_ssize_t p = row.p, q = row.q, s = q - p, k, other, j
    cdef int _update
    cdef double kappa = block.kappa, weight = row.weight, mu = row.mu
    cdef double a, b, margin, shared_a, shared_b, largest, change
    cdef double* old_a = sums
    cdef double* old_b = sums + q
    cdef double* new_a = sums + 2 * q
    cdef double* new_b = sums + 3 * q
    for j in range(2 * q):
        new_a[j] = 0.0
    for k in range(p):
        for other in range(s):
            new_a[k] += alpha[k * s + other]
            new_a[p + other] += alpha[k * s + other]
            new_b[k] += beta[k * s + other]
            new_b[p + other] += beta[k * s + other]
    for _update in range(MAX_UPDATES):
        for j in range(2 * q):
            old_a[j] = new_a[j]
            new_a[j] = 0.0
        largest = 0.0
        change = 0.0
        for k in range(p):
            for other in range(s):
                margin = centre[k] - centre[p + other]
                a = alpha[k * s + other]
                b = beta[k * s + other]
                shared_a = kappa * (old_a[k] + old_a[p + other])
                shared_b = kappa * (old_b[k] + old_b[p + other])
                alpha[k * s + other] = a * growth(
                    margin - row.lower, shared_a + a / weight, shared_b
                )
                if mu > 0.0:
                    beta[k * s + other] = b * growth(
                        row.upper - margin, shared_b + b / (weight * mu), shared_a
                    )
                new_a[k] += alpha[k * s + other]
                new_a[p + other] += alpha[k * s + other]
                new_b[k] += beta[k * s + other]
                new_b[p + other] += beta[k * s + other]
                change = max(
                    change, fabs(alpha[k * s + other] - a), fabs(beta[k * s + other] - b)
                )
                largest = max(largest, alpha[k * s + other], beta[k * s + other])
        if change <= tol * largest:
            break


cdef class MultiplicativeBlocks(ExactBlocks):
    """Blocks improved by multiplicative updates (paper 000, Algorithm 2); see ``ExactBlocks``.

    Keeps one multiplier α − β per label pair. The paper starts every one of them at 1; here they
    start at the row's weight where that is less, for they can hardly become larger. A block that
    M³ leaves worse than it was keeps its old multipliers.
    """

    cdef const long long[::1] first
    cdef double[::1] multipliers
    # row and column sums, then α and β of one row
    cdef double* sums
    cdef double* alpha
    cdef double* beta

    def __cinit__(self, loss, double[:, ::1] coefficients, *_, **__):
        cdef Py_ssize_t q = coefficients.shape[1], most = loss.n_pairs.max(initial=0)
        self.sums = <double*> malloc((4 * q + 2 * most) * sizeof(double))
        if self.sums == NULL:
            raise MemoryError()
        self.alpha = self.sums + 4 * q
        self.beta = self.alpha + most

    def __init__(self, loss, coefficients, **state):
        super().__init__(loss, coefficients, **state)
        self.first = loss.first
        self.multipliers = np.repeat(np.minimum(1.0, loss.weight), loss.n_pairs)

    def __dealloc__(self):
        free(self.sums)

    cdef double improve(self, Py_ssize_t i, double loss) noexcept nogil:
        cdef const RowPairs* row = &self.block.pairs
        cdef double* coefficients = self.block.gradient
        cdef double* alpha = self.alpha
        cdef double* beta = self.beta
        cdef const double* multiplier = &self.multipliers[self.first[i]]
        cdef Py_ssize_t p = row.p, q = row.q, s = q - p, j, k, other
        cdef double floor = FLOOR * row.weight, conjugate = 0.0, d
        cdef double tol = max(LEAST_CHANGE, SHARE_OF_GAP * min(self.gap, 1.0))
        for j in range(p * s):
            alpha[j] = max(multiplier[j], floor)
            beta[j] = max(-multiplier[j], floor) if row.mu > 0.0 else 0.0
        multiplicative_updates(&self.block, alpha, beta, tol, self.sums)
        for j in range(q):
            coefficients[j] = 0.0
        for k in range(p):
            for other in range(s):
                j = k * s + other
                # what did not grow from the floor is zero; α and β of one pair cancel
                d = (alpha[j] if alpha[j] > floor else 0.0) - (beta[j] if beta[j] > floor else 0.0)
                alpha[j] = d
                coefficients[k] += d
                coefficients[p + other] -= d
                if d > 0.0:
                    conjugate += d * (row.lower - 0.5 * d / row.weight)
                elif d < 0.0:
                    conjugate += d * (row.upper - 0.5 * d / (row.weight * row.mu))
        return conjugate

    cdef void accept(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t j
        for j in range(self.block.pairs.p * (self.block.pairs.q - self.block.pairs.p)):
            self.multipliers[self.first[i] + j] = self.alpha[j]
