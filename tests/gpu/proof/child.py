# SPDX-License-Identifier: BSD-3-Clause
"""The child process of one check: python -m proof.child MODULE NAME FILE.

It writes the result to the file, so what the check prints does no harm.
"""

from __future__ import annotations

import importlib
import json
import sys
import traceback
from pathlib import Path
from typing import Any

from proof.driver import races
from proof.registry import CHECKS, Failed, Skipped, require
from proof.results import FAILED, PASSED, SKIPPED

MOST = 400  # characters of a reason


def one_line(text: str) -> str:
    return " ".join(text.split())[:MOST]


def main(module: str, name: str, file: str) -> None:
    importlib.import_module(module)
    answer: dict[str, Any] = {"outcome": PASSED, "reason": "", "figures": None}
    try:
        answer["figures"] = CHECKS[name].run()
        if not CHECKS[name].races:
            require(not races(), f"a race: {'; '.join(races())}")
    except Skipped as error:
        answer.update(outcome=SKIPPED, reason=one_line(str(error)))
    except Failed as error:
        answer.update(outcome=FAILED, reason=one_line(str(error)))
    except BaseException as error:
        traceback.print_exc()
        answer.update(outcome=FAILED, reason=one_line(f"{type(error).__name__}: {error}"))
    finished = Path(file).with_suffix(".part")
    finished.write_text(json.dumps(answer, default=str))
    finished.rename(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
