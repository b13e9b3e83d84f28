# SPDX-License-Identifier: BSD-3-Clause
"""Writes the address of the repository into all files, and replaces what they say before a release.

    first_release.py            checks that every text below is where it should be
    first_release.py ADDRESS    writes, such as https://github.com/OWNER/dlbridge; removes itself

It runs once, before the first release: docs/contributing/releasing.md.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
PLACEHOLDER = "https://repository.invalid/dlbridge"
COMMENT = "# No package index has dlbridge-headers yet: pip needs --find-links and a folder with its wheel.\n"
FOLDER = (
    " It is not on a package index yet: pip needs [a folder of wheels]({}#wheels-from-a-checkout)."
)
HOOK = re.compile(r"      - id: first-release\n(?:        .*\n)+")
OF_WHEELS = "pip install --find-links wheels "

# For each file, what it says now, and what it says from the first release on.
TEXTS: dict[str, dict[str, str]] = {
    "README.md": {
        "There is no release on a package index yet. From a checkout:\n\n```sh\npip install .                #":
            "```sh\npip install dlbridge         #",
        "\n# or the C++ library alone, for find_package(dlbridge)\n":
            "\n# or the C++ library alone, for find_package(dlbridge), from a checkout\n",
        "CPython 3.9 or newer, a C++17 compiler for\nthe installation, and no other package.":
            "CPython 3.9 or newer,\nand no other package.",
    },
    "SECURITY.md": {
        "There is no release yet. Fixes go to the `main` branch only.":
            "The latest minor version receives fixes.",
    },
    "CHANGELOG.md": {
        "Nothing has been released yet. This section becomes the notes of 0.1.0. C++ array": "C++ array",
    },
    "CITATION.cff": {
        "The one line that names the address of the project, which is not hosted yet. After":
            "The one line that names the address of the project. After",
    },
    "pyproject.toml": {
        "  # tested with 3.13; no release yet": "  # tested with 3.13",
        '"packaging/first_release.py" = ["E501"]  # texts of other files\n': "",
    },
    "docs/howto/builds.md": {
        FOLDER.format(""): "",
        " `dlbridge-headers` comes from [a folder of wheels](#wheels-from-a-checkout).": "",
        "dlbridge is not on a package index yet, so a package of the name `dlbridge-headers` there is another"
        " project. Make a folder of wheels from a checkout, and name it to pip:":
            "To build with a state of the repository that is not released, make a folder of wheels from a"
            " checkout, and name it to pip:",
        " To exclude another project of that name, install": " To exclude those of the index, install",
    },
    "docs/howto/ci.md": {
        "No package index has `dlbridge-tools` yet, and a package of this name there would be another project."
        " Install it from a checkout, which takes seconds:\n\n```sh\npython -m pip install ./dlbridge/packaging/tools\n":
            "```sh\npython -m pip install dlbridge-tools\n",
    },
    "docs/howto/cython.md": {FOLDER.format("builds.md"): ""},
    "docs/howto/nanobind.md": {
        ", which comes from [a folder of wheels](builds.md#wheels-from-a-checkout):": ":",
    },
    "docs/tutorials/array_library.md": {
        "with pip, which takes dlbridge's headers from a wheel of the checkout. The": "with pip. The",
        "pip wheel --no-deps --wheel-dir wheels ../../packaging/headers\npip install --find-links wheels .":
            "pip install .",
    },
    "docs/tutorials/first_exchange.md": {
        "You need git, Python 3.9 or newer, and a C++17 compiler, such as g++ 11 or newer.":
            "You need Python 3.9 or newer.",
        "There is no release yet, so pip builds dlbridge from a checkout. Where you have a wheel,"
        " [install it](../howto/builds.md#the-files-of-a-release) in place of `.`:\n\n```sh\n"
        f"git clone {PLACEHOLDER} dlbridge\ncd dlbridge\npython3 -m": "```sh\npython3 -m",
        "pip install . numpy\n": "pip install dlbridge numpy\n",
        " The second `pip install` fetches the build tools and compiles one module, which takes one to five minutes."
        " If it stops, see": " If the installation stops, see",
        " Then leave the folder, so that Python imports the installed package and nothing of the checkout, and start"
        " Python:\n\n```sh\ncd ..\npython\n": " Start Python:\n\n```sh\npython\n",
    },
    "docs/tutorials/first_extension.md": {
        f" Get a checkout of dlbridge:\n\n```sh\ngit clone {PLACEHOLDER} dlbridge\n```\n": "\n",
        "Make a folder `norms` beside `dlbridge`, and in it": "Make a folder `norms`, and in it",
        " It is not on a package index yet: make its wheel from the checkout, and name the folder of the wheel to pip.":
            "",
        "pip wheel --no-deps --wheel-dir wheels ../dlbridge/packaging/headers\npip install --find-links wheels .":
            "pip install .",
        "pip install --find-links wheels \"setuptools": "pip install \"setuptools",
    },
    "examples/README.md": {
        "An extension module is installed by pip. No package index has `dlbridge` and `dlbridge-headers` yet, so that"
        " pip takes\nboth from a folder of wheels, which `pip wheel` makes from the checkout. In the folder of an example:"
        "\n\n```sh\npip wheel --no-deps --wheel-dir wheels ../.. ../../packaging/headers\n"
        "pip install --find-links wheels":
            "An extension module is installed by pip. In the folder of an example:\n\n```sh\npip install",
    },
    "packaging/headers/README.md": {
        "In a checkout, `pip wheel --no-deps --wheel-dir wheels packaging/headers` builds the wheel, and\n"
        "`pip install --find-links wheels .` builds an extension with it. There is no source distribution.\n\n": "",
    },
    "packaging/tools/README.md": {
        "No package index has dlbridge-tools yet. In a checkout, `pip wheel --no-deps --wheel-dir wheels"
        " packaging/tools`\nbuilds the wheel.\n\n": "",
    },
}  # fmt: skip


def released(path: str, text: str, address: str) -> str:
    """The text of a file from the first release on."""
    for before, after in TEXTS.get(path, {}).items():
        if text.count(before) != 1:
            sys.exit(f"{path} has {text.count(before)} times, and not once: {before}")
        text = text.replace(before, after)
    return text.replace(COMMENT, "").replace(PLACEHOLDER, address)


def main() -> int:
    address = sys.argv[1] if sys.argv[1:] else PLACEHOLDER
    names = subprocess.check_output(["git", "ls-files"], cwd=CHECKOUT, text=True).splitlines()
    for name in names:
        if not name.endswith((".md", ".toml", ".cff")):
            continue
        text = (CHECKOUT / name).read_text(encoding="utf-8")
        after = released(name, text, address)
        if address != PLACEHOLDER and after != text:
            (CHECKOUT / name).write_text(after, encoding="utf-8")
    if address != PLACEHOLDER:  # it has nothing left to check
        hooks = CHECKOUT / ".pre-commit-config.yaml"
        hooks.write_text(HOOK.sub("", hooks.read_text()))
        Path(__file__).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
