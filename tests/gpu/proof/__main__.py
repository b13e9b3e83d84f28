# SPDX-License-Identifier: BSD-3-Clause
"""Runs the checks and prints a line of JSON for each, then the table.

    python -m proof [--only NAME ...] [--seconds 540] [--json FILE] [--write]

The exit status is 1 if a check fails, and 2 without a driver.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from proof import driver, results, runner
from proof.registry import CHECKS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "generated" / "gpu.md"
MODULE = "proof.checks"


def write(outcomes: Sequence[results.Result], key: str, page: Path) -> None:
    """Writes the page, and the results beside it; those of other checks and drivers stay."""
    kept = page.with_suffix(".json")
    content = json.loads(kept.read_text()) if kept.exists() else {}
    rows = results.stored(outcomes, measured=key == "gpu")  # simulated times mean nothing
    new = {**content.get(key, {}), **rows}
    content[key] = {name: new[name] for name in CHECKS if name in new}
    content.setdefault("made", {})[key] = {
        "date": time.strftime("%Y-%m-%d"),
        "commit": os.environ.get("DLBRIDGE_COMMIT", "unknown"),  # set by noxfile.py
    }
    kept.write_text(json.dumps(content, indent=1) + "\n")
    page.write_text(results.page(CHECKS, content))


def is_up_to_date(page: Path) -> bool:
    """Whether the page has what the list of checks and the stored results give."""
    kept = page.with_suffix(".json")
    content = json.loads(kept.read_text()) if kept.exists() else {}
    return page.exists() and page.read_text() == results.page(CHECKS, content)


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python3 noxfile.py gpu --",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="run these checks only")
    parser.add_argument("--list", action="store_true", help="list the checks, and run none")
    parser.add_argument("--seconds", type=float, default=540, help="for all checks (default: 540)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the lines to a file too")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name} with the results")
    parser.add_argument("--check", action="store_true", help=f"compare {PAGE.name}, and run none")
    parser.add_argument("--page", type=Path, default=PAGE, help=argparse.SUPPRESS)
    parser.add_argument("--module", default=MODULE, help=argparse.SUPPRESS)  # for tests
    return parser.parse_args(arguments)


def run(chosen: argparse.Namespace, simulated: bool) -> int:
    unknown = sorted(set(chosen.only or ()) - set(CHECKS))
    if unknown:
        sys.exit(f"there is no check {', '.join(unknown)}; --list lists the checks")
    wanted = [each for each in CHECKS.values() if not chosen.only or each.name in chosen.only]
    outcomes = []
    for result in runner.run(chosen.module, wanted, seconds=chosen.seconds, simulated=simulated):
        print(result.line(), flush=True)
        outcomes.append(result)
        if chosen.json:  # each time, because a later check may stop the machine
            chosen.json.write_text("".join(f"{each.line()}\n" for each in outcomes))
    key, name = ("simulated", "Simulated driver") if simulated else ("gpu", "GPU")
    rows = {each.name: each for each in wanted}
    print(f"\n{results.table(rows, {name: results.stored(outcomes)})}\n")
    if chosen.write:
        write(outcomes, key, chosen.page)
    unexpected = [each for each in outcomes if not each.is_as_expected]
    print(results.counts(outcomes))
    for each in unexpected:
        why = f"passes, though it is marked: {each.defect}" if each.defect else each.reason
        print(f"unexpected: {each.name}: {why}")
    return 1 if unexpected else 0


def main(arguments: Sequence[str]) -> int:
    chosen = options(arguments)
    importlib.import_module(chosen.module)
    if chosen.list:
        print(results.table(CHECKS, {}))
        return 0
    if chosen.check:
        if not is_up_to_date(chosen.page):
            command = "python3 noxfile.py gpu -- --simulated --write"
            print(f"{chosen.page.name} is out of date: run `{command}`")
            return 1
        return 0
    library = driver.load()
    if library is None:
        print(f"there is no CUDA driver: {driver.LIBRARY} cannot be loaded. On a machine without a "
              "GPU, run `python3 noxfile.py gpu -- --simulated`", file=sys.stderr)  # fmt: skip
        return 2
    return run(chosen, driver.is_simulated(library))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
