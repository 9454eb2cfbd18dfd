"""What is evaluated: one classifier on one fold, and all that decides what comes out."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ..utils.validation import check_choice, check_real
from .measures import OF_ACCURACY
from .outcome import Outcome
from .protocol import Protocol


@dataclass(frozen=True)
class Tuning:
    """How parameters are chosen on a training part.

    Attributes
    ----------
    folds : int
        Of the cross-validation.
    measure : str
        Which measure decides.
    most_rows : int
        Of larger training parts, so many rows are drawn for the search. 0: all rows serve.
    """

    folds: int = 3
    measure: str = "ranking_loss"
    most_rows: int = 0

    def __post_init__(self):
        check_real("folds", self.folds, 2, integer=True)
        check_choice("measure", self.measure, OF_ACCURACY)
        check_real("most_rows", self.most_rows, 0, integer=True)


@dataclass(frozen=True)
class Classifier:
    """A classifier of a study.

    Attributes
    ----------
    name : str
    definition : dict
        "estimator" and perhaps "parameters".
    grid : dict or list of dict
        Values to choose from; nothing to choose if empty.
    dense : bool
        Whether sparse features are made dense for it.
    on_data : dict of str to dict
        Parameters for single data sets.
    final : dict
        Parameters of the last fit, to the whole training part: a smaller tolerance, say.
    grid_on_data : dict of str to dict or list
        Grids for single data sets, instead of the other one.
    """

    name: str
    definition: dict
    grid: Any = field(default_factory=dict)
    dense: bool = False
    on_data: dict = field(default_factory=dict)
    final: dict = field(default_factory=dict)
    grid_on_data: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """A classifier, a fold, and all that decides what comes out.

    Attributes
    ----------
    key : str
        Tells this cell from any other.
    data : str
    path : str
        Where the data set is, as joblib stored it.
    classifier : Classifier
    fold : int
    train, test : ndarray
    protocol : Protocol
    tuning : Tuning
    with_curve : bool
    checkpoint : str
        A file in which the search of this cell may keep finished fits.
    """

    key: str
    data: str
    path: str
    classifier: Classifier
    fold: int
    train: np.ndarray
    test: np.ndarray
    protocol: Protocol
    tuning: Tuning
    with_curve: bool = False
    checkpoint: str = ""

    @property
    def grid(self):
        """The values to choose from, on this data set."""
        return self.classifier.grid_on_data.get(self.data, self.classifier.grid)

    @property
    def seed(self):
        """For everything random in this cell."""
        return self.protocol.seed + self.fold

    def outcome(self, **values):
        return Outcome(self.data, self.classifier.name, self.fold, **values)


def describe(cell):
    """What decides the outcome of a cell, apart from rows and versions, as JSON can hold it.

    Not how the fold was made: more repeats or other folds leave those that are the same alone.
    """
    classifier = cell.classifier
    # only where labels are hidden: what was finished before there was this option stays so
    hidden = {"hidden": cell.protocol.hidden} if cell.protocol.hidden else {}
    return hidden | {
        "name": classifier.name,
        "definition": classifier.definition,
        "grid": cell.grid,
        "final": classifier.final,
        "dense": classifier.dense,
        "on_data": classifier.on_data.get(cell.data),
        "scaling": cell.protocol.scaling,
        "candidate_noise": cell.protocol.candidate_noise,
        "seed": cell.seed,
        "tuning": asdict(cell.tuning) if cell.grid else None,
        "curve": cell.with_curve,
    }
