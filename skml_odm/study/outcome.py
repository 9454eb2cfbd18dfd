"""What became of one classifier on one fold of one data set."""

from dataclasses import dataclass, field

DONE, FAILED, TOO_SLOW = "done", "failed", "too slow"


@dataclass(frozen=True)
class Outcome:
    """A cell of a study.

    Attributes
    ----------
    data, classifier : str
        Names, as the study has them.
    fold : int
        Counted from 1, through all repeats.
    status : str
        ``"done"``, ``"failed"`` or ``"too slow"``.
    error : str
        Why there is no result, in one line; empty if done.
    measures : dict of str to float
        By the keys of :data:`skml_odm.study.measures.MEASURES`; empty unless done.
    parameters : dict
        Chosen on the training part; empty if there was nothing to choose.
    margins : list of float
        101 quantiles (0 %, 1 %, …, 100 %) of the margins of label pairs in the test part.
    curve : list of (iterations, relative gap, training ranking loss, test ranking loss)
        How a fit converges; empty where that was not asked for.
    facts : dict
        Seed, versions, when it was run, and the like.
    """

    data: str
    classifier: str
    fold: int
    status: str = DONE
    error: str = ""
    measures: dict[str, float] = field(default_factory=dict)
    parameters: dict = field(default_factory=dict)
    margins: list[float] = field(default_factory=list)
    curve: list = field(default_factory=list)
    facts: dict = field(default_factory=dict)
