"""The label pairs of one row, its p relevant labels first.

A pair of a relevant and an irrelevant label whose scores differ by γ has the loss

    weight · (½ (lower − γ)₊² + ½ μ (γ − upper)₊²).

With a zero label, which follows the others, so do the pairs of relevant labels with it, and those
of it with irrelevant labels; they have weights of their own.
"""


cdef struct RowPairs:
    # relevant labels, and all labels that are in pairs but the zero label
    Py_ssize_t p
    Py_ssize_t q
    # zero if the row has no pairs
    double weight
    double lower
    double upper
    double mu
    bint has_zero
    double above_zero
    double below_zero


cdef inline double pair_curvature(
    double margin, double lower, double upper, double mu,
) noexcept nogil:
    """Second derivative of a pair's loss, before its weight."""
    return (1.0 if margin < lower else 0.0) + (mu if margin >= upper else 0.0)
