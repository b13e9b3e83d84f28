# SPDX-License-Identifier: BSD-3-Clause
"""Shows that check_pages.py reports each kind of fault, by planting it in a small checkout."""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import check_pages

SOUND = {
    "README.md": "# Name\n\n[errors](docs/reference/errors.md#in-c), [here](#name), "
    "[site](https://a.b/#c)\n",
    "CHANGELOG.md": "# Changelog\n",
    "CODE_OF_CONDUCT.md": "# Code of conduct\n",
    "CONTRIBUTING.md": "# Contributing\n",
    "SECURITY.md": "# Security\n",
    "docs/reference/protocol.md": "# Protocol\n\n### 2.1 Versions\n",
    "docs/reference/errors.md": "# Errors\n\n| errc |\n|---|\n| `one` |\n| `two` |\n\n## In C++\n",
    "docs/reference/environment.md": "# Variables\n\n| `ONE` | text |\n",
    "python/reads.py": 'ONE = "ONE"\nos.environ.get(ONE)\n',
    "include/dlbridge/error.hpp": "enum class errc : int {\n  // A, b.\n  one,\n  two,\n};\n",
    "examples/one/README.md": "# One\n",
    "examples/main.cpp": "int main() {\n  // [body]\n  return 0;\n  // [/body]\n}\n",
}


def fenced(language: str, code: str) -> str:
    return f"```{language}\n{code}\n```\n"


class Planted(unittest.TestCase):
    def faults(self, **changes: str) -> list[str]:
        """The faults of the sound checkout with one text appended to each of the named files."""
        names = {name.lower().replace("/", "_").rsplit(".", 1)[0]: name for name in SOUND}
        files = dict(SOUND)
        for name, text in changes.items():
            files[names[name]] += text
        return self.faults_of(files)

    def faults_of(self, files: dict[str, str], *without: str) -> list[str]:
        with tempfile.TemporaryDirectory() as directory:
            for name, text in files.items():
                path = Path(directory, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            with contextlib.redirect_stdout(io.StringIO()):
                return check_pages.all_faults(Path(directory), [*without])

    def assert_one(self, faults: list[str], *words: str) -> None:
        self.assertEqual(len(faults), 1, faults)
        for word in words:
            self.assertIn(word, faults[0])

    def test_a_sound_checkout_has_none(self) -> None:
        self.assertEqual(self.faults(), [])

    def test_the_code_of_a_notebook_is_not_run(self) -> None:
        code = fenced("python", "1 / 0")
        self.assertEqual(self.faults_of({**SOUND, check_pages.NOTEBOOKS[0]: code}), [])
        linked = f"{code}[a](b.md)"
        faults = self.faults_of({**SOUND, check_pages.NOTEBOOKS[0]: linked})
        self.assert_one(faults, "no file b.md")

    def test_a_link_to_a_missing_file(self) -> None:
        for name in ("readme", "docs_reference_protocol", "examples_one_readme", "changelog",
                     "contributing", "security"):  # fmt: skip
            self.assert_one(self.faults(**{name: "[x](gone.md)\n"}), "no file gone.md")

    def test_a_missing_picture(self) -> None:
        for name in ("src", "srcset"):
            page = f'<picture><img {name}="gone.svg"></picture>\n'
            self.assert_one(self.faults(readme=page), "no picture gone.svg")
        self.assertEqual(self.faults(readme='<img src="https://gone.invalid/x.svg">\n'), [])

    def test_a_link_to_a_missing_heading(self) -> None:
        for name in ("readme", "changelog", "contributing", "security"):
            faults = self.faults(**{name: "[x](docs/reference/errors.md#gone)\n"})
            self.assert_one(faults, "no heading docs/reference/errors.md#gone")

    def test_a_link_to_a_missing_heading_of_the_same_page(self) -> None:
        self.assert_one(
            self.faults(docs_reference_protocol="[x](#gone)\n"), "protocol.md: no heading #gone"
        )

    def test_a_link_to_a_line_of_code(self) -> None:
        self.assert_one(self.faults(readme="[x](examples/main.cpp#L1)\n"), "no heading")

    def test_a_link_whose_text_has_a_line_break(self) -> None:
        self.assert_one(self.faults(readme="[a\nb](gone.md)\n"), "gone.md")

    def test_a_link_whose_text_is_the_path_of_another_page(self) -> None:
        for text in ("docs/reference/protocol.md", "protocol.md", "gone.md"):
            faults = self.faults(changelog=f"[{text}](docs/reference/errors.md#in-c)\n")
            self.assert_one(faults, f"the link [{text}] leads to docs/reference/errors.md")
        texts = ("docs/reference/errors.md", "errors.md", "of errors.md")
        links = ", ".join(f"[{text}](errors.md)" for text in texts) + "\n"
        self.assertEqual(self.faults(docs_reference_protocol=links), [])

    def test_the_anchors_of_headings(self) -> None:
        page = "## `f(x)`, a_b and [more](README.md)!\n## Two\n## Two\n" + fenced("sh", "# Three")
        links = "[1](#fx-a_b-and-more) [2](#two) [3](#two-1)\n"
        self.assertEqual(self.faults(readme=page + links), [])
        self.assert_one(self.faults(readme=page + "[x](#two-2)\n"), "#two-2")
        self.assert_one(self.faults(readme=page + "[x](#three)\n"), "#three")

    def test_a_link_in_code_is_not_checked(self) -> None:
        self.assertEqual(self.faults(readme="`[x](gone.md)`\n" + fenced("", "[x](gone.md)")), [])

    def test_an_errc_without_a_row(self) -> None:
        header = SOUND["include/dlbridge/error.hpp"].replace("two,", "two,\n  three,  // x")
        files = {**SOUND, "include/dlbridge/error.hpp": header}
        self.assert_one(self.faults_of(files), "no row for errc three")

    def test_a_row_without_an_errc(self) -> None:
        self.assert_one(
            self.faults(docs_reference_errors="| `three` |\n"), "the row three is no errc"
        )

    def test_two_rows_for_an_errc(self) -> None:
        self.assert_one(self.faults(docs_reference_errors="| `two` |\n"), "2 rows for two")

    def test_rows_in_another_order(self) -> None:
        page = SOUND["docs/reference/errors.md"].replace(
            "| `one` |\n| `two` |", "| `two` |\n| `one` |"
        )
        self.assert_one(self.faults_of({**SOUND, "docs/reference/errors.md": page}), "order")

    def test_a_header_without_errc(self) -> None:
        files = {**SOUND, "include/dlbridge/error.hpp": "enum class other { one };\n"}
        self.assert_one(self.faults_of(files), "no errc")

    def test_environment_variables_without_a_row(self) -> None:
        for code in ('os.environ["TWO"]', 'os.getenv("TWO")', '"TWO" in os.environ',
                     'for name in ("TWO",):\n    os.environ.get(name)'):  # fmt: skip
            self.assert_one(self.faults(python_reads=code), "no row for TWO")
        files = {**SOUND, "include/dlbridge/x.hpp": 'std::getenv("TWO")'}
        self.assert_one(self.faults_of(files), "no row for TWO", "include/dlbridge/x.hpp")
        self.assert_one(self.faults(python_reads="os.environ[name]"), "name is unknown: name")

    def test_a_row_without_an_environment_variable(self) -> None:
        self.assert_one(self.faults(docs_reference_environment="| `TWO` |\n"), "no code has TWO")

    def test_code_that_raises(self) -> None:
        self.assert_one(self.faults(readme=fenced("python", "1 / 0")), "ZeroDivisionError")

    def test_the_blocks_of_a_page_share_a_namespace(self) -> None:
        blocks = fenced("python", "x = 1") + fenced("python", "assert x == 1")
        self.assertEqual(self.faults(readme=blocks), [])
        other_page = fenced("python", "x")
        self.assert_one(self.faults(readme=blocks, docs_reference_protocol=other_page), "NameError")

    def test_a_comment_that_is_not_what_is_printed(self) -> None:
        for text in ("<a b>", "... b>", "<...>", "what describes it"):
            block = fenced("python", f"print('<a', 'b>')  # {text}")
            self.assertEqual(self.faults(readme=block), [])
        for text in ("<a>", "... c", "expected a"):
            block = fenced("python", f"for _ in 'x':\n    print('<a', 'b>')  # {text}")
            self.assert_one(self.faults(readme=block), f"expected '{text}'; it prints '<a b>'")
        unreached = fenced("python", "if False:\n    print(1)  # <1>")
        self.assert_one(self.faults(readme=unreached), "prints nothing: '<1>'")

    def test_a_block_without_a_source(self) -> None:
        self.assert_one(self.faults(readme=fenced("cpp", "return 0;")), "cpp without a source")

    def test_a_block_and_its_source(self) -> None:
        source = "<!-- from examples/main.cpp#body -->\n"
        self.assertEqual(self.faults(readme=source + fenced("cpp", "return 0;")), [])
        self.assert_one(self.faults(readme=source + fenced("cpp", "return 1;")), "differs")

    def test_a_source_that_does_not_exist(self) -> None:
        for source in ("examples/main.cpp#gone", "gone.cpp#body"):
            block = f"<!-- from {source} -->\n" + fenced("cpp", "return 0;")
            self.assert_one(self.faults(readme=block), "has no region")

    def test_a_section_that_does_not_exist(self) -> None:
        cited = "// spec " + "9.9\n"  # in one piece it would be a fault of this file
        self.assert_one(self.faults(examples_main=cited), "main.cpp: no section 9.9")

    def test_a_package_that_is_left_out(self) -> None:
        block = fenced("python", "import no_such_package") + fenced("python", "no_such_package.f()")
        files = {**SOUND, "README.md": SOUND["README.md"] + block}
        found = self.faults_of(files)
        self.assertEqual(len(found), 2, found)
        self.assertIn("No module named 'no_such_package'", found[0])
        self.assertEqual(self.faults_of(files, "no_such_package"), [])


if __name__ == "__main__":
    unittest.main()
