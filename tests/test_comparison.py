"""What a comparison says: its measures, its test of luck, its fairness, its table and its page."""

import csv
import io
import json
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from omegaconf import open_dict
from test_explorer import browser, data_of, run_in  # noqa: F401 (a fixture)

from nmt.alignment import Alignment
from nmt.comparison.breakdown import breakdowns, by_length
from nmt.comparison.curves import mean_curve
from nmt.comparison.existing import named_runs
from nmt.comparison.fairness import budget, fingerprint, warnings
from nmt.comparison.figures import COLOURS, colour, dashed, write_figures
from nmt.comparison.lexicon import Lexicon
from nmt.comparison.measure import attention_facts
from nmt.comparison.report import write_report
from nmt.comparison.scoring import Comparison, make_omissions, score_variants
from nmt.comparison.significance import holm, verdicts
from nmt.comparison.systems import System, Task, Training, Variant
from nmt.comparison.table import FORMATS, render, tables
from nmt.comparison.words import Omissions, f1_by_frequency, repeated, words
from nmt.config import compose
from nmt.training.run_directory import RunDirectory

WORDS = words("le la chat chien mange boit dort petit grand et ne pas Marie Paul pain lait")


def sentences(count: int = 60) -> list[str]:
    chance = random.Random(1)
    return [" ".join(chance.choices(WORDS, k=chance.randint(4, 12))) + "." for _ in range(count)]


def spoiled(seed: int, share: float) -> list[str]:
    """The references with that share of their words replaced."""
    chance = random.Random(seed)
    return [
        " ".join(chance.choice(WORDS) if chance.random() < share else word for word in line.split())
        for line in REFERENCES
    ]


REFERENCES = sentences()
SOURCES = [line.upper() for line in REFERENCES]
TASK = Task("test", SOURCES, [REFERENCES], [["all", "odd" if n % 2 else "even"] for n in range(60)])


def a_system(name: str, seed: int, share: float) -> System:
    return System(name, spoiled(seed, share))


def a_run(name: str, seed: int, share: float, **config: Any) -> System:
    metrics = [
        {"kind": "validation", "update": n, "bleu": 10.0 * n, "perplexity": 9 / n, "seconds": 60.0 * n}
        for n in (1, 2, 3)
    ]
    facts = {"parameters": 1000.0, "minutes": 3.0, "aer": 20.0 + seed}
    values = {"seed": seed, "training.max_updates": 3, **config}
    shown = {"source": ["a", name], "target": ["x", "<b>"], "weights": [[1.0, 0.0], [0.4, 0.6]]}
    matrices = [{"sentence": 3, **shown, "eos": [0.0, 0.5]}]
    return System(name, spoiled(seed, share), facts, seed, metrics, matrices, values)


def a_comparison() -> Comparison:
    dot, none = {"attention.score": "dot"}, {"attention.score": "none"}
    variants = [
        Variant("good", [a_run(f"good{seed}", seed, 0.1, **dot) for seed in (1, 2)]),
        Variant("bad & <ugly>", [a_run(f"bad{seed}", seed, 0.4, **none) for seed in (1, 2)]),
        Variant("theirs", [a_system("theirs.fr", 9, 0.1)]),
    ]
    omissions = make_omissions(TASK, Training([], Counter()))
    rows, signatures = score_variants(variants, TASK, omissions, 0)
    command = "nmt-compare attention=good,bad"
    return Comparison(TASK, rows, 0, signatures, ["a </script> warning"], ["attention"], command)


# Luck


def test_significance_is_that_of_sacrebleu(tmp_path: Path) -> None:
    systems = {"base": spoiled(1, 0.2), "near": spoiled(2, 0.22), "far": spoiled(3, 0.5)}
    for name, lines in {**systems, "references": REFERENCES}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", "references", "-i", *systems, "-m", "bleu"]
    command += ["--paired-bs", "--format", "json", "-w", "10"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    variants = [Variant(name, [System(name, lines)]) for name, lines in systems.items()]
    ours, signature = verdicts(variants, [REFERENCES], 0)
    for verdict, row in zip(ours, json.loads(done.stdout), strict=True):
        theirs = row["BLEU"]
        assert verdict.bleu == pytest.approx(theirs["score"], abs=1e-6)
        assert (verdict.low + verdict.high) / 2 == pytest.approx(theirs["mean"], abs=1e-6)
        assert (verdict.high - verdict.low) / 2 == pytest.approx(theirs["ci"], abs=1e-6)
        assert verdict.p == pytest.approx(theirs["p_value"], abs=1e-6) if verdict.p else True
    assert ours[2].significant and not ours[1].significant
    assert signature.startswith("nrefs:1|bs:1000|seed:12345|")


def test_seeds_count_alike_and_sentences_once() -> None:
    base, other = a_system("a", 1, 0.2), a_system("b", 2, 0.25)
    once, _ = verdicts([Variant("a", [base]), Variant("b", [other])], [REFERENCES], 0)
    often, _ = verdicts([Variant("a", [base] * 2), Variant("b", [other] * 3)], [REFERENCES], 0)
    for one, many in zip(once, often, strict=True):
        assert many.bleu == pytest.approx(one.bleu) and many.low == pytest.approx(one.low, abs=1e-6)
        assert many.p == one.p


def test_the_baseline_is_the_one_named() -> None:
    variants = [Variant(str(seed), [a_system("", seed, 0.2)]) for seed in (1, 2, 3)]
    found, _ = verdicts(variants, [REFERENCES], 1)
    assert [verdict.p is None for verdict in found] == [False, True, False]


def test_holm_multiplies_the_smallest_most() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0] and holm([]) == []


# Words


def test_repetitions_beyond_the_references() -> None:
    assert repeated(["un chat un chat dort"], [["un chat dort"]]) == pytest.approx(100 * 1 / 3)
    assert repeated(["un chat chat dort"], [["un chat dort"]]) == pytest.approx(100 * 2 / 3)
    assert repeated(["non non"], [["non non"]]) == 0
    assert repeated(["non non"], [["oui"], ["non non"]]) == 0


def test_omissions_are_what_only_the_reference_translates() -> None:
    pairs = [("the cat sleeps", "le chat dort"), ("the dog sleeps", "le chien dort")]
    pairs += [("the cat eats", "le chat mange"), ("a dog eats", "un chien mange")]
    lexicon = Lexicon((words(source), words(target)) for source, target in pairs)
    assert lexicon.covered(words("the cat sleeps"), words("le chat dort")) == {0, 1, 2}
    omissions = Omissions(["the cat sleeps"], ["le chat dort"], lexicon)
    assert omissions.rate(["le chat dort"]) == 0
    assert omissions.rate(["le chat"]) == pytest.approx(100 / 3)
    assert omissions.rate(["le CAT dort"]) == 0  # a copied word counts as translated
    assert omissions.rate([""]) == 100
    assert Lexicon([]).covered(["a"], ["b"]) == set()


def test_rare_words_by_their_training_frequency() -> None:
    scores = f1_by_frequency(["le chat vert"], ["le chien vert"], Counter(le=1000, vert=5))
    assert scores == [0.0, 100.0, None, None, 100.0]


def test_entropy_in_bits_and_the_share_of_the_end() -> None:
    weights = np.array([[0.2] * 4, [0.5, 0, 0, 0]])
    facts = attention_facts([Alignment.of(["a", "b", "c", "d"], ["x", "y"], weights, np.array([0.2, 0.5]))])
    assert facts["entropy"] == pytest.approx(1.0) and facts["eos_share"] == pytest.approx(35.0)
    assert attention_facts([]) == {}


# Fairness


def test_a_run_is_known_by_what_its_result_depends_on() -> None:
    config = compose("train", ["seed=1"])
    for same in ("run_dir=/x", "device=cpu", "data.cache_dir=/y", "data.test.source=/z", "seed=1"):
        assert fingerprint(compose("train", [same])) == fingerprint(config)
    for other in ("seed=2", "attention=dot", "training.max_updates=7", "data.reverse=true"):
        assert fingerprint(compose("train", [other])) != fingerprint(config)
    assert fingerprint(compose("train", ["seed=2"]), ["seed"]) == fingerprint(config, ["seed"])


def test_a_setting_newer_than_a_run_counts_with_its_default() -> None:
    old = compose("train")
    with open_dict(old):
        del old["precision"], old["search"]["length_penalty"]
    assert fingerprint(old) == fingerprint(compose("train"))


def test_unfair_comparisons_are_called_so() -> None:
    dot, none = (a_run(name, 1, 0, **{"attention.score": name}) for name in ("dot", "none"))
    fair = [Variant("dot", [dot]), Variant("none", [none])]
    assert warnings(fair, ["attention"]) == [] and warnings(fair, []) == []
    big = a_run("big", 2, 0, **{"attention.score": "none", "model.hidden_size": 9})
    assert warnings([fair[0], Variant("big", [big])], ["attention"]) == [
        "model.hidden_size differs, too: – (dot), 9 (big)",
        "not all have the same seeds (dot: 1, big: 2)",
    ]
    settings = {name: {"x._target_": f"a.{name}", f"x.{name}": 1} for name in "ABC"}
    others = [Variant(name, [a_run(name, 1, 0, **own)]) for name, own in settings.items()]
    plain = [Variant(str(number), [a_run("a", 1, 0, **{"y.z": 2})]) for number in range(3)]
    assert warnings([*others, *plain], ["attention"]) == [
        "x differs, too: A (A), B (B), C (C), – (the others)",
        "y.z differs, too: 2 (0, 1, 2), – (the others)",
    ]
    mixed = Variant("mixed", [a_run("a", 1, 0), a_run("b", 2, 0, **{"optimizer.lr": 3})])
    assert warnings([mixed], ["attention"]) == [
        "the runs of mixed differ in more than the seed: optimizer.lr: absent and 3"
    ]


def test_the_budget_is_stated_and_a_limit_of_time_is_called_unfair() -> None:
    runs = [a_run(name, 1, 0, **{"training.max_minutes": 5}) for name in ("a", "b")]
    variants = [Variant(run.name, [run]) for run in runs]
    assert budget(variants) == "budget of every run: max_updates=3, max_minutes=5"
    for run, updates in zip(runs, (20, 30), strict=True):
        run.facts["updates"] = updates
    assert warnings(variants, []) == [
        "training.max_minutes ended runs after 20 to 30 updates: set a limit in updates"
    ]
    runs[0].config["training.max_minutes"] = 6
    assert budget(variants) is None


def test_runs_that_differ_in_the_seed_are_one_variant(tmp_path: Path) -> None:
    for name, overrides in {
        "attention=dot+seed=1": ["attention=dot", "seed=1"],
        "attention=dot+seed=2": ["attention=dot", "seed=2"],
        "other": ["attention=none"],
    }.items():
        RunDirectory.create(tmp_path / name, compose("train", overrides))
    folders = [tmp_path / name for name in ("attention=dot+seed=2", "other", "attention=dot+seed=1")]
    names = [name for name, _ in named_runs(",".join(map(str, folders)))]
    assert names == ["attention=dot", "other", "attention=dot"]
    RunDirectory.create(tmp_path / "more" / "other", compose("train", ["attention=general"]))
    found = named_runs(f"{tmp_path / 'other'},{tmp_path / 'more' / 'other'}")
    assert [name for name, _ in found] == [f"{tmp_path.name}/other", "more/other"]
    found = named_runs(",".join(map(str, [*folders, tmp_path / "more" / "other"])))
    here = f"{tmp_path.name}/"
    assert [name for name, _ in found] == [
        f"{here}attention=dot",
        f"{here}other",
        f"{here}attention=dot",
        "more/other",
    ]


def test_a_folder_of_nothing_but_seeds_names_its_variant(tmp_path: Path) -> None:
    paths = [tmp_path / parent / "big" / "seed=1" for parent in ("a", "b")]
    for path, attention in zip(paths, ("coverage", "dot"), strict=True):
        RunDirectory.create(path, compose("train", [f"attention={attention}"]))
    assert [name for name, _ in named_runs(str(paths[0]))] == ["big"]
    assert [name for name, _ in named_runs(f"{paths[0]},{paths[1]}")] == ["a/big", "b/big"]


# What is shown


def test_every_format_holds_every_row() -> None:
    comparison = a_comparison()
    for format in FORMATS:
        text = render(comparison, format)
        assert "good" in text and "theirs" in text and text.endswith("\n")
    rows = list(csv.DictReader(io.StringIO(render(comparison, "csv"))))
    assert [row["name"] for row in rows] == ["good", "bad & <ugly>", "theirs"]
    assert float(rows[0]["bleu"]) > float(rows[1]["bleu"]) and rows[2]["aer"] == ""
    values = json.loads(render(comparison, "json"))
    assert values["rows"][1]["facts"]["bleu"]["values"][0] < values["rows"][0]["bleu"]
    assert r"bad \& $<$ugly$>$" in render(comparison, "latex")
    assert "warning: a </script> warning" in render(comparison, "text")


def test_columns_without_values_are_left_out() -> None:
    quality, cost = tables(a_comparison())
    heads = {*quality.head, *cost.head}
    assert {"AER %", "dropped %", "parameters"} <= heads and not {"entropy", "peak MiB"} & heads
    assert quality.rows[0][quality.head.index("AER %")] == "21.50 ± 0.71"
    assert cost.rows[2][2:] == ["–", "–"]


def test_two_axes_make_a_grid() -> None:
    comparison = a_comparison()
    for number, name in enumerate(("dot, 8", "dot, 16", "none, 8")):
        row = comparison.rows[number]
        comparison.rows[number] = row._replace(variant=row.variant._replace(name=name))
    grid = tables(comparison._replace(axes=["attention", "model.hidden_size"]))[-1]
    assert grid.head == ["attention / model.hidden_size", "8", "16"]
    assert [row[0] for row in grid.rows] == ["dot", "none"] and grid.rows[1][2] == "–"


def test_breakdowns_by_length_frequency_and_construction() -> None:
    comparison = a_comparison()
    lengths, by_frequency, by_construction = breakdowns(comparison, Counter(WORDS))
    assert lengths.buckets == ["1-10", "11-20"] and sum(lengths.sizes) == 60
    assert by_frequency.buckets == ["never", "1-9"]
    assert by_construction.buckets == ["all", "even", "odd"] and by_construction.sizes == [60, 30, 30]
    assert by_construction.means[0][0] == pytest.approx(comparison.rows[0].verdict.bleu)
    assert by_construction.deviations[2] == [None] * 3


@pytest.mark.parametrize(
    ("lengths", "sizes"),
    [
        ({5: 30, 15: 30}, {"1-10": 30, "11-20": 30}),
        ({5: 30, 15: 30, 35: 2}, {"1-10": 30, "11+": 32}),
        ({5: 3, 15: 2}, {"1+": 5}),
        ({5: 3}, {"1-10": 3}),
        ({55: 10, 5: 1}, {"1-10": 1, "11-20": 0, "21-30": 0, "31-40": 0, "41-50": 0, "51+": 10}),
        ({55: 9, 45: 1}, {"1-10": 0, "11-20": 0, "21-30": 0, "31-40": 0, "41+": 10}),
    ],
)
def test_a_few_long_sentences_make_no_bucket(lengths: dict[int, int], sizes: dict[str, int]) -> None:
    sources = [" ".join(["a"] * length) for length, count in lengths.items() for _ in range(count)]
    groups = by_length(sources)
    assert {name: len(members) for name, members in groups.items()} == sizes
    assert sorted(number for members in groups.values() for number in members) == list(range(len(sources)))


def test_figures_of_all_there_is(tmp_path: Path) -> None:
    comparison = a_comparison()
    names = write_figures(comparison, breakdowns(comparison, Counter(WORDS)), tmp_path)
    assert {"bleu", "learning-bleu", "bleu-by-source-length", "alignments"} <= set(names)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{n}.{end}" for n in names for end in ("png", "pdf")
    }


def test_no_two_variants_look_alike_and_a_curve_is_the_mean_of_its_seeds() -> None:
    assert len({(colour(number), dashed(number)) for number in range(2 * len(COLOURS))}) == 2 * len(COLOURS)
    systems = [System("", [], metrics=[validation(1, 2.0), validation(2, value)]) for value in (4.0, 6.0)]
    systems[0].metrics.append(validation(3, 9.0))  # the other has not come so far
    assert mean_curve(systems, "bleu") == [(1, 1 / 60, 2.0), (2, 2 / 60, 5.0)]
    assert mean_curve([*systems, System("", [])], "bleu") == []


def validation(update: int, bleu: float) -> dict[str, Any]:
    return {"kind": "validation", "update": update, "seconds": float(update), "bleu": bleu}


def page() -> str:
    comparison = a_comparison()
    file = io.StringIO()
    write_report(comparison, breakdowns(comparison, Counter(WORDS)), file)
    return file.getvalue()


def test_the_page_holds_everything_and_loads_nothing() -> None:
    text = page()
    data = data_of(text)
    assert data["variants"] == ["good", "bad & <ugly>", "theirs"]
    assert data["settings"] == {"attention.score": ["dot", "none", "–"]}
    assert data["sentences"]["systems"][3:] == ["bad & <ugly>, seed 2", "theirs"]
    assert [list(each["seeds"]) for each in data["curves"][0]["series"]] == [["1", "2"]] * 2
    assert not re.search(r"\b(src|href)\s*=\s*[\"']|url\(|@import|fetch\(|XMLHttpRequest", text)
    assert set(re.findall(r"https?://[^\"'\s]+", text)) == {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_in_a_browser(browser: str, tmp_path: Path, width: int) -> None:  # noqa: F811
    script = """
      result.rows = all("#scores tbody tr").length;
      result.svgs = all("svg").length;
      result.warnings = all(".warnings li").map(item => item.textContent);
      result.changes = all(".change").map(item => Number(item.textContent));
      result.coloured = all(".only-a, .only-b").length;
      set("order", 3);
      result.places = all(".sentence").slice(0, 3).map(item => /sentence ([0-9]+)/.exec(item.textContent)[1]);
      set("search", "marie");
      result.found = all(".sentence").every(item => item.textContent.toLowerCase().includes("marie"));
      result.matrices = all("#matrices figure").length;
      result.strong = all("#matrices figure:first-child td.strong").map(cell => cell.textContent);
      result.hidden = all("main > section[hidden]").length;
      result.wide = page.documentElement.scrollWidth;
    """
    result = run_in(browser, tmp_path, script, page(), width)
    assert result["rows"] == 6 and result["svgs"] == 8 and result["warnings"] == ["a </script> warning"]
    changes = [abs(change) for change in result["changes"]]
    assert changes == sorted(changes, reverse=True) and result["coloured"] > 0
    assert result["places"] == ["1", "2", "3"] and result["found"]
    assert result["matrices"] == 2 and result["strong"] == ["1", ".60"] and result["hidden"] == 0
    assert result["wide"] <= width
