"""The module that the programs of the defects import: one file that needs only Python.

It is composed of ctypes_tensors.py and of the structs of dlpack.h in tools/structs.py.
"""

from __future__ import annotations

import re
from pathlib import Path

from dlbridge.tools import structs

NAME = "ctypes_tensors"
_SOURCE = Path(__file__).with_name(f"{NAME}.py")
_IMPORT_OF_STRUCTS = re.compile(r"^from dlbridge\.tools\.structs import .*\n", re.MULTILINE)


def source() -> str:
    """Returns the text of the module."""
    definitions = Path(structs.__file__).read_text(encoding="utf-8")
    body = re.sub(r'\A""".*?"""\n', "", definitions, flags=re.DOTALL)
    body = re.sub(r"^(?:from|import) .*\n", "", body, flags=re.MULTILINE).strip()
    text = _SOURCE.read_text(encoding="utf-8")
    return _IMPORT_OF_STRUCTS.sub(lambda _: f"{body}\n\n", text)


def write(folder: Path) -> None:
    """Writes the module to a folder, from which programs import it."""
    (folder / f"{NAME}.py").write_text(source(), encoding="utf-8")
