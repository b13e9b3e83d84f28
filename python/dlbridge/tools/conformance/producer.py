"""The probes of producers: what __dlpack__ and __dlpack_device__ answer, P-01 to P-32."""

from __future__ import annotations

from dlbridge.tools import abi
from dlbridge.tools.conformance.probes import Broken, probe
from dlbridge.tools.conformance.target import Target


@probe("P-01")
def dunders_on_the_type(target: Target) -> None:
    made = target.make()
    for name in ("__dlpack__", "__dlpack_device__"):
        if not callable(getattr(type(made), name, None)):
            raise Broken(f"{type(made).__name__} has no method {name}")


@probe("P-04")
def names_of_capsules(target: Target) -> None:
    name = abi.name_of(target.make().__dlpack__())
    if name != abi.LEGACY:
        raise Broken(f"the bare call gave a capsule named {name!r}")
