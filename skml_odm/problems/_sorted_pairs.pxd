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


from skml_odm.problems._pairs cimport RowPairs


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
    double weight
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

cdef Py_ssize_t most_pairs_in_a_loop(Py_ssize_t q) noexcept nogil

cdef bint sorting_pays(const RowPairs* row) noexcept nogil

cdef void open_buckets(Buckets* buckets, const RowPairs* row, double* work) noexcept nogil

cdef double bucket_terms(
    Buckets* buckets, const double* f, double* gradient, bint* changed,
) noexcept nogil

cdef double pair_terms(const RowPairs* row, const double* f, double* gradient) noexcept nogil

cdef double row_terms(
    const RowPairs* row, const double* f, double* gradient, double* work,
) noexcept nogil

cdef void row_hessian_product(
    const RowPairs* row, const double* f, const double* x, double* result, double* work,
) noexcept nogil
