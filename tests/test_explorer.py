"""The explorer page: what it holds, and how it behaves in a browser without a display."""

import base64
import html
import io
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt.alignment import Alignment
from nmt.alignment.explorer import Explored, write_explorer
from nmt.alignment.formats import write_alignments
from nmt.data.links import parse_links
from nmt.errors import NMTError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SOURCE, TARGET = ["I", "love", "you", "."], ["je", "t'", "aime", "."]
MATRIX = np.array([[0.9, 0, 0.1, 0], [0.2, 0.5, 0.3, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
OTHER = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1.0]])
GOLD = [parse_links(line) for line in ("0-0 2-1 1-2 3-3", "0-0 1?1")]


def alignments(matrix: np.ndarray, eos: float = 0.0) -> list[Alignment]:
    second = Alignment.of(["</script>", "مرحبا"], ["<b>", "你好"], np.eye(2), np.full(2, eos))
    return [Alignment.of(SOURCE, TARGET, matrix), second]


def page(gold: bool = True) -> str:
    runs = [
        Explored(name, [""], ([each] for each in alignments(matrix, 0.5)))
        for name, matrix in (("mine", MATRIX), ("other", OTHER))
    ]
    file = io.StringIO()
    write_explorer(runs, GOLD if gold else None, file)
    return file.getvalue()


def data_of(text: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_the_page_holds_words_weights_links_and_gold() -> None:
    data = data_of(page())
    assert data["views"] == ["mine", "other"] and data["gold"]
    first, second = data["pairs"]
    assert (first["source"], first["target"]) == (SOURCE, TARGET)
    weights, _, links = first["matrices"][0]
    found = np.frombuffer(base64.b64decode(weights), dtype=np.uint8).reshape(4, 4) / 255
    assert np.allclose(found, MATRIX, atol=0.5 / 255)
    assert links == [0, 0, 1, 1, 1, 2, 3, 3]
    assert second["gold"] == [[0, 0], [1, 1]] and second["source"][0] == "</script>"


def test_the_page_loads_nothing() -> None:
    text = page()
    assert not re.search(r"(src|href)\s*=|url\(|@import|fetch\(|XMLHttpRequest", text)
    assert [address for address in re.findall(r"https?://[^\"'\s]+", text)] == [
        "http://www.w3.org/2000/svg"
    ] * 2


def test_a_thousand_pairs_stay_small() -> None:
    random = np.random.default_rng(1)
    words = [f"word{number}" for number in range(20)]
    many = (Alignment.of(words, words, random.random((20, 20))) for _ in range(1000))
    stream = io.StringIO()
    write_explorer([Explored("", [""], ([each] for each in many))], None, stream)
    assert len(stream.getvalue()) < 1.5e6


def test_runs_must_agree_on_the_words() -> None:
    other = Alignment.of(["I"], ["je"], np.ones((1, 1)))
    runs = [Explored("a", [""], [[alignments(MATRIX)[0]]]), Explored("b", [""], [[other]])]
    with pytest.raises(NMTError, match="sentence pair 1: a and b split it into other words"):
        write_explorer(runs, None, io.StringIO())


def test_the_format_html_writes_the_page(tmp_path: Path) -> None:
    write_alignments(alignments(MATRIX), "html", tmp_path / "a.html", io.StringIO())
    data = data_of((tmp_path / "a.html").read_text(encoding="utf-8"))
    assert data["views"] == ["alignment"] and not data["gold"] and len(data["pairs"]) == 2


# In a browser


@pytest.fixture(scope="module")
def browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"needs a browser: none of {', '.join(BROWSERS)} is installed")
    return found


_FRAME = """<body style="margin:0">
<iframe id="frame" style="border:0;width:WIDTHpx;height:900px" srcdoc="PAGE"></iframe>
<pre id="result"></pre><script>
document.getElementById("frame").onload = event => {
  const window_ = event.target.contentWindow, page = window_.document, result = {};
  const all = selector => [...page.querySelectorAll(selector)];
  const press = (key, target) => (target || page.activeElement || page.body).dispatchEvent(
    new window_.KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const point = element => element.dispatchEvent(new window_.PointerEvent("pointerenter"));
  const set = (id, value) => { const field = page.getElementById(id); field.value = value;
    field.dispatchEvent(new window_.Event(field.tagName === "SELECT" ? "change" : "input")); };
  const pairs = () => all("#list li").map(item => item.dataset.pair);
  try { SCRIPT } catch (error) { result.error = String(error); }
  document.getElementById("result").textContent = JSON.stringify(result);
};
</script></body>"""


def run_in(browser: str, folder: Path, script: str, text: str, width: int = 1280) -> dict[str, Any]:
    """What `script` puts into `result`, in a page `text` of `width` pixels opened from a file."""
    frame = _FRAME.replace("WIDTH", str(width)).replace("SCRIPT", script).replace("PAGE", html.escape(text))
    path = folder / "frame.html"
    path.write_text(frame, encoding="utf-8")
    command = [
        browser,
        "--headless",
        "--disable-gpu",
        "--no-sandbox",
        f"--user-data-dir={folder / 'profile'}",
    ]
    command += ["--virtual-time-budget=5000", "--window-size=1400,1000", "--dump-dom", path.as_uri()]
    environment = os.environ | {"HOME": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    found = re.search(r'<pre id="result">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found is not None and found[1], done.stderr[-2000:]
    result = json.loads(html.unescape(found[1]))
    assert "error" not in result, result
    return result


def test_words_show_their_links_and_weights(browser: str, tmp_path: Path) -> None:
    script = """
      result.options = all("#first option").map(option => option.text);
      result.panels = all("#panels section").length;
      result.sentences = all("#list .text").map(text => text.textContent);
      point(all('.word[data-side="target"]')[1]);
      result.detail = all(".detail").map(detail => detail.textContent);
      result.active = all("#panels section:first-child .word.active").map(word => word.textContent);
      result.lines = all("#panels section:first-child line").length;
      point(all('.word[data-side="source"]')[1]);
      result.back = all(".detail")[0].textContent;
      const linked = all("#panels section:first-child td.link");
      result.cells = linked.map(cell => cell.dataset.s + "-" + cell.dataset.t);
      result.sure = all("#panels section:first-child td.sure").length;
      result.title = all("#panels h2")[0].textContent;
    """
    result = run_in(browser, tmp_path, script, page())
    assert result["options"] == ["mine", "other"] and result["panels"] == 2
    assert result["sentences"] == ["I love you .je t' aime .", "</script> مرحبا<b> 你好"]
    assert result["detail"] == ["t' looks at love .50, you .30, I .20", "t' looks at you 1.0"]
    assert result["active"] == ["t'"] and result["lines"] == 4
    assert result["back"] == "love is looked at by aime 1.0, t' .50"
    assert sorted(result["cells"]) == ["0-0", "1-1", "1-2", "3-3"] and result["sure"] == 4
    assert result["title"].startswith("mine 2 errors, entropy ")


def test_the_keyboard_reaches_everything(browser: str, tmp_path: Path) -> None:
    script = """
      press("ArrowDown", page.body);
      result.chosen = all('#list li[aria-selected="true"]').map(item => item.dataset.pair);
      press("k", page.body);
      press("ArrowRight", page.body);
      press("ArrowRight");
      result.word = page.activeElement.textContent;
      result.detail = all(".detail")[0].textContent;
      page.activeElement.closest("section").querySelectorAll('.word[data-side="source"]')[1].focus();
      press("Tab");
      result.side = page.activeElement.dataset.side;
      press("v", page.body);
      result.first = page.getElementById("first").value;
      press("c", page.body);
      result.panels = all("#panels section").length;
      press("/", page.body);
      result.focus = page.activeElement.id;
    """
    result = run_in(browser, tmp_path, script, page())
    assert result["chosen"] == ["1"]
    assert result["word"] == "t'" and result["detail"].startswith("t' looks at love .50")
    assert result["side"] == "target" and result["first"] == "1"
    assert result["panels"] == 1 and result["focus"] == "search"


def test_sentences_are_ordered_and_filtered(browser: str, tmp_path: Path) -> None:
    script = """
      result.measures = all("#measure option").map(option => option.value);
      set("measure", "errors"); result.errors = pairs();
      set("least", "1"); result.wrong = pairs();
      set("measure", "differences"); result.different = pairs();
      set("measure", "entropy"); set("least", "0"); result.entropy = pairs();
      set("search", "AIME"); result.found = pairs();
      set("search", "nowhere"); result.none = pairs();
    """
    result = run_in(browser, tmp_path, script, page())
    assert result["measures"] == ["order", "entropy", "errors", "differences"]
    assert result["errors"] == ["0", "1"] and result["wrong"] == result["different"] == ["0"]
    assert result["entropy"] == ["0", "1"] and result["found"] == ["0"] and result["none"] == []
    measures = 'result.measures = all("#measure option").map(option => option.value);'
    assert run_in(browser, tmp_path, measures, page(gold=False))["measures"] == [
        "order",
        "entropy",
        "differences",
    ]


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_window(browser: str, tmp_path: Path, width: int) -> None:
    words = [f"unforgettable{number}" for number in range(40)]
    file = io.StringIO()
    wide = Alignment.of(words, words, np.eye(40))
    write_explorer([Explored(name, [""], [[wide]]) for name in "ab"], None, file)
    script = """
      result.page = page.documentElement.scrollWidth;
      result.sections = all("section").map(section => section.getBoundingClientRect().right);
      result.columns = new Set(all("section").map(section => section.getBoundingClientRect().left)).size;
      const size = each => parseFloat(window_.getComputedStyle(each).fontSize);
      result.font = Math.min(...all("td, .word, th, li").map(size));
    """
    result = run_in(browser, tmp_path, script, file.getvalue(), width)
    assert result["page"] <= width and max(result["sections"]) <= width
    assert result["columns"] == (2 if width == 1280 else 1), "side by side, or below each other"
    assert result["font"] >= 12
