"""Which candidates are tried, in which order, and which of them are fitted together."""

from itertools import groupby
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.pipeline import Pipeline

from ..estimators.kernel_model import KernelModel
from .fold import Task
from .identity import key_of

# Parameters that make another kernel matrix.
KERNEL_PARAMETERS = ("kernel", "gamma", "degree", "coef0", "fit_intercept")

# Neighbouring problems follow each other along these, the first one changing last. Solutions for a
# large θ do not depend on μ, and those for a large β are the easy ones.
PATH_PARAMETERS = ("C", "alpha", "beta", "theta", "mu")
DESCENDING = ("beta", "theta")

# Candidates in a task at most: what a crash may lose.
MAX_CANDIDATES = 2048


def sampled(grid, n_candidates, random_state):
    """Some candidates of a grid, or all if there are no more; without a seed always the same."""
    n_all = len(ParameterGrid(grid))
    seed = 0 if random_state is None else random_state
    return list(ParameterSampler(grid, min(n_candidates, n_all), random_state=seed))


def model_of(estimator):
    """The model itself, and the prefix of its parameters' names: a pipeline has it as last step."""
    if isinstance(estimator, Pipeline):
        name, model = estimator.steps[-1]
        return model, f"{name}__"
    return estimator, ""


def tasks(estimator, candidates, indices, fold, n_tasks):
    """Tasks that together fit the candidates at the given indices to a fold (number, train, test).

    Candidates of a task have one kernel matrix, and follow each other so that neighbours in C, θ
    and μ do. There are at least ``n_tasks`` tasks if there are as many candidates.
    """
    model, prefix = model_of(estimator)
    shares = isinstance(model, KernelModel)

    def group(index):
        names = [f"{prefix}{name}" for name in KERNEL_PARAMETERS]
        other = [k for k in candidates[index] if not k.startswith(prefix)] if prefix else []
        return repr([candidates[index].get(name) for name in (*other, *names)]) if shares else ""

    def place(index):
        parameters = candidates[index]
        path = [f"{prefix}{name}" for name in PATH_PARAMETERS]
        rest = repr(sorted((k, repr(v)) for k, v in parameters.items() if k not in path))
        return rest, [_coordinate(name, parameters) for name in path]

    keys = {index: (group(index), *place(index)) for index in indices}
    ordered = [
        index
        for _, line in groupby(sorted(keys, key=keys.__getitem__), key=lambda i: line_of(*keys[i]))
        for index in ends_first(list(line))
    ]
    parts: list[list[int]] = []
    for _, members in groupby(ordered, key=lambda index: keys[index][0]):
        together = np.array(list(members))
        n_parts = -(-len(together) // MAX_CANDIDATES)
        parts += [part.tolist() for part in np.array_split(together, n_parts)]
    while len(parts) < n_tasks and max(map(len, parts)) > 1:
        longest = parts.pop(int(np.argmax([len(part) for part in parts])))
        parts += [longest[: len(longest) // 2], longest[len(longest) // 2 :]]
    number, train, test = fold
    return [
        Task(number, train, test, part, [candidates[index] for index in part]) for part in parts
    ]


def line_of(group, rest, coordinates):
    """What the candidates along the last of the path's parameters have in common."""
    return group, rest, coordinates[:-1]


def ends_first(line):
    """The first and the last, then what lies half way between others.

    Solutions and bounds of both sides may settle a problem between them.
    """
    steps = [line[:1], line[-1:] if len(line) > 1 else []]
    gaps = [line[1:-1]]
    while any(gaps):
        steps += [gap[len(gap) // 2 : len(gap) // 2 + 1] for gap in gaps]
        gaps = [part for gap in gaps for part in (gap[: len(gap) // 2], gap[len(gap) // 2 + 1 :])]
    return [index for step in steps for index in step]


def _coordinate(name, parameters):
    value: Any = parameters.get(name, 0.0)
    if not isinstance(value, int | float | np.number):
        return 0.0
    return -float(value) if name.endswith(DESCENDING) else float(value)


def lazily(grid, evaluate):
    """One parameter at a time (paper 003, Section 8.3): the others stay at their best so far.

    The others start in the middle of their lists. Parameters are tried in the order of the grid.

    Parameters
    ----------
    grid : dict
    evaluate : callable
        Takes a list of candidates and returns the index of the best of all that it has seen, and
        all of them.
    """
    at = {name: values[len(values) // 2] for name, values in grid.items()}
    seen: list = []
    for name, values in grid.items():
        new = [{**at, name: value} for value in values]
        known = {key_of(candidate) for candidate in seen}
        best, seen = evaluate([candidate for candidate in new if key_of(candidate) not in known])
        at = dict(seen[best])
    return seen
