"""Exact block steps of dual block coordinate descent.

Block i of the dual belongs to one instance. With all other blocks fixed, its optimum is read off
the proximal step

    f* = argmin_f  ‖f − f⁰‖² / (2κ) + c Σ_{k∈Y, l∈N} ℓ(f_k − f_l),     f⁰ = F_i − κ A_i,

κ = K_ii: the new coefficients are A_i = G(f*), which satisfy f* = f⁰ + κ A_i. The objective is
strongly convex with a piecewise linear gradient, so a semismooth Newton method with a line search
ends after finitely many steps. Its Hessian (times κ) is I + κ·(weighted bipartite Laplacian): the
larger side of the bipartition is eliminated, the smaller one, of p labels, factored. With very many
labels the pairs are taken bucket by bucket (see ``_sorted_pairs``), and a step costs
O(q log p + p³).

A zero label borders the system: with M the matrix of the other labels, d the curvatures of their
pairs with it, and r the residuals, its step is (r₀ + dᵀM⁻¹r) / (1 + dᵀM⁻¹1), because M 1 = 1 + d.
"""

from libc.math cimport INFINITY, sqrt
from libc.stdlib cimport free, malloc
from skml_odm.problems._pair_loss cimport Pairs
from skml_odm.problems._pairs cimport RowPairs, pair_curvature
from skml_odm.problems._sorted_pairs cimport (
    Buckets,
    bucket_terms,
    bucket_workspace,
    most_pairs_in_a_loop,
    open_buckets,
    pair_terms,
    row_terms,
    sorting_pays,
)
from skml_odm.problems._zero_label cimport zero_curvature, zero_terms
from skml_odm.utils._signals cimport ROWS_PER_LOOK, look_for_signals

cdef int MAX_NEWTON = 100
cdef int MAX_HALVINGS = 60
cdef double ROUNDING = 1e-14


cdef int cholesky_factor(double* matrix, Py_ssize_t n) noexcept nogil:
    """Factor a symmetric positive definite matrix in place (lower half used)."""
    cdef Py_ssize_t i, j, k
    cdef double total
    for j in range(n):
        total = matrix[j * n + j]
        for k in range(j):
            total -= matrix[j * n + k] * matrix[j * n + k]
        if total <= 0.0:
            return -1
        matrix[j * n + j] = sqrt(total)
        for i in range(j + 1, n):
            total = matrix[i * n + j]
            for k in range(j):
                total -= matrix[i * n + k] * matrix[j * n + k]
            matrix[i * n + j] = total / matrix[j * n + j]
    return 0


cdef void triangular_solves(const double* matrix, Py_ssize_t n, double* x) noexcept nogil:
    """Solve matrix·x = x in place for a factored matrix."""
    cdef Py_ssize_t i, k
    cdef double total
    for i in range(n):
        total = x[i]
        for k in range(i):
            total -= matrix[i * n + k] * x[k]
        x[i] = total / matrix[i * n + i]
    for i in range(n - 1, -1, -1):
        total = x[i]
        for k in range(i + 1, n):
            total -= matrix[k * n + i] * x[k]
        x[i] = total / matrix[i * n + i]


cdef int cholesky_solve(double* matrix, Py_ssize_t n, double* x) noexcept nogil:
    """Solve matrix·x = x in place for a symmetric positive definite matrix (lower half used)."""
    if cholesky_factor(matrix, n) != 0:
        return -1
    triangular_solves(matrix, n, x)
    return 0


cdef int pair_direction(
    const RowPairs* row, const double* f, double scale, const double* border, double* step,
    double* work,
) noexcept nogil:
    """Solve (I + scale·Laplacian) step = residual; ``step`` holds the residual on entry.

    With a ``border``, it is added to the diagonal. ``work`` has room for ``newton_workspace``
    doubles; ``again`` takes it for another residual.
    """
    cdef Py_ssize_t n_few = min(row.p, row.q - row.p), n_many = row.q - n_few
    # the smaller side is factored; a pair's margin is sign·(few − many)
    cdef double sign = 1.0 if n_few == row.p else -1.0
    cdef Py_ssize_t first_few = 0 if n_few == row.p else row.p
    cdef Py_ssize_t first_many = row.p - first_few
    cdef const double* few = f + first_few
    cdef const double* many = f + first_many
    cdef double* step_few = step + first_few
    cdef double* step_many = step + first_many
    cdef double lower = row.lower, upper = row.upper, mu = row.mu
    cdef double* inverse = work
    cdef double* ratio = inverse + n_many
    cdef double* coupling = ratio + n_many
    cdef double* schur = coupling + n_few * n_many
    cdef Py_ssize_t a, b, other
    cdef double curvature, total, pull, shared
    cdef const double* weights
    cdef const double* column
    for other in range(n_many):
        inverse[other] = 1.0 if border == NULL else 1.0 + border[first_many + other]
    for a in range(n_few):
        for other in range(n_many):
            curvature = scale * pair_curvature(sign * (few[a] - many[other]), lower, upper, mu)
            coupling[a * n_many + other] = curvature
            inverse[other] += curvature
    for other in range(n_many):
        inverse[other] = 1.0 / inverse[other]
    # schur = diag(1 + W 1) − W diag(1 + Wᵀ1)⁻¹ Wᵀ ;  step_few += W diag(…)⁻¹ step_many
    # Row a of schur sums to 1 + Σ W_a/(1 + Wᵀ1): the diagonal is a sum without cancellation.
    # A border is added to the ones.
    for a in range(n_few):
        weights = coupling + a * n_many
        total = 1.0 if border == NULL else 1.0 + border[first_few + a]
        pull = 0.0
        for other in range(n_many):
            ratio[other] = weights[other] * inverse[other]
            pull += ratio[other] * step_many[other]
            if border == NULL:
                total += ratio[other]
            else:
                total += ratio[other] * (1.0 + border[first_many + other])
        step_few[a] += pull
        for b in range(a):
            column = coupling + b * n_many
            shared = 0.0
            for other in range(n_many):
                shared += ratio[other] * column[other]
            schur[a * n_few + b] = -shared
            schur[b * n_few + b] += shared
            total += shared
        schur[a * n_few + a] = total
    if cholesky_solve(schur, n_few, step_few) != 0:
        return -1
    for a in range(n_few):
        weights = coupling + a * n_many
        for other in range(n_many):
            step_many[other] += weights[other] * step_few[a]
    for other in range(n_many):
        step_many[other] *= inverse[other]
    return 0


cdef void again(const RowPairs* row, double* step, const double* work) noexcept nogil:
    """Solve with the matrix of the last ``pair_direction``."""
    cdef Py_ssize_t n_few = min(row.p, row.q - row.p), n_many = row.q - n_few, a, other
    cdef double* few = step + (0 if n_few == row.p else row.p)
    cdef double* many = step + (row.p if n_few == row.p else 0)
    cdef const double* inverse = work
    cdef const double* coupling = work + 2 * n_many
    for a in range(n_few):
        for other in range(n_many):
            few[a] += coupling[a * n_many + other] * inverse[other] * many[other]
    triangular_solves(coupling + n_few * n_many, n_few, few)
    for a in range(n_few):
        for other in range(n_many):
            many[other] += coupling[a * n_many + other] * few[a]
    for other in range(n_many):
        many[other] *= inverse[other]


cdef int zero_direction(
    const RowPairs* row, const double* f, double kappa, double* step, double* work,
) noexcept nogil:
    """``pair_direction`` for a row with a zero label."""
    cdef Py_ssize_t q = row.q, j
    cdef double* border = work
    cdef double* ones = work + q
    cdef double corner = 1.0, zero = step[q]
    work += 2 * q
    for j in range(q):
        border[j] = kappa * zero_curvature(row, f, j)
        ones[j] = 1.0
    if pair_direction(row, f, kappa * row.weight, border, step, work) != 0:
        return -1
    again(row, ones, work)
    for j in range(q):
        corner += border[j] * ones[j]
        zero += border[j] * step[j]
    step[q] = zero / corner
    # M⁻¹d = 1 − M⁻¹1
    for j in range(q):
        step[j] += step[q] * (1.0 - ones[j])
    return 0


cdef int bucket_direction(
    const Buckets* buckets, double scale, double* step, double* work,
) noexcept nogil:
    """The same from buckets.

    The larger side's labels of a bucket have the same pairs, and so the same
    column w of weights (1 and μ times scale): with n of them the smaller side's matrix is

        diag(1 + Σ n w) − Σ n w wᵀ / (1 + 1ᵀw),

    a sum over buckets. A bucket's pairs that fall short are those with the lowest scores, the ones
    over those with the highest, so that entries are sums over ranges of buckets. ``work`` has room
    for ``newton_workspace`` doubles.
    """
    cdef Py_ssize_t n = buckets.n_few, n_buckets = buckets.n_cuts + 1, a, b, t
    cdef double* schur = work
    cdef double* x = schur + n * n
    # for a rank: the first bucket where it falls short, and one after the last where it is over
    cdef Py_ssize_t* first = <Py_ssize_t*> (x + n)
    cdef Py_ssize_t* last = first + n
    cdef double* below = x + 3 * n
    # by bucket: 1 / (1 + 1ᵀw); sums over the buckets before, of n / (1 + 1ᵀw) and residuals
    cdef double* inverse = below + n + 1
    cdef double* before = inverse + n_buckets
    cdef double* pulled = before + n_buckets + 1
    cdef double* many = step + buckets.first_many
    cdef double* few = step + buckets.first_few
    cdef double entry, low, mu = buckets.mu
    for t in range(n_buckets):
        inverse[t] = 1.0 / (1.0 + scale * buckets.pairs[t])
        pulled[t + 1] = 0.0
    for a in range(buckets.n_many):
        pulled[buckets.bucket[a] + 1] += many[a]
    before[0] = 0.0
    pulled[0] = 0.0
    for t in range(n_buckets):
        before[t + 1] = before[t] + buckets.count[t] * inverse[t]
        pulled[t + 1] = pulled[t] + pulled[t + 1] * inverse[t]
    t = 0
    for a in range(n):
        while t < n_buckets and buckets.n_short[t] <= a:
            t += 1
        first[a] = t
    t = 0
    for a in range(n):
        while t < n_buckets and buckets.first_over[t] <= a:
            t += 1
        last[a] = t
    # Row a sums to 1 + Σ n w_a / (1 + 1ᵀw): the diagonal is a sum without cancellation.
    for a in range(n):
        x[a] = pulled[n_buckets] - pulled[first[a]] + mu * pulled[last[a]]
        x[a] = few[buckets.place[a]] + scale * x[a]
        low = before[n_buckets] - before[first[a]]
        schur[a * n + a] = 1.0 + scale * (low + mu * before[last[a]])
        for b in range(a):
            entry = low + mu * mu * before[last[b]]
            if first[b] < last[a]:
                entry += mu * (before[last[a]] - before[first[b]])
            entry *= scale * scale
            schur[a * n + b] = -entry
            schur[a * n + a] += entry
            schur[b * n + b] += entry
    if cholesky_solve(schur, n, x) != 0:
        return -1
    below[0] = 0.0
    for a in range(n):
        few[buckets.place[a]] = x[a]
        below[a + 1] = below[a] + x[a]
    for t in range(n_buckets):
        low = below[n] - below[buckets.first_over[t]]
        pulled[t] = scale * (below[buckets.n_short[t]] + mu * low)
    for a in range(buckets.n_many):
        t = buckets.bucket[a]
        many[a] = (many[a] + pulled[t]) * inverse[t]
    return 0


cdef size_t newton_workspace(Py_ssize_t q, bint with_zero) noexcept nogil:
    """Doubles that a Newton direction needs for a row with at most q labels in pairs."""
    cdef Py_ssize_t schur = (q // 2) * (q // 2)
    cdef Py_ssize_t n_pairs = (q // 2) * (q - q // 2) if with_zero else most_pairs_in_a_loop(q)
    return schur + max(4 * q + n_pairs, 4 * (q // 2) + 3 * (q + 2))


cdef size_t block_workspace(Py_ssize_t q, bint with_zero) noexcept nogil:
    return (5 * q + bucket_workspace(q) + newton_workspace(q, with_zero)) * sizeof(double)


cdef void open_block(Block* block, Py_ssize_t q, double* work) noexcept nogil:
    block.centre = work
    block.f = work + q
    block.gradient = work + 2 * q
    block.step = work + 3 * q
    block.trial = work + 4 * q
    block.memory = work + 5 * q


cdef double block_loss(Block* block) noexcept nogil:
    cdef double loss = row_terms(&block.pairs, block.f, block.gradient, block.memory)
    if block.pairs.has_zero:
        loss += zero_terms(&block.pairs, block.f, block.gradient)
    return loss


cdef double proximal_step(Block* block, double loss) noexcept nogil:
    """Move f to the minimiser; return its loss and leave its gradient coefficients.

    ``loss`` is the loss at the f that is given, and ``gradient`` holds its coefficients.
    """
    cdef const RowPairs* row = &block.pairs
    cdef const double* centre = block.centre
    cdef double* f = block.f
    cdef double* gradient = block.gradient
    cdef double* step = block.step
    cdef double* trial = block.trial
    cdef double* memory = block.memory
    cdef Py_ssize_t j, q = row.q + row.has_zero
    cdef Buckets buckets
    cdef bint in_buckets = sorting_pays(row) and not row.has_zero
    cdef bint changed = True, settled = False
    cdef int _iteration, _halving, failed, patience = 3
    cdef double kappa = block.kappa, scale = kappa * row.weight
    cdef double value, trial_value = 0.0, t, size, noise = 0.0
    cdef double distance = 0.0, slope = INFINITY, error = INFINITY, previous
    # of a residual, relative to the scores
    cdef double rounding = ROUNDING * (
        1.0 + scale * max(row.p, row.q - row.p)
        + kappa * (row.above_zero * row.p + row.below_zero * (row.q - row.p))
    )
    if in_buckets:
        open_buckets(&buckets, row, memory)
        bucket_terms(&buckets, f, gradient, &changed)
        memory += bucket_workspace(q)
    for j in range(q):
        distance += (f[j] - centre[j]) * (f[j] - centre[j])
    value = kappa * loss + 0.5 * distance
    for _iteration in range(MAX_NEWTON):
        previous = error
        error = 0.0
        size = 1.0
        for j in range(q):
            # step = κ·G(f) − (f − f⁰): the residual, zero at the minimiser
            step[j] = kappa * gradient[j] - (f[j] - centre[j])
            trial[j] = step[j]
            error += step[j] * step[j]
            size += f[j] * f[j] + centre[j] * centre[j]
        # A whole step that changed no pair's state ends where the gradient, linear so far, is zero:
        # only rounding is left, unless the system was ill-conditioned.
        if not error > (rounding if settled else ROUNDING) ** 2 * size:
            break
        # where the value no longer tells one point from the next, the residual has to fall
        if slope <= noise and error > 0.25 * previous:
            patience -= 1
            if patience == 0:
                break
        if in_buckets:
            failed = bucket_direction(&buckets, scale, step, memory)
        elif row.has_zero:
            failed = zero_direction(row, f, kappa, step, memory)
        else:
            failed = pair_direction(row, f, scale, NULL, step, memory)
        if failed:
            break
        slope = 0.0
        for j in range(q):
            slope += trial[j] * step[j]
        noise = 0.1 * ROUNDING * size
        t = 1.0
        for _halving in range(MAX_HALVINGS):
            distance = 0.0
            for j in range(q):
                trial[j] = f[j] + t * step[j]
                distance += (trial[j] - centre[j]) * (trial[j] - centre[j])
            if in_buckets:
                loss = bucket_terms(&buckets, trial, gradient, &changed)
            else:
                loss = pair_terms(row, trial, gradient)
                if row.has_zero:
                    loss += zero_terms(row, trial, gradient)
            trial_value = kappa * loss + 0.5 * distance
            if trial_value <= value - 1e-4 * t * slope + noise:
                break
            t *= 0.5
        for j in range(q):
            f[j] = trial[j]
        value = trial_value
        settled = t == 1.0 and not changed
    return loss


def proximal_points(
    Pairs pairs, const double[:, ::1] scores, const double[:, ::1] coefficients, double kappa,
    double[:, ::1] result,
):
    """Write the proximal points of scores − κ·coefficients into ``result``, row by row.

    Labels that are in no pair keep their scores: they have no multipliers.
    """
    cdef Py_ssize_t m = scores.shape[0], q = scores.shape[1], i, j
    cdef Block block
    cdef double* work = <double*> malloc(block_workspace(q, pairs.zero_weight.shape[0] > 0))
    if work == NULL:
        raise MemoryError()
    block.kappa = kappa
    open_block(&block, q, work)
    try:
        with nogil:
            for i in range(m):
                if i % ROWS_PER_LOOK == 0:
                    look_for_signals()
                block.pairs = pairs.row(i)
                for j in range(q):
                    block.f[j] = scores[i, pairs.order[i, j]]
                    block.centre[j] = block.f[j] - kappa * coefficients[i, pairs.order[i, j]]
                if block.pairs.weight > 0.0 or block.pairs.has_zero:
                    proximal_step(&block, block_loss(&block))
                for j in range(q):
                    result[i, pairs.order[i, j]] = block.f[j]
    finally:
        free(work)
