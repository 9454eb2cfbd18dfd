"""What long measurements have finished, kept in benchmarks/outcomes and not run again."""

import json
from pathlib import Path

from joblib import Parallel, delayed

FOLDER = Path(__file__).parent / "outcomes"


def read_outcomes(name):
    """What is finished of a measurement, by task."""
    path = FOLDER / f"{name}.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    entries = map(json.loads, lines)
    return {tuple(entry["task"]): entry["outcome"] for entry in entries}


def run_missing(name, tasks, evaluated, n_jobs):
    """Run the tasks that are not finished; ``evaluated`` returns a task and its outcome."""
    known = read_outcomes(name)
    missing = [task for task in tasks if task not in known]
    jobs = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    FOLDER.mkdir(exist_ok=True)
    for task, outcome in jobs(delayed(evaluated)(task) for task in missing):
        with (FOLDER / f"{name}.jsonl").open("a") as file:
            file.write(json.dumps({"task": task, "outcome": outcome}) + "\n")
        print(*task, outcome["seconds"], flush=True)
