"""Outcomes of a paper's studies, and the figures of the paper.

Outcomes are kept in an SQLite file in a folder of the user's, and as text beside the studies, so
that a page can be written on another machine without running for hours again.
"""

import json
import os
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from skml_odm.study import read_study, run_study
from skml_odm.study.outcome import DONE, Outcome
from skml_odm.study.run import finished, keys_of, prepared
from skml_odm.study.store import Store

from ..data import FOLDER as DATA
from ..toml import read_toml

FOLDER = Path(__file__).parent
# What is told of a cell in the text.
FACTS = ("started", "search_seconds")
KEEP = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "skml-odm" / "papers"


def studies(paper):
    """The studies of a paper, by their files' names."""
    os.environ.setdefault("SKML_ODM_DATA", str(DATA))
    return {path.stem: read_study(path) for path in sorted(FOLDER.glob(f"{paper}*.toml"))}


def earlier(paper):
    """Results of a loop that was there before the study, where there was one."""
    return json.loads((FOLDER / "earlier" / f"{paper}.json").read_text())


def figures(paper):
    """The figures of a paper."""
    return read_toml(FOLDER / "figures" / f"{paper}.toml")


class Results:
    """What is known of a paper's studies.

    Parameters
    ----------
    paper : str
        Its number.
    keep : path-like
        The folder that has its finished cells.

    Attributes
    ----------
    studies : dict of str to Study
    data : dict of str to DataSet
        The data sets of all studies, as their protocols leave them.
    """

    def __init__(self, paper, keep):
        Path(keep).mkdir(parents=True, exist_ok=True)
        self.studies = studies(paper)
        self._store = Store(Path(keep) / f"{paper}.sqlite")
        self._text = FOLDER / "outcomes" / f"{paper}.jsonl"
        read_outcomes(self._text, self._store)
        self.data: dict = {}
        self._n_folds: dict = {}
        self._known: dict = {}
        for name, study in self.studies.items():
            for each in study.data:
                data = self.data[each.name] = prepared(each, study.protocol)
                self._n_folds[name, each.name] = len(study.protocol.splits(data))
            self._add(name, finished(study, self._store))

    def run(self, sets=None, jobs=1, retry=False):
        """Run what is missing, of these data sets if some are named."""
        for name, study in self.studies.items():
            data = tuple(each for each in study.data if sets is None or each.name in sets)
            if data:
                part = replace(study, data=data)
                self._add(name, self.run_study(part, jobs, retry))
        keys = [key for study in self.studies.values() for key in keys_of(study)]
        write_outcomes(self._text, self._store, keys)

    def run_study(self, study, jobs=1, retry=False):
        """The outcomes of any study, from the same file where they are there."""
        return run_study(study, self._store, n_jobs=jobs, retry=retry, on_outcome=tell)

    def _add(self, study, outcomes):
        for outcome in outcomes:
            key = study, outcome.data, outcome.classifier
            self._known.setdefault(key, {})[outcome.fold] = outcome

    def source(self, data, classifier):
        """The first study that has outcomes of the two on all folds; None if there is none."""
        return next((name for name in self.studies if self.outcomes(data, classifier, name)), None)

    def outcomes(self, data, classifier, study=None):
        """The outcomes of all folds, of this study or of the first that has them.

        Empty unless every fold is done.
        """
        study = self.source(data, classifier) if study is None else study
        known = self._known.get((study, data, classifier), {})
        done = [known[fold] for fold in sorted(known) if known[fold].status == DONE]
        return done if len(done) == self._n_folds.get((study, data)) else []

    def grid(self, data, classifier):
        """The grid that the outcomes are of."""
        each = self.studies[self.source(data, classifier)].classifiers
        (found,) = (one for one in each if one.name == classifier)
        return found.grid_on_data.get(data, found.grid)

    def values(self, data, classifier, measure, study=None):
        """A measure on all folds; empty if there is none on some."""
        outcomes = self.outcomes(data, classifier, study)
        return np.array([outcome.measures[measure] for outcome in outcomes])


def read_outcomes(path, store):
    """Add the outcomes of a text file to a store that does not have them."""
    lines = path.read_text().splitlines() if path.exists() else []
    told = {entry.pop("key"): entry for entry in map(json.loads, lines)}
    for key in told.keys() - store.load(told).keys():
        store.save(key, Outcome(**told[key]))


def write_outcomes(path, store, keys):
    """Write what the store has of these cells to a text file, one line each."""
    known = store.load(keys)
    lines = []
    for key in dict.fromkeys(keys):
        if key in known and known[key].status == DONE:
            entry = asdict(known[key])
            # pages do without these
            del entry["margins"], entry["curve"], entry["status"], entry["error"]
            entry["facts"] = {name: entry["facts"].get(name) for name in FACTS}
            lines.append(json.dumps({"key": key, **entry}))
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))


def tell(outcome, total):
    """Print an outcome."""
    where = f"{outcome.data}, {outcome.classifier}, fold {outcome.fold}"
    print(f"{where}: {outcome.status} {outcome.error}{outcome.parameters or ''}", flush=True)
