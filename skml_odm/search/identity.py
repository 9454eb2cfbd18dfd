"""What tells searches, scorers and parameters apart, in this process and in later ones."""

from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

from joblib.hashing import NumpyHasher
from sklearn.metrics._scorer import _BaseScorer, _PassthroughScorer

from ..metrics import RankingScorer

# whose repr does not say all, or has an address in it
KNOWN_BY_PARTS = FunctionType | MethodType | partial | _BaseScorer | RankingScorer


def identity(value):
    """A hash of a value: equal in all processes, and another one for 1.0 than for 1.

    Functions are known by module, name, code, defaults and closure: a lambda is as good as any.
    """
    return _digest(value, ())


def key_of(value):
    """The identity, or something that equals nothing else if a value has none."""
    try:
        return identity(value)
    except Exception:  # whatever pickling somebody's class may raise
        return object()


def scorer_identity(scorer):
    """The identity of a scorer, or of a dict of them.

    Objects of other people's classes are known by their repr if the class has its own, so that
    they may count calls or hold connections.
    """
    if isinstance(scorer, dict):
        return {name: scorer_identity(each) for name, each in scorer.items()}
    if isinstance(scorer, _PassthroughScorer):
        # of the search's own estimator
        return "score"
    if isinstance(scorer, KNOWN_BY_PARTS):
        return identity(scorer)
    kind: Any = type(scorer)
    shown = repr(scorer)
    by_state = kind.__repr__ is object.__repr__ or " at 0x" in shown
    return identity((kind, kind.__call__, scorer if by_state else shown))


class _Hasher(NumpyHasher):
    """joblib's, for functions and classes that cannot be found by their names as well.

    Parameters
    ----------
    within : tuple
        Functions that are being described: a closure may have its own function in it.
    """

    def __init__(self, within):
        super().__init__(hash_name="md5")
        self.within = within

    def save(self, obj):
        if isinstance(obj, FunctionType):
            obj = _function(obj, self.within)
        elif isinstance(obj, MethodType):
            obj = ("method", _function(obj.__func__, self.within), obj.__self__)
        elif isinstance(obj, type):
            obj = f"class {obj.__module__}.{obj.__qualname__}"
        elif isinstance(obj, frozenset):
            # they have another order in each process
            obj = ("frozenset", sorted(_digest(each, self.within) for each in obj))
        super().save(obj)


def _digest(value, within):
    return _Hasher(within).hash(value)


def _function(function, within):
    """A text that says which function this is and what it does."""
    name = f"function {function.__module__}.{function.__qualname__}"
    if any(function is each for each in within):
        return name
    cells = [_content(cell) for cell in function.__closure__ or ()]
    held = (function.__defaults__, function.__kwdefaults__, *cells)
    digests = [_digest_if_possible(each, (*within, function)) for each in held]
    return f"{name} {_code(function.__code__)} {digests}"


def _content(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return "empty"


def _digest_if_possible(value, within):
    try:
        return _digest(value, within)
    except Exception:  # whatever pickling somebody's class may raise
        return f"{type(value).__module__}.{type(value).__qualname__}"


def _code(code):
    """What code does, wherever it stands in its file."""
    constants = [_constant(each) for each in code.co_consts]
    return repr((code.co_code, code.co_names, constants))


def _constant(value):
    if isinstance(value, CodeType):
        return _code(value)
    if isinstance(value, frozenset):
        return sorted(map(repr, value))
    return repr(value)
