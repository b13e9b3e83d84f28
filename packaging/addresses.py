# SPDX-License-Identifier: BSD-3-Clause
"""The addresses of the project, which all follow from `repository-code` in CITATION.cff.

    addresses.py           checks that each pyproject.toml names them
    addresses.py --write   writes them there

pyproject.toml has no variables. The forms below are those of GitHub, whose workflows this
repository has.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
PROJECTS = [f"{folder}pyproject.toml" for folder in ("", "packaging/headers/", "packaging/tools/")]
FORMS = {
    "Source": "{0}",
    "Documentation": "{0}/tree/main/docs",
    "Changelog": "{0}/blob/main/CHANGELOG.md",
    "Issues": "{0}/issues",
}
TABLE = re.compile(r"(?<=^\[project\.urls\]\n)([\w\"]+ = .*\n)*", re.MULTILINE)


def main() -> int:
    citation = (CHECKOUT / "CITATION.cff").read_text()
    (repository,) = re.findall(r'^repository-code: "(.+)"$', citation, re.MULTILINE)
    lines = "".join(f'{name} = "{form.format(repository)}"\n' for name, form in FORMS.items())
    outdated = []
    for path in (CHECKOUT / name for name in PROJECTS):
        former = path.read_text()
        if former == (text := TABLE.sub(lambda _: lines, former)):
            continue
        outdated.append(path)
        if "--write" in sys.argv:
            path.write_text(text)
    if outdated and "--write" not in sys.argv:
        print("outdated, run packaging/addresses.py --write:", *outdated)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
