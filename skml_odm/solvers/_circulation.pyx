"""Minimum-cost circulations among labels, by shortest augmenting paths.

Every relevant-irrelevant pair (k, l) of row i is an arc l → k with capacity c_i and cost
g = f_ik − f_il − 1. With biases b its reduced cost is g + b_k − b_l. Flow and biases are optimal
when the flow is balanced at every label and arcs with negative reduced cost are full, those with
positive reduced cost empty. The solver starts from biases and the flow that suits them, and
carries the excess of some labels to the deficit of others along shortest paths, which move the
biases, too, and keep that property.

The arcs between the same two labels form a group. Only its most expensive arc with flow and its
cheapest one with room matter, so it is kept in place as two heaps around a middle arc:

    [ full arcs, most expensive first | middle | ..., cheapest of the empty arcs last ]

Only arcs whose reduced cost is close to zero at the start are listed at all; the others stay full
or empty as long as the biases move by less than that.
"""

from libc.math cimport INFINITY, fabs
from libc.stdlib cimport calloc, free, malloc, realloc
from skml_odm.utils._signals cimport ROWS_PER_LOOK, look_for_signals

# Elementary steps between two looks at Ctrl-C, about.
cdef Py_ssize_t STEPS_PER_CALL = 5_000_000

# Arcs between two looks for Ctrl-C while they are sorted.
cdef enum:
    ARCS_PER_LOOK = 1_000_000

# Relative size of excesses and of reduced costs that are rounding.
cdef double ROUNDING = 1e-15

cdef enum Status:
    MORE
    BALANCED
    MOVED_FAR
    NO_PATH

cdef struct Arc:
    double cost
    int row
    int group

cdef struct ArcList:
    Arc* arcs
    Py_ssize_t n
    Py_ssize_t room

cdef struct Network:
    Py_ssize_t q
    const double* capacity
    # per arc, sorted by group; then per group u·q + v of arcs u → v
    Arc* arcs
    Py_ssize_t* first
    Py_ssize_t* middle
    double* flow
    # cost of the cheapest way to send more from u to v
    double* cost
    # per label
    double* excess
    double* bias
    double* distance
    Py_ssize_t* hops
    Py_ssize_t* parent
    bint* settled
    # what counts as zero, and how far biases may move apart
    double tiny_excess
    double tiny_cost
    double width


cdef inline void load_row(
    const double* scores, const int* order, Py_ssize_t p, Py_ssize_t q, const double* biases,
    double* row,
) noexcept nogil:
    """Scores in the row's order, so that the reduced cost of pair (k, l) is row[k] − row[p + l]."""
    cdef Py_ssize_t j
    for j in range(q):
        row[j] = scores[order[j]] + biases[order[j]] + (0.0 if j < p else 1.0)


cdef double smoothed_row(
    const double* u, Py_ssize_t p, const double* v, Py_ssize_t s, double slope,
    double* pull_u, double* pull_v, double* partial,
) noexcept nogil:
    """Return a row's Σ_kl min(0, u_k − v_l); the pulls become its sums of α/c, smoothed.

    ``partial[k]`` is positive if any arc of label k is neither full nor empty.
    """
    cdef Py_ssize_t k, other
    cdef double cost, share, value = 0.0, total, mixed
    for other in range(s):
        pull_v[other] = 0.0
    for k in range(p):
        total = 0.0
        mixed = 0.0
        for other in range(s):
            cost = u[k] - v[other]
            value += cost if cost < 0.0 else 0.0
            share = 0.5 - slope * cost
            share = share if share > 0.0 else 0.0
            share = share if share < 1.0 else 1.0
            total += share
            mixed += share * (1.0 - share)
            pull_v[other] += share
        pull_u[k] = total
        partial[k] = mixed
    return value


def smoothed_dual(
    const double[:, ::1] scores,
    const int[:, ::1] order,
    const int[::1] n_relevant,
    const double[::1] weight,
    const double[::1] biases,
    double width,
    double[::1] excess,
    double[:, ::1] laplacian,
):
    """Return the dual value at ``biases`` and how many reduced costs are within ``width`` of zero.

    The dual value is Σ_i c_i Σ_kl min(0, g_ikl + b_k − b_l). Smoothed over ``width``, an arc's flow
    falls from c to 0 while its reduced cost goes from −width to width: ``excess`` receives the
    gradient of that function, ``laplacian`` minus its Hessian.
    """
    cdef Py_ssize_t m = scores.shape[0], q = scores.shape[1], i, j, k, other, p, u, v
    cdef Py_ssize_t n_near = 0
    cdef double value = 0.0, slope = 0.5 / width, curvature
    cdef double* row = <double*> malloc(3 * q * sizeof(double))
    cdef double* pull = row + q
    cdef double* partial = row + 2 * q
    if row == NULL:
        raise MemoryError()
    excess[:] = 0.0
    laplacian[:] = 0.0
    try:
        with nogil:
            for i in range(m):
                if i % ROWS_PER_LOOK == 0:
                    look_for_signals()
                p = n_relevant[i]
                if p == 0 or p == q or weight[i] == 0.0:
                    continue
                load_row(&scores[i, 0], &order[i, 0], p, q, &biases[0], row)
                value += weight[i] * smoothed_row(
                    row, p, row + p, q - p, slope, pull, pull + p, partial
                )
                for j in range(q):
                    excess[order[i, j]] += weight[i] * (pull[j] if j < p else -pull[j])
                curvature = weight[i] * slope
                for k in range(p):
                    if partial[k] == 0.0:
                        continue
                    u = order[i, k]
                    for other in range(p, q):
                        if fabs(row[k] - row[other]) < width:
                            n_near += 1
                            v = order[i, other]
                            laplacian[u, u] += curvature
                            laplacian[v, v] += curvature
                            laplacian[u, v] -= curvature
                            laplacian[v, u] -= curvature
    finally:
        free(row)
    return value, n_near


cdef void sift_up(Arc* root, Py_ssize_t j, int way) noexcept nogil:
    """Restore a heap whose item j is new.

    Item j is at root[way·j]; the most expensive comes first for way = 1, the cheapest for −1.
    """
    cdef Arc item = root[way * j]
    while j > 0 and way * root[way * ((j - 1) // 2)].cost < way * item.cost:
        root[way * j] = root[way * ((j - 1) // 2)]
        j = (j - 1) // 2
    root[way * j] = item


cdef void sift_down(Arc* root, Py_ssize_t n, Py_ssize_t j, int way) noexcept nogil:
    """Restore a heap of n items below item j."""
    cdef Arc item = root[way * j]
    cdef Py_ssize_t child = 2 * j + 1
    while child < n:
        if child + 1 < n and way * root[way * (child + 1)].cost > way * root[way * child].cost:
            child += 1
        if way * root[way * child].cost <= way * item.cost:
            break
        root[way * j] = root[way * child]
        j = child
        child = 2 * j + 1
    root[way * j] = item


cdef inline double room(Network* net, Py_ssize_t group, int way) noexcept nogil:
    """By how much the middle arc's flow can grow (way = 1) or shrink (−1)."""
    if way < 0:
        return net.flow[group]
    return net.capacity[net.arcs[net.middle[group]].row] - net.flow[group]


cdef inline Arc* next_arc(Network* net, Py_ssize_t group, int way) noexcept nogil:
    """The arc whose flow grows or shrinks next once the middle arc cannot; NULL without one."""
    cdef Py_ssize_t end = net.first[group + 1] - 1 if way > 0 else net.first[group]
    return NULL if net.middle[group] == end else &net.arcs[end]


cdef double head_cost(Network* net, Py_ssize_t group, int way) noexcept nogil:
    """The cost of sending a little more (way = 1) or less (−1) along a group."""
    cdef Arc* arc
    if net.first[group] == net.first[group + 1]:
        return INFINITY
    if room(net, group, way) > 0.0:
        return way * net.arcs[net.middle[group]].cost
    arc = next_arc(net, group, way)
    return INFINITY if arc == NULL else way * arc.cost


cdef void take_middle(Network* net, Py_ssize_t group, int way) noexcept nogil:
    """Make the first of the empty (way = 1) or full (−1) arcs the middle one.

    The place of the middle one is not part of any heap when this is called.
    """
    cdef Py_ssize_t middle = net.middle[group]
    cdef Py_ssize_t end = net.first[group + 1] - 1 if way > 0 else net.first[group]
    cdef Arc arc = net.arcs[end]
    net.arcs[end] = net.arcs[middle]
    net.arcs[middle] = arc
    sift_down(&net.arcs[end], way * (end - middle), 0, -way)
    net.flow[group] = 0.0 if way > 0 else net.capacity[arc.row]


cdef void push(Network* net, Py_ssize_t group, int way, double amount) noexcept nogil:
    """Send ``amount``, at most what the next arc has room for, along a group."""
    cdef Py_ssize_t start
    cdef double free_room = room(net, group, way)
    if free_room <= 0.0:
        # the exhausted middle arc joins the heap that it is next to
        start = net.first[group] if way > 0 else net.first[group + 1] - 1
        sift_up(&net.arcs[start], way * (net.middle[group] - start), way)
        net.middle[group] += way
        take_middle(net, group, way)
        free_room = room(net, group, way)
    if amount < free_room:
        net.flow[group] += way * amount
    else:
        # exactly full or empty, whatever the rounding
        net.flow[group] = net.capacity[net.arcs[net.middle[group]].row] if way > 0 else 0.0


cdef inline void refresh(Network* net, Py_ssize_t u, Py_ssize_t v) noexcept nogil:
    """Find the cheapest way from u to v anew: more on the arcs u → v or less on those v → u."""
    cdef Py_ssize_t q = net.q
    net.cost[u * q + v] = min(head_cost(net, u * q + v, 1), head_cost(net, v * q + u, -1))


cdef inline double reduced_cost(Network* net, Py_ssize_t u, Py_ssize_t v) noexcept nogil:
    return net.cost[u * net.q + v] + net.bias[v] - net.bias[u]


cdef inline int cheaper_way(
    Network* net, Py_ssize_t u, Py_ssize_t v, Py_ssize_t* group, double* free_room,
) noexcept nogil:
    """Which group the cheapest way from u to v uses, its direction and its room."""
    cdef Py_ssize_t there = u * net.q + v, back = v * net.q + u
    cdef int way = 1 if head_cost(net, there, 1) <= head_cost(net, back, -1) else -1
    group[0] = there if way > 0 else back
    free_room[0] = room(net, group[0], way)
    if free_room[0] <= 0.0:
        free_room[0] = net.capacity[next_arc(net, group[0], way).row]
    return way


cdef Py_ssize_t shortest_path(Network* net) noexcept nogil:
    """Dijkstra's method from all labels with excess; return the nearest one with a deficit.

    Among equally short paths one with the fewest arcs is found: with real capacities, that is what
    bounds the number of augmentations when costs are tied. −1 means that there is no path.
    """
    cdef Py_ssize_t q = net.q, u, v
    cdef double through, step
    for v in range(q):
        net.distance[v] = 0.0 if net.excess[v] > net.tiny_excess else INFINITY
        net.hops[v] = 0
        net.parent[v] = -1
        net.settled[v] = False
    while True:
        u = -1
        for v in range(q):
            if not net.settled[v] and net.distance[v] < INFINITY and (
                u < 0 or net.distance[v] < net.distance[u]
                or (net.distance[v] == net.distance[u] and net.hops[v] < net.hops[u])
            ):
                u = v
        if u < 0 or net.excess[u] < -net.tiny_excess:
            return u
        net.settled[u] = True
        for v in range(q):
            step = reduced_cost(net, u, v)
            # only rounding can make it negative
            through = net.distance[u] + (step if step > 0.0 else 0.0)
            if through < net.distance[v] or (
                through == net.distance[v] and net.hops[u] + 1 < net.hops[v]
            ):
                net.distance[v] = through
                net.hops[v] = net.hops[u] + 1
                net.parent[v] = u


cdef Status augment(Network* net) noexcept nogil:
    """Carry excess along one shortest path, and move the biases so that it costs nothing."""
    cdef Py_ssize_t q = net.q, target, source, u, v, group
    cdef double amount, free_room, lowest = INFINITY, highest = -INFINITY
    cdef int way
    cdef bint excess = False, deficit = False
    for v in range(q):
        excess = excess or net.excess[v] > net.tiny_excess
        deficit = deficit or net.excess[v] < -net.tiny_excess
    if not (excess and deficit):
        return BALANCED
    target = shortest_path(net)
    if target < 0:
        return NO_PATH
    for v in range(q):
        if net.distance[v] < net.distance[target]:
            net.bias[v] += net.distance[target] - net.distance[v]
        lowest = min(lowest, net.bias[v])
        highest = max(highest, net.bias[v])
    if highest - lowest > net.width:
        return MOVED_FAR
    source = target
    while net.parent[source] >= 0:
        source = net.parent[source]
    # tied arcs are filled one after the other along the same path
    while True:
        amount = min(net.excess[source], -net.excess[target])
        v = target
        while v != source:
            cheaper_way(net, net.parent[v], v, &group, &free_room)
            amount = min(amount, free_room)
            v = net.parent[v]
        v = target
        while v != source:
            u = net.parent[v]
            way = cheaper_way(net, u, v, &group, &free_room)
            push(net, group, way, amount)
            refresh(net, u, v)
            refresh(net, v, u)
            v = u
        net.excess[source] -= amount
        net.excess[target] += amount
        if net.excess[source] <= net.tiny_excess or net.excess[target] >= -net.tiny_excess:
            return MORE
        v = target
        while v != source:
            if reduced_cost(net, net.parent[v], v) > net.tiny_cost:
                return MORE
            v = net.parent[v]


cdef int append(ArcList* arcs, double cost, Py_ssize_t row, Py_ssize_t group) noexcept nogil:
    cdef Arc* more
    if arcs.n == arcs.room:
        more = <Arc*> realloc(arcs.arcs, 2 * arcs.room * sizeof(Arc))
        if more == NULL:
            return -1
        arcs.arcs = more
        arcs.room *= 2
    arcs.arcs[arcs.n].cost = cost
    arcs.arcs[arcs.n].row = <int> row
    arcs.arcs[arcs.n].group = <int> group
    arcs.n += 1
    return 0


cdef int list_arcs(
    const double[:, ::1] scores, const int[:, ::1] order, const int[::1] n_relevant,
    const double[::1] weight, const double[::1] biases, double width,
    double[:, ::1] coefficients, double* row, ArcList* arcs, double* tiny_excess,
) except -2 nogil:
    """List the arcs with reduced costs within ``width`` of zero; put the other flow into A.

    Return -1 if there is no memory for them.

    ``row`` has room for 2q doubles; ``tiny_excess`` becomes what is rounding among the capacities.
    """
    cdef Py_ssize_t m = scores.shape[0], q = scores.shape[1], i, j, k, other, p
    cdef double cost, n_full, n_near
    cdef double* pull = row + q
    tiny_excess[0] = 0.0
    for i in range(m):
        if i % ROWS_PER_LOOK == 0:
            look_for_signals()
        p = n_relevant[i]
        tiny_excess[0] += ROUNDING * weight[i] * p * (q - p)
        for j in range(q):
            pull[j] = 0.0
        if p > 0 and p < q and weight[i] > 0.0:
            load_row(&scores[i, 0], &order[i, 0], p, q, &biases[0], row)
            for k in range(p):
                n_full = 0.0
                n_near = 0.0
                for other in range(p, q):
                    cost = row[k] - row[other]
                    n_full += 1.0 if cost < -width else 0.0
                    pull[other] -= 1.0 if cost < -width else 0.0
                    n_near += 1.0 if fabs(cost) <= width else 0.0
                pull[k] = n_full
                if n_near == 0.0:
                    continue
                for other in range(p, q):
                    cost = row[k] - row[other]
                    if fabs(cost) <= width and append(
                        arcs, cost, i, order[i, other] * q + order[i, k]
                    ) != 0:
                        return -1
        for j in range(q):
            coefficients[i, order[i, j]] = weight[i] * pull[j] if pull[j] != 0.0 else 0.0
    return 0


cdef int build(Network* net, ArcList* arcs, Py_ssize_t* back) except -1 nogil:
    """Sort the arcs by group, full ones before empty ones, and make the heaps."""
    cdef Py_ssize_t q = net.q, group, a, j, n_full, n_empty
    cdef Arc arc
    net.tiny_cost = 0.0
    for group in range(q * q + 1):
        net.first[group] = 0
    for a in range(arcs.n):
        if a % ARCS_PER_LOOK == 0:
            look_for_signals()
        net.first[arcs.arcs[a].group + 1] += 1
        net.tiny_cost = max(net.tiny_cost, ROUNDING * fabs(arcs.arcs[a].cost))
    for group in range(q * q):
        net.first[group + 1] += net.first[group]
        net.middle[group] = net.first[group]
        back[group] = net.first[group + 1] - 1
    for a in range(arcs.n):
        if a % ARCS_PER_LOOK == 0:
            look_for_signals()
        arc = arcs.arcs[a]
        if arc.cost < 0.0:
            net.arcs[net.middle[arc.group]] = arc
            net.middle[arc.group] += 1
            net.excess[arc.group % q] += net.capacity[arc.row]
            net.excess[arc.group // q] -= net.capacity[arc.row]
        else:
            net.arcs[back[arc.group]] = arc
            back[arc.group] -= 1
    for group in range(q * q):
        if group % ARCS_PER_LOOK == 0:
            look_for_signals()
        n_full = net.middle[group] - net.first[group]
        n_empty = net.first[group + 1] - net.middle[group]
        for j in range(n_full // 2 - 1, -1, -1):
            sift_down(&net.arcs[net.first[group]], n_full, j, 1)
        for j in range(n_empty // 2 - 1, -1, -1):
            sift_down(&net.arcs[net.first[group + 1] - 1], n_empty, j, -1)
        if n_empty > 0:
            take_middle(net, group, 1)
        elif n_full > 0:
            net.middle[group] -= 1
            take_middle(net, group, -1)
    for group in range(q * q):
        refresh(net, group // q, group % q)
    return 0


cdef void write_flow(Network* net, double[:, ::1] coefficients) noexcept nogil:
    """Add the flow of the listed arcs to A."""
    cdef Py_ssize_t q = net.q, group, a
    cdef double flow
    for group in range(q * q):
        if net.first[group] == net.first[group + 1]:
            continue
        for a in range(net.first[group], net.middle[group] + 1):
            flow = net.flow[group] if a == net.middle[group] else net.capacity[net.arcs[a].row]
            coefficients[net.arcs[a].row, group % q] += flow
            coefficients[net.arcs[a].row, group // q] -= flow


def solve(
    const double[:, ::1] scores,
    const int[:, ::1] order,
    const int[::1] n_relevant,
    const double[::1] weight,
    double[::1] biases,
    double width,
    double[:, ::1] coefficients,
):
    """Write the optimal A into ``coefficients``, move ``biases`` to their optimum; return success.

    Only arcs with reduced costs of at most ``width`` may change. If that does not suffice, the
    biases have still moved towards their optimum.
    """
    cdef Py_ssize_t q = scores.shape[1], i, j, pause, left
    cdef int failed
    cdef Status status = MORE
    cdef ArcList arcs = ArcList(NULL, 0, 1024)
    cdef Network net
    # per group: flow, cost; per label: excess, bias, distance and two for a row
    cdef double* doubles = <double*> calloc(2 * q * q + 5 * q, sizeof(double))
    # per group: first (and one more), middle and one to sort with; per label: hops, parent
    cdef Py_ssize_t* integers = <Py_ssize_t*> malloc((3 * q * q + 2 * q + 1) * sizeof(Py_ssize_t))
    net.settled = <bint*> malloc(q * sizeof(bint))
    net.arcs = NULL
    arcs.arcs = <Arc*> malloc(arcs.room * sizeof(Arc))
    try:
        if arcs.arcs == NULL or doubles == NULL or integers == NULL or net.settled == NULL:
            raise MemoryError()
        net.q = q
        net.capacity = &weight[0]
        net.width = width
        net.flow = doubles
        net.cost = net.flow + q * q
        net.excess = net.cost + q * q
        net.bias = net.excess + q
        net.distance = net.bias + q
        net.first = integers
        net.middle = net.first + q * q + 1
        net.hops = net.middle + q * q
        net.parent = net.hops + q
        with nogil:
            failed = list_arcs(
                scores, order, n_relevant, weight, biases, width, coefficients,
                net.distance + q, &arcs, &net.tiny_excess,
            )
        if failed != 0:
            raise MemoryError()
        net.arcs = <Arc*> malloc((arcs.n + 1) * sizeof(Arc))
        if net.arcs == NULL:
            raise MemoryError()
        with nogil:
            for i in range(coefficients.shape[0]):
                for j in range(q):
                    net.excess[j] += coefficients[i, j]
            build(&net, &arcs, net.parent + q)
        # generous: it takes a fraction of the listed arcs
        left = 4 * arcs.n + 1000 * q
        while status == MORE and left > 0:
            pause = max(0, left - max(1, STEPS_PER_CALL // (q * q)))
            with nogil:
                while status == MORE and left > pause:
                    status = augment(&net)
                    left -= 1
            look_for_signals()
        for j in range(q):
            biases[j] += net.bias[j]
        write_flow(&net, coefficients)
    finally:
        free(arcs.arcs)
        free(net.arcs)
        free(doubles)
        free(integers)
        free(net.settled)
    return status == BALANCED
