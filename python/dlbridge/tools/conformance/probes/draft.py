"""The probes of streams: S-01, S-02, S-05 and S-10."""

from __future__ import annotations

from typing import Any

from dlbridge.tools import devices
from dlbridge.tools.conformance.helpers.consumption import ConsumerCall, negotiates
from dlbridge.tools.conformance.helpers.producers import RaisingProducer
from dlbridge.tools.conformance.outcomes import Broken, Skip
from dlbridge.tools.conformance.registry import probe
from dlbridge.tools.conformance.target import Target

# S-01 and S-02: streams ------------------------------------------------------------------------


def _streams_sent(target: Target, device_type: int) -> list[Any]:
    """Returns the streams sent to a producer on this device, which refuses: nothing is read."""
    negotiates(target)
    refusing = RaisingProducer(
        BufferError("this producer exports nothing"), reported_device=(device_type, 0)
    )
    return [
        each["stream"]
        for each in ConsumerCall(target, refusing).producer.requests
        if "stream" in each
    ]


@probe("S-01", hostile=True)
def streams_fit_the_device(target: Target) -> str:
    on_cpu = [each for each in _streams_sent(target, devices.CPU) if each is not None]
    if on_cpu:
        raise Broken(f"to a producer on cpu it sends stream={on_cpu[0]!r}")
    notes = []
    for device_type in (devices.CUDA, devices.CUDA_MANAGED):
        streams = _streams_sent(target, device_type)
        if 0 in [each for each in streams if isinstance(each, int)]:
            raise Broken(f"to a producer on {devices.NAMES[device_type]} it sends stream=0")
        notes.append(f"{devices.NAMES[device_type]}: {streams[0] if streams else 'no stream'}")
    rocm = [each for each in _streams_sent(target, devices.ROCM) if each in (1, 2)]
    if rocm:
        raise Broken(f"to a producer on rocm it sends stream={rocm[0]}")
    return "; ".join(notes)


@probe("S-02", hostile=True)
def never_sends_unordered(target: Target) -> None:
    for device_type in (
        devices.CPU,
        devices.CUDA,
        devices.CUDA_HOST,
        devices.ROCM,
        devices.CUDA_MANAGED,
        devices.ONEAPI,
    ):
        if any(each == -1 for each in _streams_sent(target, device_type)):
            name = devices.NAMES[device_type]
            raise Broken(f"to a producer on {name} it sends stream=-1")


@probe("S-05")
def cuda_streams_say_version_0(target: Target) -> None:
    x = target.make(device="cuda")
    stream = getattr(x, "__cuda_stream__", None) or getattr(
        getattr(x, "stream", None), "__cuda_stream__", None
    )
    if stream is None:
        raise Skip(f"{type(x).__name__} has no __cuda_stream__")
    description = tuple(stream())
    if len(description) != 2 or description[0] != 0:
        raise Broken(f"__cuda_stream__() returned {description}")


@probe("S-10")
def waits_for_the_device(target: Target) -> None:
    target.make(device="cuda")
    raise Skip("needs a device and a kernel that runs long enough")
