"""Shows that check.py would notice each kind of fault, by planting it in a small house."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import check

SOUND = {
    "abi.hpp": "// One.\n// floor 1 · a\n#pragma once\n#include <dlpack/dlpack.h>\nint a;\n",
    "dtype.hpp": "// Two.\n// floor 2 · b\n#pragma once\n#include <dlbridge/abi.hpp>\nint b;\n",
    "python/interp.hpp": "// Py.\n// floor 1 · c\n#pragma once\n#include <Python.h>\nint c;\n",
    "door.hpp": "// All.\n#pragma once\n#include <dlbridge/dtype.hpp>\n",
}


class Planted(unittest.TestCase):
    def faults(self, **changed: str) -> list[str]:
        files = dict(SOUND)
        files.update({name.replace("__", "/") + ".hpp": text for name, text in changed.items()})
        with tempfile.TemporaryDirectory() as directory:
            for name, text in files.items():
                path = Path(directory, "dlbridge", name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check.faults(check.read(Path(directory)))

    def assert_one(self, found: list[str], *words: str) -> None:
        self.assertEqual(len(found), 1, found)
        for word in words:
            self.assertIn(word, found[0])

    def test_a_sound_house_has_none(self) -> None:
        self.assertEqual(self.faults(), [])

    def test_an_arrow_up(self) -> None:
        text = SOUND["abi.hpp"] + "#include <dlbridge/dtype.hpp>\n"
        self.assert_one(self.faults(abi=text), "abi.hpp", "up", "dtype.hpp")

    def test_an_arrow_sideways(self) -> None:
        text = "// X.\n// floor 2 · x\n#pragma once\n#include <dlbridge/dtype.hpp>\nint x;\n"
        self.assert_one(self.faults(layout=text), "layout.hpp", "sideways")

    def test_an_arrow_to_a_door(self) -> None:
        text = "// X.\n// floor 9 · x\n#pragma once\n#include <dlbridge/door.hpp>\nint x;\n"
        self.assert_one(self.faults(top=text), "door")

    def test_an_arrow_to_nowhere(self) -> None:
        text = SOUND["dtype.hpp"] + "#include <dlbridge/gone.hpp>\n"
        self.assert_one(self.faults(dtype=text), "gone.hpp")

    def test_python_outside_its_folder(self) -> None:
        text = SOUND["dtype.hpp"] + "#include <Python.h>\n"
        self.assert_one(self.faults(dtype=text), "Python.h")

    def test_a_second_includer_of_python(self) -> None:
        text = "// X.\n// floor 2 · x\n#pragma once\n#include <Python.h>\nint x;\n"
        self.assert_one(self.faults(python__error=text), "python/error.hpp", "Python.h")

    def test_pybind11_outside_its_file(self) -> None:
        text = "// X.\n// floor 2 · x\n#pragma once\n#include <pybind11/pybind11.h>\nint x;\n"
        self.assert_one(self.faults(python__error=text), "pybind11")

    def test_a_header_without_a_floor(self) -> None:
        self.assert_one(self.faults(loose="// X.\n#pragma once\nint x;\n"), "no floor")

    def test_a_header_without_its_sentence(self) -> None:
        text = "#pragma once\n// X.\n// floor 3 · x\nint x;\n"
        self.assert_one(self.faults(mute=text), "one sentence")


if __name__ == "__main__":
    unittest.main()
