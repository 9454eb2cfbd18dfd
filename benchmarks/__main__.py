"""``python -m benchmarks NAME``: run one of the measurements."""

import argparse

from . import (
    alignment,
    csrl,
    decisions,
    default_grid,
    defaults,
    linear,
    mlodm,
    papers,
    pml,
    profile,
    rank,
    search,
    unknown,
)

COMMANDS = {
    "alignment": alignment,
    "csrl": csrl,
    "decisions": decisions,
    "default_grid": default_grid,
    "defaults": defaults,
    "linear": linear,
    "mlodm": mlodm,
    "papers": papers,
    "pml": pml,
    "profile": profile,
    "rank": rank,
    "search": search,
    "unknown": unknown,
}


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="NAME")
    for name, module in COMMANDS.items():
        summary = module.__doc__.splitlines()[0]
        subparser = subparsers.add_parser(name, help=summary, description=module.__doc__)
        module.add_arguments(subparser)
    arguments = parser.parse_args()
    COMMANDS[arguments.command].run(arguments)


if __name__ == "__main__":
    main()
