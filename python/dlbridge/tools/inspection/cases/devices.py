"""Cases of the device. Seen on builds for the CPU; "device" where another build takes it."""

from __future__ import annotations

from dlbridge.tools.inspection.cases.case import Case, on
from dlbridge.tools.inspection.description import Description, device_name

# By type: how it is said, and the cells.
NAMED = {
    2: ("on CUDA", "RE device device device device . device BE device VE ANI device device ."),
    3: ("pinned by CUDA", ". BE RE IAE MXE . . BE . VE ANI RE RE ."),
    8: ("on Metal", "RE device TE IAE MXE . ? BE NIE device ANI RE TE ."),
    10: ("on ROCm", "RE device device device ? . device BE ? VE ANI device ? ."),
    11: ("pinned by ROCm", ". BE ? ? MXE . . BE ? VE ANI RE RE ."),
    13: ("managed by CUDA", ". BE TE IAE MXE . . BE NIE VE ANI RE IE ."),
    14: ("on oneAPI", "RE device TE IAE MXE . ? . NIE VE ANI RE TE ."),
}


def _is_known(x: Description) -> bool:
    return x.device is None or not device_name(x.device).startswith("unknown")


def _is_other(x: Description) -> bool:
    return x.device is not None and _is_known(x) and x.device[0] not in (1, *NAMED)


DEVICES = [
    Case(
        "CPU id",
        "note",
        lambda x: on(1)(x) and x.device is not None and x.device[1] != 0,
        lambda x: "the CPU has another number than 0",
        ". . JRE . . . . BE . . . . . .",
        lambda x: f"The device is {x.device_text}; the CPU's number should be 0.",
    ),
    *(
        Case(said, "", on(type_), lambda x, said=said: said, cells)  # type: ignore[misc]
        for type_, (said, cells) in NAMED.items()
    ),
    Case(
        "other device",
        "",
        _is_other,
        lambda x: f"on {x.device_text}",
        "RE ? TE IAE MXE . . BE NIE VE ANI RE TE .",
    ),
    Case(
        "unknown device",
        "defect",
        lambda x: not _is_known(x),
        lambda x: "the device type is unknown",
        "RE BE TE IAE MXE . . BE NIE VE ANI RE TE .",
        lambda x: f"DLPack knows no device of type {x.device[0] if x.device else 0}.",
    ),
]
