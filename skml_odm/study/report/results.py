"""Sections of the report about results: the summary, and one section per measure."""

import numpy as np

from ..measures import COSTS, MEASURES
from ..outcome import DONE
from ..statistics import (
    ALPHA,
    MINIMUM_FOLDS,
    MINIMUM_PAIRS,
    MINIMUM_SETS,
    bonferroni_dunn_difference,
    holm,
    nemenyi_difference,
    nemenyi_p_values,
)
from ..summary import LOSS, WIN
from .document import Bullets, Cell, Paragraph, Section, Table, listed, number, p_value_text


def overview(summary, main_measures):
    """The section that says who ranks best, whether that is significant, and what failed."""
    return Section(
        "summary",
        "Summary",
        [
            Bullets(
                [
                    _size(summary),
                    *(_verdict(summary, measure) for measure in main_measures),
                    *_shortfalls(summary, main_measures),
                ]
            )
        ],
    )


def _size(summary):
    counts = sorted(
        {len({o.fold for o in summary.outcomes if o.data == data}) for data in summary.data}
    )
    folds = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    done = sum(outcome.status == DONE for outcome in summary.outcomes)
    return (
        f"{_count(len(summary.data), 'data set')}, "
        f"{_count(len(summary.classifiers), 'classifier')}, "
        f"{folds} {'fold' if folds == '1' else 'folds'}{' each' if len(summary.data) > 1 else ''}; "
        f"{done} of {len(summary.outcomes)} cells have a result."
    )


def _verdict(summary, measure):
    heading = _title(measure)
    ranks = summary.average_ranks(measure)
    if np.isnan(ranks).any():
        return f"{heading}: no data set has results of all classifiers to rank."
    low = ranks.min()
    best = [n for n, r in zip(summary.classifiers, ranks, strict=True) if r < low + 1e-9]
    sets = summary.ranked_data(measure)
    has = "has" if len(best) == 1 else "have"
    if len(sets) == 1:
        leads = f"{heading}: {listed(best)} {has} the best mean on {sets[0]}."
    else:
        leads = f"{heading}: {listed(best)} {has} the best average rank, {low:.2f}."
    test = summary.friedman(measure)
    if test is None:
        return f"{leads} {_too_few_sets(summary, measure)}"
    if test.f_p >= ALPHA:
        return (
            f"{leads} The ranks of all classifiers do not differ significantly ({_f_text(test)})."
        )
    leads += f" The ranks differ significantly ({_f_text(test)})."
    difference = nemenyi_difference(len(sets), len(ranks))
    worse = [n for n, r in zip(summary.classifiers, ranks, strict=True) if r - low > difference]
    if not worse:
        return f"{leads} No single classifier is significantly worse than {best[0]} (Nemenyi)."
    others = [n for n in summary.classifiers if n not in worse and n != best[0]]
    leads += f" Significantly worse than {best[0]} (Nemenyi, α = {ALPHA}): {listed(worse)}"
    return f"{leads}; not so: {listed(others)}." if others else f"{leads}."


def _shortfalls(summary, main_measures):
    """What failed and what is left out, a sentence each."""
    if summary.failures:
        cells: dict[tuple[str, str], list] = {}
        for outcome in summary.failures:
            cells.setdefault((outcome.data, outcome.classifier), []).append(outcome)
        words = [
            f"{name} on {data} ({listed(dict.fromkeys(o.status for o in group))} in "
            f"{len(group)} of {len(summary.cell(data, name))} folds)"
            for (data, name), group in cells.items()
        ]
        yield f"No result: {listed(words)}. They get the worst rank there."
    else:
        yield "Nothing failed."
    for measure in main_measures:
        left_out = [data for data in summary.data if not summary.is_comparable(measure, data)]
        if left_out:
            yield (
                f"{_title(measure)}: {listed(left_out)} "
                f"{'takes' if len(left_out) == 1 else 'take'} no part in ranks and tests over data "
                f"sets, since folds are missing or nobody has a result."
            )


def main_measure(summary, measure, control, figures):
    """The section of a main measure: table, diagram and tests."""
    blocks = [measure_table(summary, measure, control), *figures]
    if len(summary.classifiers) > 1:
        blocks += [Paragraph(_friedman_text(summary, measure))]
        if summary.friedman(measure) is not None and len(summary.classifiers) > 2:
            blocks.append(_nemenyi_table(summary, measure))
        blocks += [
            _control_table(summary, measure, control),
            _fold_table(summary, measure, control),
        ]
    return Section(measure.replace("_", "-"), _title(measure), blocks)


def other_measures(summary, main_measures, control):
    """The section with tables of all measures that are not main ones; None if there are none."""
    rest = [measure for measure in summary.shown_measures if measure not in main_measures]
    tables = [measure_table(summary, measure, control) for measure in rest]
    return Section("other-measures", "Other measures", tables) if tables else None


def measure_table(summary, measure, control):
    """Data sets × classifiers: mean ± standard deviation over folds."""
    rows: list[list[Cell]] = []
    notes: list[str] = []
    for data in summary.data:
        best = summary.best(measure, data)
        row = [Cell(data)]
        for name in summary.classifiers:
            text, mean = summary.text(measure, data, name), summary.mean(measure, data, name)
            is_partial = not np.isnan(mean) and not summary.is_complete(measure, data, name)
            row.append(
                Cell(
                    text + (" †" if is_partial else ""),
                    None if np.isnan(mean) else mean,
                    name in best,
                )
            )
            if is_partial and not notes:
                notes.append(
                    "† Not on all folds: no result in ranks, and not compared with other means."
                )
        rows.append(row)
    last_rows = []
    if len(summary.classifiers) > 1 and summary.ranked_data(measure):
        ranks = summary.average_ranks(measure)
        low = f"{min(ranks):.2f}"
        cells = [Cell(f"{rank:.2f}", rank, f"{rank:.2f}" == low) for rank in ranks]
        last_rows.append([Cell("average rank"), *cells])
    if len(summary.classifiers) > 1 and measure not in COSTS:
        for words, verdict in (
            ("means", summary.verdict_of_means),
            ("significant", summary.verdict_of_folds),
        ):
            records = [
                "" if name == control else _record(summary, measure, control, name, verdict)
                for name in summary.classifiers
            ]
            title = f"w/t/l of {control}, {words}"
            last_rows.append([Cell(title), *map(Cell, records)])
    if len(last_rows) > 1:
        notes.append(
            f"w/t/l: wins, ties and losses of {control}, by means and by significant differences "
            "over folds."
        )
    kind = "more is better" if MEASURES[measure][1] else "less is better"
    return Table(
        f"{_title(measure)} ({kind}), mean ± standard deviation over folds",
        ["data set", *summary.classifiers],
        rows,
        last_rows,
        notes,
    )


def _record(summary, measure, control, name, verdict):
    return "/".join(map(str, summary.record(measure, control, name, verdict)))


def _friedman_text(summary, measure):
    test = summary.friedman(measure)
    if test is None:
        return _too_few_sets(summary, measure)
    n_sets, n_classifiers = len(summary.ranked_data(measure)), len(summary.classifiers)
    text = (
        f"Friedman's test over {n_sets} data sets: χ² = {test.chi_square:.2f} "
        f"(p {_p_equals(test.chi_square_p)}), {_f_text(test)}. Critical differences of average "
        f"ranks at α = {ALPHA}: {nemenyi_difference(n_sets, n_classifiers):.2f} between any two "
        f"(Nemenyi), {bonferroni_dunn_difference(n_sets, n_classifiers):.2f} from a control "
        "(Bonferroni-Dunn)."
    )
    if n_classifiers == 2:
        text += " With two classifiers Wilcoxon's test below is the stronger one."
    return text


def _nemenyi_table(summary, measure):
    p_values = nemenyi_p_values(summary.average_ranks(measure), len(summary.ranked_data(measure)))
    rows = [
        [
            Cell(name),
            *(
                Cell("") if i == j else Cell(p_value_text(p), p, p < ALPHA)
                for j, p in enumerate(p_values[i])
            ),
        ]
        for i, name in enumerate(summary.classifiers)
    ]
    return Table(
        f"p-values of Nemenyi's test; bold: below {ALPHA}", ["", *summary.classifiers], rows
    )


def _control_table(summary, measure, control):
    """Every classifier against the control."""
    others = [name for name in summary.classifiers if name != control]
    ranks = dict(zip(summary.classifiers, summary.average_ranks(measure), strict=True))
    n_sets = len(summary.ranked_data(measure))
    has_test = summary.friedman(measure) is not None
    difference = bonferroni_dunn_difference(max(n_sets, 1), len(summary.classifiers))
    tests = {name: summary.set_p_value(measure, control, name) for name in others}
    tested = [name for name in others if tests[name][0] is not None]
    adjusted = dict(zip(tested, holm([tests[name][0] for name in tested]), strict=True))
    rows = []
    for name in others:
        away = ranks[name] - ranks[control]
        is_far = has_test and abs(away) > difference
        p_value, n_common = tests[name]
        rows.append(
            [
                Cell(name),
                number(ranks[name], 2),
                Cell("–") if np.isnan(away) else Cell(f"{away:+.2f}", away, bool(is_far)),
                Cell(_record(summary, measure, control, name, summary.verdict_of_means)),
                Cell(_record(summary, measure, control, name, summary.verdict_of_folds)),
                Cell(str(n_common), n_common),
                Cell(p_value_text(p_value), p_value),
                Cell(
                    p_value_text(adjusted.get(name)),
                    adjusted.get(name),
                    bool(adjusted.get(name, 1.0) < ALPHA),
                ),
            ]
        )
    notes = [
        "w/t/l: wins, ties and losses of the control. Means: to the digits shown; a result wins "
        "against none. Significant: over the folds of each data set, see below.",
        "Wilcoxon: signed ranks of the data sets on which both have a result, p-values adjusted "
        f"for their number by Holm. Bold: significant at α = {ALPHA}.",
    ]
    if has_test:
        notes.append(f"Bold rank differences exceed {difference:.2f} (Bonferroni-Dunn).")
    if not tested:
        most = max((n for _, n in tests.values()), default=0)
        notes.append(
            f"Not enough data sets for Wilcoxon's test: {most}, "
            f"at least {MINIMUM_PAIRS} are needed."
        )
    return Table(
        f"Against {control}",
        [
            "classifier",
            "average rank",
            "rank difference",
            "w/t/l, means",
            "w/t/l, significant",
            "common data sets",
            "Wilcoxon p",
            "p adjusted",
        ],
        rows,
        notes=notes,
    )


def _fold_table(summary, measure, control):
    """p-values over folds, data sets × classifiers, or a sentence why there are none."""
    others = [name for name in summary.classifiers if name != control]
    signs = {WIN: " ▲", LOSS: " ▼"}
    rows = []
    for data in summary.data:
        row = [Cell(data)]
        for name in others:
            p_value = summary.fold_p_value(measure, data, control, name)
            verdict = summary.verdict_of_folds(measure, data, control, name)
            text = p_value_text(p_value) + signs.get(verdict, "")
            row.append(Cell(text, p_value, verdict in signs))
        rows.append(row)
    if not any(cell.value is not None for row in rows for cell in row[1:]):
        if all(summary.test_to_train(data) is None for data in summary.data):
            reason = "the outcomes do not say how large their test parts are"
        else:
            reason = f"at least {MINIMUM_FOLDS} common folds are needed"
        return Paragraph(f"Not enough folds for a test on single data sets: {reason}.")
    return Table(
        f"p-values over folds, {control} against each (corrected resampled t-test)",
        ["data set", *others],
        rows,
        notes=[
            f"▲ {control} is significantly better, ▼ worse (α = {ALPHA}, each test for itself). "
            "Only folds that both have."
        ],
    )


def _too_few_sets(summary, measure):
    n_sets = len(summary.ranked_data(measure))
    return (
        f"Not enough data sets for a test over data sets: {n_sets}, at least {MINIMUM_SETS} "
        "are needed."
    )


def _f_text(test):
    return f"F = {test.f:.2f}, p {_p_equals(test.f_p)}"


def _p_equals(value):
    text = p_value_text(value)
    return text if text.startswith("<") else f"= {text}"


def _title(measure):
    heading = MEASURES[measure][0]
    return heading[0].upper() + heading[1:]


def _count(number_of, noun):
    return f"{number_of} {noun}" + ("" if number_of == 1 else "s")
