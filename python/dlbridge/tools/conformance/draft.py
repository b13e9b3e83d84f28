"""The probes beyond the sixty: the array API's draft, the exchange table, other protocols."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import inspect
from typing import Any

from dlbridge.tools import abi
from dlbridge.tools.buffers import buffer_of
from dlbridge.tools.conformance.exports import (
    best,
    compact_strides,
    element_bytes,
    every_kind,
    make,
    steps,
)
from dlbridge.tools.conformance.handmade import (
    VERSION,
    Fed,
    OldProducer,
    Producer,
    RaisingProducer,
    feed,
    function_with_keywords,
    negotiates,
    numbers_of,
)
from dlbridge.tools.conformance.probes import Broken, Skip, probe
from dlbridge.tools.conformance.target import Target, name_error

# By device type: what its streams are, as the array API numbers them.
CUDA, CUDA_HOST, ROCM, MANAGED, ONE_API = 2, 3, 10, 13, 14
NAMES = {1: "CPU", CUDA: "CUDA", CUDA_HOST: "CUDA host", ROCM: "ROCm", MANAGED: "CUDA managed"}


# S-01 and S-02: streams ------------------------------------------------------------------------


def _streams_sent(target: Target, device_type: int) -> list[Any]:
    """What is sent as stream to a producer of this device, which then refuses: nothing is read."""
    negotiates(target)
    refusing = RaisingProducer(BufferError("only asked what would be sent"), says=(device_type, 0))
    return [each["stream"] for each in Fed(target, refusing).producer.asked if "stream" in each]


@probe("S-01", hostile=True)
def streams_fit_the_device(target: Target) -> str:
    on_cpu = [each for each in _streams_sent(target, 1) if each is not None]
    if on_cpu:
        raise Broken(f"to a producer on the CPU it sends stream={on_cpu[0]!r}")
    notes = []
    for device_type in (CUDA, MANAGED):
        sent = _streams_sent(target, device_type)
        if 0 in [each for each in sent if isinstance(each, int)]:
            raise Broken(f"to a producer on {NAMES[device_type]} it sends stream=0")
        notes.append(f"{NAMES[device_type]}: {sent[0] if sent else 'no stream'}")
    rocm = [each for each in _streams_sent(target, ROCM) if each in (1, 2)]
    if rocm:
        raise Broken(f"to a producer on ROCm it sends stream={rocm[0]}")
    return "; ".join(notes)


@probe("S-02", hostile=True)
def never_says_unordered(target: Target) -> None:
    for device_type in (1, CUDA, CUDA_HOST, ROCM, MANAGED, ONE_API):
        if any(each == -1 for each in _streams_sent(target, device_type)):
            named = NAMES.get(device_type, f"device type {device_type}")
            raise Broken(f"to a producer on {named} it sends stream=-1")


# S-03: the exchange table ----------------------------------------------------------------------

_int = ctypes.c_int
_From = ctypes.PYFUNCTYPE(_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
_To = ctypes.PYFUNCTYPE(_int, ctypes.c_void_p, ctypes.POINTER(ctypes.py_object))
_View = ctypes.PYFUNCTYPE(_int, ctypes.py_object, ctypes.c_void_p)
_Stream = ctypes.PYFUNCTYPE(_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
MAY_BE_NULL = "dltensor_from_py_object_no_sync"
UNWRITTEN = 0x5EED  # is where an answer should be


def _table(target: Target) -> tuple[Any, abi.Exchange]:
    made = make(target)
    try:
        table = abi.exchange_table(type(made))
    except abi.Unreadable as why:
        raise Broken(str(why)) from None
    if table is None:
        raise Skip(f"{type(made).__name__} has no exchange table")
    return made, table


def _same(one: Any, other: Any) -> str | None:
    """How two descriptions of one array differ, None when they do not."""
    for word in ("first", "shape", "strides", "dtype", "device"):
        a, b = getattr(one, word), getattr(other, word)
        if a != b:
            return f"{word} is {a} and {b}"
    return None


@probe("S-03")
def slots_are_filled(target: Target) -> str:
    _, table = _table(target)
    empty = [
        name for name in abi.EXCHANGE_SLOTS if not getattr(table, name) and name != MAY_BE_NULL
    ]
    if empty:
        raise Broken(f"NULL: {', '.join(empty)}")
    return f"version {table.header.version.major}.{table.header.version.minor}"


@probe("S-03", hostile=True)
def export_agrees_with_the_method(target: Target) -> None:
    made, table = _table(target)
    out = ctypes.c_void_p()
    if _From(table.managed_tensor_from_py_object_no_sync)(made, ctypes.byref(out)) != 0:
        raise Broken("managed_tensor_from_py_object_no_sync refuses what __dlpack__ exports")
    taken = abi.Taken(abi.read_struct(out.value or 0, abi.VERSIONED))
    try:
        differs = _same(taken.contents, best(made).contents)
    finally:
        taken.free()
    if differs is not None:
        raise Broken(f"by the table and by __dlpack__ the {differs}")


@probe("S-03", hostile=True)
def view_agrees_with_the_method(target: Target) -> None:
    made, table = _table(target)
    if not table.dltensor_from_py_object_no_sync:
        raise Skip("dltensor_from_py_object_no_sync is NULL, as it may be")
    tensor = abi.Tensor()
    if _View(table.dltensor_from_py_object_no_sync)(made, ctypes.addressof(tensor)) != 0:
        raise Broken("dltensor_from_py_object_no_sync refuses what __dlpack__ exports")
    said = best(made).contents
    got = (tensor.data or 0) + tensor.byte_offset
    if got != said.first:
        raise Broken(f"the view begins at {got:#x}, and the capsule at {said.first:#x}")


def _imported(target: Target, **words: Any) -> tuple[int, Producer, Any]:
    """What managed_tensor_to_py_object_no_sync makes of a tensor: its status, and the object."""
    _, table = _table(target)
    producer = Producer(**words)
    capsule = producer.give(VERSION)
    address = producer.made[0].address
    abi.rename(capsule, abi.USED[abi.VERSIONED])  # the table takes the struct, and no capsule
    out = ctypes.py_object()
    try:
        status = _To(table.managed_tensor_to_py_object_no_sync)(address, ctypes.byref(out))
    except Exception:
        return -1, producer, None
    return status, producer, out.value if status == 0 else None


@probe("S-03", hostile=True)
def import_honours_the_offset(target: Target) -> None:
    status, _, result = _imported(target, byte_offset=16)
    if status != 0:
        return
    got = abi.read(result.__dlpack__()).first
    expected = numbers_of((), (), 4.0)
    first = ctypes.c_float.from_address(got).value
    if first != expected:
        raise Broken(f"byte_offset of 16: the first number is {first}, and should be {expected}")


@probe("S-03", hostile=True)
def import_refuses_major_2(target: Target) -> None:
    status, _, _ = _imported(target, version=(2, 0))
    if status == 0:
        raise Broken("managed_tensor_to_py_object_no_sync takes a tensor of major version 2")


def _stream_of(target: Target, device_type: int) -> int | None:
    """The stream that the table names for device 0 of a type; None where it refuses."""
    _, table = _table(target)
    out = ctypes.c_void_p(UNWRITTEN)
    try:
        status = _Stream(table.current_work_stream)(device_type, 0, ctypes.byref(out))
    except Exception:
        return None
    return (out.value or 0) if status == 0 else None


@probe("S-03", hostile=True)
def stream_of_the_cpu(target: Target) -> None:
    if _stream_of(target, 1) == UNWRITTEN:
        raise Broken("current_work_stream of the CPU returns 0 and writes nothing", severity="W")


@probe("S-03", hostile=True)
def stream_of_a_device_that_may_be_missing(target: Target) -> str:
    found = _stream_of(target, CUDA)
    return "refused" if found is None else f"CUDA: {found:#x}"


# S-04 to S-09: other protocols, and what is rare -----------------------------------------------


@probe("S-04")
def other_protocols_agree(target: Target) -> str:
    made = make(target)
    said = best(made).contents
    each = element_bytes(said)
    expected = (said.first, said.shape, tuple(each * step for step in steps(said)))
    others = {
        "the buffer protocol": _by_buffer(made),
        "__array_interface__": _by_interface(getattr(made, "__array_interface__", None)),
        "__cuda_array_interface__": _by_interface(_cuda_interface(made)),
    }
    found = {name: told for name, told in others.items() if told is not None}
    if not found:
        raise Skip(f"{type(made).__name__} has no other protocol")
    if not each:
        raise Skip("its dtype has no size")
    for name, told in found.items():
        if told != expected:
            raise Broken(f"address, shape, steps: by __dlpack__ {expected}, by {name} {told}")
    return f"also {', '.join(found)}"


Told = tuple[int, tuple[int, ...], tuple[int, ...]]  # address, shape, strides in bytes


def _by_buffer(x: Any) -> Told | None:
    said = buffer_of(x)
    return None if said is None else (said.address, said.shape, said.strides)


def _by_interface(said: Any) -> Told | None:
    if said is None:
        return None
    shape = tuple(said["shape"])
    each = int(said["typestr"][2:])
    in_bytes = said.get("strides") or [each * step for step in compact_strides(shape)]
    return int(said["data"][0]), shape, tuple(in_bytes)


def _cuda_interface(x: Any) -> Any:
    with contextlib.suppress(Exception):  # many raise for memory of the CPU
        return x.__cuda_array_interface__
    return None


@probe("S-04")
def other_protocols_are_as_read_only(target: Target) -> None:
    made = target.make(readonly=True)
    buffer = buffer_of(made)
    if buffer is not None and not buffer.readonly:
        raise Broken("the array is read-only, and its buffer can be written")
    said = getattr(made, "__array_interface__", None)
    if said is not None and not said["data"][1]:
        raise Broken("the array is read-only, and its __array_interface__ does not say so")


@probe("S-05")
def cuda_streams_say_version_0(target: Target) -> None:
    made = target.make(device="cuda")
    stream = getattr(made, "__cuda_stream__", None) or getattr(
        getattr(made, "stream", None), "__cuda_stream__", None
    )
    if stream is None:
        raise Skip(f"{type(made).__name__} has no __cuda_stream__")
    told = tuple(stream())
    if len(told) != 2 or told[0] != 0:
        raise Broken(f"__cuda_stream__() gives {told}")


@probe("S-06")
def padding_is_said_of_small_dtypes_only(target: Target) -> None:
    said = best(make(target)).contents
    if said.flags & abi.SUBBYTE_PADDED and said.dtype[1] * said.dtype[2] % 8 == 0:
        raise Broken(f"SUBBYTE_PADDED is set on {said.dtype}")


@probe("S-07")
def packing_of_four_bits(target: Target) -> str:
    said = best(make(target, dtype="float4_e2m1fn", shape=(4,))).contents
    return f"{said.dtype} of shape {said.shape}"


@probe("S-08")
def both_flavours_describe_one_array(target: Target) -> None:
    exports = every_kind(make(target))
    if len(exports) < 2:
        raise Skip("it exports capsules of one flavour only")
    differs = _same(*(each.contents for each in exports))
    if differs is not None:
        raise Broken(f"by the legacy and by the versioned capsule the {differs}")


class _Derived(Producer):
    """Gives other numbers than its base class: those four further on."""

    def give(self, version: tuple[int, int] | None) -> Any:
        self.words["byte_offset"] = 0
        capsule = super().give(version)
        for made in self.made:
            tensor = made.struct.tensor
            tensor.data += 16
        return capsule


@probe("S-09")
def subclasses_speak_for_themselves(target: Target) -> None:
    negotiates(target)
    base, derived = feed(target), Fed(target, _Derived())
    for fed in (base, derived):
        if fed.refusal is not None:
            raise Skip(f"refused: {fed.said}")
    base.values()
    expected = numbers_of((2, 3), (3, 1), 4.0)
    if derived.values() != expected:
        raise Broken(f"a subclass gave {expected}, and {derived.values()} arrived")


@probe("S-10")
def waits_for_the_device(target: Target) -> None:
    target.make(device="cuda")
    raise Skip("needs a device, and a kernel that takes its time")


# S-11 to S-16: from_dlpack and asarray, by the array API ---------------------------------------


def _parameters(function: Any) -> set[str] | None:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # many builtin functions have none to show
        return None


@probe("S-11")
def from_dlpack_has_device_and_copy(target: Target) -> None:
    negotiates(target)
    function = function_with_keywords(target)
    try:
        function(Producer(), device=None, copy=None)
    except TypeError as raised:
        names = _parameters(function)
        if names is None or not {"device", "copy"} <= names:
            raise Broken(name_error(raised)) from None


@probe("S-11")
def device_becomes_a_pair(target: Target) -> str:
    negotiates(target)
    fed = Fed(target, Producer(), device="cpu")
    sent = [each["dl_device"] for each in fed.producer.asked if each.get("dl_device") is not None]
    for each in sent:
        if not (isinstance(each, tuple) and len(each) == 2):
            raise Broken(f'device="cpu" is sent as dl_device={each!r}, which is no pair')
    return f"refused: {fed.said}" if fed.refusal is not None else f"dl_device: {sent or 'not sent'}"


@probe("S-12")
def says_what_is_missing(target: Target) -> str:
    negotiates(target)
    try:
        result = target.consume(object())
    except (AttributeError, TypeError) as raised:
        return name_error(raised)
    except Exception as raised:
        raise Broken(f"an object without __dlpack__ raises {name_error(raised)}") from None
    raise Broken(f"an object without __dlpack__ became a {type(result).__name__}")


class _OfTheProducer(Exception):
    """One that no consumer can have raised."""


@probe("S-13")
def exceptions_of_the_producer_arrive(target: Target) -> None:
    negotiates(target)
    for raised in (_OfTheProducer("mine"), BufferError("mine"), RuntimeError("mine")):
        fed = Fed(target, RaisingProducer(raised))
        if type(fed.refusal) is not type(raised) or "mine" not in str(fed.refusal):
            raise Broken(f"the producer raised {name_error(raised)}; what arrived is {fed.said}")


@probe("S-13", hostile=True)
def interrupts_arrive(target: Target) -> None:
    negotiates(target)
    try:
        fed = Fed(target, RaisingProducer(KeyboardInterrupt("mine")))
    except KeyboardInterrupt:
        return
    raise Broken(f"the producer raised KeyboardInterrupt; what arrived is {fed.said}")


def _copied(target: Target, producer: Producer) -> str:
    fed = Fed(target, producer, copy=True)
    if fed.refusal is not None:
        return f"refused: {fed.said}"
    if any(each.get("copy") is True for each in producer.asked):
        return "left to the producer, by copy=True"
    fed.values()
    producer.write(5.0)
    if fed.values()[0][0] == 5.0:
        raise Broken("copy=True is not passed on, and the result shares the producer's memory")
    return "copied by the consumer"


@probe("S-14")
def copy_true_copies(target: Target) -> str:
    negotiates(target)
    return _copied(target, Producer())


@probe("S-14")
def copy_true_of_an_old_producer_copies(target: Target) -> str:
    negotiates(target)
    return _copied(target, OldProducer())


class _MustCopy(Producer):
    """Memory that cannot be shared."""

    def __dlpack__(self, **keywords: Any) -> Any:
        if keywords.get("copy") is False:
            self.asked.append(keywords)
            raise BufferError("this memory cannot be shared")
        return super().__dlpack__(**keywords)


@probe("S-15")
def copy_false_is_refused_where_it_must_copy(target: Target) -> str:
    negotiates(target)
    fed = Fed(target, _MustCopy(), copy=False)
    if fed.refusal is None:
        raise Broken("copy=False was asked of a producer that has to copy, and gave a result")
    if not isinstance(fed.refusal, (BufferError, ValueError)):
        raise Broken(f"copy=False was refused with {fed.said}")
    return fed.said


def _as_array(target: Target) -> Any:
    module = target.module or importlib.import_module(target.name.partition(":")[0])
    function = getattr(module, "asarray", None)
    if not callable(function):
        raise Skip(f"{module.__name__} has no function asarray")
    if "copy" not in (_parameters(function) or {"copy"}):
        raise Skip(f"{module.__name__}.asarray has no keyword copy")
    return function


def _shares(one: Any, other: Any) -> bool:
    first, second = best(one), best(other)  # both live while they are compared
    return first.contents.first == second.contents.first


@probe("S-16")
def asarray_copies_when_told(target: Target) -> None:
    made, function = make(target), _as_array(target)
    if _shares(made, function(made, copy=True)):
        raise Broken("asarray(x, copy=True) shares the memory of x")


@probe("S-16")
def asarray_shares_when_told(target: Target) -> str:
    made, function = make(target), _as_array(target)
    try:
        result = function(made, copy=False)
    except (ValueError, BufferError) as raised:
        return name_error(raised)
    if not _shares(made, result):
        raise Broken("asarray(x, copy=False) copies x, and does not say so")
    return "shared"
