"""Write our results next to a paper's tables: ``papers 000`` to docs/papers/000.md and so on.

The studies of a paper are the files benchmarks/papers/NNN*.toml, which ``skml-odm compare`` runs as
well; its figures are in benchmarks/papers/figures. Finished cells are kept in an SQLite file: what
was stopped goes on from there.
"""

from pathlib import Path

from . import paper_000, paper_001, paper_002, paper_003, paper_004
from .results import KEEP, Results, figures

PAGES = Path(__file__).parents[2] / "docs" / "papers"
PAPERS = {
    "000": paper_000,
    "001": paper_001,
    "002": paper_002,
    "003": paper_003,
    "004": paper_004,
}


def add_arguments(parser):
    parser.add_argument("paper", choices=list(PAPERS), help="which paper")
    parser.add_argument("--jobs", type=int, default=2, help="workers (default 2)")
    parser.add_argument(
        "--sets",
        nargs="*",
        help="run these data sets only, or none; of others take what is finished",
    )
    parser.add_argument("--keep", default=KEEP, help=f"folder for finished cells (default {KEEP})")
    parser.add_argument("--retry", action="store_true", help="run again what failed")


def run(arguments):
    paper = PAPERS[arguments.paper]
    results = Results(arguments.paper, arguments.keep)
    results.run(arguments.sets, arguments.jobs, arguments.retry)
    if hasattr(paper, "remember"):
        paper.remember(results)
    path = PAGES / f"{arguments.paper}.md"
    path.write_text(paper.page(results, figures(arguments.paper)))
    print(f"wrote {path}")
