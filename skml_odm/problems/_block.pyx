"""Exact block steps of dual block coordinate descent.

Block i of the dual belongs to one instance. With all other blocks fixed, its optimum is read off
the proximal step

    f* = argmin_f  ‖f − f⁰‖² / (2κ) + c Σ_{k∈Y, l∈N} ℓ(f_k − f_l),     f⁰ = F_i − κ A_i,

κ = K_ii: the new coefficients are A_i = G(f*), which satisfy f* = f⁰ + κ A_i. The objective is
strongly convex with a piecewise linear gradient, so a semismooth Newton method with a line search
ends after finitely many steps. Its Hessian (times κ) is I + κ·(weighted bipartite Laplacian): the
larger side of the bipartition is eliminated, the smaller one, of p labels, factored. With very many
labels the pairs are taken bucket by bucket (see ``_sorted_pairs``), and a step costs
O(q log p + p³). Where the smaller side is a single label, the other scores are functions of its
score, and a root in one variable is sought.
"""

from libc.math cimport INFINITY, fabs, sqrt
from libc.stdlib cimport free, malloc
from skml_odm.utils._panel cimport add_combination
from skml_odm.problems._pairs cimport pair_curvature, pair_terms
from skml_odm.problems._sorted_pairs cimport (
    Buckets,
    bucket_workspace,
    cut_line,
    fill,
    half_squares,
    open_buckets,
    pull_few,
    row_terms,
    sort_few,
)

cdef int MAX_NEWTON = 100
cdef double ROUNDING = 1e-14

# With so many labels on the smaller and on the larger side buckets beat loops over all pairs.
cdef Py_ssize_t MIN_FEW = 5
cdef Py_ssize_t MIN_MANY = 100


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


cdef int pair_direction(
    const double* few, Py_ssize_t n_few, const double* many, Py_ssize_t n_many, double sign,
    double scale, double lower, double upper, double mu,
    double* step_few, double* step_many, double* work,
) noexcept nogil:
    """Solve (I + scale·Laplacian) step = residual; the steps hold the residuals on entry.

    ``few`` is the side to factor; the margin of a pair is sign·(few − many). ``work`` has room for
    (n_few + 2)·(n_few + n_many) doubles.
    """
    cdef double* inverse = work
    cdef double* ratio = inverse + n_many
    cdef double* coupling = ratio + n_many
    cdef double* schur = coupling + n_few * n_many
    cdef Py_ssize_t a, b, other
    cdef double curvature, total, pull, shared
    cdef const double* row
    cdef const double* column
    for other in range(n_many):
        inverse[other] = 1.0
    for a in range(n_few):
        for other in range(n_many):
            curvature = scale * pair_curvature(sign * (few[a] - many[other]), lower, upper, mu)
            coupling[a * n_many + other] = curvature
            inverse[other] += curvature
    for other in range(n_many):
        inverse[other] = 1.0 / inverse[other]
    # schur = diag(1 + W 1) − W diag(1 + Wᵀ1)⁻¹ Wᵀ ;  step_few += W diag(…)⁻¹ step_many
    # Row a of schur sums to 1 + Σ W_a/(1 + Wᵀ1): the diagonal is a sum without cancellation.
    for a in range(n_few):
        row = coupling + a * n_many
        total = 1.0
        pull = 0.0
        for other in range(n_many):
            ratio[other] = row[other] * inverse[other]
            total += ratio[other]
            pull += ratio[other] * step_many[other]
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
        row = coupling + a * n_many
        for other in range(n_many):
            step_many[other] += row[other] * step_few[a]
    for other in range(n_many):
        step_many[other] *= inverse[other]
    return 0


cdef int bucket_direction(
    const Buckets* buckets, double scale, double* step, double* work,
) noexcept nogil:
    """The same from buckets, for a row of residuals.

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


cdef size_t newton_workspace(Py_ssize_t q) noexcept nogil:
    """Doubles that a Newton direction needs."""
    cdef Py_ssize_t by_pairs = (2 + (q // 2 if q < 2 * MIN_MANY else MIN_FEW)) * q
    return max(by_pairs, (q // 2) * (q // 2 + 4) + 1 + 3 * (q + 1) + 2)


cdef double single_label_score(
    double x, double centre, const double* centres, Py_ssize_t n_many, double sign,
    double scale, double lower, double upper, double mu,
) noexcept nogil:
    """The minimiser's score of a label that is alone on its side; ``x`` is a first guess.

    Given x, a label of the other side has a pair of its own, and its score a closed form: what the
    pair lacks or exceeds with that label at its centre is divided by 1 + κc or 1 + κcμ. So

        x − centre − sign·κ·(sum of the multipliers given x) = 0

    remains. The slope is at least 1, hence the value bounds the distance to the root: Newton's
    method is kept within these bounds.
    """
    cdef double shrink = 1.0 / (1.0 + scale), shrink_over = mu / (1.0 + scale * mu)
    cdef double low = -INFINITY, high = INFINITY, short_by, over_by, total, slope, error
    cdef Py_ssize_t other
    cdef int _iteration
    for _iteration in range(MAX_NEWTON):
        total = 0.0
        slope = 0.0
        for other in range(n_many):
            short_by = lower - sign * (x - centres[other])
            over_by = sign * (x - centres[other]) - upper
            short_by = short_by if short_by > 0.0 else 0.0
            over_by = over_by if over_by > 0.0 else 0.0
            total += shrink * short_by - shrink_over * over_by
        # gcc makes vector instructions of two loops, but not of one for both sums
        for other in range(n_many):
            slope += pair_curvature(
                sign * (x - centres[other]), lower, upper, shrink_over / shrink
            )
        error = x - centre - sign * scale * total
        if error > 0.0:
            high = x
            low = max(low, x - error)
        else:
            low = x
            high = min(high, x - error)
        error /= 1.0 + scale * shrink * slope
        x -= error
        if not fabs(error) > ROUNDING * (1.0 + fabs(x)):
            break
        if not low < x < high:
            x = 0.5 * (low + high)
    return x


cdef double follow_single_label(
    double x, const double* centres, double* many, Py_ssize_t n_many, double sign,
    double kappa, double weight, double lower, double upper, double mu,
    double* pull_one, double* pull_many,
) noexcept nogil:
    """Move ``many`` to its optimum given the score ``x`` of the other side's only label.

    Returns the loss and writes the pair sums. Both come from the closed form: differences of
    scores would lose them in rounding where κc is huge.
    """
    cdef double shrink = 1.0 / (1.0 + kappa * weight)
    cdef double shrink_over = 1.0 / (1.0 + kappa * weight * mu)
    cdef double short_by, over_by, total = 0.0, loss = 0.0
    cdef Py_ssize_t other
    for other in range(n_many):
        short_by = lower - sign * (x - centres[other])
        over_by = sign * (x - centres[other]) - upper
        short_by = short_by * shrink if short_by > 0.0 else 0.0
        over_by = over_by * shrink_over if over_by > 0.0 else 0.0
        pull_many[other] = weight * (short_by - mu * over_by)
        many[other] = centres[other] - sign * kappa * pull_many[other]
        total += pull_many[other]
        loss += short_by * short_by + mu * over_by * over_by
    pull_one[0] = total
    return 0.5 * weight * loss


cdef double block_loss(
    Buckets* buckets, bint in_buckets, const double* f, Py_ssize_t p, Py_ssize_t q, double weight,
    double lower, double upper, double mu, double* pull, bint* changed,
) noexcept nogil:
    """Loss and pair sums.

    With buckets it is told whether the state of a pair is another than in the last call.
    """
    cdef Py_ssize_t j
    if not in_buckets:
        changed[0] = True
        return pair_terms(f, p, f + p, q - p, weight, lower, upper, mu, pull, pull + p)
    changed[0] = sort_few(buckets, f)
    changed[0] |= cut_line(buckets)
    changed[0] |= fill(buckets, f, pull)
    pull_few(buckets, pull)
    for j in range(q):
        pull[j] *= weight
    return weight * half_squares(buckets)


cdef double proximal_step(
    const double* centre, double* f, Py_ssize_t p, Py_ssize_t q, double kappa, double weight,
    double lower, double upper, double mu, double loss, double* pull, double* work,
) noexcept nogil:
    """Move ``f`` to the minimiser and return its loss.

    ``loss`` and ``pull`` are the loss and the pair sums of the starting point; ``pull`` becomes
    those of the minimiser. ``work`` is the part of ``row_workspace`` after three rows.
    """
    cdef double* step = work
    cdef double* trial = work + q
    cdef double* memory = work + 2 * q
    cdef Py_ssize_t j, s = q - p
    # where the smaller and the larger side begin
    cdef Py_ssize_t few = 0 if p <= s else p, many = p if p <= s else 0
    cdef Py_ssize_t n_few = min(p, s)
    cdef double sign = 1.0 if p <= s else -1.0
    cdef Buckets buckets
    cdef bint in_buckets = n_few >= MIN_FEW and q - n_few >= MIN_MANY
    cdef bint changed = True, settled = False
    cdef int _iteration, _halving, failed, patience = 3
    cdef double scale = kappa * weight, value, trial_value = 0.0, t, size, noise = 0.0
    cdef double distance = 0.0, slope = INFINITY, error = INFINITY, previous
    # of a residual, relative to the scores
    cdef double rounding = ROUNDING * (1.0 + scale * (q - n_few))
    if n_few == 1:
        f[few] = single_label_score(
            f[few], centre[few], centre + many, q - 1, sign, scale, lower, upper, mu
        )
        return follow_single_label(
            f[few], centre + many, f + many, q - 1, sign, kappa, weight, lower, upper, mu,
            pull + few, pull + many,
        )
    if in_buckets:
        open_buckets(&buckets, p, q, lower, upper, mu, memory)
        block_loss(&buckets, True, f, p, q, weight, lower, upper, mu, pull, &changed)
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
            step[j] = (kappa * pull[j] if j < p else -kappa * pull[j]) - (f[j] - centre[j])
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
        else:
            failed = pair_direction(
                f + few, n_few, f + many, q - n_few, sign, scale, lower, upper, mu,
                step + few, step + many, memory,
            )
        if failed:
            break
        slope = 0.0
        for j in range(q):
            slope += trial[j] * step[j]
        noise = 0.1 * ROUNDING * size
        t = 1.0
        for _halving in range(60):
            distance = 0.0
            for j in range(q):
                trial[j] = f[j] + t * step[j]
                distance += (trial[j] - centre[j]) * (trial[j] - centre[j])
            loss = block_loss(
                &buckets, in_buckets, trial, p, q, weight, lower, upper, mu, pull, &changed
            )
            trial_value = kappa * loss + 0.5 * distance
            if trial_value <= value - 1e-4 * t * slope + noise:
                break
            t *= 0.5
        for j in range(q):
            f[j] = trial[j]
        value = trial_value
        settled = t == 1.0 and not changed
    return loss


cdef size_t row_workspace(Py_ssize_t q) noexcept nogil:
    """Bytes for a row's centre, scores and pulls (q each) and what ``proximal_step`` needs."""
    return (5 * q + bucket_workspace(q) + newton_workspace(q)) * sizeof(double)


def sweep(
    double negligible,
    const long long[::1] visits,
    Py_ssize_t start,
    Py_ssize_t spacing,
    const double[:, ::1] gram,
    const double[:, ::1] scores,
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
    ``gram`` is K restricted to the panel and ``scores`` (labels × instances) the panel's scores at
    the start; a block adds to its own what the blocks before it have changed. ``conjugate[i]`` is
    the block's share L_i(f*) + ⟨A_i, f*⟩ of the dual value, kept so that the dual value needs no
    pair variables. ``coefficients`` and ``conjugate`` are updated. The gap is the sum over the
    blocks of their primal-dual gaps when they were met; blocks with a gap below ``negligible`` are
    not solved.
    """
    cdef Py_ssize_t n = gram.shape[0], q = scores.shape[0], visit, at, i, j, p, row
    cdef Py_ssize_t n_moved = 0
    cdef double kappa, gap = 0.0, gain = 0.0, block_gain
    cdef double loss, block_gap, new_conjugate
    cdef double* work = <double*> malloc(row_workspace(q))
    cdef double* centre = work
    cdef double* f = work + q
    cdef double* pull = work + 2 * q
    cdef double* current = <double*> malloc((n + 1) * q * sizeof(double))
    cdef double* changes = current + q
    cdef double* change
    cdef Py_ssize_t* moved = <Py_ssize_t*> malloc((n + 1) * sizeof(Py_ssize_t))
    if work == NULL or current == NULL or moved == NULL:
        free(work)
        free(current)
        free(moved)
        raise MemoryError()
    with nogil:
        for visit in range(n):
            at = visits[visit]
            i = start + at * spacing
            p = n_relevant[i]
            if p == 0 or p == q or weight[i] == 0.0:
                continue
            kappa = gram[at, at]
            for j in range(q):
                current[j] = scores[j, at]
            add_combination(current, changes, &gram[at, 0], moved, n_moved, q)
            block_gap = -conjugate[i]
            for j in range(q):
                row = order[i, j]
                f[j] = current[row]
                centre[j] = f[j] - kappa * coefficients[i, row]
                block_gap += f[j] * coefficients[i, row]
            loss = row_terms(f, p, q, weight[i], lower, upper, mu, pull, work + 3 * q)
            block_gap += loss
            gap += block_gap
            if block_gap < negligible:
                continue
            loss = proximal_step(
                centre, f, p, q, kappa, weight[i], lower, upper, mu, loss, pull, work + 3 * q
            )
            new_conjugate = loss
            block_gain = -conjugate[i]
            change = changes + n_moved * q
            for j in range(q):
                if j >= p:
                    pull[j] = -pull[j]
                new_conjugate += pull[j] * f[j]
                row = order[i, j]
                change[row] = pull[j] - coefficients[i, row]
                block_gain -= change[row] * (current[row] + 0.5 * kappa * change[row])
            block_gain += new_conjugate
            # only rounding can make it negative
            if not block_gain >= 0.0:
                continue
            gain += block_gain
            conjugate[i] = new_conjugate
            for j in range(q):
                coefficients[i, order[i, j]] = pull[j]
            moved[n_moved] = at
            n_moved += 1
    free(work)
    free(current)
    free(moved)
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
            loss = row_terms(f, p, q, weight[i], lower, upper, mu, pull, work + 3 * q)
            proximal_step(
                centre, f, p, q, kappa, weight[i], lower, upper, mu, loss, pull, work + 3 * q
            )
            for j in range(q):
                result[i, order[i, j]] = f[j]
    free(work)
