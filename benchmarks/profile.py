"""Speed over the whole parameter space: OneVsRest(SVC) against our kernel methods.

Every draw is a data set of paper 000 (training part, features in [0, 1]), C from 2^-3 to 2^10, the
coefficient γ of an RBF kernel from 2^-9 to 2^2, θ from 0 to 0.9 and μ from 0 to 1. CSRL has
β = 1 / C. Ours stop at a certified relative duality gap of 1e-3, SVC at its default tolerance.
Printed are quantiles of SVC's processor time divided by ours: above 1 ours is faster. One thread;
fits of less than a second are repeated and the shortest counts. A fit that takes more than a
minute, or twenty times as long as SVC, is stopped there and counts with the time it had.
"""

import json
import multiprocessing
import resource
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from skml_odm import CSRL, MLODM, RankCVM, RankSVM

from .data import load_as_in_paper

SETS = ("emotions", "scene", "yeast", "birds", "genbase", "medical", "enron")
QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9)
MOST_SECONDS = 60.0
MOST_TIMES_SVC = 20.0


def add_arguments(parser):
    parser.add_argument("--draws", type=int, default=48)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--methods", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--output", type=Path, help="JSON file to write the times to")
    parser.add_argument("--against", type=Path, help="such a file of another version: compare")


def models():
    """The compared estimators, as functions of a draw."""
    return {
        "MLODM": lambda d: MLODM(
            C=d["C"], gamma=d["gamma"], threshold="regression", theta=d["theta"], mu=d["mu"]
        ),
        "RankSVM": lambda d: RankSVM(C=d["C"], gamma=d["gamma"], threshold="regression"),
        "RankCVM": lambda d: RankCVM(C=d["C"], gamma=d["gamma"], threshold="regression"),
        "CSRL": lambda d: CSRL(beta=1.0 / d["C"], gamma=d["gamma"], threshold="zero"),
    }


MODELS = models()


def draws(n, seed):
    """Parameters at random; the first ones are the same for every n."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        yield {
            "data": str(rng.choice(SETS)),
            "C": 2.0 ** rng.uniform(-3, 10),
            "gamma": 2.0 ** rng.uniform(-9, 2),
            "theta": float(rng.choice([0.0, rng.uniform(0.0, 0.9)])),
            "mu": float(rng.choice([0.0, rng.uniform(0.0, 1.0)])),
        }


def run(arguments):
    rows = []
    for number, draw in enumerate(draws(arguments.draws, arguments.seed)):
        split = load_as_in_paper(draw["data"])
        X, y = split.X_train, split.y_train.astype(int)
        svc = OneVsRestClassifier(SVC(C=draw["C"], gamma=draw["gamma"]))
        row = {**draw, "SVC": processor_seconds(svc, X, y, MOST_SECONDS)}
        limit = min(MOST_SECONDS, max(1.0, MOST_TIMES_SVC * row["SVC"]))
        for name in arguments.methods:
            row[name] = processor_seconds(MODELS[name](draw), X, y, limit)
        rows.append(row)
        shown = "  ".join(f"{name} {row[name]:.3f}" for name in ("SVC", *arguments.methods))
        print(
            f"{number:3d} {draw['data']:9s} C {draw['C']:8.3f} gamma {draw['gamma']:.4f}  {shown}",
            flush=True,
        )
    if arguments.output:
        arguments.output.write_text(json.dumps(rows, indent=1))
    print("\nprocessor time of OneVsRest(SVC) / ours")
    show({name: ratios(rows, name) for name in arguments.methods})
    if arguments.against:
        before = json.loads(arguments.against.read_text())[: len(rows)]
        print("\nthe same of the other version")
        show({name: ratios(before, name) for name in arguments.methods})


def ratios(rows, name):
    return np.array([row["SVC"] / row[name] for row in rows])


def show(columns):
    """A table of quantiles."""
    print(f"{'':10s} {'geo. mean':>10s} " + " ".join(f"{f'{q:.0%}':>8s}" for q in QUANTILES))
    for name, values in columns.items():
        mean = np.exp(np.mean(np.log(values)))
        quantiles = " ".join(f"{value:8.2f}" for value in np.quantile(values, QUANTILES))
        print(f"{name:10s} {mean:10.2f} {quantiles}")


def processor_seconds(model, X, y, limit):
    """The shortest of up to three fits, each in a process that ends at the limit."""
    times = []
    while len(times) < 3 and sum(times) < 1.0:
        receiver, sender = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("fork").Process(
            target=_fit, args=(sender, model, X, y, limit)
        )
        process.start()
        sender.close()
        try:
            times.append(receiver.recv())
        except EOFError:
            # stopped at its limit
            times.append(limit)
        process.join()
    return min(times)


def _fit(sender, model, X, y, limit):
    used = time.process_time()
    resource.setrlimit(
        resource.RLIMIT_CPU, (int(np.ceil(used + limit)), int(np.ceil(used + limit)))
    )
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        model.fit(X, y)
        sender.send(time.process_time() - start)
