"""Exact block steps of dual block coordinate descent.

Block i of the dual belongs to one instance. With all other blocks fixed, its optimum is read off
the proximal step

    f* = argmin_f  ‖f − f⁰‖² / (2κ) + c Σ_{k∈Y, l∈N} ℓ(f_k − f_l),     f⁰ = F_i − κ A_i,

κ = K_ii: the new coefficients are A_i = G(f*), which satisfy f* = f⁰ + κ A_i. The objective is
strongly convex with a piecewise linear gradient, so a semismooth Newton method with a line search
ends after finitely many steps. Its Hessian (times κ) is I + κ·(weighted bipartite Laplacian): the
larger side of the bipartition is eliminated, the smaller one factored.
"""

from libc.math cimport fabs, sqrt
from libc.stdlib cimport free, malloc
from skml_odm.solvers._panel cimport add_multiple
from skml_odm.solvers._pairs cimport pair_curvature, pair_terms

cdef int MAX_NEWTON = 100
cdef double ROUNDING = 1e-14


cdef int cholesky_solve(double* matrix, Py_ssize_t n, double* x) noexcept nogil:
    """Solve matrix·x = x in place for a symmetric positive definite matrix (lower half used)."""
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
    return 0


cdef int newton_direction(
    const double* few, Py_ssize_t n_few, const double* many, Py_ssize_t n_many, double sign,
    double scale, double lower, double upper, double mu,
    double* step_few, double* step_many, double* diagonal, double* coupling, double* schur,
) noexcept nogil:
    """Solve (I + scale·Laplacian) step = residual; the steps hold the residuals on entry.

    ``few`` is the side to factor; the margin of a pair is sign·(few − many). ``coupling`` has room
    for one column of the off-diagonal part, ``diagonal`` for the eliminated side.
    """
    cdef Py_ssize_t a, b, other
    cdef double curvature, ratio, rest
    for a in range(n_few):
        for b in range(a + 1):
            schur[a * n_few + b] = 0.0
        schur[a * n_few + a] = 1.0
    # schur = diag(1 + W 1) − W diag(1 + Wᵀ1)⁻¹ Wᵀ ;  step_few += W diag(…)⁻¹ step_many
    for other in range(n_many):
        diagonal[other] = 1.0
        for a in range(n_few):
            curvature = scale * pair_curvature(sign * (few[a] - many[other]), lower, upper, mu)
            coupling[a] = curvature
            diagonal[other] += curvature
        for a in range(n_few):
            if coupling[a] == 0.0:
                continue
            ratio = coupling[a] / diagonal[other]
            step_few[a] += ratio * step_many[other]
            # c − c²/d written as c (d − c)/d, with d − c summed up: nothing cancels
            rest = 1.0
            for b in range(n_few):
                if b != a:
                    rest += coupling[b]
            schur[a * n_few + a] += ratio * rest
            for b in range(a):
                schur[a * n_few + b] -= ratio * coupling[b]
    if cholesky_solve(schur, n_few, step_few) != 0:
        return -1
    for other in range(n_many):
        for a in range(n_few):
            curvature = scale * pair_curvature(sign * (few[a] - many[other]), lower, upper, mu)
            step_many[other] += curvature * step_few[a]
        step_many[other] /= diagonal[other]
    return 0


cdef double proximal_step(
    const double* centre, double* f, Py_ssize_t p, Py_ssize_t q, double kappa, double weight,
    double lower, double upper, double mu, double loss, double* pull, double* work,
) noexcept nogil:
    """Move ``f`` to the minimiser and return its loss.

    ``loss`` and ``pull`` are the loss and the pair sums of the starting point; ``pull`` becomes
    those of the minimiser. ``work`` has room for 4q + (q/2)² doubles.
    """
    cdef double* step = work
    cdef double* trial = work + q
    cdef double* diagonal = work + 2 * q
    cdef double* coupling = work + 3 * q
    cdef double* schur = work + 4 * q
    cdef Py_ssize_t j, s = q - p
    cdef int _iteration, _halving, failed
    cdef double trial_loss, trial_value, slope, error, size, t
    cdef double value = kappa * loss
    for j in range(q):
        value += 0.5 * (f[j] - centre[j]) * (f[j] - centre[j])
    for _iteration in range(MAX_NEWTON):
        error = 0.0
        size = 1.0
        for j in range(q):
            # step = κ·G(f) − (f − f⁰): the residual, zero at the minimiser
            step[j] = (kappa * pull[j] if j < p else -kappa * pull[j]) - (f[j] - centre[j])
            trial[j] = step[j]
            if fabs(step[j]) > error:
                error = fabs(step[j])
            size = max(size, fabs(f[j]), fabs(centre[j]))
        if error <= ROUNDING * size:
            break
        if p <= s:
            failed = newton_direction(
                f, p, f + p, s, 1.0, kappa * weight, lower, upper, mu,
                step, step + p, diagonal, coupling, schur,
            )
        else:
            failed = newton_direction(
                f + p, s, f, p, -1.0, kappa * weight, lower, upper, mu,
                step + p, step, diagonal, coupling, schur,
            )
        if failed != 0:
            break
        slope = 0.0
        for j in range(q):
            slope += trial[j] * step[j]
        t = 1.0
        for _halving in range(60):
            for j in range(q):
                trial[j] = f[j] + t * step[j]
            trial_loss = pair_terms(
                trial, p, trial + p, s, weight, lower, upper, mu, pull, pull + p
            )
            trial_value = kappa * trial_loss
            for j in range(q):
                trial_value += 0.5 * (trial[j] - centre[j]) * (trial[j] - centre[j])
            if trial_value <= value - 1e-4 * t * slope + 1e-15 * value:
                break
            t *= 0.5
        for j in range(q):
            f[j] = trial[j]
        if trial_value >= value and error <= 1e-10 * size:
            loss = trial_loss
            break
        value = trial_value
        loss = trial_loss
    return loss


cdef inline size_t row_workspace(Py_ssize_t q) noexcept nogil:
    """Bytes for a row's centre, scores and pulls (q each) and what ``proximal_step`` needs."""
    return (7 * q + (q // 2) * (q // 2) + 1) * sizeof(double)


def sweep(
    double negligible,
    const long long[::1] visits,
    Py_ssize_t start,
    Py_ssize_t spacing,
    const double[:, ::1] gram,
    double[:, ::1] scores,
    double[:, ::1] coefficients,
    double[::1] conjugate,
    const int[:, ::1] order,
    const int[::1] n_relevant,
    const double[::1] weight,
    double lower,
    double upper,
    double mu,
):
    """Visit every block of one panel of instances once; return (gap, dual gain).

    The panel holds the instances start, start + spacing, …; ``visits`` is the order of its blocks.
    ``gram`` is K restricted to the panel and ``scores`` (labels × instances) the panel's current
    scores; both ``coefficients`` and ``scores`` are updated. ``conjugate[i]`` is the block's share
    L_i(f*) + ⟨A_i, f*⟩ of the dual value, kept so that the dual value needs no pair variables. The
    gap is the sum over the blocks of their primal-dual gaps when they were met; blocks with a gap
    below ``negligible`` are not solved.
    """
    cdef Py_ssize_t n = gram.shape[0], q = scores.shape[0], visit, at, i, j, p, row
    cdef double kappa, gap = 0.0, gain = 0.0, block_gain
    cdef double loss, block_gap, new_conjugate, change
    cdef double* work = <double*> malloc(row_workspace(q))
    cdef double* centre = work
    cdef double* f = work + q
    cdef double* pull = work + 2 * q
    if work == NULL:
        raise MemoryError()
    with nogil:
        for visit in range(n):
            at = visits[visit]
            i = start + at * spacing
            p = n_relevant[i]
            if p == 0 or p == q or weight[i] == 0.0:
                continue
            kappa = gram[at, at]
            block_gap = -conjugate[i]
            for j in range(q):
                f[j] = scores[order[i, j], at]
                centre[j] = f[j] - kappa * coefficients[i, order[i, j]]
                block_gap += f[j] * coefficients[i, order[i, j]]
            loss = pair_terms(f, p, f + p, q - p, weight[i], lower, upper, mu, pull, pull + p)
            block_gap += loss
            gap += block_gap
            if block_gap < negligible:
                continue
            loss = proximal_step(
                centre, f, p, q, kappa, weight[i], lower, upper, mu, loss, pull, work + 3 * q
            )
            new_conjugate = loss
            block_gain = -conjugate[i]
            for j in range(q):
                if j >= p:
                    pull[j] = -pull[j]
                new_conjugate += pull[j] * f[j]
                row = order[i, j]
                change = pull[j] - coefficients[i, row]
                block_gain -= change * (scores[row, at] + 0.5 * kappa * change)
            block_gain += new_conjugate
            # only rounding can make it negative
            if not block_gain >= 0.0:
                continue
            gain += block_gain
            conjugate[i] = new_conjugate
            for j in range(q):
                row = order[i, j]
                change = pull[j] - coefficients[i, row]
                if change != 0.0:
                    coefficients[i, row] = pull[j]
                    add_multiple(&scores[row, 0], &gram[at, 0], change, n)
    free(work)
    return gap, gain


def proximal_points(
    const double[:, ::1] scores,
    const double[:, ::1] coefficients,
    double kappa,
    const int[:, ::1] order,
    const int[::1] n_relevant,
    const double[::1] weight,
    double lower,
    double upper,
    double mu,
    double[:, ::1] result,
):
    """Write the proximal points of scores − κ·coefficients into ``result``, row by row."""
    cdef Py_ssize_t m = scores.shape[0], q = scores.shape[1], i, j, p
    cdef double loss
    cdef double* work = <double*> malloc(row_workspace(q))
    cdef double* centre = work
    cdef double* f = work + q
    cdef double* pull = work + 2 * q
    if work == NULL:
        raise MemoryError()
    with nogil:
        for i in range(m):
            p = n_relevant[i]
            if p == 0 or p == q or weight[i] == 0.0:
                for j in range(q):
                    result[i, j] = scores[i, j]
                continue
            for j in range(q):
                f[j] = scores[i, order[i, j]]
                centre[j] = f[j] - kappa * coefficients[i, order[i, j]]
            loss = pair_terms(f, p, f + p, q - p, weight[i], lower, upper, mu, pull, pull + p)
            proximal_step(
                centre, f, p, q, kappa, weight[i], lower, upper, mu, loss, pull, work + 3 * q
            )
            for j in range(q):
                result[i, order[i, j]] = f[j]
    free(work)
