"""Confidences of candidate labels, instance by instance: cuts of least cost per label.

An instance has n candidate labels with costs c ≥ 0 and couplings a ≥ 0. Sought are

    min_p  h(p) = Σ_k c_k p_k + Σ_kl a_kl (p_k − p_l)₊,     Σ_k p_k ≥ s,   0 ≤ p ≤ 1.

h is the Lovász extension of the cut function h(S) = Σ_{k∈S} c_k + Σ_{k∈S, l∉S} a_kl. The least
h(S) of each size |S|, and what lies between two sizes, has a lower convex envelope φ. By duality

    min h(p) = max_{λ≥0} λ s + min_S (h(S) − λ |S|) = φ(s).

Minimisers of h(S) − λ |S| are closed under union and intersection, for h is submodular. Hence the
sets at the corners of φ are unique and nested, and h is linear between the indicator vectors of
neighbours: the confidences with sum s between the two corners around s are optimal. Up to the first
corner they are s/|S| on the largest set S of least h(S)/|S|, and zero elsewhere; so for s = 1.

Few candidates: every set is looked at. Otherwise the two corners are found with minimum cuts.
"""

from libc.math cimport INFINITY, NAN, fabs
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

# Sets whose costs differ by less than this, relative to λ, are equally good.
cdef double TIE = 1e-14

# The value may differ by this much, relative to λ s, from what proves it.
cdef double TOLERANCE = 1e-11

# Looks at all couplings of a label, for each pair of labels, before a cut is given up.
cdef Py_ssize_t MAX_SCANS = 10

# Flow at a level this much higher leaves too much rounding behind to go on from.
cdef double DROP = 0.01

cdef struct Row:
    Py_ssize_t n
    # s
    double least
    # c, and a: couplings[k·n + l] weighs (p_k − p_l)₊
    double* costs
    double* couplings
    # p
    double* confidences
    # the sets at the two corners
    char* inner
    char* outer
    # f, skew-symmetric and at most a, and the prices c_k + Σ_l f_kl
    double* flow
    double* prices
    Py_ssize_t* distances
    Py_ssize_t* queue
    char* trial
    # one per set of labels
    double* tables


cdef double objective(const Row* row) noexcept nogil:
    """h(p)."""
    cdef Py_ssize_t n = row.n, k, other
    cdef double total = 0.0, label_total, difference
    for k in range(n):
        if row.confidences[k] == 0.0:
            continue
        label_total = row.costs[k] * row.confidences[k]
        for other in range(n):
            difference = row.confidences[k] - row.confidences[other]
            label_total += row.couplings[k * n + other] * (difference if difference > 0.0 else 0.0)
        total += label_total
    return total


cdef double cut(const Row* row, const char* inside) noexcept nogil:
    """h(S)."""
    cdef Py_ssize_t n = row.n, k, other
    cdef double total = 0.0
    for k in range(n):
        if inside[k]:
            total += row.costs[k]
            for other in range(n):
                total += 0.0 if inside[other] else row.couplings[k * n + other]
    return total


cdef Py_ssize_t count(const char* inside, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k, size = 0
    for k in range(n):
        size += inside[k]
    return size


cdef void interpolate(Row* row) noexcept nogil:
    """Write the confidences with sum s between the inner and the outer set."""
    cdef Py_ssize_t n_inner = count(row.inner, row.n), n_outer = count(row.outer, row.n), k
    cdef double part = (row.least - n_inner) / (n_outer - n_inner)
    for k in range(row.n):
        if row.inner[k] and row.outer[k]:
            row.confidences[k] = 1.0
        elif row.outer[k]:
            row.confidences[k] = part
        else:
            # rounding alone can make the sets not nested: still a convex combination
            row.confidences[k] = 1.0 - part if row.inner[k] else 0.0


cdef void tabulate(const Row* row, double* table, double* joining, double* leaving) noexcept nogil:
    """Write h of all sets; bit k of a set's place says whether label k is inside.

    Label after label the table doubles. All terms are ≥ 0: no cancellation.
    """
    cdef Py_ssize_t n = row.n, label, k, place, half
    cdef double without, within
    table[0] = 0.0
    for label in range(n):
        # what the label adds to the sets of the labels before it, inside and outside
        joining[0] = row.costs[label]
        leaving[0] = 0.0
        for k in range(label):
            half = 1 << k
            without = row.couplings[label * n + k]
            within = row.couplings[k * n + label]
            for place in range(half):
                joining[half + place] = joining[place]
                joining[place] += without
                leaving[half + place] = leaving[place] + within
        half = 1 << label
        for place in range(half):
            table[half + place] = table[place] + joining[place]
            table[place] += leaving[place]


cdef double solve_by_enumeration(
    Row* row, const unsigned char* sizes, double* least_costs, Py_ssize_t* places,
) noexcept nogil:
    """Write the confidences from all sets; return h(p), or NaN if it is not what the sets say."""
    cdef Py_ssize_t n = row.n, place, size, k, inner = 0, outer = n
    cdef double* table = row.tables
    cdef double slope, chord, expected, value
    tabulate(row, table, table + (1 << n), table + 2 * (1 << n))
    for size in range(n + 1):
        least_costs[size] = INFINITY
        places[size] = 0
    for place in range(1 << n):
        size = sizes[place]
        if table[place] < least_costs[size]:
            least_costs[size] = table[place]
            places[size] = place
    while True:
        slope = INFINITY
        for size in range(inner + 1, n + 1):
            chord = (least_costs[size] - least_costs[inner]) / (size - inner)
            if chord < slope:
                slope = chord
                outer = size
        # equally good: the largest set
        for size in range(n, outer, -1):
            if least_costs[size] - least_costs[inner] <= slope * (size - inner + TIE * size):
                outer = size
                break
        if outer >= row.least:
            break
        inner = outer
    for k in range(n):
        row.inner[k] = (places[inner] >> k) & 1
        row.outer[k] = (places[outer] >> k) & 1
    interpolate(row)
    value = objective(row)
    expected = least_costs[inner] + slope * (row.least - inner)
    return value if fabs(value - expected) <= TOLERANCE * slope * row.least else NAN


cdef double room(const Row* row, Py_ssize_t k, Py_ssize_t other) noexcept nogil:
    """How much more can flow from a label to another one."""
    return row.couplings[k * row.n + other] - row.flow[k * row.n + other]


cdef void measure_distances(Row* row, double level) noexcept nogil:
    """Write the number of steps to labels with a price above the level, or n if there is no way."""
    cdef Py_ssize_t n = row.n, k, other, head = 0, tail = 0
    cdef double rounding = TIE * level
    for k in range(n):
        row.distances[k] = n
        if row.prices[k] - level > rounding:
            row.distances[k] = 0
            row.queue[tail] = k
            tail += 1
    while head < tail:
        other = row.queue[head]
        head += 1
        for k in range(n):
            if row.distances[k] == n and room(row, k, other) > rounding:
                row.distances[k] = row.distances[other] + 1
                row.queue[tail] = k
                tail += 1


cdef Py_ssize_t discharge(Row* row, Py_ssize_t k, double level) noexcept nogil:
    """Raise a label's price to the level, as far as flow finds room; return the number of scans.

    This is push-relabel: flow goes to labels one step nearer to a price above the level.
    """
    cdef Py_ssize_t n = row.n, other, nearest, scans = 0
    cdef double rounding = TIE * level, free_room, amount
    while row.distances[k] < n:
        scans += 1
        nearest = n
        for other in range(n):
            free_room = room(row, k, other)
            if not free_room > rounding:
                continue
            if row.distances[other] >= row.distances[k]:
                nearest = min(nearest, row.distances[other] + 1)
                continue
            amount = level - row.prices[k]
            if amount < free_room:
                # rounding is not to exceed the coupling
                row.flow[k * n + other] = min(
                    row.flow[k * n + other] + amount, row.couplings[k * n + other]
                )
                row.prices[k] = level
            else:
                amount = free_room
                row.flow[k * n + other] = row.couplings[k * n + other]
                row.prices[k] += amount
            row.flow[other * n + k] = -row.flow[k * n + other]
            row.prices[other] -= amount
            if not level - row.prices[k] > rounding:
                return scans
        row.distances[k] = nearest
    return scans


cdef bint balance(Row* row, double level, Py_ssize_t* scans) noexcept nogil:
    """Find the flow with the largest Σ_k min(0, price_k − level); 0 if it takes too long.

    That sum is the least h(S) − level·|S|. Labels at distance n are the largest such S.
    """
    cdef Py_ssize_t n = row.n, k
    cdef bint moved = True
    while moved:
        moved = False
        measure_distances(row, level)
        for k in range(n):
            if row.distances[k] < n and level - row.prices[k] > TIE * level:
                scans[0] -= discharge(row, k, level)
                moved = True
        if scans[0] < 0:
            return False
    return True


cdef double proved_value(Row* row, double level) noexcept nogil:
    """h(p), or NaN if the flow does not prove that it is the least.

    Any skew-symmetric f ≤ a has a_kl (p_k − p_l)₊ + a_lk (p_l − p_k)₊ ≥ f_kl (p_k − p_l), hence
    h(p) ≥ Σ_k price_k p_k ≥ λ s + Σ_k min(0, price_k − λ) for all feasible p.
    """
    cdef Py_ssize_t n = row.n, k, other
    cdef double value = objective(row), bound = level * row.least, price
    for k in range(n):
        price = row.costs[k]
        for other in range(n):
            if (
                row.flow[k * n + other] != -row.flow[other * n + k]
                or row.flow[k * n + other] > row.couplings[k * n + other]
            ):
                return NAN
            price += row.flow[k * n + other]
        bound += min(0.0, price - level)
    return value if fabs(value - bound) <= TOLERANCE * level * row.least else NAN


cdef double solve_by_flow(Row* row) noexcept nogil:
    """Write the confidences from minimum cuts; return h(p), or NaN if it is not proved.

    Inner and outer set are corners of φ around s, no label and all labels to begin with. λ is the
    slope between them. If some set has a smaller h(S) − λ |S|, the largest with the least is a
    corner between them; else they are neighbours. For s = 1 this is Dinkelbach's method.
    """
    cdef Py_ssize_t n = row.n, k, size, n_inner = 0, n_outer = n
    cdef Py_ssize_t scans = MAX_SCANS * n * n
    cdef double inner_cost = 0.0, outer_cost = 0.0, cost, level, highest = INFINITY
    for k in range(n):
        row.inner[k] = 0
        row.outer[k] = 1
        outer_cost += row.costs[k]
    while True:
        level = (outer_cost - inner_cost) / (n_outer - n_inner)
        if level < DROP * highest:
            memset(row.flow, 0, n * n * sizeof(double))
            memcpy(row.prices, row.costs, n * sizeof(double))
            highest = level
        highest = max(highest, level)
        if not balance(row, level, &scans):
            return NAN
        for k in range(n):
            row.trial[k] = row.distances[k] == n
        size = count(row.trial, n)
        cost = cut(row, row.trial)
        if not (
            n_inner < size < n_outer
            and cost < inner_cost + level * (size - n_inner - TIE * n)
        ):
            break
        if size > row.least:
            row.outer, row.trial = row.trial, row.outer
            n_outer, outer_cost = size, cost
        else:
            row.inner, row.trial = row.trial, row.inner
            n_inner, inner_cost = size, cost
    interpolate(row)
    return proved_value(row, level)


cdef inline double pair_loss(double margin, double lower, double upper, double mu) noexcept nogil:
    """ℓ, twice."""
    cdef double short_by = lower - margin, over_by = margin - upper
    short_by = short_by if short_by > 0.0 else 0.0
    over_by = over_by if over_by > 0.0 else 0.0
    return short_by * short_by + mu * over_by * over_by


cdef void couple_by_scores(
    Row* row, const double* inside, const double* outside, Py_ssize_t n_outside,
    double weight, double lower, double upper, double mu,
) noexcept nogil:
    """Couplings weight·ℓ(f_k − f_l); those with labels that are no candidates are costs."""
    cdef Py_ssize_t n = row.n, k, other
    cdef double total
    for k in range(n):
        total = 0.0
        for other in range(n_outside):
            total += pair_loss(inside[k] - outside[other], lower, upper, mu)
        row.costs[k] += 0.5 * weight * total
        for other in range(n):
            row.couplings[k * n + other] = 0.5 * weight * pair_loss(
                inside[k] - inside[other], lower, upper, mu
            )
        row.couplings[k * n + k] = 0.0


cdef void couple_by_table(
    Row* row, const double* table, const Py_ssize_t* labels, Py_ssize_t q,
) noexcept nogil:
    """Couplings from a table of all labels; ``labels`` are the candidates, then the others."""
    cdef Py_ssize_t n = row.n, k, other
    cdef const double* line
    for k in range(n):
        line = table + labels[k] * q
        for other in range(n):
            row.couplings[k * n + other] = line[labels[other]]
        for other in range(n, q):
            row.costs[k] += line[labels[other]]
        row.couplings[k * n + k] = 0.0


cdef bint is_proper(const Row* row) noexcept nogil:
    """Whether costs and couplings are numbers ≥ 0."""
    cdef Py_ssize_t k, n = row.n
    cdef double total = 0.0
    for k in range(n):
        if not row.costs[k] >= 0.0:
            return False
        total += row.costs[k]
    for k in range(n * n):
        if not row.couplings[k] >= 0.0:
            return False
        total += row.couplings[k]
    return total < INFINITY


def solve(
    const double[:, ::1] scores,
    const double[:, :, ::1] couplings,
    const unsigned char[:, ::1] candidates,
    const double[:, ::1] costs,
    const double[::1] weight,
    double lower,
    double upper,
    double mu,
    const double[::1] least,
    Py_ssize_t most_enumerated,
    double[:, ::1] confidences,
    double[::1] values,
):
    """Write the confidences of all rows and their values h(p), NaN for a row without proof.

    Couplings are those of the scores, weight·ℓ(f_k − f_l), unless ``couplings`` has some. Rows with
    at most ``most_enumerated`` candidates are solved by enumeration, the others by flows. A row
    with fewer candidates than it should have is confident of all of them.
    """
    cdef Py_ssize_t m = candidates.shape[0], q = candidates.shape[1], i, j, k, n_outside, n = 0
    cdef bint by_scores = couplings is None
    cdef Row row
    for i in range(m):
        k = 0
        for j in range(q):
            k += candidates[i, j] != 0
        n = max(n, k)
    cdef Py_ssize_t few = min(most_enumerated, n), n_sets = 1 << few
    cdef Py_ssize_t n_doubles = 2 * n * n + 3 * n + 2 * q + few + 1 + 3 * n_sets
    cdef double* work = <double*> malloc(n_doubles * sizeof(double))
    cdef Py_ssize_t* places = <Py_ssize_t*> malloc((2 * n + few + 1 + q) * sizeof(Py_ssize_t))
    cdef char* flags = <char*> malloc(3 * n + n_sets)
    if work == NULL or places == NULL or flags == NULL:
        free(work)
        free(places)
        free(flags)
        raise MemoryError()
    row.couplings = work
    row.flow = row.couplings + n * n
    row.costs = row.flow + n * n
    row.confidences = row.costs + n
    row.prices = row.confidences + n
    cdef double* inside = row.prices + n
    cdef double* outside = inside + q
    cdef double* least_costs = outside + q
    row.tables = least_costs + few + 1
    row.distances = places
    row.queue = row.distances + n
    cdef Py_ssize_t* least_places = row.queue + n
    cdef Py_ssize_t* labels = least_places + few + 1
    row.inner = flags
    row.outer = row.inner + n
    row.trial = row.outer + n
    cdef unsigned char* sizes = <unsigned char*> row.trial + n
    with nogil:
        sizes[0] = 0
        for j in range(1, n_sets):
            sizes[j] = sizes[j >> 1] + (j & 1)
        for i in range(m):
            row.n = 0
            n_outside = 0
            for j in range(q):
                confidences[i, j] = 0.0
                if candidates[i, j]:
                    labels[row.n] = j
                    row.costs[row.n] = costs[i, j]
                    row.n += 1
            for j in range(q):
                if not candidates[i, j]:
                    labels[row.n + n_outside] = j
                    n_outside += 1
            values[i] = 0.0
            row.least = min(least[i], <double> row.n)
            if row.n == 0:
                continue
            if by_scores:
                for k in range(row.n):
                    inside[k] = scores[i, labels[k]]
                for k in range(n_outside):
                    outside[k] = scores[i, labels[row.n + k]]
                couple_by_scores(&row, inside, outside, n_outside, weight[i], lower, upper, mu)
            else:
                couple_by_table(&row, &couplings[i, 0, 0], labels, q)
            if not is_proper(&row):
                values[i] = NAN
            elif row.n <= most_enumerated:
                values[i] = solve_by_enumeration(&row, sizes, least_costs, least_places)
            else:
                values[i] = solve_by_flow(&row)
            for k in range(row.n):
                confidences[i, labels[k]] = row.confidences[k]
    free(work)
    free(places)
    free(flags)
