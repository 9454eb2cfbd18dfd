"""What every block solver does with a panel's scores."""


cdef inline void add_multiple(
    double* target, const double* source, double factor, Py_ssize_t n,
) noexcept nogil:
    """target += factor · source"""
    cdef Py_ssize_t j
    for j in range(n):
        target[j] += factor * source[j]


cdef inline void add_combination(
    double* target, const double* rows, const double* factors, const Py_ssize_t* which,
    Py_ssize_t n_rows, Py_ssize_t n,
) noexcept nogil:
    """target += Σ_i factors[which[i]] · rows[i]"""
    cdef Py_ssize_t i, j
    cdef const double* row = rows
    cdef double a, b, c, d
    # four rows at a time load and store the target a quarter as often
    for i in range(0, n_rows - 3, 4):
        a = factors[which[i]]
        b = factors[which[i + 1]]
        c = factors[which[i + 2]]
        d = factors[which[i + 3]]
        for j in range(n):
            target[j] += a * row[j] + b * row[n + j] + c * row[2 * n + j] + d * row[3 * n + j]
        row += 4 * n
    for i in range(n_rows - n_rows % 4, n_rows):
        add_multiple(target, rows + i * n, factors[which[i]], n)
