"""Classifiers from their description in a study: a name, parameters, perhaps a grid."""

import importlib
import inspect
import sys
from copy import deepcopy
from typing import Any

from sklearn.base import BaseEstimator, clone

# where names without a dot are looked up
PLACES = (
    "skml_odm",
    "skml_odm.study",
    "skmultilearn.adapt",
    "skmultilearn.problem_transform",
    "skmultilearn.ensemble",
    "skmultilearn.cluster",
    "sklearn.multioutput",
    "sklearn.multiclass",
    "sklearn.svm",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "sklearn.neighbors",
    "sklearn.tree",
    "sklearn.naive_bayes",
    "sklearn.calibration",
    "sklearn.neural_network",
)

# 2 to these powers is a number in double precision, with all digits
LOWEST_POWER, HIGHEST_POWER = sys.float_info.min_exp - 1, sys.float_info.max_exp - 1


class DefinitionError(ValueError):
    """Something in a study cannot be: which entry, what it is, and what is allowed."""


def find_class(name, where):
    """The class of a name or dotted path.

    Parameters
    ----------
    name : str
    where : str
        The entry of the study that has it, for messages.
    """
    if not isinstance(name, str) or not name:
        raise DefinitionError(f"{where} must be the name of an estimator; got {name!r}.")
    known = "a name of skml_odm, scikit-multilearn or scikit-learn, or a dotted path"
    if not all(part.isidentifier() for part in name.split(".")):
        raise DefinitionError(f"{where} must be {known}; got {name!r}.")
    module, _, last = name.rpartition(".")
    for place in [module] if module else PLACES:
        try:
            found = getattr(importlib.import_module(place), last, None)
        except (Exception, SystemExit) as error:
            # a user's module may raise anything
            if module:
                raise DefinitionError(
                    f"{where} must name an importable class; got {name!r} ({_told(error)})."
                ) from error
            continue
        if inspect.isclass(found) and hasattr(found, "fit"):
            return found
    raise DefinitionError(f"{where} must be {known}; got {name!r}.")


def _told(error):
    """What an exception of foreign code says; some say nothing but their name."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def make_value(value, where) -> Any:
    """A value of a study file: tables with the key "estimator" become estimators.

    A table ``{powers_of_two = [first, last, step]}`` becomes a list of numbers.
    """
    if isinstance(value, dict) and "estimator" in value:
        return make_estimator(value, where)
    if isinstance(value, dict) and set(value) == {"powers_of_two"}:
        return powers_of_two(value["powers_of_two"], f"{where}.powers_of_two")
    if isinstance(value, dict):
        return {key: make_value(entry, f"{where}.{key}") for key, entry in value.items()}
    if isinstance(value, list):
        return [make_value(entry, f"{where}[{i}]") for i, entry in enumerate(value)]
    return value


def powers_of_two(exponents, where):
    """2 to the power of first, first + step, …, last; the step is 1 if left out."""
    fits = (
        isinstance(exponents, list)
        and len(exponents) in (2, 3)
        and all(type(entry) is int for entry in exponents)
        and (len(exponents) == 2 or exponents[2] > 0)
        and LOWEST_POWER <= exponents[0] <= exponents[1] <= HIGHEST_POWER
    )
    if not fits:
        raise DefinitionError(
            f"{where} must be [first, last] or [first, last, step] with integers from "
            f"{LOWEST_POWER} to {HIGHEST_POWER}, first not above last and a positive step; "
            f"got {exponents!r}."
        )
    first, last, *step = exponents
    return [2.0**power for power in range(first, last + 1, *step)]


def make_estimator(definition, where):
    """An estimator from a name or a table with "estimator" and perhaps "parameters".

    Parameters
    ----------
    definition : str or dict
    where : str
        The entry of the study that has it, for messages.

    Returns
    -------
    estimator, not fitted
    """
    if isinstance(definition, str):
        definition = {"estimator": definition}
    name = definition.get("estimator")
    if isinstance(name, BaseEstimator):
        return clone(name)
    found = find_class(name, f"{where}.estimator")
    parameters = definition.get("parameters", {})
    if not isinstance(parameters, dict):
        raise DefinitionError(f"{where}.parameters must be a table; got {parameters!r}.")
    made = {
        key: make_value(value, f"{where}.parameters.{key}") for key, value in parameters.items()
    }
    try:
        return found(**made)
    except (Exception, SystemExit) as error:
        raise DefinitionError(f"{where}.parameters do not suit {name} ({_told(error)}).") from error


def parameters_of(estimator, where):
    """The parameters that can be set, by name."""
    try:
        return estimator.get_params()
    except Exception as error:
        # some of the host's cannot tell their parameters
        raise DefinitionError(
            f"{where} cannot be set: {type(estimator).__name__} does not tell its parameters "
            f"({_told(error)})."
        ) from error


def check_values(estimator, values, where):
    """Raise if the estimator would refuse these values of parameters in every fit.

    Our estimators and scikit-learn's can check their parameters without data, also inside others.

    Parameters
    ----------
    estimator : estimator, not fitted
    values : dict
    where : str
        The entry of the study that has them, for messages.
    """
    try:
        # not clone, which some of the host's do not survive
        changed = deepcopy(estimator)
        changed = changed.set_params(**values) if values else changed
        parts = [changed, *changed.get_params().values()]
    except Exception:
        # cannot be known without a fit
        return
    for part in parts:
        check = getattr(part, "_validate_params", None)
        if check is None or inspect.isclass(part):
            continue
        try:
            check()
        except ValueError as error:
            raise DefinitionError(f"{where}: {error}") from error
        except Exception:
            # an estimator that does not say what it allows
            continue


def seeded(estimator, seed):
    """The estimator with this seed for everything random in it that has none."""
    try:
        parameters = estimator.get_params()
    except Exception:
        # some of the host's cannot tell their parameters
        return estimator
    open_seeds = {
        name: seed
        for name, value in parameters.items()
        if name.split("__")[-1] == "random_state" and value is None
    }
    return estimator.set_params(**open_seeds) if open_seeds else estimator
