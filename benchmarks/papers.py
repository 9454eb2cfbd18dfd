"""Write our results next to a paper's tables: ``papers 000`` to docs/papers/000.md and so on."""

from . import paper_000, paper_001, paper_002, paper_003, paper_004

PAPERS = {"000": paper_000, "001": paper_001, "002": paper_002, "003": paper_003, "004": paper_004}


def add_arguments(parser):
    parser.add_argument("paper", choices=list(PAPERS), help="which paper")
    parser.add_argument(
        "--chosen",
        action="store_true",
        help="000: use the parameters in benchmarks/chosen.json instead of searching",
    )
    parser.add_argument("--jobs", type=int, default=2, help="000: workers (default 2)")
    parser.add_argument(
        "--sets", nargs="+", help="000: search for these data sets only; the others stay"
    )
    parser.add_argument("--keep", help="000: folder for finished fits, to go on after a stop")


def run(arguments):
    PAPERS[arguments.paper].run(arguments)
