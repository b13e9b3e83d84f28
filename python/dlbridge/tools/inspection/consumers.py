"""Who takes a tensor, how, and why not: what is known of each consumer, and a verdict for each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from dlbridge.tools import abi
from dlbridge.tools.inspection.cases import (
    CASES,
    COLUMNS,
    EXCEPTIONS,
    OTHER_MAJOR,
    SIGNALS,
    WORDS,
)
from dlbridge.tools.inspection.roads import Road

if TYPE_CHECKING:
    from dlbridge.tools.inspection.looking import Inspection

Outcome = Literal["shares", "copies", "depends", "refuses", "wrong", "breaks", "crashes", "unknown"]
WORST = ("shares", "copies", "depends", "unknown", "wrong", "breaks", "refuses", "crashes")

LEGACY, VERSIONED, BOTH = (abi.LEGACY,), (abi.VERSIONED,), (abi.LEGACY, abi.VERSIONED)


@dataclass(frozen=True)
class Ask:
    """One question that a consumer asks."""

    road: str
    takes: tuple[str, ...] = BOTH  # capsules, by name; none are meant where the road gives none
    error: str = ""  # what it raises for another one
    goes_on: tuple[str, ...] = ()  # the exceptions after which it asks its next question


@dataclass(frozen=True)
class Consumer:
    """One row: how a library asks. What it does with the answer is in cases.py."""

    name: str
    title: str
    version: str  # with which all of this was seen
    call: str
    asks: tuple[Ask, ...]
    needs_device: str = ""  # what it raises where there is no __dlpack_device__
    needs_stream: bool = False  # it says stream=, and knows no way without
    capsules: tuple[str, ...] = ()  # the raw capsules that it takes, by name
    no_capsule: str = "AttributeError"  # what it raises for others
    no_tensor: str = "AttributeError"  # what it raises for an object without __dlpack__
    always_copies: bool = False
    legacy_note: str = ""  # what it makes of a legacy tensor


TYPE_ERROR = ("TypeError",)
MODERN = (Ask("1.0", goes_on=TYPE_ERROR), Ask("bare"))

ROWS = [
    Consumer(
        "numpy", "NumPy", "2.4.6", "numpy.from_dlpack(x)", MODERN,
        legacy_note="the result is read-only, as a legacy capsule may be",
    ),
    Consumer(
        "torch", "PyTorch", "2.13.0", "torch.from_dlpack(x)", MODERN,
        needs_device="AttributeError", capsules=BOTH, no_capsule="RuntimeError",
        no_tensor="RuntimeError",
    ),
    Consumer(
        "jax", "JAX", "0.10.2", "jax.dlpack.from_dlpack(x)",
        (Ask("bare", LEGACY, "JaxRuntimeError"),),
        needs_device="TypeError", needs_stream=True, no_capsule="TypeError",
        no_tensor="TypeError",
    ),
    Consumer(
        "tensorflow", "TensorFlow", "2.21.0", "tf.experimental.dlpack.from_dlpack(x.__dlpack__())",
        (Ask("bare", LEGACY, "InvalidArgumentError"),),
        capsules=LEGACY, no_capsule="InvalidArgumentError",
    ),
    Consumer(
        "tvm_ffi", "tvm-ffi", "0.1.15.post2", "tvm_ffi.from_dlpack(x)",
        (Ask("give", goes_on=("absent", "BufferError")), Ask("bare", LEGACY, "ValueError")),
        capsules=BOTH, no_capsule="TypeError", no_tensor="TypeError",
    ),
    Consumer(
        "pyarrow", "PyArrow", "26.0.1", "pyarrow.Tensor.from_dlpack(x)",
        (Ask("1.3", VERSIONED, "ValueError"),),
    ),
    Consumer(
        "mpi4py", "mpi4py", "4.1.2", "comm.Send(x)",
        (
            Ask("buffer", goes_on=("absent", "BufferError", "TypeError", "ValueError")),
            Ask("1.0", VERSIONED, "BufferError", goes_on=TYPE_ERROR),
            Ask("bare", LEGACY, "BufferError"),
        ),
        needs_device="TypeError", no_capsule="TypeError", no_tensor="TypeError",
    ),
    Consumer(
        "dpnp", "dpnp", "0.20.0", "dpnp.tensor.from_dlpack(x)", MODERN,
        needs_device="TypeError", no_capsule="TypeError", no_tensor="TypeError",
    ),
    Consumer(
        "paddle", "Paddle", "3.3.1", "paddle.from_dlpack(x)", MODERN,
        needs_device="AttributeError", capsules=BOTH, no_capsule="ValueError",
        no_tensor="ValueError",
    ),
    Consumer(
        "mlx", "MLX", "0.32.4", "mx.from_dlpack(x)",
        (Ask("bare", goes_on=("TypeError", "BufferError")), Ask("1.0"), Ask("buffer")),
        capsules=BOTH, no_capsule="TypeError", no_tensor="TypeError", always_copies=True,
    ),
    Consumer(
        "onnxruntime", "ONNX Runtime", "1.31.1", "OrtValue.from_dlpack(x)",
        (Ask("bare", LEGACY, "TypeError"),),
        capsules=LEGACY, no_capsule="TypeError", no_tensor="TypeError",
    ),
    Consumer(
        "warp", "Warp", "1.19.0", "warp.from_dlpack(x)",
        (Ask("bare", LEGACY, "TypeError"),),
        needs_device="AttributeError", needs_stream=True, capsules=LEGACY, no_capsule="TypeError",
        no_tensor="TypeError",
    ),
    Consumer(
        "mxnet", "MXNet", "1.9.1", "mx.nd.from_dlpack(x.__dlpack__())",
        (Ask("bare", LEGACY, "AssertionError"),),
        capsules=LEGACY, no_capsule="AssertionError",
    ),
    Consumer(
        "nanobind", "nanobind", "3.1.0", "f(x), of an nb::ndarray<> parameter",
        (Ask("1.0", goes_on=("TypeError", "BufferError")), Ask("bare", goes_on=("TypeError",)),
         Ask("buffer")),
        capsules=BOTH, no_capsule="TypeError", no_tensor="TypeError",
    ),
]  # fmt: skip

CONSUMERS = {row.name: row for row in ROWS}
assert set(CONSUMERS) == set(COLUMNS)


@dataclass(frozen=True)
class Verdict:
    """What one consumer will do."""

    consumer: str
    title: str
    version: str  # with which this was seen
    call: str
    outcome: Outcome
    text: str
    road: str = ""  # the one that it reads, when it comes to that
    met: tuple[str, ...] = ()  # the cases, by name, that decide


@dataclass(frozen=True)
class _Judged:
    outcome: Outcome
    text: str
    road: str = ""
    met: tuple[str, ...] = ()


def verdicts(inspection: Inspection) -> list[Verdict]:
    """One for each consumer. What nobody has tried is `unknown`, and not guessed."""
    found = []
    for row in ROWS:
        judged = _judge(row, inspection)
        found.append(
            Verdict(
                row.name, row.title, row.version, row.call,
                judged.outcome, judged.text, judged.road, judged.met,
            )  # fmt: skip
        )
    return found


def _judge(row: Consumer, inspection: Inspection) -> _Judged:
    if inspection.subject.is_capsule:
        return _judge_capsule(row, inspection.roads[0])
    refused = _refuses(row.no_tensor, "it has no __dlpack__")
    for ask in row.asks:
        road = inspection.road(ask.road)
        if road is None or road.outcome == "absent":
            continue
        if road.outcome == "skipped":
            return _Judged("unknown", road.said)
        before = _before(row, ask, inspection)
        if before is not None:
            return before
        if road.outcome == "raised":
            refused = _Judged("refuses", road.said, road.name)
            if road.raised in ask.goes_on:
                continue
            return refused
        if road.capsule is not None and road.capsule not in ask.takes:
            return _refuses(ask.error or "BufferError", _name_text(road, ask))
        return _read(row, road)
    return refused


def _before(row: Consumer, ask: Ask, inspection: Inspection) -> _Judged | None:
    """What stops a consumer before it has called __dlpack__."""
    device = inspection.road("device")
    if ask.road not in ("bare", "1.0", "1.3"):
        return None
    if row.needs_device and device is not None and device.outcome == "absent":
        return _refuses(row.needs_device, "it has no __dlpack_device__")
    if row.needs_device and device is not None and device.outcome == "raised":
        return _Judged("refuses", f"__dlpack_device__ raises {device.said}")
    if row.needs_stream and not inspection.knows("stream"):
        return _refuses("TypeError", "__dlpack__ does not know stream=")
    return None


def _name_text(road: Road, ask: Ask) -> str:
    if road.capsule == abi.LEGACY:
        return "the answer is a legacy capsule, which it does not read"
    if road.capsule == abi.VERSIONED and abi.LEGACY in ask.takes:
        return "the answer is a versioned capsule, which it did not ask for"
    return f"the capsule is named {road.capsule!r}"


def _judge_capsule(row: Consumer, road: Road) -> _Judged:
    if not row.capsules:
        return _refuses(row.no_capsule, "it takes objects, and no raw capsules")
    if road.capsule not in row.capsules:
        return _refuses(row.no_capsule, f"a capsule named {road.capsule!r}")
    return _read(row, road)


def _read(row: Consumer, road: Road) -> _Judged:
    """What it makes of what is in the tensor."""
    if road.version is not None and road.version[0] != 1:
        cell = OTHER_MAJOR.split()[COLUMNS.index(row.name)]
        judged = _of_cell(cell, f"version {road.version[0]}.{road.version[1]}")
        return replace(judged, road=road.name, met=(OTHER,))
    x = road.description
    if x is None:
        return _Judged("unknown", road.said, road.name)
    best = _Judged("copies", "always") if row.always_copies else _Judged("shares", "")
    met, notes = [], []
    for case in CASES:
        cell = case.cell(row.name)
        if cell == "." or not case.holds(x):
            continue
        met.append(case.name)
        judged = _of_cell(cell, case.why(x))
        if judged.outcome in ("refuses", "crashes"):
            # Consumers look in the order of the cases, and stop here.
            return replace(judged, road=road.name, met=(case.name,))
        if cell in NOTES:
            notes.append(WORDS[cell])
        elif WORST.index(judged.outcome) >= WORST.index(best.outcome):
            best = judged
    if x.capsule == abi.LEGACY and row.legacy_note:
        notes.append(row.legacy_note)
    text = "; ".join(filter(None, [best.text, *notes]))
    return _Judged(best.outcome, text, road.name, tuple(met))


OTHER = "other major"  # the case that OTHER_MAJOR has the cells of
NOTES = ("writes", "sends", "memory")  # cells that change nothing but deserve a word
OUTCOMES: dict[str, Outcome] = {
    "copies": "copies",
    "narrows": "copies",
    "wrong": "wrong",
    "later": "breaks",
    "use!": "breaks",
    "drop!": "breaks",
    "device": "depends",
    "?": "unknown",
}


def _refuses(error: str, why: str) -> _Judged:
    return _Judged("refuses", f"{error}: {why}")


def _of_cell(cell: str, why: str) -> _Judged:
    if cell in EXCEPTIONS:
        return _refuses(EXCEPTIONS[cell], why)
    if cell in SIGNALS:
        return _Judged("crashes", f"{SIGNALS[cell]}: {why}")
    said = WORDS.get(cell, "").replace("takes it, and ", "")
    if cell in ("copies", "wrong", "later", "?"):
        return _Judged(OUTCOMES[cell], why)
    return _Judged(OUTCOMES.get(cell, "shares"), f"{said}: {why}" if said else "")


# How an outcome is said, before its text.
SAID: dict[Outcome, str] = {
    "shares": "without a copy",
    "copies": "copies",
    "depends": "depends",
    "refuses": "refuses",
    "wrong": "WRONG VALUES",
    "breaks": "TAKES IT, FAILS LATER",
    "crashes": "ENDS THE PROCESS",
    "unknown": "not known",
}
