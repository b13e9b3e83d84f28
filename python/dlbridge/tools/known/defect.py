# SPDX-License-Identifier: BSD-3-Clause
"""A defect of a library, and how to reproduce it in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .. import children, structs
from ..conformance.rules.model import Text
from ..conformance.rules.texts import ONLY_DLPACK
from ..libraries import opencl_variables
from ..versions import contains, reaches

SECONDS = 120.0

# The module that the programs import: one file that needs only Python. It is composed of
# ctypes_tensors.py and of the structs of dlpack.h in tools/structs.py.
HELPER = "ctypes_tensors"
HELPER_SOURCE = Path(__file__).with_name(f"{HELPER}.py")
_IMPORT_OF_STRUCTS = re.compile(r"^from \S*\.structs import .*\n", re.MULTILINE)

# What an access to, or a call of, freed memory may end in: it depends on what lies there by then.
# An endless loop ends in the alarm of the program.
WILD = ("SIGSEGV", "SIGBUS", "SIGILL", "SIGTRAP", "SIGFPE", "SIGABRT", "SIGALRM")

Outcome = Literal[
    "crash",  # the process ends
    "wrong",  # other values, another dtype or another device arrive
    "writable",  # read-only memory is written
    "freed",  # memory is freed twice, or while it is used
    "leak",  # memory is never freed
    "ignored",  # a request has no effect and no error
    "accepted",  # an unreadable tensor is accepted
    "refused",  # a valid tensor is refused
    "lost",  # an exception is lost
]


# Whether a version of the library has a defect.
State = Literal[
    "present",  # a run of the program has shown it, or one of an older and one of a newer version
    "fixed",  # it is not there since a version that is known
    "unknown",  # neither is known
]

# What the texts of the standards say about a defect, from the gravest on.
Kind = Literal[
    "unsound",  # a crash, wrong values, a leak or a double free on input that they permit
    "must",  # breaks a must
    "should",  # differs from a recommendation, or from a must that the library does not claim
    "hardening",  # the input breaks a standard
    "outside",  # no standard is concerned
    "permitted",  # no breach: behaviour worth knowing
]
HEADINGS: dict[Kind, str] = {
    "unsound": "Unsound",
    "must": "Breaks a must",
    "should": "Differs from a should",
    "hardening": "Hardening",
    "outside": "Outside the protocol",
    "permitted": "Worth knowing",
}
FAULTS: tuple[Kind, ...] = ("unsound", "must", "should", "hardening", "outside")


@dataclass(frozen=True)
class RunResult:
    """How a program ended, and its last output."""

    ended: str  # "" for exit status 0; else the name of a signal, or "exit status 3"
    line: str  # the last one on standard output
    noise: str  # the end of standard error

    def __str__(self) -> str:
        return " after ".join(each for each in (self.ended, repr(self.line)) if each)


@dataclass(frozen=True)
class Defect:
    """One defect or peculiarity of one library, reproduced without dlbridge."""

    id: str
    library: str  # the name of its row in tools.libraries
    seen: str  # the versions that have shown it, the oldest first, as contains() parses them
    outcome: Outcome
    kind: Kind
    texts: tuple[Text, ...]  # the sentences by which it has its kind; the first one says most
    what: str  # one sentence
    breaks: str  # the consequences for users
    remedy: str  # for users, and what dlbridge does
    program: str  # a few lines of Python that reproduce it, with the helper importable
    shows: str  # their last line, or how they end: "SIGSEGV", "exit status 3"
    works: str = ""  # a few lines with dlbridge that apply the remedy; they end without an error
    remark: str = ""  # why its kind is no graver
    found_by: tuple[str, ...] = ()  # the conformance rules and tools that detect it
    fixed_in: str = ""  # the first version that is known not to have it; "": none is known
    upstream: str = ""  # the address of its issue or pull request; "": none is known
    title: str = ""  # of a report: the function and the fact; "": from `what`
    # How the outcome of an exchange looks that it spoils, as a regular expression; "": none does.
    seen_as: str = ""

    def __post_init__(self) -> None:
        for name in ("program", "works"):
            object.__setattr__(self, name, textwrap.dedent(getattr(self, name)).strip())

    @property
    def is_fault(self) -> bool:
        """Whether it is a defect, and not permitted behaviour."""
        return self.kind != "permitted"

    @property
    def is_unclaimed(self) -> bool:
        """Whether it differs from a must of the array API, which the library does not claim."""
        return ONLY_DLPACK in self.texts

    @property
    def since(self) -> str:
        """The first version that is known to have it; older ones may have it as well."""
        return re.split(r", | to ", self.seen)[0]

    @property
    def last(self) -> str:
        """The last version that is known to have it."""
        return re.split(r", | to ", self.seen)[-1]

    @property
    def seen_in(self) -> str:
        """Describes the versions that have it, and the first one without it."""
        repaired = f"fixed in {self.fixed_in}" if self.fixed_in else "not known to be fixed"
        return f"{self.seen}; {repaired}"

    @property
    def reported(self) -> str:
        """Names its issue or pull request, as "pytorch/pytorch#188023"; "" where none is known."""
        return "#".join(re.split(r"/(?:issues|pull)/", self.upstream.partition(".com/")[2]))

    def state_in(self, version: str) -> State:
        """Whether a version has it. Nothing is known of a text that is no version."""
        if reaches(version, self.fixed_in):
            return "fixed"
        return "present" if contains(self.seen, version) else "unknown"

    def is_in(self, version: str) -> bool:
        """Whether this version is known to have it."""
        return self.state_in(version) == "present"

    def is_reproduced_by(self, result: RunResult) -> bool:
        """Whether a run of the program has reproduced it."""
        expected = WILD if self.shows == "SIGSEGV" else (self.shows,)
        return (result.ended or result.line) in expected


def helper() -> str:
    """Returns the text of the module that the programs import."""
    definitions = Path(structs.__file__).read_text(encoding="utf-8")
    body = re.sub(r'\A# SPDX.*?\n""".*?"""\n', "", definitions, flags=re.DOTALL)
    body = re.sub(r"^(?:from|import) .*\n", "", body, flags=re.MULTILINE).strip()
    text = HELPER_SOURCE.read_text(encoding="utf-8")
    return _IMPORT_OF_STRUCTS.sub(lambda _: f"{body}\n\n", text)


def write_helper(folder: Path) -> None:
    """Writes the module to a folder, from which programs import it."""
    (folder / f"{HELPER}.py").write_text(helper(), encoding="utf-8")


def run(program: str, *, python: str = sys.executable, seconds: float = SECONDS) -> RunResult:
    """Runs a program in a process of its own, with the helper importable.

    Raises subprocess.TimeoutExpired when it takes too long.
    """
    prefix = Path(python).parent.parent  # not resolved: a virtual environment links to its Python
    environment = {**opencl_variables(prefix), **os.environ, **children.QUIET}
    with tempfile.TemporaryDirectory() as folder:
        write_helper(Path(folder))
        script = Path(folder, "program.py")
        script.write_text(program + "\n")
        process = subprocess.run(
            [python, str(script)], env=environment, cwd=folder, timeout=seconds,
            capture_output=True, text=True, errors="replace",
        )  # fmt: skip
    return RunResult(
        ended=children.how_it_ended(process.returncode) if process.returncode else "",
        line=(process.stdout.strip().splitlines() or [""])[-1].strip(),
        noise=process.stderr.strip()[-children.MOST_NOISE :],
    )


# Where the structs have the fields that programs change, and the capsules that have such a struct.
FIELDS = {
    "version": ("dltensor_versioned", "c_uint32", 0),
    "data": ("dltensor", "c_void_p", 0),
    "data of a versioned tensor": ("dltensor_versioned", "c_void_p", 32),
    "device": ("dltensor", "c_int32", 8),
    "ndim": ("dltensor", "c_int32", 16),
    "lanes": ("dltensor", "c_uint16", 22),
    "byte_offset": ("dltensor", "c_uint64", 40),
    "deleter": ("dltensor", "c_void_p", 56),
}


def changed(field: str, value: int | None, then: str, *, aligned: bool = False) -> str:
    """Returns a program that changes one field of the `capsule` of an array of NumPy.

    It has four elements: 0, 1, 2, 3, or zeros where its memory is aligned to 64 bytes, for
    libraries that copy all other memory. `then` may use a `Producer()` of the capsule as well.
    """
    name, kind, offset = FIELDS[field]
    address = f'pointer_of(capsule, b"{name}")' + (f" + {offset}" if offset else "")
    keywords = "max_version=(1, 0)" if name == "dltensor_versioned" else ""
    producer = """
class Producer:
    def __dlpack__(self, **keywords):
        return capsule
    def __dlpack_device__(self):
        return (1, 0)
"""
    array = 'numpy.arange(8, dtype="float32")[:4]'
    memory = 'memory = numpy.zeros(32, dtype="float32")\n' if aligned else ""
    if memory:
        array = "memory[-memory.ctypes.data // 4 % 16:][:4]"
    return f"""\
import ctypes, numpy
{memory}capsule = {array}.__dlpack__({keywords})
pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))
ctypes.{kind}.from_address({address}).value = {value}  # {field}
{producer.lstrip() if "Producer()" in then else ""}{textwrap.dedent(then).strip()}
"""


def refused(tensor: str) -> str:
    """Returns a program that checks that dlbridge refuses a tensor, and frees it at most once."""
    return f"""
import ctypes_tensors, dlbridge
try:
    dlbridge.from_dlpack({tensor})
except BufferError:
    assert len(ctypes_tensors.freed) <= 1
else:
    raise AssertionError
"""
