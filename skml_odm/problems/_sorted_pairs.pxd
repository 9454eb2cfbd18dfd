"""One instance's label pairs without a loop over pairs: one side sorted, the other searched.

The smaller side has ``n_few`` scores u, sorted; a pair has the margin u_a − v with a score v of the
other side. (Where the irrelevant labels are the fewer, scores change sign and sides.) A pair falls
short where v > u_a − lower and is over where v ≤ u_a − upper. These numbers cut the line into
buckets. Within bucket t the first ``n_short[t]`` labels of the smaller side fall short, those from
``first_over[t]`` on are over, and with weights 1 and μ

    Σ_a ℓ(u_a − v)   = ½ (pairs[t] (v − centre[t])² + spread[t]),
    Σ_a −ℓ'(u_a − v) = pairs[t] (v − centre[t]),

centre the weighted mean of the active cuts and spread their weighted squares around it: sums of
squares would cancel, these do not.
"""


cdef struct Buckets:
    Py_ssize_t n_few
    Py_ssize_t n_many
    Py_ssize_t n_cuts
    # where the sides begin in a row whose relevant labels come first, and −1 if they are exchanged
    Py_ssize_t first_few
    Py_ssize_t first_many
    double sign
    # what has been taken from all scores
    double shift
    double lower
    double upper
    double mu
    # by rank in the smaller side
    double* few
    int* place
    double* mean_below
    double* mean_above
    double* spread_above
    double* short_count
    double* short_mean
    double* over_count
    double* over_mean
    # by bucket
    double* cut
    double* pairs
    double* centre
    double* spread
    double* count
    double* total
    double* square
    int* n_short
    int* first_over
    # by label of the other side
    int* bucket
    # equal cells of the line, and how many cuts lie before them
    double origin
    double per_unit
    double top
    int* cell


cdef size_t bucket_workspace(Py_ssize_t q) noexcept nogil

cdef void open_buckets(
    Buckets* buckets, Py_ssize_t p, Py_ssize_t q, double lower, double upper, double mu,
    double* work,
) noexcept nogil

cdef bint sort_few(Buckets* buckets, const double* f) noexcept nogil

cdef bint cut_line(Buckets* buckets) noexcept nogil

cdef bint fill(Buckets* buckets, const double* f, double* pull) noexcept nogil

cdef void pull_few(Buckets* buckets, double* pull) noexcept nogil

cdef double half_squares(const Buckets* buckets) noexcept nogil

cdef double row_terms(
    const double* f, Py_ssize_t p, Py_ssize_t q, double weight, double lower, double upper,
    double mu, double* pull, double* work,
) noexcept nogil

cdef void row_hessian_product(
    const double* f, const double* x, Py_ssize_t p, Py_ssize_t q, double weight, double lower,
    double upper, double mu, double* result, double* work,
) noexcept nogil

cdef void row_hessian_diagonal(
    const double* f, Py_ssize_t p, Py_ssize_t q, double weight, double lower, double upper,
    double mu, double* result, double* work,
) noexcept nogil
