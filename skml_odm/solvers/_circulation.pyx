"""Minimum-cost circulations among labels, by shortest augmenting paths.

Every relevant-irrelevant pair (k, l) of row i is an arc l → k with capacity c_i and cost
g = f_ik − f_il − 1. With biases b its reduced cost is g + b_k − b_l. Flow and biases are optimal
when the flow is balanced at every label and arcs with negative reduced cost are full, those with
positive reduced cost empty. The solver starts from biases and the flow that suits them, and
carries the excess of some labels to the deficit of others along shortest paths, which move the
biases, too, and keep that property.

An arc v → u with cost g is the same as a full arc u → v with cost −g: more flow there is less flow
here. So all arcs between two labels u < v count as arcs u → v. Sorted by cost they are full up to
one of them, the *point*, and empty beyond it: only the arcs there matter for the next path.

Only arcs whose reduced cost is close to zero at the start are listed at all; the others stay full
or empty as long as the biases move by less than that.
"""

from libc.math cimport INFINITY, fabs
from skml_odm.utils._signals cimport ROWS_PER_LOOK, look_for_signals
from skml_odm.utils.parallel import interruptible
import numpy as np

# Elementary steps between two looks at Ctrl-C, about.
cdef Py_ssize_t STEPS_PER_CALL = 5_000_000

# Arcs between two looks at Ctrl-C while they are stored; to sort more takes long, too.
cdef Py_ssize_t MANY_ARCS = 1_000_000

# Room to list so many arcs for each label; if there are more, they are listed once again.
cdef Py_ssize_t ROOM_PER_LABEL = 256

# Relative size of excesses and of reduced costs that are rounding.
cdef double ROUNDING = 1e-15

cdef enum Status:
    MORE
    BALANCED
    FAILED


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
    const int[::1] n_involved,
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
    cdef Py_ssize_t m = scores.shape[0], q = scores.shape[1], i, j, k, other, p, n, u, v
    cdef Py_ssize_t n_near = 0
    cdef double value = 0.0, slope = 0.5 / width, curvature
    cdef double[::1] space = np.empty(3 * q)
    cdef double* row = &space[0]
    cdef double* pull = row + q
    cdef double* partial = row + 2 * q
    excess[:] = 0.0
    laplacian[:] = 0.0
    with nogil:
        for i in range(m):
            if i % ROWS_PER_LOOK == 0:
                look_for_signals()
            p, n = n_relevant[i], n_involved[i]
            if p == 0 or p == n or weight[i] == 0.0:
                continue
            load_row(&scores[i, 0], &order[i, 0], p, n, &biases[0], row)
            value += weight[i] * smoothed_row(
                row, p, row + p, n - p, slope, pull, pull + p, partial
            )
            for j in range(n):
                excess[order[i, j]] += weight[i] * (pull[j] if j < p else -pull[j])
            curvature = weight[i] * slope
            for k in range(p):
                if partial[k] == 0.0:
                    continue
                u = order[i, k]
                for other in range(p, n):
                    if fabs(row[k] - row[other]) < width:
                        n_near += 1
                        v = order[i, other]
                        laplacian[u, u] += curvature
                        laplacian[v, v] += curvature
                        laplacian[u, v] -= curvature
                        laplacian[v, u] -= curvature
    return value, n_near


cdef class ArcList:
    """Arcs between labels u < v, those v → u turned round, with their costs at the start."""

    cdef Py_ssize_t q
    cdef Py_ssize_t n
    cdef double[::1] cost
    # u·q + v, and the row; whether the arc was turned round
    cdef Py_ssize_t[::1] pair
    cdef int[::1] row
    cdef int[::1] turned

    def __init__(self, Py_ssize_t q, Py_ssize_t room):
        self.q, self.n = q, 0
        self.cost = np.empty(room)
        self.pair = np.empty(room, dtype=np.intp)
        self.row, self.turned = np.empty((2, room), dtype=np.intc)

    cdef void append(self, double cost, Py_ssize_t row, int source, int target) noexcept nogil:
        """Count the arc, and keep it if there is room."""
        cdef Py_ssize_t n = self.n
        cdef bint turned = source > target
        if n < self.cost.shape[0]:
            self.cost[n] = -cost if turned else cost
            self.pair[n] = target * self.q + source if turned else source * self.q + target
            self.row[n], self.turned[n] = <int> row, turned
        self.n = n + 1


cdef class Network:
    """The listed arcs between every two labels u < v, at u·q + v, and the flow in them.

    Parameters
    ----------
    arcs : ArcList
        Arcs u → v with a negative cost are full at first.
    weight : ndarray of shape (m,)
        Capacity of the arcs of each row.
    excess : ndarray of shape (q,)
        What flows into each label and not out of it because of arcs that are not listed.
    tiny_excess : float
        What counts as zero.
    width : float
        How far biases may move apart.
    """

    cdef Py_ssize_t q
    # by arc, sorted by labels and cost
    cdef double[::1] cost
    cdef double[::1] capacity
    cdef int[::1] row
    cdef int[::1] turned
    # by pair of labels: its first arc, the first that is not full, and the flow in that one
    cdef Py_ssize_t[::1] first
    cdef Py_ssize_t[::1] point
    cdef double[::1] flow
    # cost of the cheapest way to send more from u to v, for all u and v
    cdef double[:, ::1] next_cost
    # by label: excess, movement of the bias; distance, arcs and last label on its shortest path
    cdef double[::1] excess
    cdef double[::1] bias
    cdef double[::1] distance
    cdef Py_ssize_t[::1] hops
    cdef Py_ssize_t[::1] parent
    cdef int[::1] settled
    cdef double tiny_excess, tiny_cost, width

    def __init__(self, ArcList arcs, const double[::1] weight, excess, tiny_excess, width):
        cdef Py_ssize_t q = arcs.q, n = arcs.n, u, v
        self.q, self.excess, self.tiny_excess, self.width = q, excess, tiny_excess, width
        self.cost, self.capacity = np.empty((2, n))
        self.row, self.turned = np.empty((2, n), dtype=np.intc)
        self.flow = np.zeros(q * q)
        self.next_cost = np.empty((q, q))
        self.bias, self.distance = np.zeros((2, q))
        self.hops, self.parent = np.empty((2, q), dtype=np.intp)
        self.settled = np.empty(q, dtype=np.intc)
        self.first, self.point = np.zeros(q * q + 1, dtype=np.intp), np.empty(q * q, dtype=np.intp)
        cost = np.asarray(arcs.cost)[:n]
        by_cost = interruptible(cost.argsort) if n > MANY_ARCS else cost.argsort()
        self.fill(arcs, by_cost, weight)
        for u in range(q):
            for v in range(q):
                self.update_cost(u, v)

    cdef int fill(
        self, ArcList arcs, const Py_ssize_t[::1] by_cost, const double[::1] weight,
    ) except -1:
        """Store the arcs, sorted, and the flow at the start with its part of the excess."""
        cdef Py_ssize_t[::1] end = np.empty(self.q * self.q, dtype=np.intp)
        cdef Py_ssize_t j, listed, a, pair
        cdef double capacity, flow
        self.tiny_cost = 0.0
        for j in range(arcs.n):
            self.first[arcs.pair[j] + 1] += 1
            self.tiny_cost = max(self.tiny_cost, ROUNDING * fabs(arcs.cost[j]))
        for pair in range(self.q * self.q):
            self.first[pair + 1] += self.first[pair]
            self.point[pair] = end[pair] = self.first[pair]
        for j in range(arcs.n):
            if j % MANY_ARCS == 0:
                look_for_signals()
            listed = by_cost[j]
            pair = arcs.pair[listed]
            a = end[pair]
            end[pair] += 1
            capacity = weight[arcs.row[listed]]
            self.cost[a], self.capacity[a] = arcs.cost[listed], capacity
            self.row[a], self.turned[a] = arcs.row[listed], arcs.turned[listed]
            self.point[pair] += arcs.cost[listed] < 0.0
            flow = net_flow(capacity if arcs.cost[listed] < 0.0 else 0.0, capacity, self.turned[a])
            self.excess[pair % self.q] += flow
            self.excess[pair // self.q] -= flow
        return 0

    cdef inline Py_ssize_t next_arc(self, Py_ssize_t u, Py_ssize_t v) noexcept nogil:
        """The arc whose flow changes when more goes from u to v; −1 if there is none."""
        cdef Py_ssize_t pair = u * self.q + v if u < v else v * self.q + u
        cdef Py_ssize_t a = self.point[pair]
        if u < v:
            return a if a < self.first[pair + 1] else -1
        if self.flow[pair] > 0.0:
            return a
        return a - 1 if a > self.first[pair] else -1

    cdef inline double room(self, Py_ssize_t u, Py_ssize_t v) noexcept nogil:
        """How much more the next arc can take from u to v."""
        if u < v:
            return self.capacity[self.point[u * self.q + v]] - self.flow[u * self.q + v]
        if self.flow[v * self.q + u] > 0.0:
            return self.flow[v * self.q + u]
        return self.capacity[self.point[v * self.q + u] - 1]

    cdef void push(self, Py_ssize_t u, Py_ssize_t v, double amount) noexcept nogil:
        """Send ``amount``, at most the room there is, from u to v."""
        cdef Py_ssize_t pair = u * self.q + v if u < v else v * self.q + u
        # exactly full or empty, whatever the rounding
        cdef bint exhausted = amount >= self.room(u, v)
        if u < v:
            self.point[pair] += exhausted
            self.flow[pair] = 0.0 if exhausted else self.flow[pair] + amount
        else:
            if self.flow[pair] == 0.0:
                self.point[pair] -= 1
                self.flow[pair] = self.capacity[self.point[pair]]
            self.flow[pair] = 0.0 if exhausted else self.flow[pair] - amount
        self.update_cost(u, v)
        self.update_cost(v, u)

    cdef inline void update_cost(self, Py_ssize_t u, Py_ssize_t v) noexcept nogil:
        cdef Py_ssize_t a = self.next_arc(u, v)
        self.next_cost[u, v] = INFINITY if a < 0 else self.cost[a] if u < v else -self.cost[a]

    cdef inline double reduced_cost(self, Py_ssize_t u, Py_ssize_t v) noexcept nogil:
        return self.next_cost[u, v] + self.bias[v] - self.bias[u]

    cdef Py_ssize_t shortest_path(self) noexcept nogil:
        """Dijkstra's method from all labels with excess; return the nearest one with a deficit.

        Among equally short paths one with the fewest arcs is found: with real capacities, that is
        what bounds the number of augmentations when costs are tied. −1 means that there is no path.
        """
        cdef Py_ssize_t q = self.q, u, v
        cdef double through, step
        for v in range(q):
            self.distance[v] = 0.0 if self.excess[v] > self.tiny_excess else INFINITY
            self.hops[v] = 0
            self.parent[v] = -1
            self.settled[v] = False
        while True:
            u = -1
            for v in range(q):
                if not self.settled[v] and self.distance[v] < INFINITY and (
                    u < 0 or self.distance[v] < self.distance[u]
                    or (self.distance[v] == self.distance[u] and self.hops[v] < self.hops[u])
                ):
                    u = v
            if u < 0 or self.excess[u] < -self.tiny_excess:
                return u
            self.settled[u] = True
            for v in range(q):
                step = self.reduced_cost(u, v)
                # only rounding can make it negative
                through = self.distance[u] + (step if step > 0.0 else 0.0)
                if through < self.distance[v] or (
                    through == self.distance[v] and self.hops[u] + 1 < self.hops[v]
                ):
                    self.distance[v] = through
                    self.hops[v] = self.hops[u] + 1
                    self.parent[v] = u

    cdef Status augment(self) noexcept nogil:
        """Carry excess along one shortest path, and move the biases so that it costs nothing."""
        cdef Py_ssize_t q = self.q, target, source, v
        cdef double amount, lowest = INFINITY, highest = -INFINITY
        cdef bint excess = False, deficit = False
        for v in range(q):
            excess = excess or self.excess[v] > self.tiny_excess
            deficit = deficit or self.excess[v] < -self.tiny_excess
        if not (excess and deficit):
            return BALANCED
        target = self.shortest_path()
        if target < 0:
            return FAILED
        for v in range(q):
            if self.distance[v] < self.distance[target]:
                self.bias[v] += self.distance[target] - self.distance[v]
            lowest = min(lowest, self.bias[v])
            highest = max(highest, self.bias[v])
        if highest - lowest > self.width:
            return FAILED
        source = target
        while self.parent[source] >= 0:
            source = self.parent[source]
        # tied arcs are filled one after the other along the same path
        while True:
            amount = min(self.excess[source], -self.excess[target])
            v = target
            while v != source:
                amount = min(amount, self.room(self.parent[v], v))
                v = self.parent[v]
            v = target
            while v != source:
                self.push(self.parent[v], v, amount)
                v = self.parent[v]
            self.excess[source] -= amount
            self.excess[target] += amount
            if self.excess[source] <= self.tiny_excess or self.excess[target] >= -self.tiny_excess:
                return MORE
            v = target
            while v != source:
                if self.reduced_cost(self.parent[v], v) > self.tiny_cost:
                    return MORE
                v = self.parent[v]

    def solve(self):
        """Augment until the flow is balanced; return whether that succeeded."""
        cdef Status status = MORE
        # generous: it takes a fraction of the listed arcs
        cdef Py_ssize_t left = 4 * self.cost.shape[0] + 1000 * self.q, pause
        while status == MORE and left > 0:
            pause = max(0, left - max(1, STEPS_PER_CALL // (self.q * self.q)))
            with nogil:
                while status == MORE and left > pause:
                    status = self.augment()
                    left -= 1
            look_for_signals()
        return status == BALANCED

    def write_flow(self, double[:, ::1] coefficients):
        """Add the flow of the listed arcs to A."""
        cdef Py_ssize_t pair, a
        cdef double flow
        for pair in range(self.q * self.q):
            for a in range(self.first[pair], self.first[pair + 1]):
                flow = self.capacity[a] if a < self.point[pair] else 0.0
                if a == self.point[pair]:
                    flow = self.flow[pair]
                flow = net_flow(flow, self.capacity[a], self.turned[a])
                coefficients[self.row[a], pair % self.q] += flow
                coefficients[self.row[a], pair // self.q] -= flow


cdef inline double net_flow(double flow, double capacity, bint turned) noexcept nogil:
    """What flows from u to v on an arc, given what flows after it was turned round."""
    return flow - capacity if turned else flow


cdef double list_arcs(
    const double[:, ::1] scores, const int[:, ::1] order, const int[::1] n_relevant,
    const int[::1] n_involved, const double[::1] weight, const double[::1] biases, double width,
    double[:, ::1] coefficients, double[::1] row, double[::1] pull, ArcList arcs,
) except -1.0 nogil:
    """List the arcs with reduced costs within ``width`` of zero; put the other flow into A.

    Return the capacity of all arcs, listed or not.
    ``row`` and ``pull`` have room for q numbers.
    """
    cdef Py_ssize_t m = scores.shape[0], q = scores.shape[1], i, j, k, other, p, n
    cdef double cost, n_full, n_near, capacity = 0.0
    for i in range(m):
        if i % ROWS_PER_LOOK == 0:
            look_for_signals()
        p, n = n_relevant[i], n_involved[i]
        capacity += weight[i] * p * (n - p)
        pull[:] = 0.0
        if p > 0 and p < n and weight[i] > 0.0:
            load_row(&scores[i, 0], &order[i, 0], p, n, &biases[0], &row[0])
            for k in range(p):
                n_full = 0.0
                n_near = 0.0
                for other in range(p, n):
                    cost = row[k] - row[other]
                    n_full += 1.0 if cost < -width else 0.0
                    pull[other] -= 1.0 if cost < -width else 0.0
                    n_near += 1.0 if fabs(cost) <= width else 0.0
                pull[k] = n_full
                if n_near == 0.0:
                    continue
                for other in range(p, n):
                    cost = row[k] - row[other]
                    if fabs(cost) <= width:
                        arcs.append(cost, i, order[i, other], order[i, k])
        for j in range(q):
            coefficients[i, order[i, j]] = weight[i] * pull[j] if pull[j] != 0.0 else 0.0
    return capacity


def solve(
    const double[:, ::1] scores,
    const int[:, ::1] order,
    const int[::1] n_relevant,
    const int[::1] n_involved,
    const double[::1] weight,
    double[::1] biases,
    double width,
    double[:, ::1] coefficients,
):
    """Write the optimal A into ``coefficients``, move ``biases`` to their optimum; return success.

    Only arcs with reduced costs of at most ``width`` may change. If that does not suffice, the
    biases have still moved towards their optimum.
    """
    cdef Py_ssize_t q = scores.shape[1]
    cdef double[::1] row = np.empty(q), pull = np.empty(q)
    cdef ArcList arcs = ArcList(q, ROOM_PER_LABEL * q)
    cdef Network network
    cdef double capacity
    cdef Py_ssize_t j
    while True:
        with nogil:
            capacity = list_arcs(
                scores, order, n_relevant, n_involved, weight, biases, width, coefficients, row,
                pull, arcs,
            )
        if arcs.n <= arcs.cost.shape[0]:
            break
        arcs = ArcList(q, arcs.n)
    network = Network(arcs, weight, np.sum(coefficients, axis=0), ROUNDING * capacity, width)
    solved = network.solve()
    for j in range(q):
        biases[j] += network.bias[j]
    network.write_flow(coefficients)
    return solved
