"""The additional probes: the array API's draft, the exchange table, other protocols."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import inspect
import struct
from typing import Any

from dlbridge.tools import abi, devices
from dlbridge.tools.buffers import buffer_of
from dlbridge.tools.conformance.helpers import device_memory
from dlbridge.tools.conformance.helpers.consumption import (
    ConsumerCall,
    function_with_keywords,
    import_tensor,
    negotiates,
)
from dlbridge.tools.conformance.helpers.exports import (
    best,
    compact_strides,
    element_bytes,
    every_kind,
    make,
    steps,
)
from dlbridge.tools.conformance.helpers.producers import (
    VERSION,
    OldProducer,
    Producer,
    RaisingProducer,
    numbers_of,
)
from dlbridge.tools.conformance.outcomes import Broken, Skip, name_error
from dlbridge.tools.conformance.registry import probe
from dlbridge.tools.conformance.target import Target

# S-03: the exchange table ----------------------------------------------------------------------

_int = ctypes.c_int
_From = ctypes.PYFUNCTYPE(_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
_To = ctypes.PYFUNCTYPE(_int, ctypes.c_void_p, ctypes.POINTER(ctypes.py_object))
_View = ctypes.PYFUNCTYPE(_int, ctypes.py_object, ctypes.c_void_p)
_Stream = ctypes.PYFUNCTYPE(_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
MAY_BE_NULL = "dltensor_from_py_object_no_sync"
UNWRITTEN = 0x5EED  # the initial value of an output argument


def _table(target: Target) -> tuple[Any, abi.Exchange]:
    x = make(target)
    try:
        table = abi.exchange_table(type(x))
    except abi.Unreadable as why:
        raise Broken(str(why)) from None
    if table is None:
        raise Skip(f"{type(x).__name__} has no exchange table")
    return x, table


def _difference(one: Any, other: Any) -> str | None:
    """Returns how two descriptions of one array differ, None when they agree."""
    for name in ("first", "shape", "strides", "dtype", "device"):
        a, b = getattr(one, name), getattr(other, name)
        if a != b:
            return f"{name} is {a} and {b}"
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
    x, table = _table(target)
    out = ctypes.c_void_p()
    if _From(table.managed_tensor_from_py_object_no_sync)(x, ctypes.byref(out)) != 0:
        raise Broken("managed_tensor_from_py_object_no_sync refuses what __dlpack__ exports")
    tensor = abi.OwnedTensor(abi.read_struct(out.value or 0, abi.VERSIONED))
    try:
        differs = _difference(tensor.contents, best(x).contents)
    finally:
        tensor.free()
    if differs is not None:
        raise Broken(f"by the table and by __dlpack__ the {differs}")


@probe("S-03", hostile=True)
def view_agrees_with_the_method(target: Target) -> None:
    x, table = _table(target)
    if not table.dltensor_from_py_object_no_sync:
        raise Skip("dltensor_from_py_object_no_sync is NULL, which is allowed")
    tensor = abi.Tensor()
    if _View(table.dltensor_from_py_object_no_sync)(x, ctypes.addressof(tensor)) != 0:
        raise Broken("dltensor_from_py_object_no_sync refuses what __dlpack__ exports")
    contents = best(x).contents
    address = (tensor.data or 0) + tensor.byte_offset
    if address != contents.first:
        raise Broken(f"the view begins at {address:#x}, and the capsule at {contents.first:#x}")


def _imported(target: Target, **fields: Any) -> tuple[int, Producer, Any]:
    """Calls managed_tensor_to_py_object_no_sync: its status, the producer and the result."""
    _, table = _table(target)
    producer = Producer(**fields)
    capsule = producer.export(VERSION)
    address = producer.tensors[0].address
    abi.rename(capsule, abi.USED[abi.VERSIONED])  # the function takes the struct, not a capsule
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
    contents = abi.read(result.__dlpack__())
    expected = numbers_of((), (), 4.0)
    memory = device_memory.read(contents.first, 4, contents.device)
    first = None if memory is None else struct.unpack("f", memory)[0]
    if first != expected:
        raise Broken(f"byte_offset of 16: the first number is {first}, and should be {expected}")


@probe("S-03", hostile=True)
def import_refuses_major_2(target: Target) -> None:
    status, _, _ = _imported(target, version=(2, 0))
    if status == 0:
        raise Broken("managed_tensor_to_py_object_no_sync takes a tensor of major version 2")


def _stream_of(target: Target, device_type: int) -> int | None:
    """Returns the table's current stream for device 0 of a type; None where it refuses."""
    _, table = _table(target)
    out = ctypes.c_void_p(UNWRITTEN)
    try:
        status = _Stream(table.current_work_stream)(device_type, 0, ctypes.byref(out))
    except Exception:
        return None
    return (out.value or 0) if status == 0 else None


@probe("S-03", hostile=True)
def stream_of_the_cpu(target: Target) -> None:
    if _stream_of(target, devices.CPU) == UNWRITTEN:
        raise Broken("current_work_stream of the CPU returns 0 and writes nothing", severity="W")


@probe("S-03", hostile=True)
def stream_of_a_device_that_may_be_missing(target: Target) -> str:
    descriptions = _stream_of(target, devices.CUDA)
    return "refused" if descriptions is None else f"CUDA: {descriptions:#x}"


# S-04, S-06 to S-09: other protocols, and rare cases --------------------------------------------


@probe("S-04")
def other_protocols_agree(target: Target) -> str:
    x = make(target)
    contents = best(x).contents
    each = element_bytes(contents)
    expected = (contents.first, contents.shape, tuple(each * step for step in steps(contents)))
    others = {
        "the buffer protocol": _by_buffer(x),
        "__array_interface__": _by_interface(getattr(x, "__array_interface__", None)),
        "__cuda_array_interface__": _by_interface(_cuda_interface(x)),
    }
    descriptions = {
        name: description for name, description in others.items() if description is not None
    }
    if not descriptions:
        raise Skip(f"{type(x).__name__} has no other protocol")
    if not each:
        raise Skip("its dtype has no size")
    for name, description in descriptions.items():
        if description != expected:
            raise Broken(
                f"address, shape, steps: by __dlpack__ {expected}, by {name} {description}"
            )
    return f"also {', '.join(descriptions)}"


Description = tuple[int, tuple[int, ...], tuple[int, ...]]  # address, shape, strides in bytes


def _by_buffer(x: Any) -> Description | None:
    contents = buffer_of(x)
    return None if contents is None else (contents.address, contents.shape, contents.strides)


def _by_interface(contents: Any) -> Description | None:
    if contents is None:
        return None
    shape = tuple(contents["shape"])
    each = int(contents["typestr"][2:])
    in_bytes = contents.get("strides") or [each * step for step in compact_strides(shape)]
    return int(contents["data"][0]), shape, tuple(in_bytes)


def _cuda_interface(x: Any) -> Any:
    with contextlib.suppress(Exception):  # many raise for host memory
        return x.__cuda_array_interface__
    return None


@probe("S-04")
def other_protocols_are_as_read_only(target: Target) -> None:
    x = target.make(readonly=True)
    buffer = buffer_of(x)
    if buffer is not None and not buffer.readonly:
        raise Broken("the array is read-only, and its buffer can be written")
    contents = getattr(x, "__array_interface__", None)
    if contents is not None and not contents["data"][1]:
        raise Broken("the array is read-only, and its __array_interface__ is not marked read-only")


@probe("S-06")
def padding_is_said_of_small_dtypes_only(target: Target) -> None:
    contents = best(make(target)).contents
    if contents.flags & abi.SUBBYTE_PADDED and contents.dtype[1] * contents.dtype[2] % 8 == 0:
        raise Broken(f"SUBBYTE_PADDED is set on {contents.dtype}")


@probe("S-07")
def packing_of_four_bits(target: Target) -> str:
    contents = best(make(target, dtype="float4_e2m1fn", shape=(4,))).contents
    return f"{contents.dtype} of shape {contents.shape}"


@probe("S-08")
def both_struct_kinds_describe_one_array(target: Target) -> None:
    exports = every_kind(make(target))
    if len(exports) < 2:
        raise Skip("it exports capsules of one kind only")
    differs = _difference(*(each.contents for each in exports))
    if differs is not None:
        raise Broken(f"by the legacy and by the versioned capsule the {differs}")


class _Derived(Producer):
    """Exports other values than its base class: those four elements further on."""

    def export(self, version: tuple[int, int] | None) -> Any:
        self.fields["byte_offset"] = 0
        capsule = super().export(version)
        for x in self.tensors:
            tensor = x.struct.tensor
            tensor.data += 16
        return capsule


@probe("S-09")
def subclasses_speak_for_themselves(target: Target) -> None:
    negotiates(target)
    base, derived = import_tensor(target), ConsumerCall(target, _Derived())
    for call in (base, derived):
        if call.refusal is not None:
            raise Skip(f"refused: {call.error_text}")
    base.values()
    expected = numbers_of((2, 3), (3, 1), 4.0)
    if derived.values() != expected:
        raise Broken(f"a subclass exported {expected}; the consumer read {derived.values()}")


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
    except TypeError as error:
        names = _parameters(function)
        if names is None or not {"device", "copy"} <= names:
            raise Broken(name_error(error)) from None


@probe("S-11")
def device_becomes_a_pair(target: Target) -> str:
    negotiates(target)
    call = ConsumerCall(target, Producer(), device="cpu")
    pairs = [
        each["dl_device"] for each in call.producer.requests if each.get("dl_device") is not None
    ]
    for each in pairs:
        if not (isinstance(each, tuple) and len(each) == 2):
            raise Broken(f'device="cpu" is sent as dl_device={each!r}, which is no pair')
    return (
        f"refused: {call.error_text}"
        if call.refusal is not None
        else f"dl_device: {pairs or 'not sent'}"
    )


@probe("S-12")
def reports_what_is_missing(target: Target) -> str:
    negotiates(target)
    try:
        result = target.consume(object())
    except (AttributeError, TypeError) as error:
        return name_error(error)
    except Exception as error:
        raise Broken(f"an object without __dlpack__ raises {name_error(error)}") from None
    raise Broken(f"an object without __dlpack__ became a {type(result).__name__}")


class _OfTheProducer(Exception):
    """An exception that no consumer raises itself."""


@probe("S-13")
def exceptions_of_the_producer_arrive(target: Target) -> None:
    negotiates(target)
    for error in (_OfTheProducer("mine"), BufferError("mine"), RuntimeError("mine")):
        call = ConsumerCall(target, RaisingProducer(error))
        if type(call.refusal) is not type(error) or "mine" not in str(call.refusal):
            raise Broken(
                f"the producer raised {name_error(error)}; the caller got {call.error_text}"
            )


@probe("S-13", hostile=True)
def interrupts_arrive(target: Target) -> None:
    negotiates(target)
    try:
        call = ConsumerCall(target, RaisingProducer(KeyboardInterrupt("mine")))
    except KeyboardInterrupt:
        return
    raise Broken(f"the producer raised KeyboardInterrupt; the caller got {call.error_text}")


def _copied(target: Target, producer: Producer) -> str:
    call = ConsumerCall(target, producer, copy=True)
    if call.refusal is not None:
        return f"refused: {call.error_text}"
    if any(each.get("copy") is True for each in producer.requests):
        return "left to the producer, by copy=True"
    call.values()
    producer.write(5.0)
    if call.values()[0][0] == 5.0:
        raise Broken("copy=True is not forwarded, and the result shares the producer's memory")
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
    """A producer whose memory cannot be shared."""

    def __dlpack__(self, **keywords: Any) -> Any:
        if keywords.get("copy") is False:
            self.requests.append(keywords)
            raise BufferError("this memory cannot be shared")
        return super().__dlpack__(**keywords)


@probe("S-15")
def copy_false_is_refused_where_it_must_copy(target: Target) -> str:
    negotiates(target)
    call = ConsumerCall(target, _MustCopy(), copy=False)
    if call.refusal is None:
        raise Broken("copy=False for a producer that must copy returned a result")
    if not isinstance(call.refusal, (BufferError, ValueError)):
        raise Broken(f"copy=False was refused with {call.error_text}")
    return call.error_text


def _as_array(target: Target) -> Any:
    module = target.module or importlib.import_module(target.name.partition(":")[0])
    function = getattr(module, "asarray", None)
    if not callable(function):
        raise Skip(f"{module.__name__} has no function asarray")
    if "copy" not in (_parameters(function) or {"copy"}):
        raise Skip(f"{module.__name__}.asarray has no keyword copy")
    return function


def _shares(one: Any, other: Any) -> bool:
    first, second = best(one), best(other)  # both are alive during the comparison
    return first.contents.first == second.contents.first


@probe("S-16")
def asarray_copies_on_request(target: Target) -> None:
    x, function = make(target), _as_array(target)
    if _shares(x, function(x, copy=True)):
        raise Broken("asarray(x, copy=True) shares the memory of x")


@probe("S-16")
def asarray_shares_on_request(target: Target) -> str:
    x, function = make(target), _as_array(target)
    try:
        result = function(x, copy=False)
    except (ValueError, BufferError) as error:
        return name_error(error)
    if not _shares(x, result):
        raise Broken("asarray(x, copy=False) copies x without an error")
    return "asarray(x, copy=False) shares the memory"
