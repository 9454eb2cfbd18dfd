"""The data sets of paper 003, with the rows and parameters that the paper used."""

from pathlib import Path

from .data import load_as_in_paper, load_raw, random_split, scaled_split
from .toml import read_toml

STUDIES = [
    read_toml(Path(__file__).parent / "papers" / name) for name in ("003.toml", "003-random.toml")
]
# Table 2 of paper 003: parameters by data set and method
PARAMETERS: dict = {}
for study in STUDIES:
    for classifier in study["classifiers"]:
        for data_set, parameters in classifier["on_data"].items():
            PARAMETERS.setdefault(data_set, {})[classifier["estimator"]] = parameters
# Sets that the paper split at random, 60 % for training.
RANDOM_SPLIT = tuple(STUDIES[1]["classifiers"][0]["on_data"])


def load_for_rank(name, seed=0):
    """A data set of paper 003: the publishers' split, or a random one of 60 and 40 per cent."""
    if name not in RANDOM_SPLIT:
        return load_as_in_paper(name)
    X, Y = load_raw(name)[:2]
    return scaled_split(X, Y, Y, *random_split(len(Y), 0.6, seed))
