"""Builds the compiled pieces; everything else is declared in pyproject.toml.

``SKML_ODM_DEBUG=1`` compiles them with bounds, initialisation and division checks.
"""

import os

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("SKML_ODM_DEBUG", "0") not in ("", "0")

directives = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "nonecheck": DEBUG,
    "cdivision": not DEBUG,
    "freethreading_compatible": True,
}

modules = [
    "skml_odm._gram",
    "skml_odm.solvers._pair_loss",
    "skml_odm.solvers._block",
    "skml_odm.solvers._m3",
]

extensions = [
    Extension(
        name,
        [name.replace(".", "/") + ".pyx"],
        extra_compile_args=[] if os.name == "nt" else ["-O3"],
    )
    for name in modules
]

setup(ext_modules=cythonize(extensions, compiler_directives=directives, force=DEBUG))
