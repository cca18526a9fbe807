"""The table of a comparison: a row a variant, what was measured of it, and how to read that.

One table holds what translations are worth and how the attention behaves, another one what they cost.
"""

import csv
import io
import json
from typing import Any, NamedTuple

from nmt.comparison.fairness import budget
from nmt.comparison.scoring import Comparison, Scored
from nmt.comparison.significance import LEVEL

_NOTHING = "–"
FORMATS = {"text": "txt", "markdown": "md", "csv": "csv", "json": "json", "latex": "tex"}  # and file endings


class Column(NamedTuple):
    """What is shown of a fact: its key, its title with the unit, and decimals."""

    key: str
    title: str
    digits: int


QUALITY = (
    Column("bleu", "BLEU", 2),
    Column("interval", "95 % interval", 1),
    Column("p", "p", 3),
    Column("bleu_multi30k", "BLEU (Multi30k)", 2),
    Column("chrf", "chrF", 2),
    Column("perplexity", "dev ppl", 2),
    Column("aer", "AER %", 2),
    Column("entropy", "entropy", 2),
    Column("eos_share", "on </s> %", 1),
    Column("repeated", "repeated %", 2),
    Column("dropped", "dropped %", 2),
)
COSTS = (
    Column("parameters", "parameters", 0),
    Column("updates", "updates", 0),
    Column("minutes", "min to best", 1),
    Column("tokens_per_second", "train tokens/s", 0),
    Column("sentences_per_second", "sentences/s", 1),
    Column("peak_memory", "peak MiB", 0),
)
_MEANINGS = {
    "perplexity": "dev ppl: perplexity a target piece, on dev, of the checkpoint that translates",
    "aer": "AER: of each reference word's strongest source word, against the gold links",
    "entropy": "entropy: of the attention of a reference word to the source words, mean, in bits",
    "eos_share": "on </s>: share of attention on the source's end of sentence",
    "repeated": "repeated: repetitions beyond the reference's, in percent of its words (after the REP-score "
    "of Malaviya et al. 2018)",
    "dropped": "dropped: source words that the reference translates and the system does not, by one lexicon "
    "for all (IBM model 1; after the DROP-score of Malaviya et al. 2018)",
    "minutes": "min to best: minutes of training, validations included, until the checkpoint that translates",
    "tokens_per_second": "train tokens/s: target tokens, median of the log",
    "sentences_per_second": "sentences/s: translated with the run's own beam",
    "peak_memory": "peak MiB: largest resident memory of the training process",
}


class Table(NamedTuple):
    """Strings: a title, titles of columns, rows of cells."""

    title: str
    head: list[str]
    rows: list[list[str]]


def tables(comparison: Comparison) -> list[Table]:
    """Both tables, each without the columns that nobody has a value for."""
    first = ", ".join(comparison.axes) or "system"
    made = []
    for title, columns in (("Quality", QUALITY), ("Cost", COSTS)):
        kept = [
            column for column in columns if any(_cell(row, column) != _NOTHING for row in comparison.rows)
        ]
        if kept:
            head = [first, "seeds", *(column.title for column in kept)]
            rows = [
                [row.variant.name, str(len(row.variant.systems)), *(_cell(row, column) for column in kept)]
                for row in comparison.rows
            ]
            made.append(Table(title, head, rows))
    if len(comparison.axes) == 2:
        made.append(_grid(comparison))
    return made


def _grid(comparison: Comparison) -> Table:
    """BLEU by the values of two axes: the first one's are rows, the second one's columns."""
    cells = {tuple(row.variant.name.split(", ", 1)): _cell(row, QUALITY[0]) for row in comparison.rows}
    keys = [key for key in cells if len(key) == 2]
    firsts, seconds = (list(dict.fromkeys(key[place] for key in keys)) for place in (0, 1))
    head = [" / ".join(comparison.axes), *seconds]
    rows = [[first, *(cells.get((first, second), _NOTHING) for second in seconds)] for first in firsts]
    return Table("BLEU of the grid", head, rows)


def _cell(row: Scored, column: Column) -> str:
    verdict = row.verdict
    if column.key == "interval":
        return f"{verdict.low:.{column.digits}f}-{verdict.high:.{column.digits}f}"
    if column.key == "p":
        return (
            _NOTHING
            if verdict.p_holm is None
            else f"{verdict.p_holm:.3f}{'*' if verdict.significant else ''}"
        )
    if column.key not in row.facts:
        return _NOTHING
    spread = row.facts[column.key]
    text = f"{spread.mean:,.{column.digits}f}"
    if spread.deviation is None or (column.digits == 0 and not spread.deviation):
        return text
    return f"{text} ± {spread.deviation:,.{column.digits}f}"


def notes(comparison: Comparison) -> list[str]:
    """How to read the tables: one line a remark; signatures and warnings last."""
    baseline = comparison.rows[comparison.baseline].variant.name
    several = any(len(row.variant.systems) > 1 for row in comparison.rows)
    shown = {key for row in comparison.rows for key in row.facts}
    lines = []
    if several:
        lines.append("x ± y: mean and standard deviation over seeds")
    if len(comparison.rows) > 1:
        lines.append(
            f"p: two-sided paired bootstrap of BLEU against {baseline}, corrected for "
            f"{_count(len(comparison.rows) - 1)} by Holm's method; * below {LEVEL}"
        )
    lines.append("95 % interval and p: test sentences drawn anew 1000 times, the same for all")
    if several:
        lines[-1] += (
            "; BLEU is the mean of the seeds', so that they speak of other sentences, not other seeds"
        )
    stated = budget([row.variant for row in comparison.rows])
    lines += [] if stated is None else [stated]
    lines += [meaning for key, meaning in _MEANINGS.items() if key in shown]
    lines += [f"{name}: {signature}" for name, signature in comparison.signatures.items()]
    return [*lines, *(f"warning: {warning}" for warning in comparison.warnings)]


def _count(number: int) -> str:
    return f"{number} comparison" + ("s" if number != 1 else "")


def render(comparison: Comparison, format: str) -> str:
    """The table in one of `FORMATS`."""
    return {"text": _text, "markdown": _markdown, "csv": _csv, "json": _json, "latex": _latex}[format](
        comparison
    )


def _text(comparison: Comparison) -> str:
    parts = []
    for table in tables(comparison):
        widths = [max(map(len, column)) for column in zip(table.head, *table.rows, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if number == 0 else cell.rjust(width)
                for number, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in [table.head, *table.rows]
        ]
        parts.append("\n".join([lines[0], "-" * len(lines[0]), *lines[1:]]))
    return "\n\n".join([*parts, "\n".join(notes(comparison))]) + "\n"


def _markdown(comparison: Comparison) -> str:
    parts = []
    for table in tables(comparison):
        rule = ["---", *["---:"] * (len(table.head) - 1)]
        rows = [table.head, rule, *table.rows]
        parts.append(
            "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in rows)
        )
    lines = "\n".join(
        f"- {note.replace('</s>', '`</s>`').replace('*', chr(92) + '*')}" for note in notes(comparison)
    )
    return "\n\n".join([*parts, lines]).replace("on </s> %", "on `</s>` %") + "\n"


def _latex(comparison: Comparison) -> str:
    parts = []
    for table in tables(comparison):
        rows = [" & ".join(map(_tex, row)) + r" \\" for row in [table.head, *table.rows]]
        body = "\n".join([r"\toprule", rows[0], r"\midrule", *rows[1:], r"\bottomrule"])
        parts.append(f"\\begin{{tabular}}{{l{'r' * (len(table.head) - 1)}}}\n{body}\n\\end{{tabular}}")
    comments = "\n".join(f"% {note}" for note in notes(comparison))
    return "% needs \\usepackage{booktabs}\n" + "\n\n".join([*parts, comments]) + "\n"


_TEX = {
    "\\": r"\textbackslash{}",
    "±": r"$\pm$",
    "–": "--",
    "<": "$<$",
    ">": "$>$",
    "~": r"\textasciitilde{}",
}
_TEX |= {"^": r"\textasciicircum{}", **{character: f"\\{character}" for character in "&%$#_{}"}}


def _tex(cell: str) -> str:
    return "".join(_TEX.get(character, character) for character in cell)


def _csv(comparison: Comparison) -> str:
    """One row a variant; of each fact its mean and deviation, unrounded."""
    keys = [c.key for c in (*QUALITY, *COSTS) if any(c.key in row.facts for row in comparison.rows)]
    head = ["name", "seeds", "bleu_low", "bleu_high", "p", "p_holm"]
    head += [name for key in keys for name in (key, f"{key}_deviation")]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(head)
    for row in comparison.rows:
        verdict = row.verdict
        cells: list[Any] = [row.variant.name, len(row.variant.systems)]
        cells += [verdict.low, verdict.high, verdict.p, verdict.p_holm]
        for key in keys:
            spread = row.facts.get(key)
            cells += [None, None] if spread is None else [spread.mean, spread.deviation]
        writer.writerow(["" if cell is None else cell for cell in cells])
    return stream.getvalue()


def _json(comparison: Comparison) -> str:
    rows = [
        {
            "name": row.variant.name,
            **row.verdict._asdict(),
            "facts": {
                key: {"mean": spread.mean, "deviation": spread.deviation, "values": spread.values}
                for key, spread in row.facts.items()
            },
            "systems": [{"name": system.name, "seed": system.seed} for system in row.variant.systems],
        }
        for row in comparison.rows
    ]
    content = {
        "command": comparison.command,
        "task": comparison.task.name,
        "axes": comparison.axes,
        "baseline": comparison.rows[comparison.baseline].variant.name,
        "correction": "Holm",
        "rows": rows,
        "signatures": comparison.signatures,
        "warnings": comparison.warnings,
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"
