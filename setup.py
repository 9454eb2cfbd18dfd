"""Builds the compiled pieces; everything else is declared in pyproject.toml.

``SKML_ODM_DEBUG=1`` compiles them with bounds, initialisation and division checks.
"""

import os

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.sdist import sdist

DEBUG = os.environ.get("SKML_ODM_DEBUG", "0") not in ("", "0")
# checked and unchecked builds never share a file
BUILD = "build/debug" if DEBUG else "build"

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": not DEBUG,
    "freethreading_compatible": True,
}

# Sums may be reordered, so that loops over label pairs become vector instructions; NaN and
# infinity keep their meaning.
FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-fassociative-math"]
CHECKED = ["-O1"]

MODULES = [
    "skml_odm.features._gram",
    "skml_odm.problems._pair_loss",
    "skml_odm.problems._sorted_pairs",
    "skml_odm.problems._block",
    "skml_odm.solvers._m3",
    "skml_odm.solvers._circulation",
    "skml_odm.problems._confidence_loss",
    "skml_odm.solvers._confidence",
    "skml_odm.problems._hinge",
    "skml_odm.solvers._frank_wolfe",
    "skml_odm.solvers._binary_svm",
    "skml_odm.problems._row_problem",
    "skml_odm.solvers._row_ascent",
    "skml_odm.problems._separation",
    "skml_odm.problems._pair_rows",
    "skml_odm.problems._covariance_rows",
    "skml_odm.problems._binary_rows",
    "skml_odm.problems._classes",
    "skml_odm.solvers._multiclass_sweeps",
    "skml_odm.problems._class_smoothing",
]

# What all of them need of Cython, once instead of in each: half the time to compile.
SHARED = "skml_odm._cython"


class CompleteSdist(sdist):
    """A source distribution with everything that git has, so that its tests and docs work."""

    def make_distribution(self):
        for folder in ("tests", "benchmarks", "docs"):
            for path, _, files in os.walk(folder):
                if not {"__pycache__", "_build"} & set(path.split(os.sep)):
                    self.filelist.extend(os.path.join(path, file) for file in files)
        self.filelist.append("CHANGELOG.md")
        self.filelist.remove_duplicates()
        super().make_distribution()


setup(
    cmdclass={"sdist": CompleteSdist},
    ext_modules=cythonize(
        [
            Extension(
                name,
                [name.replace(".", "/") + ".pyx"],
                extra_compile_args=[] if os.name == "nt" else CHECKED if DEBUG else FLAGS,
            )
            for name in MODULES
        ]
        + [Extension(SHARED, [SHARED.replace(".", "/") + ".c"])],
        compiler_directives=DIRECTIVES,
        build_dir=f"{BUILD}/cython",
        shared_utility_qualified_name=SHARED,
    ),
    # one compiler per core
    options={"build": {"build_base": BUILD}, "build_ext": {"parallel": os.cpu_count()}},
)
