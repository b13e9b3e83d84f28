# SPDX-License-Identifier: BSD-3-Clause
"""Shows that run_notebooks.py stores the outputs of cells, and reports stored ones that differ."""

from __future__ import annotations

import sys
import tempfile
import traceback
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import run_notebooks


def cell(code: str, output: str = "") -> str:
    return f"```python\n{code}\n```\n" + (f"\n```text\n{output}\n```\n" if output else "")


class Notebooks(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.page = Path(folder.name, "explanation", "page.md")

    def stored(self, text: str) -> str:
        """The text of the page after a run."""
        return run_notebooks.run(text, self.page)[self.page]

    def test_what_a_cell_prints_and_its_last_value_are_stored(self) -> None:
        self.assertEqual(self.stored(cell("print('a')\n1 + 1")), cell("print('a')\n1 + 1", "a\n2"))

    def test_a_cell_without_output_has_no_block(self) -> None:
        text = cell("x = 1") + "\nProse.\n\n" + cell("x", "1")
        self.assertEqual(self.stored(text), text)

    def test_a_stale_output_is_replaced_and_reported(self) -> None:
        text = cell("x = 2\nx", "1")
        files = {self.page: self.stored(text)}
        self.assertEqual(files[self.page], cell("x = 2\nx", "2"))
        self.page.parent.mkdir()
        self.page.write_text(text)
        self.assertEqual([line for line in run_notebooks.differences(files) if line[1:] in "12"],
                         ["-1", "+2"])  # fmt: skip
        self.page.write_text(files[self.page])
        self.assertEqual(run_notebooks.differences(files), [])

    def test_an_output_that_is_gone_is_removed(self) -> None:
        self.assertEqual(self.stored(cell("x = 2", "1")), cell("x = 2"))

    def test_addresses_are_not_stored(self) -> None:
        self.assertEqual(self.stored(cell("print(hex(3054))")), cell("print(hex(3054))", "0x..."))

    def test_a_picture_is_stored_as_a_file(self) -> None:
        code = """class P:
    def _repr_html_(self):
        return '<p><svg a="1">x</svg></p>'
P()"""
        text = f"{cell(code)}\n![A view](../pictures/other.svg)\n"
        files = run_notebooks.run(text, self.page)
        picture = self.page.parents[1] / "pictures" / "page_1.svg"
        self.assertIn("![A view](../pictures/page_1.svg)", files[self.page])
        self.assertRegex(files[picture], r'^<svg a="1"><style>.*</style>x</svg>\n$')

    def test_an_error_names_the_line_of_the_page(self) -> None:
        try:
            self.stored("# Page\n\n" + cell("1 / 0"))
        except ZeroDivisionError as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            self.assertEqual((frame.filename, frame.lineno), ("page.md", 4))
        else:
            self.fail("the cell raised nothing")


if __name__ == "__main__":
    unittest.main()
