# SPDX-License-Identifier: BSD-3-Clause
"""DLPack by ctypes: the layout of dlpack.h, and reading without crashes."""

from __future__ import annotations

import ctypes as C
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import dlbridge
import foreign
from dlbridge.tools import abi

# Our struct, the header's, and what the header calls the members, in our order.
LAYOUTS: list[tuple[Any, str, list[str]]] = [
    (abi.Version, "DLPackVersion", ["major", "minor"]),
    (abi.Device, "DLDevice", ["device_type", "device_id"]),
    (abi.DataType, "DLDataType", ["code", "bits", "lanes"]),
    (
        abi.Tensor,
        "DLTensor",
        ["data", "device", "ndim", "dtype", "shape", "strides", "byte_offset"],
    ),
    (abi.Managed, "DLManagedTensor", ["dl_tensor", "manager_ctx", "deleter"]),
    (
        abi.ManagedVersioned,
        "struct DLManagedTensorVersioned",
        ["version", "manager_ctx", "deleter", "flags", "dl_tensor"],
    ),
]
EXCHANGE = ("DLPackExchangeAPI", ["header", *abi.EXCHANGE_SLOTS])


def _ours(struct: Any) -> list[int]:
    offsets = [getattr(struct, field[0]).offset for field in struct._fields_]
    return [C.sizeof(struct), C.alignment(struct), *offsets]


def _line(name: str, members: list[str]) -> str:
    numbers = [f"sizeof({name})", f"_Alignof({name})"]
    numbers += [f"offsetof({name}, {member})" for member in members]
    form = " ".join(["%zu"] * len(numbers))
    return f'printf("{form}\\n", {", ".join(numbers)});'


def test_layout_is_that_of_the_header(tmp_path: Path) -> None:
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    assert compiler is not None, "no C compiler"
    layouts = list(LAYOUTS)
    lines = [_line(name, members) for _, name, members in layouts]
    header = Path(dlbridge.get_include()) / "dlpack" / "dlpack.h"
    if EXCHANGE[0] in header.read_text():
        lines.append(_line(*EXCHANGE))
        layouts.append((abi.Exchange, *EXCHANGE))
    source = tmp_path / "layout.c"
    source.write_text(
        "#include <stddef.h>\n#include <stdio.h>\n#include <dlpack/dlpack.h>\n"
        f"int main(void) {{ {' '.join(lines)} return 0; }}\n"
    )
    program = tmp_path / "layout"
    command = [compiler, "-std=c11", f"-I{dlbridge.get_include()}", str(source), "-o", str(program)]
    subprocess.run(command, check=True)
    said = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    theirs = [[int(number) for number in line.split()] for line in said.splitlines()]
    assert theirs == [_ours(struct) for struct, *_ in layouts]


# Reading ---------------------------------------------------------------------------------------


def test_memory_that_is_there() -> None:
    block = C.create_string_buffer(b"abc")
    assert abi.read_memory(C.addressof(block), 3) == b"abc"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
@pytest.mark.parametrize("address", [0, None, 1, 0x10, 1 << 46, (1 << 64) - 8, (1 << 63) - 1])
def test_memory_that_is_not_there(address: int | None) -> None:
    assert abi.read_memory(address, 8) is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
def test_memory_without_read_permission() -> None:
    assert abi.read_memory(foreign.trap(), 8) is None


@pytest.mark.parametrize("versioned", [False, True])
def test_a_capsule_is_read_as_c_wrote_it(versioned: bool) -> None:
    handle = foreign.tensor(
        shape=(2, 3), strides=(3, 1), byte_offset=4, dtype=(1, 16, 1), device=(2, 1), flags=3,
        version=(1, 7),
    )  # fmt: skip
    capsule = handle.capsule(versioned)
    contents = abi.read(capsule)
    assert contents.name == (abi.VERSIONED if versioned else abi.LEGACY)
    assert (contents.version, contents.flags) == (((1, 7), 3) if versioned else (None, 0))
    assert (contents.data, contents.byte_offset) == (handle.address, 4)
    assert (contents.shape, contents.strides, contents.ndim) == ((2, 3), (3, 1), 2)
    assert (contents.dtype, contents.device) == ((1, 16, 1), (2, 1))
    assert contents.first == handle.address + 4
    assert contents.deleter
    assert abi.name_of(capsule) == contents.name
    assert handle.calls == 0
    del capsule
    assert handle.calls == 1


@pytest.mark.parametrize("versioned", [False, True])
def test_a_consumed_capsule_is_freed_once(versioned: bool) -> None:
    handle = foreign.tensor()
    capsule = handle.capsule(versioned)
    tensor = abi.take(capsule)
    assert abi.name_of(capsule) == abi.USED[tensor.contents.name]
    del capsule
    assert handle.calls == 0
    tensor.free()
    assert [call.gil for call in handle.log] == [False]
    with pytest.raises(abi.Unreadable, match="it is 'used_dltensor'"):
        other = handle.capsule()
        abi.take(other)
        abi.read(other)


def test_null_and_unreadable_pointers() -> None:
    null = foreign.tensor(shape=None, strides=None, ndim=2, data=0, deleter=False)
    contents = abi.read(null.capsule())
    assert (contents.shape, contents.strides, contents.data, contents.deleter) == (None, None, 0, 0)
    assert contents.shape_is_null and contents.strides_is_null
    abi.take(null.capsule()).free()
    lost = foreign.tensor(shape=foreign.trap(), strides=foreign.trap(), ndim=2)
    contents = abi.read(lost.capsule())
    assert (contents.shape, contents.strides) == (None, None)
    assert not (contents.shape_is_null or contents.strides_is_null)


@pytest.mark.parametrize("ndim", [-1, 65, 1 << 30])
def test_an_invalid_ndim(ndim: int) -> None:
    handle = foreign.tensor(ndim=ndim)
    assert abi.read(handle.capsule()).shape is None


def test_an_unknown_major_version() -> None:
    with pytest.raises(abi.Unreadable, match=r"version 2\.0: only major version 1 is known"):
        abi.read(foreign.tensor(version=(2, 0)).capsule(versioned=True))


def test_objects_that_are_no_tensor_capsules() -> None:
    with pytest.raises(TypeError, match="expected a capsule; got int"):
        abi.read(7)
    with pytest.raises(abi.Unreadable, match="it is 'weather'"):
        abi.read(foreign.tensor().capsule(name=b"weather"))
    with pytest.raises(abi.Unreadable, match="it is None"):
        abi.read(foreign.tensor().capsule(name=None))


# Making ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_c_reads_a_ctypes_tensor(version: tuple[int, int] | None) -> None:
    data = abi.memory(bytes(range(64)), alignment=64, shift=4)
    assert data % 64 == 4
    tensor = abi.make(
        data=data, shape=(2, 3), strides=(1, 2), dtype=(1, 8, 1), byte_offset=1, version=version,
        flags=2,
    )  # fmt: skip
    result = foreign.consume(tensor.capsule())
    assert (result.version, result.flags) == (version, None if version is None else 2)
    assert (result.shape, result.strides) == ((2, 3), (1, 2))
    assert (result.data, result.byte_offset, result.dtype) == (data, 1, (1, 8, 1))
    assert result.tobytes() == bytes([1, 3, 5, 2, 4, 6])
    result.release("thread")
    assert tensor.calls == 1


def test_a_dropped_capsule_frees() -> None:
    tensor = abi.make(data=abi.memory(bytes(64)), shape=(2,), strides=(1,))
    threads: list[int] = []
    tensor.on_delete = lambda: threads.append(threading.get_ident())
    capsule = tensor.capsule()
    del capsule
    assert (tensor.calls, len(threads)) == (1, 1)
    foreign_name = tensor.capsule("weather")
    del foreign_name
    assert tensor.calls == 1


def test_invalid_fields_are_stored() -> None:
    tensor = abi.make(data=0, shape=None, strides=None, ndim=-3, deleter=False)
    contents = abi.read_struct(tensor.address, tensor.name)
    assert (contents.ndim, contents.shape, contents.data, contents.deleter) == (-3, None, 0, 0)


# The exchange table ----------------------------------------------------------------------------


def test_a_type_without_table() -> None:
    assert abi.exchange_table(object) is None


@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        ("a table", "expected a capsule or an integer; got str"),
        (8, "which is not readable"),
    ],
)
def test_an_invalid_table(attribute: object, words: str) -> None:
    type_ = type("T", (), {abi.EXCHANGE_ATTRIBUTE: attribute})
    with pytest.raises(abi.Unreadable, match=words):
        abi.exchange_table(type_)


def test_a_table_of_another_version() -> None:
    table = abi.Exchange()
    table.header.version.major = 2
    type_ = type("T", (), {abi.EXCHANGE_ATTRIBUTE: C.addressof(table)})
    with pytest.raises(abi.Unreadable, match="major version 2"):
        abi.exchange_table(type_)


def test_our_own_table() -> None:
    table = abi.exchange_table(dlbridge.Tensor)
    assert table is not None
    assert (table.header.version.major, table.header.version.minor) == dlbridge.DLPACK_VERSION
    assert all(getattr(table, name) for name in abi.EXCHANGE_SLOTS)
