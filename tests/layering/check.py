# SPDX-License-Identifier: BSD-3-Clause
"""Checks the include graph of include/, and writes the map of layers that PAGE contains.

    check.py INCLUDE_DIR [MORE]                       checks the graph
    check.py INCLUDE_DIR [MORE] --map PAGE            also checks that the map is up to date
    check.py INCLUDE_DIR [MORE] --map PAGE --write    writes the map
    check.py INCLUDE_DIR [MORE] --figures             files, lines and arrows of each folder

MORE is the folder of the module's sources, python/src: its headers are not installed, include each
other in quotes, and form the layer `module`. Those of INCLUDE_DIR include none of them.
A header x.hpp is an interface. x.inl has its inline bodies, and x.ipp those of DLBRIDGE_API; x.hpp
includes both at its end, x.ipp only in header-only mode. An .inl or .ipp file without a header of
its name is a part of bodies, which only these include. Each x.ipp is in one source of src/.
Each file begins with one sentence. FOLDERS names the layer of the files in a folder. A header
outside of these, or of another layer, states its own in a second line, `// layer: NAME`. A header
includes headers of its own layer, without a circle, and of the layers below. An umbrella header,
which holds nothing but includes, has no layer and may include any header; no other header includes
one. FOREIGN and EXCEPTIONS say which headers of other projects a header may include.
"""

from __future__ import annotations

import argparse
import functools
import re
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

# The layers, from the bottom: what each is for.
LAYERS = {
    "foundation": "the ABI of DLPack; reasons, reports and the exception",
    "values": "dtypes, devices, versions, streams; arithmetic on shapes and strides",
    "tensors": "the owner and the view of a tensor, requirements, exchange tables, `array_traits`",
    "arrays": "builders, shared owners, typed tensors and spans, copies, bridges to C++ libraries",
    "runtime": "CUDA and HIP, loaded at run time: order of streams, allocation, copies",
    "interpreter": "Python.h, exceptions, capsules; what Python values mean",
    "import": "from a Python object to a managed tensor",
    "export": "from a managed tensor to a capsule, a buffer or an exchange table",
    "python_tensor": "the Python type of the results of an extension",
    "call": "arguments, results, refusals and overloads of compiled functions",
    "bindings": "pybind11 and nanobind: casters, `def`, `def_dlpack`",
    "module": "what only the package's module has: its Tensor and its functions",
}

# The layer of a folder of include/dlbridge and of the folders in it. The headers outside of these
# state theirs.
FOLDERS = {
    "types": "values",
    "detail": "arrays",
    "bridges": "arrays",
    "runtime": "runtime",
    "python": "interpreter",
    "python/import": "import",
    "python/export": "export",
    "python/tensor": "python_tensor",
    "python/call": "call",
    "python/pybind11": "bindings",
    "python/nanobind": "bindings",
}

# The headers of other projects that a folder of include/dlbridge may include.
FOREIGN = {
    "": {"dlpack/dlpack.h"},
    "types": {"dlpack/dlpack.h"},
    "detail": {"dlpack/dlpack.h"},
    "runtime": {"dlpack/dlpack.h", "dlfcn.h", "link.h", "windows.h"},
    "bridges": {"dlpack/dlpack.h"},
    "python": {"dlpack/dlpack.h"},
    "python/pybind11": {"dlpack/dlpack.h", "pybind11/pybind11.h"},
    "python/nanobind": {
        "nanobind/nanobind.h",
        "nanobind/stl/optional.h",
    },
}
# The headers that include what the other headers of their folder must not: the library of a bridge,
# Python.h, and the system's headers.
EXCEPTIONS = {
    "python/detail/private_api.hpp": {"Python.h"},
    "python/detail/limited_api.hpp": {"dlfcn.h"},
    "python/src/docstrings.hpp": {"docstrings.inc"},  # which CMake writes
    "exit_guard.hpp": {"unistd.h"},
    "host_memory.hpp": {"sys/mman.h"},
    "detail/copy_kernel.hpp": {"cpuid.h"},
    "bridges/eigen.hpp": {"Eigen/Core"},
    "bridges/eigen_tensor.hpp": {"unsupported/Eigen/CXX11/Tensor"},
    "bridges/xtensor.hpp": {
        "xtensor/xarray.hpp",
        "xtensor/xbuffer_adaptor.hpp",
        "xtensor/xfixed.hpp",
        "xtensor/xtensor.hpp",
    },
    "bridges/kokkos.hpp": {"Kokkos_Core.hpp"},
    "bridges/opencv.hpp": {"opencv2/core.hpp"},
    "bridges/armadillo.hpp": {"armadillo"},
}
STANDARD = re.compile(r"[a-z_]+$")  # <vector>, <type_traits>; C headers are spelled <cstdint>

# The functions of the C API that never run Python code. A header of python/ calls all others by
# api<...>, which guards the thread (exit_guard.hpp).
PLAIN_CALLS = re.compile(
    r"""_?Py( \w+_(Check|CheckExact|GET_ITEM|GET_LENGTH|GET_SIZE|GET_BUFFER|SET_ITEM|AS_STRING)
    | Long_From\w+ | Bool_FromLong | Float_(FromDouble | AS_DOUBLE) | _(SET_)?TYPE | _X?INCREF
    | _SIZE | _IsInitialized | _?_IsFinalizing | _atomic_load_(uint | ptr)_relaxed
    | Err_(Occurred | ExceptionMatches | GivenExceptionMatches | GetRaisedException | Fetch)
    | Type_HasFeature | ThreadState_(GetUnchecked | UncheckedGet) | Capsule_IsValid
    | GILState_(Check | GetThisThreadState) | Eval_SaveThread
    | CFunction_(GetSelf | GetFunction) | InstanceMethod_Function | Function_GetCode
    | Object_(Free | Malloc | New | Init | CheckBuffer) | Exception_(GetTraceback | GetContext)
    | Buffer_IsContiguous | Unicode_(CompareWithASCIIString | IS_ASCII) )""",
    re.VERBOSE,
)
C_API_CALL = re.compile(r"(?<![\w<&:.>\"])(_?Py[A-Za-z]*_\w+)\(")
STATIC_BY_PYTHON = re.compile(r"\bstatic [^;(){}]*?(\w+) = (?:ref::\w+\()?api<")
# min and max are macros where a file includes windows.h first, unless parentheses follow.
MACRO_CALL = re.compile(r"\b(min|max)\(")
# The units that need no guard: the one that defines api and decref, and what it guards.
UNGUARDED = {
    "python/api.hpp",
    *(f"python/detail/{name}.hpp" for name in
      ("private_api", "full_api", "limited_api", "limited_types", "limited_buffers")),
}  # fmt: skip
# Functions of python/ and runtime/ use state of their module: the loader would merge those of
# several modules.
VISIBLE_NAMESPACE = "DLBRIDGE_BEGIN_NAMESPACE"
# How a header ends.
BODIES = "#if DLBRIDGE_HEADER_ONLY\n#include <dlbridge/{}>\n#endif\n"

MAX_LINES = {".hpp": 300, ".inl": 400, ".ipp": 400}
MAX_INTERFACE_LINES = 14_167  # of all headers in include/ together, with their documentation

# The code lines that a folder and those in it may have: without comments, blank lines and lines of
# the preprocessor. A change that needs more says what falls away for it, and raises the number.
MAX_CODE_LINES = {
    "": 7_200,
    "runtime": 2_950,
    "python": 2_480,
    "python/import": 2_520,
    "python/export": 520,
    "python/tensor": 595,
    "python/call": 5_461,
    "python/pybind11": 1_070,
    "python/nanobind": 1_095,
    "module": 2_400,
}

MAP_BEGIN = "<!-- layers: written by tests/layering/check.py -->"
MAP_END = "<!-- end of layers -->"


@dataclass
class Header:
    name: str
    text: str
    stated_layer: str | None = None
    is_installed: bool = True
    ours: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    @property
    def unit(self) -> str:
        """The name of a header, also for its bodies."""
        return self.name.rpartition(".")[0] + ".hpp"

    @property
    def kind(self) -> str:
        return Path(self.name).suffix

    @property
    def folder(self) -> str:
        return self.name.rpartition("/")[0]

    @property
    def layer(self) -> str | None:
        """None for an umbrella header, and where neither the header nor its folder names one."""
        usual = nearest(FOLDERS, self.folder) if self.is_installed else "module"
        return None if self.is_umbrella else self.stated_layer or usual

    @functools.cached_property
    def is_umbrella(self) -> bool:
        code = [
            line
            for line in self.text.splitlines()
            if line.strip() and not line.lstrip().startswith("//")
        ]
        return all(line.startswith(("#include", "#pragma once", "#if", "#endif")) for line in code)


def nearest(table: dict[str, T], folder: str) -> T | None:
    """The entry of a folder, or of the nearest folder that holds it."""
    while folder and folder not in table:
        folder = folder.rpartition("/")[0]
    return table.get(folder)


def code_lines(text: str) -> int:
    """The lines that are neither comments, nor blank, nor of the preprocessor."""
    joined = re.sub(r"\\\n", " ", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))
    lines = [line.strip() for line in joined.splitlines()]
    return sum(bool(line) and not line.startswith(("//", "#")) for line in lines)


def sizes(headers: dict[str, Header]) -> dict[str, int]:
    """The code lines of each part of MAX_CODE_LINES."""
    result = dict.fromkeys(MAX_CODE_LINES, 0)
    for header in headers.values():
        folder = header.folder if header.is_installed else "module"
        while folder not in MAX_CODE_LINES:
            folder = folder.rpartition("/")[0]
        result[folder] += code_lines(header.text)
    return result


def read(include_dir: Path, *more: Path) -> dict[str, Header]:
    """The headers of include/dlbridge by their names there, and others by their paths."""
    headers = {}
    roots = [(include_dir / "dlbridge", ""), *((folder, "python/src/") for folder in more)]
    found = sorted(
        (path, root, start)
        for root, start in roots
        for path in root.rglob("*")
        if path.suffix in MAX_LINES
    )
    for path, root, start in found:
        header = Header(start + path.relative_to(root).as_posix(), path.read_text())
        header.is_installed = not start
        own = path.with_suffix(".hpp")  # bodies have the layer of their header
        stating = own.read_text() if own.exists() else header.text
        if line := re.search(r"^// layer: (\w+)$", stating, re.MULTILINE):
            header.stated_layer = line.group(1)
        include = r'^\s*#\s*include\s*([<"])([^>"]+)[>"]'
        for mark, name in re.findall(include, header.text, re.MULTILINE):
            if name.startswith("dlbridge/"):
                header.ours.append(name[len("dlbridge/") :])
            elif mark == '"' and start:
                header.ours.append(start + name)
            else:
                header.foreign.append(name)
        headers[header.name] = header
    return headers


def allowed(header: Header) -> set[str]:
    """The headers of other projects that a header may include."""
    folder = header.folder if header.is_installed else "python/pybind11"
    return (nearest(FOREIGN, folder) or set()) | EXCEPTIONS.get(header.unit, set())


def unguarded_calls(header: Header) -> list[str]:
    """The functions of the C API that a header of python/ calls without a guard."""
    if not header.name.startswith("python/"):
        return []
    lines = [re.sub(r"(^|\s)//.*", "", line) for line in header.text.splitlines()]
    code = "\n".join(line for line in lines if not line.lstrip().startswith(("#", '"')))
    return [name for name in C_API_CALL.findall(code) if not PLAIN_CALLS.fullmatch(name)]


def macro_calls(header: Header) -> list[str]:
    """min and max, where a macro of that name with arguments would take their place."""
    lines = [re.sub(r"(^|\s)//.*", "", line) for line in header.text.splitlines()]
    return MACRO_CALL.findall("\n".join(lines))


def circles(headers: dict[str, Header]) -> list[list[str]]:
    """Each circle of includes once, as the names on it. A header and its bodies are one."""
    state: dict[str, int] = {}  # 1: on the path, 2: finished
    result: list[list[str]] = []
    includes: dict[str, set[str]] = {}
    for header in headers.values():
        targets = {headers[name].unit for name in header.ours if name in headers}
        includes.setdefault(header.unit, set()).update(targets - {header.unit})

    def visit(name: str, path: list[str]) -> None:
        state[name] = 1
        for target in sorted(includes[name]):
            if state.get(target) == 1:
                result.append([*path[path.index(target) :], target])
            elif target not in state:
                visit(target, [*path, target])
        state[name] = 2

    for name in includes:
        if name not in state:
            visit(name, [name])
    return result


def misplaced_bodies(headers: dict[str, Header]) -> list[str]:
    """Bodies that a file includes which is not theirs, or that their header does not include."""
    result = []
    for header in headers.values():
        text = header.text
        for kind, form in ((".inl", "#include <dlbridge/{}>\n"), (".ipp", BODIES)):
            own = header.name.removesuffix(".hpp") + kind
            if header.kind == ".hpp" and own in headers and form.format(own) not in text:
                result.append(f"{header.name}: does not end with {form.format(own).strip()!r}")
        for name in header.ours:
            target = headers.get(name)
            if target is None or target.kind == ".hpp" or target.unit == header.unit:
                continue
            if target.unit in headers or header.kind == ".hpp":
                result.append(f"{header.name}: includes {name}, the bodies of another header")
    return result


def unlisted_bodies(headers: dict[str, Header], sources: dict[str, str]) -> list[str]:
    """Bodies that are not in exactly one source."""
    names = {name for name, each in headers.items() if each.kind == ".ipp" and each.unit in headers}
    listed = [
        name
        for text in sources.values()
        for name in re.findall(r"^#include <dlbridge/(\S+)>$", text, re.MULTILINE)
    ]
    listed = [name for name in listed if not name.endswith(".cpp")]  # all.cpp
    return [
        f"src: {name} is in {listed.count(name)} sources; each .ipp file of a header is in one"
        for name in sorted(names | set(listed))
        if listed.count(name) != 1 or name not in names
    ]


def faults(headers: dict[str, Header]) -> list[str]:
    order = list(LAYERS)
    result = []
    for header in headers.values():
        lines = [line for line in header.text.splitlines() if not line.startswith("// SPDX-")]
        if not lines[0].startswith("// "):
            result.append(f"{header.name}: does not begin with its one sentence")
        most = MAX_LINES[header.kind] if header.is_installed else MAX_LINES[".inl"]
        if len(lines) > most:
            result.append(f"{header.name}: has {len(lines)} lines, more than {most}")
        if header.layer is None:
            if not header.is_umbrella:
                result.append(f"{header.name}: states no layer, and is no umbrella header")
        elif header.layer not in LAYERS:
            result.append(f"{header.name}: states the unknown layer {header.layer}")
            continue
        elif (
            header.kind == ".hpp"
            and header.stated_layer
            and not any("// layer: " in line for line in lines[1:5])
        ):
            result.append(f"{header.name}: its layer is not below its sentence")
        elif header.stated_layer == nearest(FOLDERS, header.folder):
            result.append(f"{header.name}: states the layer of its folder")
        for name in header.ours:
            target = headers.get(name)
            if target is None:
                result.append(f"{header.name}: includes {name}, which does not exist")
            elif header.is_installed and not target.is_installed:
                result.append(f"{header.name}: includes {name}, which is not installed")
            elif header.layer is None or target.layer not in (*LAYERS, None):
                continue
            elif target.layer is None:
                result.append(f"{header.name}: includes the umbrella header {name}")
            elif order.index(target.layer) > order.index(header.layer):
                result.append(
                    f"{header.name} (layer {header.layer}) includes {name} of the layer "
                    f"{target.layer} above it"
                )
        result += [
            f"{header.name}: calls {name} without api<>"
            for name in unguarded_calls(header)
            if header.unit not in UNGUARDED
        ]
        result += [
            f"{header.name}: initializes the static variable {name} by a call of Python"
            for name in STATIC_BY_PYTHON.findall(header.text)
        ]
        result += [
            f"{header.name}: calls {name} where it may be a macro; write ({name})"
            for name in macro_calls(header)
        ]
        if header.name.startswith(("python/", "runtime/")) and VISIBLE_NAMESPACE in header.text:
            result.append(f"{header.name}: begins a namespace without DLBRIDGE_LOCAL")
        result += [
            f"{header.name}: may not include <{name}>"
            for name in header.foreign
            if name not in allowed(header) and not STANDARD.fullmatch(name)
        ]
    result += [
        f"{part or 'include'}: {size} code lines, of at most {MAX_CODE_LINES[part]}"
        for part, size in sizes(headers).items()
        if size > MAX_CODE_LINES[part]
    ]
    interfaces = sum(
        len(each.text.splitlines()) for each in headers.values()
        if each.is_installed and each.kind == ".hpp"
    )  # fmt: skip
    if interfaces > MAX_INTERFACE_LINES:
        result.append(f"include: headers of {interfaces} lines, of at most {MAX_INTERFACE_LINES}")
    result += misplaced_bodies(headers)
    result += [f"a circle of includes: {' -> '.join(circle)}" for circle in circles(headers)]
    return result


def layer_map(headers: dict[str, Header]) -> str:
    """The table of layers, the top one first."""
    rows = ["| Layer | What it does | Headers |", "|---|---|---|"]
    for layer, purpose in reversed(LAYERS.items()):
        folders: dict[str, list[str]] = {}
        for header in headers.values():
            if header.layer == layer and header.kind == ".hpp":
                folders.setdefault(header.folder, []).append(Path(header.name).stem)
        cells = [
            (f"`{folder}/`: " if folder else "") + ", ".join(names)
            for folder, names in sorted(folders.items())
        ]
        rows.append(f"| {layer} | {purpose} | {'<br>'.join(cells)} |")
    return "\n".join(rows)


def with_map(page: str, table: str) -> str:
    """The page with the table between its two marks."""
    before, _, rest = page.partition(MAP_BEGIN)
    _, _, after = rest.partition(MAP_END)
    return f"{before}{MAP_BEGIN}\n{table}\n{MAP_END}{after}"


def figures(headers: dict[str, Header]) -> str:
    """Files, lines and includes of each folder, the lines of each kind, and the code lines of each
    part."""
    rows = [f"{'folder':32} {'files':>6} {'lines':>6} {'arrows':>7}"]
    for folder in sorted({header.folder for header in headers.values()}):
        own = [header for header in headers.values() if header.folder == folder]
        lines = sum(len(header.text.splitlines()) for header in own)
        arrows = sum(len(header.ours) for header in own)
        rows.append(f"{folder or '.':32} {len(own):6} {lines:6} {arrows:7}")
    installed = [header for header in headers.values() if header.is_installed]
    for kind in MAX_LINES:
        lines = [len(header.text.splitlines()) for header in installed if header.kind == kind]
        middle = statistics.median(lines) if lines else 0
        rows.append(f"{kind:32} {len(lines):6} {sum(lines):6}, median {middle:g}")
    rows += [f"{part or '.':32} {size:6} code lines" for part, size in sizes(headers).items()]
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("include_dir", type=Path)
    parser.add_argument("more", type=Path, nargs="*")
    parser.add_argument("--map", type=Path, metavar="PAGE")
    parser.add_argument("--write", action="store_true", help="write the map into PAGE")
    parser.add_argument("--figures", action="store_true")
    arguments = parser.parse_args()
    headers = read(arguments.include_dir, *arguments.more)
    found = faults(headers)
    sources = arguments.include_dir / "dlbridge" / "src"
    found += unlisted_bodies(
        headers, {each.name: each.read_text() for each in sources.glob("*.cpp")}
    )
    if arguments.map is not None:
        page = arguments.map.read_text()
        fresh = with_map(page, layer_map(headers))
        if arguments.write:
            arguments.map.write_text(fresh)
        elif page != fresh:
            found.append(
                f"{arguments.map.name}: its map of layers is out of date; --write writes it"
            )
    for fault in found:
        print("FAILED", fault)
    if arguments.figures:
        print(figures(headers))
    arrows = sum(len(header.ours) for header in headers.values())
    print(f"{len(headers)} files in {len(LAYERS)} layers, {arrows} arrows, {len(found)} faults")
    return int(bool(found) or not headers)


if __name__ == "__main__":
    sys.exit(main())
