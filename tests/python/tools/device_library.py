# SPDX-License-Identifier: BSD-3-Clause
"""A library on a GPU, real or simulated: sound producers and consumers, and planted defects.

Each class is a factory, or a consumer, of its own. Without a stream of the caller they work on a
stream that the default streams do not order.
"""

from __future__ import annotations

import ctypes
import math
import os
import struct
from functools import cache
from typing import Any

from conformance_targets import tensor

import dlbridge
from dlbridge.tools import abi, devices
from dlbridge.tools.conformance.helpers.cuda_driver import (
    LEGACY,
    LIBRARY,
    PARAMETERS,
    DriverError,
    driver,
)
from dlbridge.tools.conformance.helpers.producers import FixedProducer

CUDA = (devices.CUDA, 0)
FLOAT32 = (2, 32, 1)
MISALIGNED_ADDRESS = 716
PARAMETERS["cuMemFree_v2"] = (ctypes.c_uint64,)


def ours(
    shape: tuple[int, ...] = (2, 3),
    dtype: str = "float32",
    readonly: bool = False,
    device: str = "cpu",
    stream: int | None = None,
) -> dlbridge.Tensor:
    """dlbridge's own Tensor."""
    result = tensor(shape, dtype, readonly, device)
    return result if stream is None else dlbridge.from_dlpack(result, stream=stream)


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def nested(numbers: list[float], shape: tuple[int, ...]) -> Any:
    if not shape:
        return numbers[0]
    step = math.prod(shape[1:])
    return [nested(numbers[i * step :], shape[1:]) for i in range(shape[0])]


def wait(stream: int) -> None:
    driver().call("cuStreamSynchronize", stream)


def copy(function: str, to: int, source: int, size: int, stream: int) -> None:
    driver().call(function, to, source, size, stream)


def pinned(size: int) -> int:
    """Allocates memory of the host; a copy to it does not wait."""
    return driver().allocate_pinned(max(1, size))


@cache
def own_stream(name: str) -> int:
    """Returns a stream of this library: creating one could wait for late work."""
    return driver().stream()


# Producers -------------------------------------------------------------------------------------


class Array:
    """Float32 in device memory. Its work is on the stream that it gets, or on one of its own."""

    def __init__(
        self, shape: tuple[int, ...] = (2, 3), device: str = "cpu", stream: int | None = None
    ) -> None:
        if device != "cuda":
            raise ValueError("all arrays are in device memory")
        self.shape, self.size = shape, 4 * math.prod(shape)
        self.work = driver().stream() if stream is None else stream
        self.address = driver().allocate(max(1, self.size))
        driver().upload(self.address, bytes(i % 128 for i in range(self.size)))
        self.copying, self.on_the_host = driver().stream(), pinned(self.size)

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        if stream == 0 or (stream is not None and stream < -1):
            raise ValueError(f"{stream} is no stream of CUDA")
        if dl_device == abi.CPU:
            if copy is False:
                raise BufferError("the host needs a copy")
            return self.capsule(self.to_the_host(), abi.CPU, abi.IS_COPIED)
        address = self.copied() if copy else self.address
        if stream != -1:
            self.order(LEGACY if stream is None else stream, stream)
        return self.capsule(address, CUDA, abi.IS_COPIED if copy else 0)

    def capsule(self, address: int, device: tuple[int, int], flags: int) -> Any:
        fields: dict[str, Any] = {"shape": self.shape, "strides": row_major(self.shape)}
        tensor = abi.make(data=address, device=device, version=(1, 3), flags=flags, **fields)
        owner = [self]
        tensor.on_delete = owner.clear
        return tensor.capsule()

    def order(self, later: int, stream: int | None) -> None:
        """Makes work of a stream wait, the one that `stream` means."""
        driver().order(after=self.work, later=later)

    def copied(self) -> int:
        """Copies the array in device memory, as work of its stream."""
        result = driver().allocate(self.size)
        copy("cuMemcpyDtoDAsync_v2", result, self.address, self.size, self.work)
        return result

    def to_the_host(self) -> int:
        ctypes.memset(self.on_the_host, 0, self.size)
        self.before_copy()
        copy("cuMemcpyDtoHAsync_v2", self.on_the_host, self.address, self.size, self.copying)
        self.after_copy()
        return self.on_the_host

    def before_copy(self) -> None:
        driver().order(after=self.work, later=self.copying)

    def after_copy(self) -> None:
        wait(self.copying)


class Waits(Array):
    """Sound: waits on the host, and passes the consumer finished elements."""

    def order(self, later: int, stream: int | None) -> None:
        wait(self.work)


class TakesTwoForLegacy(Array):
    """Sound: the per-thread default stream is ordered with the legacy one."""

    def order(self, later: int, stream: int | None) -> None:
        super().order(LEGACY if stream == 2 else later, stream)


class RefusesStreams(Array):
    """Sound: support for a stream value other than None is optional."""

    def order(self, later: int, stream: int | None) -> None:
        if stream is not None:
            raise BufferError("only stream=None is supported")
        super().order(later, stream)


class SaysItsStream(Array):
    """Sound: has no parameter for a stream, but the protocol of cuda.core."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device=device)

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.work)


class KeepsItsStreamSecret(Array):
    """Sound, but states its stream by no protocol."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device=device)


class Reversible(Array):
    """Sound: has views with a negative stride."""

    step = 1

    def __getitem__(self, key: slice) -> Reversible:
        if key != slice(None, None, -1) or len(self.shape) != 1:
            raise IndexError("there are no other views")
        result = type(self)(self.shape, "cuda", self.work)
        result.step = -1
        return result

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        is_reversed = self.step == -1
        first = self.address + self.size - 4 if is_reversed else self.address
        strides = (-4,) if is_reversed else None
        return {"shape": self.shape, "typestr": "<f4", "data": (first, False), "strides": strides}

    def tolist(self) -> list[float]:
        content = driver().download(self.address, self.size)
        numbers = [number for (number,) in struct.iter_unpack("f", content)]
        return numbers if len(self.shape) != 1 else numbers[:: self.step]

    def capsule(self, address: int, device: tuple[int, int], flags: int) -> Any:
        if self.step == 1:
            return super().capsule(address, device, flags)
        fields: dict[str, Any] = {
            "shape": self.shape,
            "strides": (self.stride(),),
            "flags": flags,
        }
        last = address + self.size - 4
        return abi.make(data=last, device=device, version=(1, 3), **fields).capsule()

    def stride(self) -> int:
        return -1


class DividesUnsigned(Reversible):
    """As CuPy 14: divides the negative stride in bytes as a number without a sign."""

    def stride(self) -> int:
        return (2**64 - 4) // 4


class CountsBytes(Reversible):
    """Its stride leads before its memory."""

    def stride(self) -> int:
        return -4


class RepeatsLargeArrays(Reversible):
    def capsule(self, address: int, device: tuple[int, int], flags: int) -> Any:
        if len(self.shape) != 1 or self.shape[0] < 1 << 16:
            return super().capsule(address, device, flags)
        fields: dict[str, Any] = {"shape": self.shape, "strides": (0,), "flags": flags}
        return abi.make(data=address, device=device, version=(1, 3), **fields).capsule()


class UsesEveryStream:
    """Takes every number for the handle of a stream, as JAX does."""

    accepts_zero = True

    def __init__(self, device: str = "cpu") -> None:
        self.tensor = ours(device=device)

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA

    def __dlpack__(self, *, stream: int | None = None, max_version: Any = None) -> Any:
        if stream is not None and stream < -1:
            os.abort()
        if stream == 0 and self.accepts_zero:
            stream = LEGACY
        return self.tensor.__dlpack__(stream=stream, max_version=max_version)


class UsesEveryOtherStream(UsesEveryStream):
    """As UsesEveryStream, but refuses the stream 0, as PyTorch does."""

    accepts_zero = False


class RaisesValueErrors(Array):
    """Sound: raises the other error that the standard has named for copy=False."""

    def __dlpack__(self, **keywords: Any) -> Any:
        try:
            return super().__dlpack__(**keywords)
        except BufferError as error:
            raise ValueError("the host needs a copy") from error


class IgnoresStreams(Array):
    def order(self, later: int, stream: int | None) -> None:
        pass


class IgnoresItsStream(SaysItsStream):
    def order(self, later: int, stream: int | None) -> None:
        pass


class OrdersTheDefaultStream(Array):
    def order(self, later: int, stream: int | None) -> None:
        super().order(LEGACY, stream)


class OrdersNothingForNone(Array):
    def order(self, later: int, stream: int | None) -> None:
        if stream is not None:
            super().order(later, stream)


class OrdersBackwards(Array):
    def order(self, later: int, stream: int | None) -> None:
        driver().order(after=later, later=self.work)


class RecordsTooEarly(Array):
    """Waits for what its stream had when the array was created."""

    def __init__(
        self, shape: tuple[int, ...] = (2, 3), device: str = "cpu", stream: int | None = None
    ) -> None:
        super().__init__(shape, device, stream)
        self.earlier = driver().stream()
        driver().order(after=self.work, later=self.earlier)

    def order(self, later: int, stream: int | None) -> None:
        driver().order(after=self.earlier, later=later)


class CopiesTooEarly(Array):
    def before_copy(self) -> None:
        pass


class ReturnsTooEarly(Array):
    def after_copy(self) -> None:
        pass


class CopiesNothing(Array):
    def copied(self) -> int:
        result = driver().allocate(self.size)
        driver().upload(result, bytes(self.size))
        return result


class FreesWithItsOwner(Array):
    """Its exports do not keep the memory."""

    def capsule(self, address: int, device: tuple[int, int], flags: int) -> Any:
        result = super().capsule(address, device, flags)
        abi._tensors[abi.pointer_of(result)].on_delete = None
        return result

    def __del__(self) -> None:
        if hasattr(self, "address"):
            driver().call("cuMemFree_v2", self.address)


# Consumers -------------------------------------------------------------------------------------


class Result:
    """Reads a compact tensor by a copy on its stream, which it passes to the producer."""

    supported: tuple[tuple[int, int], ...] = (CUDA,)

    def __init__(self, x: Any, stream: int | None = None) -> None:
        if tuple(x.__dlpack_device__()) not in self.supported:
            raise BufferError("only device memory is supported")
        self.work = own_stream("work") if stream is None else stream
        capsule = x.__dlpack__(**self.request(stream))
        contents = abi.read(capsule)
        self.shape = contents.shape or ()
        if contents.dtype != FLOAT32 or contents.strides not in (None, row_major(self.shape)):
            raise BufferError("only compact tensors of float32 are supported")
        self.tensor = abi.take(capsule)

    def request(self, stream: int | None) -> dict[str, Any]:
        return {"stream": self.work, "max_version": (1, 3)}

    @property
    def address(self) -> int:
        return self.tensor.contents.first

    def tolist(self) -> Any:
        count = math.prod(self.shape)
        content = driver().seen_from(self.work, self.address, 4 * count) if count else b""
        return nested(list(struct.unpack(f"{count}f", content)), self.shape)

    def __del__(self) -> None:
        if hasattr(self, "tensor"):
            self.tensor.free()


class WorksOnTheDefaultStream(Result):
    """Sound: without a stream the producer orders the legacy default stream."""

    def __init__(self, x: Any) -> None:
        super().__init__(x, LEGACY)

    def request(self, stream: int | None) -> dict[str, Any]:
        return {}


class OrdersItself(Result):
    """Sound: waits for the whole device."""

    def request(self, stream: int | None) -> dict[str, Any]:
        return {"stream": -1}

    def tolist(self) -> Any:
        driver().synchronize()
        return super().tolist()


def damage() -> None:
    """Lets every further call fail in this process, as an error does that CUDA keeps."""
    library = ctypes.CDLL(LIBRARY)
    for name in PARAMETERS:
        if name.startswith(("cuMem", "cuStream", "cuEvent", "cuCtxS")):
            library.simulated_fail_function(name.encode(), MISALIGNED_ADDRESS)


class DamagesTheDevice(Result):
    """Its kernels need aligned memory: on a simulated driver only."""

    def tolist(self) -> Any:
        if self.address % 256:
            damage()
        return super().tolist()


class DamagesTheDeviceLater(Result):
    """As DamagesTheDevice, but the error comes with the import of an empty tensor."""

    is_late = False

    def __init__(self, x: Any, stream: int | None = None) -> None:
        super().__init__(x, stream)
        if DamagesTheDeviceLater.is_late and 0 in self.shape:
            damage()
            driver().synchronize()

    def tolist(self) -> Any:
        DamagesTheDeviceLater.is_late = self.address % 256 != 0
        return super().tolist()


class EndsTheProcessBackwards(Result):
    """As PyTorch: ends the process for negative strides."""

    def __init__(self, x: Any) -> None:
        capsule = x.__dlpack__(max_version=(1, 3))
        strides = abi.read(capsule).strides
        if strides and min(strides) < 0:
            os.abort()
        super().__init__(FixedProducer(capsule, CUDA))


class TakesManagedMemory(Result):
    """Sound: its kernels read managed and pinned memory, but no other memory of the host."""

    supported = (CUDA, (devices.CUDA_MANAGED, 0), (devices.CUDA_HOST, 0))


class ComparesDevices(Result):
    """Sound: believes the capsule."""

    def __init__(self, x: Any) -> None:
        capsule = x.__dlpack__(max_version=(1, 3))
        device = abi.read(capsule).device
        if device != CUDA:
            raise BufferError(f"the capsule is on {device}")
        super().__init__(FixedProducer(capsule, CUDA))


class CopiesAtOnce(Result):
    """Sound: supports CUDA, and so may follow any pointer to its memory. Ends the process there."""

    def __init__(self, x: Any) -> None:
        super().__init__(x)
        try:
            driver().seen_from(self.work, self.address, 4 * math.prod(self.shape) or 4)
        except DriverError:
            os.abort()


class PassesNoStream(Result):
    def request(self, stream: int | None) -> dict[str, Any]:
        return {"max_version": (1, 3)}


class PassesAnotherStream(Result):
    def request(self, stream: int | None) -> dict[str, Any]:
        return {"stream": own_stream("another"), "max_version": (1, 3)}


class OrdersNothing(Result):
    def request(self, stream: int | None) -> dict[str, Any]:
        return {"stream": -1, "max_version": (1, 3)}


class PassesZero(Result):
    def request(self, stream: int | None) -> dict[str, Any]:
        return {"stream": 0}


class PassesText(Result):
    def request(self, stream: int | None) -> dict[str, Any]:
        return {"stream": "mine"}


class PassesTooLittle(Result):
    def request(self, stream: int | None) -> dict[str, Any]:
        return {"stream": -2}


class ForgetsTheUsersStream(Result):
    """Right until its user sets a stream."""

    def request(self, stream: int | None) -> dict[str, Any]:
        return super().request(stream) if stream is None else {"stream": LEGACY}


class IgnoresTheOffset(Result):
    @property
    def address(self) -> int:
        return self.tensor.contents.data
