"""A study under way: cells, those that are finished, and the workers."""

import json
from contextlib import nullcontext
from dataclasses import replace
from hashlib import sha256

import joblib
import numpy as np
from scipy import sparse

from ..datasets.selection import frequent_features, frequent_labels, labelled_rows
from ..utils.parallel import streaming
from ..utils.validation import canonical
from .cell import Cell, describe
from .outcome import DONE, TOO_SLOW
from .process import end_with, run_cell, this_process
from .store import DATA, Store


def run_study(study, store, *, n_jobs=None, retry=False, on_outcome=None):
    """Run the cells of a study that are not finished yet.

    Parameters
    ----------
    study : Study
    store : path-like or Store
        Where outcomes are kept, each as soon as it is there. What is in it is not run again.
    n_jobs : int, optional
        Workers of joblib; any of its backends serves. Data sets are handed over in files beside
        the store, so the workers of a cluster need to see its folder.
    retry : bool, default=False
        Whether to run cells again that failed or were too slow.
    on_outcome : callable, optional
        Called with each outcome and the number of cells: first with those from the store.

    Returns
    -------
    list of Outcome
        In the order of the study's data sets, classifiers and folds.

    Raises
    ------
    StoreError
        If the store cannot be used, or if another run is working on it.
    """
    store = store if isinstance(store, Store) else Store(store)
    cells = [cell for data in study.data for cell in _cells(study, data)]

    def usable():
        """Outcomes in the store that need not be computed again."""
        return {
            key: outcome
            for key, outcome in store.load(cell.key for cell in cells).items()
            if not ((retry and outcome.status != DONE) or _had_less_time(outcome, study.time_limit))
        }

    tell = on_outcome or (lambda outcome, total: None)
    # what is finished can be read where nothing can be written
    is_finished = len(usable()) == len(cells)
    with nullcontext() if is_finished else store.workplace() as folder:
        # a run that has just ended may have added some
        known = usable()
        for outcome in known.values():
            tell(outcome, len(cells))
        todo = [cell for cell in cells if cell.key not in known]
        todo = _with_files(todo, study, store, folder)
        for key, outcome in _outcomes(todo, study.time_limit, n_jobs):
            store.save(key, outcome)
            known[key] = outcome
            tell(outcome, len(cells))
    return [known[cell.key] for cell in cells]


def finished(study, store):
    """The outcomes of a study that are in the store, in its order."""
    store = store if isinstance(store, Store) else Store(store)
    keys = keys_of(study)
    known = store.load(keys)
    return [known[key] for key in keys if key in known]


def keys_of(study):
    """The keys of a study's cells, in its order."""
    return [cell.key for data in study.data for cell in _cells(study, data)]


def _cells(study, data):
    """The cells of one data set, without the files that a run gives them."""
    data = prepared(data, study.protocol)
    rows = fingerprint(data)
    splits = study.protocol.splits(data)
    for classifier in study.classifiers:
        for fold, (train, test) in enumerate(splits, start=1):
            cell = Cell(
                key="",
                data=data.name,
                # workers keep what they have loaded by its name: other rows, another name
                path=f"{rows}{DATA}",
                classifier=classifier,
                fold=fold,
                train=train,
                test=test,
                protocol=study.protocol,
                tuning=study.tuning,
                with_curve=study.curves and fold == 1,
            )
            text = json.dumps([rows, describe(cell)], sort_keys=True, default=joblib.hash)
            parts = text.encode(), np.asarray(train).tobytes(), np.asarray(test).tobytes()
            yield replace(cell, key=sha256(b"|".join(parts)).hexdigest())


def _with_files(cells, study, store, folder):
    """The cells with the files that they need; their data sets are written to the folder."""
    wanted = {cell.data: folder / cell.path for cell in cells}
    for data in study.data:
        if data.name in wanted:
            joblib.dump(prepared(data, study.protocol), wanted[data.name])
    return [
        replace(cell, path=str(wanted[cell.data]), checkpoint=str(store.checkpoint(cell.key)))
        for cell in cells
    ]


def fingerprint(data):
    """Tells rows and labels from others, whatever container and file they came in."""
    if sparse.issparse(data.X):
        X = canonical(data.X)
        X = [X.shape, X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)]
    else:
        X = np.ascontiguousarray(data.X)
    # joblib tells orders in memory apart
    Y, candidates, known = (
        None if each is None else np.asfortranarray(each)
        for each in (data.Y, data.candidates, data.known)
    )
    return joblib.hash([X, Y, candidates] if known is None else [X, Y, candidates, known])


def prepared(data, protocol):
    """The data set without the labels, rows and features that the protocol drops."""
    data = frequent_labels(data, protocol.fewest_rows)
    if protocol.labelled_rows_only:
        data = labelled_rows(data)
    return frequent_features(data, protocol.fewest_rows_of_features)


def _had_less_time(outcome, time_limit):
    """Whether the outcome is of no use because the limit is higher now."""
    if outcome.status != TOO_SLOW:
        return False
    return time_limit is None or outcome.facts["time_limit"] < time_limit


def _outcomes(cells, time_limit, n_jobs):
    """Pairs of key and outcome, as they come."""
    # a cell may take long: each goes to whoever is free
    parallel, streams = streaming(n_jobs, batch_size=1)
    # a backend that answers all at once is given little at once
    size = len(cells) if streams else joblib.effective_n_jobs(n_jobs)
    for first in range(0, len(cells), max(size, 1)):
        yield from parallel(
            joblib.delayed(_run)(cell, time_limit, this_process())
            for cell in cells[first : first + size]
        )


def _run(cell, time_limit, owner):
    end_with(owner)
    outcome = run_cell(cell, time_limit, owner)
    facts = {**outcome.facts, "time_limit": time_limit}
    return cell.key, replace(outcome, facts=facts)
