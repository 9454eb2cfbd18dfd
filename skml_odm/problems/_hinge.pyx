"""Hinge loss on label pairs: value, steps on the multipliers of Rank-SVM's dual, and smoothing.

Row i has a multiplier 0 ≤ α_ikl ≤ c_i for every relevant label k and irrelevant label l; its
coefficients are A_ik = Σ_l α_ikl and A_il = −Σ_k α_ikl. The multipliers of all rows stand in one
array, those of a row relevant label by relevant label.

The smoothed loss of a pair with slack s = 1 − f_k + f_l around a given multiplier α⁰ is

    φ(s) = max { α s − w (α − α⁰)² / 2c : 0 ≤ α ≤ c },    φ'(s) = α(s) = clip(α⁰ + c s / w, 0, c),

w the width of the smoothing. φ'' is c / w where α(s) is between its bounds and zero elsewhere.
"""

from libc.stdlib cimport free, malloc
from skml_odm.utils._panel cimport add_multiple
from skml_odm.utils._signals cimport ROWS_PER_LOOK, look_for_signals


cdef inline double clipped(double value, double c) noexcept nogil:
    value = value if value > 0.0 else 0.0
    return value if value < c else c


cdef class HingePairs:
    """The label pairs of all rows.

    Parameters
    ----------
    order : ndarray of shape (m, q), int32
        The labels of each row: relevant ones, irrelevant ones, and those that are in no pair.
    n_relevant, n_involved : ndarray of shape (m,), int32
        How many of them are relevant, and how many are relevant or irrelevant.
    weight : ndarray of shape (m,)
        c; rows of weight zero have no pairs.
    first : ndarray of shape (m,), int64
        Where the multipliers of a row begin.
    component : ndarray of shape (q,), int32
        Pairs of labels in different components keep their multiplier, which is zero; ``value``
        counts them all the same.
    """

    cdef const int[:, ::1] order
    cdef const int[::1] n_relevant, n_involved
    cdef const double[::1] weight
    cdef const long long[::1] first
    cdef const int[::1] component

    def __init__(self, order, n_relevant, n_involved, weight, first, component):
        self.order = order
        self.n_relevant, self.n_involved = n_relevant, n_involved
        self.weight = weight
        self.first = first
        self.component = component

    cdef inline bint has_pairs(self, Py_ssize_t i) noexcept nogil:
        return 0 < self.n_relevant[i] < self.n_involved[i] and self.weight[i] > 0.0

    def value(self, const double[:, ::1] scores, double[:, ::1] coefficients):
        """Return Σ_i c_i Σ_kl (1 − f_ik + f_il)₊; write A of α = c_i wherever f_ik − f_il < 1."""
        cdef Py_ssize_t q = scores.shape[1], i, a, b, k, other, p
        cdef double total = 0.0, row, slack, c
        with nogil:
            for i in range(scores.shape[0]):
                if i % ROWS_PER_LOOK == 0:
                    look_for_signals()
                for k in range(q):
                    coefficients[i, k] = 0.0
                if not self.has_pairs(i):
                    continue
                p, c, row = self.n_relevant[i], self.weight[i], 0.0
                for a in range(p):
                    k = self.order[i, a]
                    for b in range(p, self.n_involved[i]):
                        other = self.order[i, b]
                        slack = 1.0 - scores[i, k] + scores[i, other]
                        if slack > 0.0:
                            row += slack
                            coefficients[i, k] += c
                            coefficients[i, other] -= c
                total += c * row
        return total

    def sweep(
        self,
        const long long[::1] visits,
        Py_ssize_t start,
        Py_ssize_t spacing,
        const double[:, ::1] gram,
        double[:, ::1] scores,
        double[:, ::1] coefficients,
        double[::1] multipliers,
        double negligible,
    ):
        """Improve every block of one panel of instances; return the sum of their gaps when met.

        The panel holds the instances start, start + spacing, …; ``visits`` is the order of its
        blocks. ``gram`` is the kernel matrix of the panel, ``scores`` (labels × instances) are its
        scores; coefficients and multipliers are the whole problem's. A block is improved by a pass
        over its pairs, each moved to its own optimum, and by a second one if its gap was more than
        ``negligible``.
        """
        cdef Py_ssize_t n = gram.shape[0], q = scores.shape[0], visit, at, i, j, a, b, p, s, row
        cdef double kappa, half, gap = 0.0, block_gap, slack, value, change, level, rise, c
        cdef int is_second
        cdef double* work = <double*> malloc((2 * q + 1) * sizeof(double))
        cdef double* f = work
        cdef double* moved = work + q
        cdef double* alpha
        cdef int* kind = <int*> malloc((q + 1) * sizeof(int))
        if work == NULL or kind == NULL:
            free(work)
            free(kind)
            raise MemoryError()
        with nogil:
            for visit in range(n):
                at = visits[visit]
                i = start + at * spacing
                if not self.has_pairs(i):
                    continue
                p, c = self.n_relevant[i], self.weight[i]
                s = self.n_involved[i] - p
                kappa = gram[at, at]
                # a row without length has nothing to lose: its multipliers go to a bound at once
                half = 0.5 / kappa if kappa > 1e-300 else 1e300
                alpha = &multipliers[self.first[i]]
                for j in range(q):
                    f[j] = scores[self.order[i, j], at]
                    kind[j] = self.component[self.order[i, j]]
                    moved[j] = 0.0
                block_gap = 0.0
                for is_second in range(2):
                    if is_second and block_gap <= negligible:
                        break
                    for a in range(p):
                        level = 1.0 - f[a]
                        rise = 0.0
                        for b in range(s):
                            if kind[a] != kind[p + b]:
                                continue
                            slack = level + f[p + b]
                            if not is_second:
                                block_gap += (c if slack > 0.0 else 0.0) * slack
                                block_gap -= alpha[a * s + b] * slack
                            value = clipped(alpha[a * s + b] + slack * half, c)
                            change = value - alpha[a * s + b]
                            if change != 0.0:
                                alpha[a * s + b] = value
                                rise += change
                                level -= kappa * change
                                f[p + b] -= kappa * change
                                moved[p + b] -= change
                        f[a] += kappa * rise
                        moved[a] += rise
                gap += block_gap
                for j in range(q):
                    if moved[j] != 0.0:
                        row = self.order[i, j]
                        coefficients[i, row] += moved[j]
                        add_multiple(&scores[row, 0], &gram[at, 0], moved[j], n)
        free(work)
        free(kind)
        return gap

    def free_laplacian(self, const double[::1] multipliers, double[:, ::1] laplacian):
        """Add Σ α(c − α)/c · (e_k − e_l)(e_k − e_l)ᵀ to ``laplacian``: what free ones can move."""
        cdef Py_ssize_t i, a, b, k, other, p, pair
        cdef double freedom, c
        with nogil:
            for i in range(self.order.shape[0]):
                if i % ROWS_PER_LOOK == 0:
                    look_for_signals()
                if not self.has_pairs(i):
                    continue
                p, c, pair = self.n_relevant[i], self.weight[i], self.first[i]
                for a in range(p):
                    k = self.order[i, a]
                    for b in range(p, self.n_involved[i]):
                        freedom = multipliers[pair] * (c - multipliers[pair]) / c
                        pair = pair + 1
                        if freedom > 0.0:
                            other = self.order[i, b]
                            laplacian[k, k] += freedom
                            laplacian[other, other] += freedom
                            laplacian[k, other] -= freedom
                            laplacian[other, k] -= freedom

    def shift_free(
        self, const double[::1] potential, double[::1] multipliers, double[:, ::1] coefficients,
    ):
        """Move multipliers by −α(c − α)/c · (potential_k − potential_l); recompute coefficients."""
        cdef Py_ssize_t q = self.order.shape[1], i, a, b, k, other, p, pair
        cdef double alpha, c
        with nogil:
            for i in range(self.order.shape[0]):
                if i % ROWS_PER_LOOK == 0:
                    look_for_signals()
                for k in range(q):
                    coefficients[i, k] = 0.0
                if not self.has_pairs(i):
                    continue
                p, c, pair = self.n_relevant[i], self.weight[i], self.first[i]
                for a in range(p):
                    k = self.order[i, a]
                    for b in range(p, self.n_involved[i]):
                        other = self.order[i, b]
                        alpha = multipliers[pair]
                        alpha -= alpha * (c - alpha) / c * (potential[k] - potential[other])
                        multipliers[pair] = alpha
                        pair = pair + 1
                        coefficients[i, k] += alpha
                        coefficients[i, other] -= alpha

    def smooth_value(
        self,
        const double[:, ::1] scores,
        const double[::1] centre,
        double width,
        double[:, ::1] gradient,
        double[::1] multipliers,
    ):
        """Return Σ φ; write its gradient coefficients −∂/∂f and the multipliers α(s)."""
        cdef Py_ssize_t q = scores.shape[1], i, a, b, k, other, p, pair
        cdef double loss = 0.0, slack, alpha, c, moved, total
        with nogil:
            for i in range(scores.shape[0]):
                if i % ROWS_PER_LOOK == 0:
                    look_for_signals()
                for k in range(q):
                    gradient[i, k] = 0.0
                if not self.has_pairs(i):
                    continue
                p, c, pair = self.n_relevant[i], self.weight[i], self.first[i]
                for a in range(p):
                    k = self.order[i, a]
                    total = 0.0
                    for b in range(p, self.n_involved[i]):
                        other = self.order[i, b]
                        alpha = 0.0
                        if self.component[k] == self.component[other]:
                            slack = 1.0 - scores[i, k] + scores[i, other]
                            alpha = clipped(centre[pair] + slack * c / width, c)
                            moved = alpha - centre[pair]
                            loss += alpha * slack - 0.5 * width / c * moved * moved
                            total += alpha
                            gradient[i, other] -= alpha
                        multipliers[pair] = alpha
                        pair = pair + 1
                    gradient[i, k] += total
        return loss

    def mark_curved(
        self,
        const double[:, ::1] scores,
        const double[::1] centre,
        double width,
        unsigned char[::1] curved,
        double[:, ::1] total,
        double[:, ::1] diagonal,
    ):
        """Mark the pairs with φ'' > 0; write the diagonals of the rows' Hessians and their sum."""
        cdef Py_ssize_t q = scores.shape[1], i, a, b, k, other, p, pair
        cdef double value, c
        with nogil:
            for i in range(scores.shape[0]):
                if i % ROWS_PER_LOOK == 0:
                    look_for_signals()
                for k in range(q):
                    diagonal[i, k] = 0.0
                if not self.has_pairs(i):
                    continue
                p, c, pair = self.n_relevant[i], self.weight[i], self.first[i]
                for a in range(p):
                    k = self.order[i, a]
                    for b in range(p, self.n_involved[i]):
                        other = self.order[i, b]
                        value = centre[pair] + (1.0 - scores[i, k] + scores[i, other]) * c / width
                        curved[pair] = (
                            self.component[k] == self.component[other] and 0.0 < value < c
                        )
                        if curved[pair]:
                            diagonal[i, k] += c / width
                            diagonal[i, other] += c / width
                            total[k, other] -= c / width
                            total[other, k] -= c / width
                        pair = pair + 1
                for k in range(q):
                    total[k, k] += diagonal[i, k]

    def hessian_product(
        self,
        const double[:, ::1] direction,
        const unsigned char[::1] curved,
        double width,
        double[:, ::1] result,
    ):
        """Write the Hessian times ``direction``: row by row a graph Laplacian of curved pairs."""
        cdef Py_ssize_t q = direction.shape[1], i, j, a, b, p, s
        cdef double flow, total
        cdef double* step = <double*> malloc((2 * q + 1) * sizeof(double))
        cdef double* out = step + q
        cdef const unsigned char* mark
        if step == NULL:
            raise MemoryError()
        with nogil:
            for i in range(direction.shape[0]):
                if not self.has_pairs(i):
                    for j in range(q):
                        result[i, j] = 0.0
                    continue
                p = self.n_relevant[i]
                s = self.n_involved[i] - p
                for j in range(q):
                    step[j] = direction[i, self.order[i, j]]
                    out[j] = 0.0
                for a in range(p):
                    mark = &curved[self.first[i] + a * s]
                    total = 0.0
                    for b in range(s):
                        flow = mark[b] * (step[a] - step[p + b])
                        total += flow
                        out[p + b] -= flow
                    out[a] = total
                for j in range(q):
                    result[i, self.order[i, j]] = self.weight[i] / width * out[j]
        free(step)
