# SPDX-License-Identifier: BSD-3-Clause
"""Shows that check.py reports each kind of fault, by planting it in a small include tree."""

from __future__ import annotations

import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import check


def header(layer: str | None, *includes: str) -> str:
    """A header that states its layer, unless that is None: then its folder names it."""
    stated = f"// layer: {layer}\n" if layer else ""
    lines = "".join(f"#include <{name}>\n" for name in includes)
    return f"// X.\n{stated}#pragma once\n{lines}int x;\n"


SOUND = {
    "abi.hpp": header("foundation", "dlpack/dlpack.h"),
    "dtype.hpp": header("values", "dlbridge/abi.hpp"),
    "python/detail/private_api.hpp": header(None, "Python.h"),
    "umbrella.hpp": "// All.\n#pragma once\n#include <dlbridge/dtype.hpp>\n",
}


class Planted(unittest.TestCase):
    def read(self, **changed: str) -> dict[str, check.Header]:
        files = dict(SOUND)
        for name, text in changed.items():  # dtype__ipp is dtype.ipp
            path, _, kind = name.replace("__", "/").rpartition("/")
            files[
                f"{path}.{kind}" if kind in ("inl", "ipp") else f"{path}/{kind}.hpp".lstrip("/")
            ] = text
        with tempfile.TemporaryDirectory() as directory:
            for name, text in files.items():
                path = Path(directory, "dlbridge", name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check.read(Path(directory))

    def assert_one(self, headers: dict[str, check.Header], *words: str) -> None:
        faults = check.faults(headers)
        self.assertEqual(len(faults), 1, faults)
        for word in words:
            self.assertIn(word, faults[0])

    def test_a_sound_tree_has_none(self) -> None:
        self.assertEqual(check.faults(self.read()), [])

    def test_an_include_of_a_layer_above(self) -> None:
        headers = self.read(
            error=header("foundation", "dlbridge/layout.hpp"), layout=header("values")
        )
        self.assert_one(headers, "error.hpp", "layout.hpp", "above")

    def test_an_include_of_a_header_that_is_not_installed(self) -> None:
        headers = self.read(device=header("values", "dlbridge/dtype.hpp"))
        headers["dtype.hpp"].is_installed = False
        headers["umbrella.hpp"].is_installed = False
        self.assert_one(headers, "device.hpp", "dtype.hpp", "not installed")

    def test_a_call_that_a_macro_would_replace(self) -> None:
        for call in ("limits::max()", "std::max(1, 2)"):
            headers = self.read(device=header("values") + f"int y = {call};\n")
            self.assert_one(headers, "device.hpp", "calls max", "macro")
        sound = "int y = (limits::max)() + std::max<int>(1, 2) + climax(1);  // max()\n"
        self.assertEqual(check.faults(self.read(device=header("values") + sound)), [])

    def test_a_header_that_is_too_long(self) -> None:
        headers = self.read(device=header("values") + "int y;\n" * check.MAX_LINES[".hpp"])
        self.assert_one(headers, "device.hpp", "304 lines")

    def test_a_part_that_has_grown(self) -> None:
        text = header("values") + "// no code\n\n#define X \\\n  1\n"
        headers = self.read(device=text)
        used = check.sizes(headers)[""]
        self.assertEqual(check.code_lines("// no code\n\n#define X \\\n  1\nint x; /* y\n */\n"), 1)
        with unittest.mock.patch.dict(check.MAX_CODE_LINES, {"": used - 1}):
            self.assert_one(headers, "include", f"{used} code lines", f"at most {used - 1}")

    def test_an_unguarded_call_of_the_c_api(self) -> None:
        headers = self.read(
            python__error=header(None) + "int y = PyObject_IsTrue(api<PyX_Y>(PyX_Check(z)));"
        )
        self.assert_one(headers, "python/error.hpp", "PyObject_IsTrue", "api<>")

    def test_a_visible_function_for_python(self) -> None:
        begin = "DLBRIDGE_BEGIN_NAMESPACE\n"
        headers = self.read(python__error=header(None) + begin)
        self.assert_one(headers, "python/error.hpp", "DLBRIDGE_LOCAL")
        self.assertEqual(check.faults(self.read(error=header("foundation") + begin)), [])

    def test_a_static_variable_that_python_initializes(self) -> None:
        headers = self.read(
            python__error=header(None) + "void f() { static PyObject* x = api<Py_X>(); }"
        )
        self.assert_one(headers, "python/error.hpp", "static variable x")

    def test_an_include_within_a_layer_is_sound(self) -> None:
        headers = self.read(layout=header("values", "dlbridge/dtype.hpp"))
        self.assertEqual(check.faults(headers), [])

    def test_a_circle_within_a_layer(self) -> None:
        headers = self.read(
            device=header("values", "dlbridge/stream_ref.hpp"),
            stream_ref=header("values", "dlbridge/device.hpp"),
        )
        self.assert_one(headers, "circle", "device.hpp", "stream_ref.hpp")

    def test_bodies_of_a_header(self) -> None:
        ends = "#if DLBRIDGE_HEADER_ONLY\n#include <dlbridge/device.ipp>\n#endif\n"
        bodies = "// X.\n#pragma once\n#include <dlbridge/device.hpp>\nint y;\n"
        device = header("values", "dlbridge/abi.hpp")
        headers = self.read(device=device + ends, device__ipp=bodies)
        self.assertEqual(check.faults(headers), [])
        self.assertEqual(headers["device.ipp"].layer, "values")
        source = {"core.cpp": "#include <dlbridge/device.ipp>\n"}
        self.assertEqual(check.unlisted_bodies(headers, source), [])
        self.assertIn("in 0 sources", check.unlisted_bodies(headers, {})[0])
        self.assertIn(
            "in 2 sources", check.unlisted_bodies(headers, source | {"x": source["core.cpp"]})[0]
        )
        self.assert_one(self.read(device=device, device__ipp=bodies), "device.hpp", "does not end")
        stranger = header("values", "dlbridge/device.ipp")
        headers = self.read(device=device + ends, device__ipp=bodies, layout=stranger)
        self.assert_one(headers, "layout.hpp", "bodies of another header")

    def test_a_circle_through_bodies(self) -> None:
        ends = "#if DLBRIDGE_HEADER_ONLY\n#include <dlbridge/device.ipp>\n#endif\n"
        bodies = "// X.\n#pragma once\n#include <dlbridge/layout.hpp>\nint y;\n"
        headers = self.read(
            device=header("values") + ends,
            device__ipp=bodies,
            layout=header("values", "dlbridge/device.hpp"),
        )
        self.assert_one(headers, "circle", "device.hpp", "layout.hpp")

    def test_an_include_of_an_umbrella_header(self) -> None:
        self.assert_one(self.read(top=header("bindings", "dlbridge/umbrella.hpp")), "umbrella")

    def test_an_include_of_nothing(self) -> None:
        self.assert_one(self.read(layout=header("values", "dlbridge/gone.hpp")), "gone.hpp")

    def test_python_outside_its_folder(self) -> None:
        self.assert_one(self.read(layout=header("values", "Python.h")), "Python.h")

    def test_a_second_includer_of_python(self) -> None:
        headers = self.read(python__error=header(None, "Python.h"))
        self.assert_one(headers, "python/error.hpp", "Python.h")

    def test_pybind11_outside_its_folder(self) -> None:
        headers = self.read(python__call__x=header(None, "pybind11/pybind11.h"))
        self.assert_one(headers, "pybind11")

    def test_pybind11_inside_its_folder_is_sound(self) -> None:
        headers = self.read(python__pybind11__detail__x=header(None, "pybind11/pybind11.h"))
        self.assertEqual(check.faults(headers), [])

    def test_a_header_without_a_layer(self) -> None:
        self.assert_one(self.read(loose="// X.\n#pragma once\nint x;\n"), "states no layer")

    def test_a_layer_that_does_not_exist(self) -> None:
        self.assert_one(self.read(loose=header("cellar")), "unknown layer cellar")

    def test_a_header_that_states_the_layer_of_its_folder(self) -> None:
        headers = self.read(python__error=header("interpreter"))
        self.assert_one(headers, "python/error.hpp", "layer of its folder")

    def test_a_header_of_another_layer_than_its_folder(self) -> None:
        headers = self.read(
            detail__index=header("tensors"), view=header("tensors", "dlbridge/detail/index.hpp")
        )
        self.assertEqual(check.faults(headers), [])

    def test_a_header_without_its_sentence(self) -> None:
        text = "#pragma once\n// X.\n// layer: values\nint x;\n"
        self.assert_one(self.read(mute=text), "one sentence")

    def test_a_map_that_is_out_of_date(self) -> None:
        page = f"before\n{check.MAP_BEGIN}\nold\n{check.MAP_END}\nafter\n"
        fresh = check.with_map(page, check.layer_map(self.read()))
        self.assertNotEqual(page, fresh)
        self.assertIn("| foundation |", fresh)
        self.assertTrue(fresh.startswith("before\n") and fresh.endswith("\nafter\n"))
        self.assertEqual(check.with_map(fresh, check.layer_map(self.read())), fresh)


if __name__ == "__main__":
    unittest.main()
