r"""Tables in LaTeX; they need the packages booktabs and, if wide, graphicx."""

MOST_COLUMNS = 6  # a table with more is shrunk to the width of the text

SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "±": r"$\pm$",
    "–": "--",
    "†": r"\dag{}",
}


def escape(text):
    """Text that LaTeX prints as it is."""
    return "".join(SIGNS.get(sign, sign) for sign in text)


def as_latex(table, label):
    """A table of the report as a floating one."""
    columns = "".join("l" if i in table.words else "r" for i in range(len(table.heading)))
    is_wide = len(table.heading) > MOST_COLUMNS
    lines = [
        "% needs booktabs and graphicx" if is_wide else "% needs booktabs",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape(table.caption)}}}",
        rf"\label{{tab:{label}}}",
        *([r"\resizebox{\linewidth}{!}{%"] if is_wide else []),
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _line(map(escape, table.heading)),
        r"\midrule",
        *(_line(map(_cell, row)) for row in table.rows),
    ]
    if table.last_rows:
        lines += [r"\midrule", *(_line(map(_cell, row)) for row in table.last_rows)]
    lines += [r"\bottomrule", r"\end{tabular}" + ("}" if is_wide else "")]
    lines += [rf"\par\smallskip\footnotesize {escape(note)}" for note in table.notes]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _line(cells):
    return " & ".join(cells) + r" \\"


def _cell(cell):
    mean, sign, spread = cell.text.partition(" ± ")
    text = rf"\textbf{{{escape(mean)}}}" if cell.best else escape(mean)
    return text + (rf" $\pm$ {escape(spread)}" if sign else "")
