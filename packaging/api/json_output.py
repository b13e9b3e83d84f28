# SPDX-License-Identifier: BSD-3-Clause
"""The keys of the JSON that the tools print, from runs that show all of them.

The tools are those of the sources; the compiled module is that of an installed dlbridge. NumPy is
the only library that takes part, beside stand-ins that show the keys of failures.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from api import CHECKOUT, CannotCollect, line
from api.programs import packages

# Whose keys are data: names of libraries, rules, compilers.
MAPPINGS = {
    "conformance.versions",
    "doctor.compilers",
    "doctor.libraries",
    "explain.defects",
    "explain.reasons",
    "explain.rules",
    "inspect.installed",
    "inspect.keywords",
    "inspect.signs[].words",
    "inspect.subject.own_marks",
    "matrix.by_way_of",
    "matrix.environments[].libraries",
    "matrix.libraries",
}
FILES = {
    # A machine with one compiler, an old header, and libraries with known and untried defects.
    "bin/cmake": "#!/bin/sh\necho cmake version 1.0\n",
    "dlpack/dlpack.h": "#define DLPACK_VERSION 60\n",
    "torch.py": "",
    "torch-2.13.0.dist-info/METADATA": "Name: torch\nVersion: 2.13.0\n",
    "torch-2.13.0.dist-info/RECORD": "torch.py,,\n",
    "jax.py": "",
    "jax-0.0.1.dist-info/METADATA": "Name: jax\nVersion: 0.0.1\n",
    "jax-0.0.1.dist-info/RECORD": "jax.py,,\n",
    "waivers.json": '{"waivers": [{"id": "P-01", "reason": "none"}]}',
    # Refuses every tensor, and exports legacy ones.
    "refusing.py": """
import numpy
from dlbridge_tools.libraries import Library

class Array:
    def __init__(self, values):
        self.values = values
    def __dlpack__(self):
        return self.values.__dlpack__()
    def __dlpack_device__(self):
        return 1, 0

class Unsound(Array):
    def __dlpack_device__(self):
        return "cpu"

def unsound():
    return Unsound(numpy.ones(3))

def take(module, x):
    raise TypeError("unexpected keyword argument 'copy'")

ROW = Library(
    module="refusing", title="Refusing", distributions=(), by_way_of="numpy", take=take,
    array=lambda module, values, dtype: Array(numpy.array(values, dtype)),
    address=lambda module, x: x.values.ctypes.data,
)
""",
    "run.py": """
import sys
from dlbridge_tools import libraries
from dlbridge_tools.__main__ import main

if "doctor" in sys.argv:
    for name in libraries.LIBRARIES.keys() - {"dlbridge", "jax", "numpy", "torch"}:
        del libraries.LIBRARIES[name]
sys.exit(main())
""",
}
# By the name in the list: the arguments of each run.
RUNS = (
    ("conformance", "refusing:unsound --only P-01 --only P-02 --waivers waivers.json"),
    ("conformance --rules", "--rules"),
    ("demo", "--only numpy --only torch"),
    ("doctor", ""),
    ("doctor", "--fast"),
    ("explain", ""),
    ("explain RULE", "P-16"),
    ("explain DEFECT", "jax-null-deleter"),
    ("explain REASON", "dtype_mismatch"),
    ("inspect", "numpy:arange(6.).reshape(2,3)[::-1]"),
    ("inspect", "numpy:ones(3).__dlpack__()"),
    ("inspect", "refusing:unsound()"),
    ("inspect", "numpy:nothing"),
    ("matrix", "--only numpy --only refusing --library refusing:ROW --case row-major"
               " --via dlbridge"),
)  # fmt: skip
NAMES = {bool: "boolean", int: "number", float: "number", str: "string", type(None): "null"}


def paths(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """The path of each value in a document, and its type. Other items of lists than objects are
    left out, as some machines have empty lists."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from paths(each, f"{path}{{}}" if path in MAPPINGS else f"{path}.{key}")
    elif isinstance(value, list):
        yield path, "list"
        for each in filter(lambda each: isinstance(each, dict), value):
            yield from paths(each, f"{path}[]")
    else:
        yield path, NAMES[type(value)]


def printed(arguments: list[str], folder: str, environment: dict[str, str]) -> Any:
    done = subprocess.run([sys.executable, "run.py", *arguments, "--json"], cwd=folder,
                          env=environment, capture_output=True, text=True)  # fmt: skip
    if done.returncode not in (0, 1) or not done.stdout:
        raise CannotCollect(f"{' '.join(arguments)} ends with {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def collect() -> Iterator[str]:
    found: dict[str, set[str]] = {}
    with packages() as folder:
        Path(folder, "dlbridge").unlink()  # the installed one
        for name, text in FILES.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        Path(folder, "bin", "cmake").chmod(0o755)
        environment = {"PYTHONPATH": folder, "PATH": f"{folder}/bin", "DLPACK_INCLUDE_DIR": folder}
        environment |= {each: os.environ[each] for each in ("HOME", "LANG", "PYTHONPYCACHEPREFIX")
                        if each in os.environ}  # fmt: skip
        for name, arguments in RUNS:
            words = [name.partition(" ")[0], *arguments.split()]
            document = printed(words, folder, environment)
            yield line("schema", name, str(document.get("schema", "none")))
            document.pop("drivers", None)  # which has only the keys of this machine
            for key, type_ in paths(document, name):
                found.setdefault(key, set()).add(type_)
    for key, types in found.items():
        yield line("key", key, " | ".join(sorted(types)))
    source = (CHECKOUT / "python" / "src" / "module.cpp").read_text()
    for key in re.findall(r'facts\["(\w+)"\]', source):
        yield line("key", f"doctor.drivers{{}}.{key}")
