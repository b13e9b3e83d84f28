# SPDX-License-Identifier: BSD-3-Clause
"""Producers with one planted fault each, and sound ones that differ from each other.

Plain objects of ctypes: no library, so each fault is the only one. FAULTS: a name, a function that
creates the object, and the words of the finding. SOUND: a name and a function.
"""

from __future__ import annotations

import ctypes
import enum
import itertools
from typing import Any, Callable, NoReturn

from dlbridge.tools import abi, elements
from dlbridge.tools.elements import row_major

CPU = (1, 0)
NOWHERE = 0x7000_0000_0008
COUNT = 64  # elements of the memory behind each array


def _numbers(dtype: str) -> list[Any]:
    if dtype == "bool":
        return [i % 3 == 0 for i in range(COUNT)]
    if dtype.startswith("complex"):
        return [complex(i, -i) for i in range(COUNT)]
    return [i + 130 if dtype == "uint8" else i + 1 for i in range(COUNT)]


class Array:
    """A view of 64 numbers. The words change the fields of its exports: of all of them, of legacy
    ones, of versioned ones, or of copies."""

    def __init__(
        self,
        dtype: str = "float32",
        shape: tuple[int, ...] = (2, 3),
        strides: tuple[int, ...] = (3, 1),
        first: int = 2,
        *,
        all: dict[str, Any] | None = None,
        legacy: dict[str, Any] | None = None,
        versioned: dict[str, Any] | None = None,
        copied: dict[str, Any] | None = None,
    ) -> None:
        self.kind, self.extents, self.steps, self.first = dtype, shape, strides, first
        self.changes = {"all": all, "legacy": legacy, "versioned": versioned, "copied": copied}
        self.numbers = _numbers(dtype)
        self.size = elements.itemsize(dtype)
        self.base = abi.memory(elements.encode(self.numbers, dtype))

    @property
    def address(self) -> int:
        return self.base + self.first * self.size

    def tolist(self) -> Any:
        def part(position: int, dimension: int) -> Any:
            if dimension == len(self.extents):
                return self.numbers[position]
            return [
                part(position + i * self.steps[dimension], dimension + 1)
                for i in range(self.extents[dimension])
            ]

        return part(self.first, 0)

    def __dlpack_device__(self) -> Any:
        return CPU

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        if dl_device is not None and (int(dl_device[0]), dl_device[1]) != CPU:
            raise BufferError("only the CPU is supported")
        return self.export(max_version is not None and max_version[0] >= 1, copy)

    def fields(self, versioned: bool, copy: Any) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "data": self.base,
            "byte_offset": self.first * self.size,
            "shape": self.extents,
            "strides": self.steps,
            "dtype": elements.DTYPES[self.kind][0],
            "version": (1, 3) if versioned else None,
        }
        if copy:
            content = elements.encode(Array.tolist(self), self.kind)
            fields.update(data=abi.memory(content), byte_offset=0, strides=row_major(self.extents))
        fields.update(self.changes["all"] or {})
        fields.update(self.changes["versioned" if versioned else "legacy"] or {})
        if copy:
            fields.update({"flags": abi.IS_COPIED, **(self.changes["copied"] or {})})
        if not versioned:
            fields.pop("flags", None)
        return fields

    def export(self, versioned: bool, copy: Any) -> Any:
        return abi.make(**self.fields(versioned, copy)).capsule()


class Interface(Array):
    """Describes its memory by __array_interface__, too; `says` changes what that describes."""

    says: dict[str, Any] = {}  # noqa: RUF012 - never changed

    @property
    def __array_interface__(self) -> dict[str, Any]:
        kind = {2: "f", 5: "c", 0: "i", 1: "u", 6: "b"}[elements.DTYPES[self.kind][0][0]]
        return {
            "shape": self.extents,
            "typestr": f"<{kind}{self.size}",
            "strides": tuple(step * self.size for step in self.steps),
            "data": (self.address, False),
            "version": 3,
            **self.says,
        }


def saying(**says: Any) -> Callable[[], Any]:
    """Returns a function that creates an array with another __array_interface__."""
    return lambda: type("Said", (Interface,), {"says": says})()


def saying_data(elements_before: int, read_only: bool) -> Callable[[], Any]:
    """Returns a function that creates an array with other data in its __array_interface__."""

    class Said(Interface):
        @property
        def __array_interface__(self) -> dict[str, Any]:
            data = (self.address - elements_before * self.size, read_only)
            return {**super().__array_interface__, "data": data}

    return Said


class Typed(Array):
    """Has a dtype and a shape of its own."""

    @property
    def dtype(self) -> str:
        return self.kind

    @property
    def shape(self) -> tuple[int, ...]:
        return self.extents


class Flat(Typed):
    """Lists its elements without a nesting, columns first."""

    def tolist(self) -> Any:
        return [each for column in zip(*super().tolist()) for each in column]


class Protected(Array):
    """Has NumPy's flags, and says by them that it is read-only."""

    writeable = False

    @property
    def flags(self) -> Any:
        return type("Flags", (), {"writeable": self.writeable})()


class Writable(Protected):
    writeable = True


class ReadOnly(Array):
    """Says that it is read-only by the attribute that memoryview has."""

    readonly = True


class Based:
    """Tells nothing of itself, and has a base that is read-only."""

    base = b"memory"

    def __init__(self) -> None:
        self.array = Array()

    def __dlpack_device__(self) -> Any:
        return CPU

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)


class Immutable(Array):
    """Says so by the attribute that PyArrow's tensors have."""

    is_mutable = False


class Listed(Array):
    """Lists one other number."""

    def __init__(self, dtype: str, number: float, listed: float) -> None:
        super().__init__(dtype, (4,), (1,), 0)
        ctypes.memmove(self.base, elements.encode(number, dtype), self.size)
        self.numbers[0], self.listed = number, listed

    def tolist(self) -> Any:
        return [self.listed, *super().tolist()[1:]]


class Converted(Array):
    """Returns an array by __array__(), with what the class says of it."""

    says: dict[str, Any] = {}  # noqa: RUF012 - never changed

    def __array__(self) -> Any:
        rows = {"dtype": "float32", "shape": self.extents, "values": self.tolist(), **self.says}

        class Result:
            dtype, shape = rows["dtype"], rows["shape"]

            def __getitem__(self, index: tuple[int, ...]) -> Any:
                found = rows["values"]
                for i in index:
                    found = found[i]
                return found

        return Result()


def converting(**says: Any) -> Callable[[], Any]:
    """Returns a function that creates an array with another result of __array__()."""
    return lambda: type("Converting", (Converted,), {"says": says})()


# Producers whose calls are wrong ----------------------------------------------------------------


class SameCapsule(Array):
    def export(self, versioned: bool, copy: Any) -> Any:
        if not hasattr(self, "kept"):
            self.kept: dict[Any, Any] = {}
        key = (versioned, bool(copy))
        return self.kept.setdefault(key, super().export(versioned, copy))


class SameTensor(Array):
    """Creates a capsule in each call, on one managed tensor."""

    def export(self, versioned: bool, copy: Any) -> Any:
        if copy:
            return super().export(versioned, copy)
        if not hasattr(self, "kept"):
            self.kept: dict[Any, Any] = {}
        tensor = self.kept.setdefault(versioned, abi.make(**self.fields(versioned, copy)))
        return tensor.capsule()


class Turning(Array):
    """Exports its transpose in every other call."""

    def __init__(self) -> None:
        super().__init__(shape=(3, 3))
        self.turns = itertools.cycle([(3, 1), (1, 3)])

    def fields(self, versioned: bool, copy: Any) -> dict[str, Any]:
        return {**super().fields(versioned, copy), "strides": next(self.turns)}


class Refusing(Array):
    """Raises in every other call."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = itertools.cycle([False, True])

    def export(self, versioned: bool, copy: Any) -> Any:
        if next(self.turns):
            raise BufferError("not now")
        return super().export(versioned, copy)


class Moving(Array):
    """Writes to its memory in every export."""

    def export(self, versioned: bool, copy: Any) -> Any:
        number = ctypes.c_float.from_address(self.address)
        number.value += 1
        content = abi.read_memory(self.base, COUNT * self.size)
        assert content is not None
        return abi.make(**{**self.fields(versioned, copy), "data": abi.memory(content)}).capsule()


class NoDestructor(Array):
    def export(self, versioned: bool, copy: Any) -> Any:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        tensor = abi.make(**self.fields(versioned, copy))
        return new(tensor.address, b"dltensor_versioned" if versioned else b"dltensor", None)


class WrongStruct(Array):
    """Names each capsule after the struct that it does not hold."""

    def export(self, versioned: bool, copy: Any) -> Any:
        tensor = abi.make(**self.fields(versioned, copy))
        return tensor.capsule("dltensor" if versioned else "dltensor_versioned")


class WrongName(Array):
    def export(self, versioned: bool, copy: Any) -> Any:
        return abi.make(**self.fields(versioned, copy)).capsule("tensor")


class Echo(Array):
    """Stores the version that was requested."""

    def __dlpack__(self, *, max_version: Any = None, **keywords: Any) -> Any:
        self.changes["versioned"] = {"version": max_version}
        return super().__dlpack__(max_version=max_version, **keywords)


_ABSENT = object()


class NoneIsVersioned(Array):
    """Takes max_version=None for a request."""

    def __dlpack__(self, *, max_version: Any = _ABSENT, **keywords: Any) -> Any:
        version = None if max_version is _ABSENT else (1, 0)
        return super().__dlpack__(max_version=version, **keywords)


class NoneRaises(Array):
    """Takes copy=None for an error."""

    def __dlpack__(self, *, copy: Any = False, **keywords: Any) -> Any:
        if copy is None:
            raise ValueError("copy must be a bool")
        return super().__dlpack__(copy=copy, **keywords)


class PlainPair(Array):
    """Compares the type of dl_device with a plain integer by its type."""

    def __dlpack__(self, *, dl_device: Any = None, **keywords: Any) -> Any:
        if dl_device is not None and type(dl_device[0]) is not int:
            raise BufferError(f"unsupported device {dl_device}")
        return super().__dlpack__(dl_device=dl_device, **keywords)


class SharedCopies(Array):
    """Allocates one buffer for all copies."""

    buffer = 0

    def fields(self, versioned: bool, copy: Any) -> dict[str, Any]:
        fields = super().fields(versioned, copy)
        if copy:
            self.buffer = self.buffer or fields["data"]
            fields["data"] = self.buffer
        return fields


class CopyShares(Array):
    def fields(self, versioned: bool, copy: Any) -> dict[str, Any]:
        return super().fields(versioned, None)


class AlwaysCopies(Array):
    """Copies in each call, and marks that; copy=False has no effect."""

    def export(self, versioned: bool, copy: Any) -> Any:
        return super().export(versioned, True)


class NeverMarks(Array):
    def __init__(self) -> None:
        super().__init__(copied={"flags": 0})


class MarksZeroCopy(Array):
    """Marks the tensors of copy=False as copied."""

    def fields(self, versioned: bool, copy: Any) -> dict[str, Any]:
        fields = super().fields(versioned, copy)
        return {**fields, "flags": abi.IS_COPIED} if versioned and copy is False else fields


class DeviceWins(Array):
    """Forgets copy where dl_device is given."""

    def __dlpack__(self, *, dl_device: Any = None, copy: Any = None, **keywords: Any) -> Any:
        return super().__dlpack__(copy=None if dl_device else copy, **keywords)


class OnDevice(Array):
    """Reports this device, and exports that of its fields."""

    reported: Any = CPU

    def __dlpack_device__(self) -> Any:
        return self.reported


class Interrupts(Array):
    """Raises what Ctrl-C raises."""

    def __dlpack_device__(self) -> NoReturn:
        raise KeyboardInterrupt


def reporting(device: Any, **words: Any) -> Callable[[], Any]:
    return lambda: type("Reporting", (OnDevice,), {"reported": device})(**words)


# Producers whose exports die with them, or never ------------------------------------------------


class Mortal(Array):
    """Overwrites the memory of its exports when it dies; no export keeps it."""

    what = "strides"

    def __init__(self, **words: Any) -> None:
        super().__init__(**words)
        self.tensors: list[abi.CtypesTensor] = []

    def export(self, versioned: bool, copy: Any) -> Any:
        self.tensors.append(abi.make(**self.fields(versioned, copy)))
        return self.tensors[-1].capsule()

    def __del__(self) -> None:
        for tensor in self.tensors:
            if self.what == "data":
                ctypes.memset(self.base, 0xA5, COUNT * self.size)
            else:
                ctypes.memset(getattr(tensor.struct.tensor, self.what), 0xA5, 8)


class MortalShape(Mortal):
    what = "shape"


class MortalData(Mortal):
    what = "data"


class MortalLegacy(MortalData):
    """Its versioned exports keep the object, its legacy exports keep nothing."""

    def export(self, versioned: bool, copy: Any) -> Any:
        capsule = super().export(versioned, copy)
        if versioned:
            keep, tensor = [self], self.tensors[-1]
            tensor.on_delete = keep.clear
        return capsule


class MortalStruct(Mortal):
    """Overwrites the managed tensors themselves."""

    def __del__(self) -> None:
        for tensor in self.tensors:
            ctypes.memset(tensor.address, 0xA5, 48)


_leaked: list[object] = []


class Leaking(Array):
    def export(self, versioned: bool, copy: Any) -> Any:
        _leaked.append(self)
        return super().export(versioned, copy)


class LeakingLegacy(Leaking):
    def export(self, versioned: bool, copy: Any) -> Any:
        return Array.export(self, versioned, copy) if versioned else super().export(versioned, copy)


class Dropping(Array):
    def export(self, versioned: bool, copy: Any) -> Any:
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(self))
        return super().export(versioned, copy)


class Fatal(Array):
    """The deleter ends the process once the object is gone."""

    def export(self, versioned: bool, copy: Any) -> Any:
        tensor = abi.make(**self.fields(versioned, copy))
        alive = self.alive

        def delete() -> None:
            if not alive:
                ctypes.CDLL(None).abort()

        tensor.on_delete = delete
        return tensor.capsule()

    def __init__(self) -> None:
        super().__init__()
        self.alive = [True]

    def __del__(self) -> None:
        self.alive.clear()


class Misaligned(Array):
    def __init__(self) -> None:
        super().__init__()
        self.base = abi.memory(elements.encode(self.numbers, self.kind), shift=2)


NOTHING: dict[str, Any] = {"data": 0, "byte_offset": 0, "shape": (0, 3)}

FAULTS: dict[str, tuple[Callable[[], Any], str]] = {
    # Values
    "mask": (
        saying(mask=[[False, True, False]] * 2),
        "It has masked elements, and DLPack has no mask. By __array_interface__",
    ),
    "sign of zero": (
        lambda: Listed("float32", 0.0, -0.0),
        "Element [0] is 0.0; it is -0.0 by tolist() (1 of 4",
    ),
    "precision": (
        lambda: Listed("float64", 1.0, 1 + 2.0**-40),
        "Element [0] is 1.0; it is 1.0000000000009095 by tolist() (1 of 4",
    ),
    "conversion to another dtype": (
        converting(dtype="float64"),
        "Its __array__() gives float64, its export float32.",
    ),
    "conversion to another shape": (
        converting(shape=(6,), values=[3.0, 4, 5, 6, 7, 8]),
        "Its __array__() gives shape (6,), its export (2, 3).",
    ),
    "conversion to other values": (
        converting(values=[[0.0, 4, 5], [6, 7, 8]]),
        "Its __array__() gives 0.0 at [0, 0], its export 3.0.",
    ),
    "view as compact": (
        lambda: Array(strides=(8, 2), all={"strides": (3, 1)}),
        "Element [0, 1] is 4.0; it is 5 by tolist() (5 of 6",
    ),
    "one element off": (
        lambda: Array(all={"byte_offset": 12}),
        "Repair: the first element is 1 element (4 bytes) before",
    ),
    "wrong transpose": (
        lambda: Array(shape=(3, 3), all={"strides": (1, 3)}),
        "Repair: the strides are [3, 1], in the other order",
    ),
    "strides in bytes": (
        lambda: Array(all={"strides": (12, 4)}),
        "Repair: the strides count bytes",
    ),
    "offset ignored": (
        lambda: Array(all={"byte_offset": 0}),
        "Repair: the first element is 2 elements (8 bytes) further on",
    ),
    "offset twice": (
        lambda: (lambda x: (x.changes.update(all={"data": x.address}), x)[1])(Array()),
        "Repair: data already includes the byte_offset of 8",
    ),
    "step forgotten": (
        lambda: Array(shape=(5,), strides=(3,), all={"strides": (1,)}),
        "Repair: it is a view: export the stride 3",
    ),
    "bfloat16 as float16": (
        lambda: Array("bfloat16", all={"dtype": (2, 16, 1)}),
        "Repair: the elements are bfloat16 (4, 16, 1)",
    ),
    "float64 as float32": (
        lambda: Array("float64", all={"dtype": (2, 32, 1)}),
        "it is 3 by tolist()",
    ),
    "uint8 as int8": (
        lambda: Array("uint8", all={"dtype": (0, 8, 1)}),
        "Repair: the elements are uint8 (1, 8, 1)",
    ),
    "complex64 as float64": (
        lambda: Array("complex64", all={"dtype": (2, 64, 1)}),
        "Repair: the elements are complex64 (5, 64, 1)",
    ),
    "int32 as float32": (
        lambda: Array("int32", all={"dtype": (2, 32, 1)}),
        "Repair: the elements are int32 (0, 32, 1)",
    ),
    "int32 as uint32, with a dtype": (
        lambda: Typed("int32", all={"dtype": (1, 32, 1)}),
        "The dtype is uint32 (1, 32, 1); the array's is int32 (0, 32, 1). By every protocol of "
        "DLPack.",
    ),
    "bool as uint8": (
        lambda: Typed("bool", all={"dtype": (1, 8, 1)}),
        "Its bool is exported as uint8",
    ),
    "other values in copies": (
        lambda: Array(copied={"strides": (1, 2)}),
        "In the copy element [0, 1] is 5.0; it is 4 by tolist()",
    ),
    "address of the interface": (
        saying_data(2, False),
        "Element [0, 0] is 1.0; it is 3 by tolist()",
    ),
    "type of the interface": (
        saying(typestr="<i4"),
        "__dlpack__() gives float32, the object's __array_interface__ int32",
    ),
    "shape": (
        lambda: Array(all={"shape": (2, 2)}),
        "The array has shape (2, 3), and its capsule (2, 2)",
    ),
    "shape, with a shape": (
        lambda: Typed(all={"shape": (3, 2)}),
        "The array has shape (2, 3), and its capsule (3, 2)",
    ),
    # Legacy and versioned
    "other shape in legacy": (
        lambda: Array(shape=(2, 2), legacy={"shape": (2, 3)}),
        "By __dlpack__() and by __dlpack__(max_version=(1, 0)) the shape is (2, 3) and (2, 2)",
    ),
    "other dtype in legacy": (
        lambda: Array(legacy={"dtype": (0, 32, 1)}),
        "By __dlpack__() and by __dlpack__(max_version=(1, 0)) the dtype is (0, 32, 1) and",
    ),
    "other strides in legacy": (
        lambda: Array(legacy={"strides": (1, 2)}),
        "By __dlpack__() and by __dlpack__(max_version=(1, 0)) the strides is (1, 2) and (3, 1)",
    ),
    "other device in legacy": (
        lambda: Array(legacy={"device": (3, 0)}),
        "By __dlpack__() and by __dlpack__(max_version=(1, 0)) the device is (3, 0) and (1, 0)",
    ),
    "legacy one element off": (
        lambda: Array(legacy={"byte_offset": 4}),
        "by tolist() (6 of 6 compared elements differ). By __dlpack__().",
    ),
    "versioned one element off": (
        lambda: Array(versioned={"byte_offset": 4}),
        "by tolist() (6 of 6 compared elements differ). By __dlpack__(max_version",
    ),
    # Calls
    "same capsule": (SameCapsule, "Two calls returned the same capsule"),
    "same managed tensor": (SameTensor, "Two capsules, both in use, have the same managed tensor"),
    "changes": (Turning, "Two equal calls differ in strides: first (3, 1), then (1, 3)"),
    "refuses by turns": (Refusing, "Of two equal calls one succeeds and the other raises"),
    "values change": (Moving, "Two equal calls differ in values: first"),
    "no destructor": (NoDestructor, "The capsule has no destructor"),
    "name of the other struct": (WrongStruct, "which holds the struct of"),
    "name": (WrongName, "expected a capsule named 'dltensor' or 'dltensor_versioned'"),
    # Flags
    "read-only lost": (
        Protected,
        "and the array must not be written: it is read-only by its flags.writeable",
    ),
    "read-only lost, by readonly": (
        ReadOnly,
        "it is read-only by its readonly",
    ),
    "read-only lost, by its base": (Based, "it is read-only by its base.the buffer protocol"),
    "read-only lost, by is_mutable": (
        Immutable,
        "it is read-only by its is_mutable",
    ),
    "read-only lost, by the interface": (
        saying_data(0, True),
        "it is read-only by its __array_interface__",
    ),
    "writable marked read-only": (
        lambda: Writable(versioned={"flags": abi.READ_ONLY}),
        "The array is writable, and its capsule is marked READ_ONLY",
    ),
    "shared, marked as a copy": (
        lambda: Array(versioned={"flags": abi.IS_COPIED}),
        "It is marked IS_COPIED, and shares the memory of another export",
    ),
    "copy not marked": (NeverMarks, "The flags of the copy are 0"),
    "copy shares": (CopyShares, "It returned the array's own memory, at"),
    "copies share": (SharedCopies, "Two copies, both in use, share memory"),
    "copy is read-only": (
        lambda: Array(copied={"flags": abi.IS_COPIED | abi.READ_ONLY}),
        "The flags of the copy are 3: it is marked READ_ONLY",
    ),
    "copy=False copies": (
        AlwaysCopies,
        "copy=False: it returned a capsule that is marked IS_COPIED",
    ),
    "copy=False marked": (
        MarksZeroCopy,
        "copy=False: it returned a capsule that is marked IS_COPIED",
    ),
    "dl_device wins": (DeviceWins, "dl_device=(1, 0): it returned the array's own memory"),
    "reserved flags": (
        lambda: Array(versioned={"flags": 0x18}),
        "The flags are 0x18; version 1.3 does not define 0x18",
    ),
    "padded before 1.1": (
        lambda: Array(versioned={"flags": abi.SUBBYTE_PADDED, "version": (1, 0)}),
        "The flags are 0x4; version 1.0 does not define 0x4",
    ),
    # Devices
    "device of strings": (
        reporting(("1", "0")),
        "returned ('1', '0'): the device type is of type str",
    ),
    "device of floats": (
        reporting((1.0, 0.0)),
        "returned (1.0, 0.0): the device type is of type float",
    ),
    "device None": (reporting(None), "returned None: a NoneType and no tuple"),
    "device in a list": (reporting([1, 0]), "returned [1, 0]: a list and no tuple"),
    "device index None": (reporting((1, None)), "the index is of type NoneType"),
    "device of one": (reporting((1,)), "returned (1,): 1 elements and not 2"),
    "device differs": (reporting((2, 0)), "__dlpack_device__() is (2, 0); the capsule has (1, 0)"),
    "negative index": (
        reporting((1, -1), all={"device": (1, -1)}),
        "the index is negative",
    ),
    "index of the CPU": (
        reporting((1, 2), all={"device": (1, 2)}),
        "dlpack.h sets the index of CPU memory to 0",
    ),
    "index of pinned memory": (
        reporting((3, 1), all={"device": (3, 1)}),
        "The capsule has (3, 1); the index of memory of the host is 0",
    ),
    "device type 0": (reporting((0, 0), all={"device": (0, 0)}), "no device of type 0"),
    "refuses enums": (
        PlainPair,
        "dl_device=(1, 0) is accepted, and with <DeviceType.CPU: 1> as its type raised",
    ),
    # Versions and keywords
    "absurd minor": (
        lambda: Array(versioned={"version": (1, 9999)}),
        "It returned version 1.9999, which DLPack does not have",
    ),
    "echoed minor": (
        Echo,
        "It returned version 1.99: the requested one, which DLPack does not have",
    ),
    "major 2": (lambda: Array(versioned={"version": (2, 0)}), "only major version 1 is known"),
    "max_version=None": (
        NoneIsVersioned,
        "max_version=None is the default and must change nothing",
    ),
    "copy=None": (NoneRaises, "copy=None is the default and must change nothing"),
    # Shapes and memory
    "shape NULL": (lambda: Array(all={"shape": None, "ndim": 2}), "The shape is a NULL pointer"),
    "shape unreadable": (
        lambda: Unreadable("shape"),
        "The memory of the shape, 2 extents, is not readable",
    ),
    "absurd ndim": (
        lambda: ManyDimensions(2**31 - 1),
        "The memory of the shape, 2147483647 extents, is not readable",
    ),
    "negative extent": (lambda: Array(all={"shape": (-2, 3)}), "has a negative extent"),
    "strides NULL in 1.3": (lambda: Array(all={"strides": None}), "from 1.2 on that is forbidden"),
    "beyond the object": (
        lambda: Interface(all={"shape": (5, 3)}),
        "Shape (5, 3) and strides (3, 1) span 60 bytes from",
    ),
    "before the object": (
        lambda: Interface(all={"strides": (-3, 1)}),
        "Shape (2, 3) and strides (-3, 1) span 24 bytes from",
    ),
    "unreadable": (
        lambda: Array(all={"data": NOWHERE}),
        "The data pointer refers to memory that is not entirely readable",
    ),
    "misaligned": (Misaligned, "Elements of 4 bytes are aligned to 2"),
    "empty with a pointer": (
        lambda: Array(shape=(0, 3), strides=(3, 1)),
        "There are no elements, but a data pointer; dlpack.h recommends NULL",
    ),
    "NULL with elements": (
        lambda: Array(all={"data": 0, "byte_offset": 0}),
        "The data pointer is NULL, but there are elements",
    ),
    # References
    "leaks": (Leaking, "Exports, each dropped, leave 1 reference to the array for each"),
    "leaks, legacy": (LeakingLegacy, "leave 1 reference to the array for each. By __dlpack__()."),
    "drops": (Dropping, "leave 1 too few references to the array for each"),
    "no tensor": (object, "It is no tensor: object has none of __dlpack__"),
}


class Unreadable(Array):
    """A pointer of its exports leads nowhere."""

    def __init__(self, field: str) -> None:
        super().__init__()
        self.field = field

    def export(self, versioned: bool, copy: Any) -> Any:
        tensor = abi.make(**self.fields(versioned, copy))
        setattr(tensor.struct.tensor, self.field, NOWHERE)
        return tensor.capsule()


class ManyDimensions(Array):
    """Its exports claim more dimensions than their shapes have."""

    def __init__(self, ndim: int) -> None:
        super().__init__()
        self.ndim = ndim

    def export(self, versioned: bool, copy: Any) -> Any:
        tensor = abi.make(**self.fields(versioned, copy))
        tensor.struct.tensor.ndim = self.ndim
        return tensor.capsule()


# Faults that show when the object is gone.
MORTAL: dict[str, tuple[Callable[[], Any], str]] = {
    "strides": (Mortal, "after the array was freed the strides (3, 1) became"),
    "shape": (MortalShape, "after the array was freed the shape (2, 3) became"),
    "data": (MortalData, "after the array was freed its memory holds other bytes"),
    "legacy": (MortalLegacy, "after the array was freed its memory holds other bytes"),
    "struct": (MortalStruct, "after the array was freed"),
}


# Sound producers --------------------------------------------------------------------------------


class LegacyOnly(Array):
    def export(self, versioned: bool, copy: Any) -> Any:
        return super().export(False, copy)


class VersionedOnly(Array):
    def export(self, versioned: bool, copy: Any) -> Any:
        if not versioned:
            raise BufferError("pass max_version")
        return super().export(versioned, copy)


class NoCopies(Array):
    def export(self, versioned: bool, copy: Any) -> Any:
        if copy:
            raise BufferError("this producer does not copy")
        return super().export(versioned, copy)


class CopiesOnly(Array):
    """Copies in each call, and says so."""

    def export(self, versioned: bool, copy: Any) -> Any:
        if copy is False:
            raise BufferError("it can only be copied")
        return super().export(versioned, True)


class OldStyle(Array):
    def __dlpack__(self, *, stream: Any = None) -> Any:  # type: ignore[override]
        return self.export(False, None)


class NoKeywords(Array):
    def __dlpack__(self) -> Any:  # type: ignore[override]
        return self.export(False, None)


class StrictStream(Array):
    def __dlpack__(self, *, stream: Any = None, **keywords: Any) -> Any:
        if stream is not None:
            raise ValueError("the CPU has no streams")
        return super().__dlpack__(**keywords)


class KeepsItself(Array):
    """Each export keeps the object until its deleter is called."""

    def export(self, versioned: bool, copy: Any) -> Any:
        tensor = abi.make(**self.fields(versioned, copy))
        keep = [self]
        tensor.on_delete = keep.clear
        return tensor.capsule()


class Circular(Array):
    """Each export is in a circle of references, which only the garbage collector frees."""

    def export(self, versioned: bool, copy: Any) -> Any:
        circle: list[object] = [self]
        circle.append(circle)
        return super().export(versioned, copy)


class Indexed(Array):
    """Has no tolist(), but indexing."""

    tolist = None  # type: ignore[assignment]

    def __getitem__(self, index: tuple[int, int]) -> Any:
        return Array.tolist(self)[index[0]][index[1]]


class Silent(Array):
    """Nothing to compare with."""

    tolist = None  # type: ignore[assignment]


class DeviceType(enum.IntEnum):
    CPU = 1


class PlainEnum(enum.Enum):
    CPU = 1


SOUND: dict[str, Callable[[], Any]] = {
    "plain": Array,
    "with an interface": Interface,
    "with dtype and shape": Typed,
    "with a flat list": Flat,
    "with a list of few digits": lambda: Listed("float64", 0.1, 0.10000000149011612),
    "with a list of more digits": lambda: Listed("float32", 0.1, 0.1),
    "with a conversion": Converted,
    "legacy only": LegacyOnly,
    "versioned only": VersionedOnly,
    "no copies": NoCopies,
    "copies only": CopiesOnly,
    "old style": OldStyle,
    "no keywords": NoKeywords,
    "no streams": StrictStream,
    "keeps itself": KeepsItself,
    "in circles": Circular,
    "indexed": Indexed,
    "silent": Silent,
    "backwards": lambda: Interface(strides=(-3, 1), first=9),
    "broadcast": lambda: Array(strides=(0, 1)),
    "view": lambda: Interface(strides=(12, 3)),
    "transposed": lambda: Interface(shape=(3, 3), strides=(1, 3)),
    "rank 0": lambda: Array(shape=(), strides=(), all={"shape": None, "strides": None}),
    "rank 4": lambda: Interface(shape=(2, 2, 2, 2), strides=(8, 4, 2, 1)),
    "empty": lambda: Array(shape=(0, 3), all=NOTHING),
    "extent of 1": lambda: Array(shape=(1, 3), all={"strides": (77, 1)}),
    "strides NULL in 1.1": lambda: Array(all={"strides": None}, versioned={"version": (1, 1)}),
    "strides NULL in legacy": lambda: Array(legacy={"strides": None}),
    "newer minor": lambda: Array(versioned={"version": (1, 7)}),
    "deleter NULL": lambda: Array(all={"deleter": False}),
    "read-only": lambda: Protected(versioned={"flags": abi.READ_ONLY}),
    "writable": Writable,
    "device of IntEnum": reporting((DeviceType.CPU, 0)),
    "device of Enum": reporting((PlainEnum.CPU, 0)),
    "bool": lambda: Typed("bool"),
    "uint8": lambda: Typed("uint8"),
    "int64": lambda: Typed("int64"),
    "float16": lambda: Typed("float16"),
    "bfloat16": lambda: Typed("bfloat16"),
    "complex64": lambda: Typed("complex64"),
    "large": lambda: Interface(shape=(4, 4, 4), strides=(16, 4, 1), first=0),
}
