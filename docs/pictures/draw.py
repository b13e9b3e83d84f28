# SPDX-License-Identifier: BSD-3-Clause
"""Draws the pictures of docs/generated/pictures/ from what this program records.

    draw.py          records the exchange and the output of the commands, and draws them
    draw.py --check  records them again, and compares them with the stored ones

Drawing requires NumPy, PyTorch and rich, besides dlbridge. --check requires no rich. With
--without torch it leaves out what depends on PyTorch.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import badges
import exchange
import recordings
import svg

FOLDER = Path(__file__).resolve().parents[1] / "generated" / "pictures"
STORED = FOLDER / "exchange.json"


def compare(name: str, stored: Any, found: Any) -> bool:
    if stored == found:
        print(f"{name}: as recorded")
        return True
    print(f"{name}: run `python3 noxfile.py pictures`. Stored:\n{stored}\nNow:\n{found}")
    return False


def check(without: list[str]) -> bool:
    record = json.loads(STORED.read_text())
    same = True
    for name, text in badges.draw().items():
        same &= compare(name, (FOLDER / name).read_text(), text)
    for theme in svg.THEMES:  # drawn of the stored record
        for name, text in exchange.draw(record, theme).items():
            file = FOLDER / f"{name}-{theme}.svg"
            same &= compare(file.name, file.read_text(), text)
        for name, recorded in recordings.fixed().items():
            stored = svg.description(FOLDER / f"{name}-{theme}.svg")
            same &= compare(f"{name}-{theme}.svg", stored, recorded.plain)
    if "torch" in without:
        print("left out: exchange.json and inspect, which need torch")
        return same
    same &= compare(
        STORED.name, exchange.comparable(record), exchange.comparable(exchange.record())
    )
    found = recordings.inspect().plain
    for theme in svg.THEMES:
        stored = svg.description(FOLDER / f"inspect-{theme}.svg")
        same &= compare(f"inspect-{theme}.svg", stored, found)
    return same


def draw() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    record = exchange.record()
    STORED.write_text(json.dumps(record, indent=1) + "\n")
    for name, text in badges.draw().items():
        (FOLDER / name).write_text(text)
    recorded = {**recordings.fixed(), "inspect": recordings.inspect()}
    for theme in svg.THEMES:
        pictures = exchange.draw(record, theme)
        pictures.update({name: each.svg(theme) for name, each in recorded.items()})
        for name, text in pictures.items():
            (FOLDER / f"{name}-{theme}.svg").write_text(text)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--without", action="append", default=[], metavar="NAME")
    options = parser.parse_args()
    if options.check:
        return int(not check(options.without))
    draw()
    return 0


if __name__ == "__main__":
    sys.exit(main())
