# SPDX-License-Identifier: Apache-2.0
"""Tables of numbers for people: as text, or as LaTeX for a paper.

A `Table` has headings and rows of texts. A heading may have a unit, which stands below it.
"""

LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "×": r"$\times$",
        "–": "--",
        "\n": " ",
    }
)


def escaped(text):
    """Escapes text for LaTeX."""
    return str(text).translate(LATEX)


class Table:
    """`headings`: texts, or pairs of text and unit. The first `texts` columns are texts, the others numbers."""

    def __init__(self, name, headings, texts=0):
        self.name = name
        self.headings = [(one, "") if isinstance(one, str) else one for one in headings]
        self.texts = texts
        self.rows = []

    def add(self, *cells):
        assert len(cells) == len(self.headings)
        self.rows.append([" ".join(str(cell).split()) for cell in cells])

    def text(self):
        """Formats columns two spaces apart, numbers to the right, with the name above them."""
        lines = [[head for head, _ in self.headings]]
        if any(unit for _, unit in self.headings):
            lines.append([unit for _, unit in self.headings])
        lines += self.rows
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.headings))]
        shown = []
        for line in lines:
            cells = [
                cell.ljust(width) if column < self.texts else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(line, widths))
            ]
            shown.append("  ".join(cells).rstrip())
        return "\n".join(([self.name] if self.name else []) + shown)

    def latex(self):
        """Formats a tabular with the rules of the package booktabs, with the name as a comment before it."""
        columns = "l" * self.texts + "r" * (len(self.headings) - self.texts)
        heads = [escaped(f"{head} ({unit})" if unit else head) for head, unit in self.headings]
        lines = [f"% {' '.join(self.name.split())}"] if self.name else []
        lines += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", " & ".join(heads) + r" \\", r"\midrule"]
        lines += [" & ".join(map(escaped, row)) + r" \\" for row in self.rows]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def print_tables(title, tables, latex=False):
    """Prints the title, then every table; in LaTeX the title is a comment."""
    if latex:
        print(f"% {title}\n% \\usepackage{{booktabs}}")
    else:
        print(title)
    for table in tables:
        print()
        print(table.latex() if latex else table.text())
