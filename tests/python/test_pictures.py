"""Every paper's pictures against a text: panels, titles, axes, curves, legends.

`python tests/python/test_pictures.py` writes the texts anew; read the difference before you commit
it, beside the pictures of `incastle reproduce --quick`.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from incastle.plotting.style import canvas
from incastle.reproduction.papers import Length
from structure import structure
from synthetic import observations
from synthetic_papers import MADE_UP
from test_papers import SHIPPED, of_each

if TYPE_CHECKING:
    from incastle.reproduction.papers import Paper

EXPECTED = Path(__file__).parent / "expected"


def shown(paper: Paper) -> str:
    """Give what each figure of a paper shows of made-up runs."""
    made = observations(paper, Length.QUICK, MADE_UP[paper.name])
    lines: list[str] = []
    for one in paper.figures:
        with canvas() as figure, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # equal values give an axis no extent
            one.draw(figure, one.data(made))
            lines += ["", f"{one.kind} {one.number}", *structure(figure)]
    return "\n".join([paper.name, *lines, ""])


@of_each(SHIPPED)
def test_pictures_show_what_was_expected(paper: Paper) -> None:
    expected = (EXPECTED / f"{paper.name}-pictures.txt").read_text(encoding="utf-8")
    assert shown(paper).splitlines() == expected.splitlines()


def update() -> None:
    """Write the expected texts anew."""
    for paper in SHIPPED:
        (EXPECTED / f"{paper.name}-pictures.txt").write_text(shown(paper), encoding="utf-8")


if __name__ == "__main__":
    update()
