# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py: messages to and from the memory of a Tensor, as a buffer and by DLPack alone.

One process sends to itself; `mpiexec -n 2 python -m pytest` of this file makes a ring of two.
DLBRIDGE_TEST_PROCESSES is the expected number of processes.
"""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Any, Callable

import pytest
from mpi4py import MPI

import dlbridge
import foreign
import producers

LIBRARY = "mpi4py"
WORLD = MPI.COMM_WORLD
RANK, SIZE = WORLD.rank, WORLD.size
NEXT, PREVIOUS = (RANK + 1) % SIZE, (RANK - 1) % SIZE
COUNT = 6
FLOAT64 = (2, 64, 1)
BFLOAT16 = (4, 16, 1)


def test_number_of_processes() -> None:
    assert int(os.environ.get("DLBRIDGE_TEST_PROCESSES", "1")) == SIZE


class DlpackOnly:
    """A Tensor with only the two methods of DLPack; records the keywords of each call."""

    def __init__(self, tensor: dlbridge.Tensor) -> None:
        self.tensor = tensor
        self.requests: list[dict[str, Any]] = []

    def __dlpack__(self, **keywords: Any) -> object:
        self.requests.append(keywords)
        return self.tensor.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.tensor.__dlpack_device__()


def itself(tensor: dlbridge.Tensor) -> Any:
    return tensor


Record = Callable[[str], None]


@pytest.fixture
def record(
    request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> Record:
    """Records the outcome of a message for the count of exchanges."""
    name = request.node.name
    return lambda outcome: record_property("exchange", ["takes", "message", name, outcome, ""])


Access = Callable[[dlbridge.Tensor], Any]
accesses = pytest.mark.parametrize("access", [itself, DlpackOnly], ids=["buffer", "dlpack"])


class Memory:
    """A Tensor of float64 on foreign memory, as an object for MPI, and the numbers in memory."""

    def __init__(self, access: Access, numbers: list[float]) -> None:
        fill = struct.pack(f"{len(numbers)}d", *numbers)
        self.producer = producers.Producer(shape=(2, COUNT // 2), dtype=FLOAT64, fill=fill)
        self.object: Any = access(dlbridge.from_dlpack(self.producer))

    @property
    def address(self) -> int:
        return self.producer.handle.address

    def numbers(self) -> list[float]:
        return list(struct.unpack(f"{COUNT}d", ctypes.string_at(self.address, COUNT * 8)))

    def drop(self) -> list[int]:
        """The numbers of deleter calls before and after the Tensor is dropped."""
        before = sum(self.producer.calls)
        self.object = None
        return [before, sum(self.producer.calls)]


def values(rank: int) -> list[float]:
    return [100.0 * rank + i for i in range(COUNT)]


def of_previous() -> list[float]:
    return values(PREVIOUS)


def of_first() -> list[float]:
    return values(0)


def of_all() -> list[float]:
    return [sum(column) for column in zip(*map(values, range(SIZE)))]


# Exchanges: each rank sends its values from s, and receives into r. ------------------------------


def send(s: Any, r: Any) -> None:
    request = WORLD.Irecv(r, PREVIOUS)
    WORLD.Send(s, NEXT)
    request.Wait()


def receive(s: Any, r: Any) -> None:
    request = WORLD.Isend(s, NEXT)
    WORLD.Recv(r, PREVIOUS)
    request.Wait()


def non_blocking(s: Any, r: Any) -> None:
    MPI.Request.Waitall([WORLD.Irecv(r, PREVIOUS), WORLD.Isend(s, NEXT)])


def persistent(s: Any, r: Any) -> None:
    requests = [WORLD.Recv_init(r, PREVIOUS), WORLD.Send_init(s, NEXT)]
    MPI.Prequest.Startall(requests)
    MPI.Prequest.Waitall(requests)
    for request in requests:
        request.Free()


def put(s: Any, r: Any) -> None:
    """The neighbour writes into a window on the memory of r."""
    window = MPI.Win.Create(r, comm=WORLD)
    window.Fence()
    window.Put(s, NEXT)
    window.Fence()
    window.Free()


def broadcast(s: Any, r: Any) -> None:
    if RANK == 0:
        WORLD.Sendrecv(s, 0, recvbuf=r, source=0)
    WORLD.Bcast(r, 0)


def in_place(s: Any, r: Any) -> None:
    WORLD.Sendrecv(s, RANK, recvbuf=r, source=RANK)
    WORLD.Allreduce(MPI.IN_PLACE, r)


EXCHANGES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[], list[float]]]] = {
    "Send": (send, of_previous),
    "Recv": (receive, of_previous),
    "Isend, Irecv": (non_blocking, of_previous),
    "Send_init, Recv_init": (persistent, of_previous),
    "Sendrecv": (lambda s, r: WORLD.Sendrecv(s, NEXT, recvbuf=r, source=PREVIOUS), of_previous),
    "Put": (put, of_previous),
    "Bcast": (broadcast, of_first),
    "Allreduce": (lambda s, r: WORLD.Allreduce(s, r), of_all),
    "Allreduce in place": (in_place, of_all),
    "Iallreduce": (lambda s, r: WORLD.Iallreduce(s, r).Wait(), of_all),
}


@accesses
@pytest.mark.parametrize("name", EXCHANGES)
def test_exchange(name: str, access: Access, record: Record) -> None:
    run, expected = EXCHANGES[name]
    s, r = Memory(access, values(RANK)), Memory(access, [-1.0] * COUNT)
    run(s.object, r.object)
    assert r.numbers() == expected()
    assert s.numbers() == values(RANK)
    if isinstance(s.object, DlpackOnly):
        requests = s.object.requests + r.object.requests
        assert requests
        assert all(each == {"max_version": (1, 0), "copy": False} for each in requests)
    assert (s.drop(), r.drop()) == ([0, 1], [0, 1])
    record("zero-copy")


@accesses
def test_mpi4py_uses_the_address_of_the_memory(access: Access) -> None:
    m = Memory(access, values(0))
    for _ in range(3):
        assert MPI.Get_address(m.object) == MPI.buffer(m.object).address == m.address
    assert m.drop() == [0, 1]


@accesses
def test_mpi_uses_the_address_of_the_memory(access: Access) -> None:
    """The base and size of a window, as the MPI library has them."""
    m = Memory(access, values(0))
    window = MPI.Win.Create(m.object, comm=WORLD)
    assert window.Get_attr(MPI.WIN_BASE) == m.address
    assert window.Get_attr(MPI.WIN_SIZE) == COUNT * 8
    assert m.drop() == [0, 0]  # the window holds the object
    window.Free()
    del window
    assert m.drop() == [1, 1]


@accesses
def test_a_persistent_message_sends_the_current_values(access: Access) -> None:
    """An earlier copy would send other values."""
    s, r = Memory(access, values(RANK)), Memory(access, values(RANK))
    requests = [WORLD.Recv_init(r.object, PREVIOUS), WORLD.Send_init(s.object, NEXT)]
    for round in (1.0, 2.0):
        ctypes.memmove(s.address, struct.pack(f"{COUNT}d", *[round] * COUNT), COUNT * 8)
        MPI.Prequest.Startall(requests)
        MPI.Prequest.Waitall(requests)
        assert r.numbers() == [round] * COUNT
    for request in requests:
        request.Free()
    del request, requests
    assert (s.drop(), r.drop()) == ([0, 1], [0, 1])


@accesses
def test_messages_in_flight_keep_the_memory_alive(access: Access) -> None:
    s, r = Memory(access, values(RANK)), Memory(access, [-1.0] * COUNT)
    requests = [WORLD.Irecv(r.object, PREVIOUS), WORLD.Isend(s.object, NEXT)]
    assert (s.drop(), r.drop()) == ([0, 0], [0, 0])
    MPI.Request.Waitall(requests)
    assert r.numbers() == of_previous()
    assert (s.drop(), r.drop()) == ([1, 1], [1, 1])


def test_unconsumed_capsules_are_freed_once() -> None:
    """mpi4py does not rename its capsules, so their destructor frees the tensor."""
    p = producers.Producer()
    exported, freed = foreign.accounts()
    for _ in range(5):
        assert MPI.Get_address(p) == p.handles[-1].address
    assert foreign.accounts() == (exported + 5, freed + 5)
    assert p.calls == p.exports == [1] * 5


# Dtypes. Sums require the right MPI datatype. -----------------------------------------------------

NUMBERS = {
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "float16": "e",
    "float32": "f",
    "float64": "d",
}


def filled(dtype: str, fill: bytes) -> tuple[producers.Producer, dlbridge.Tensor]:
    d = dlbridge.dtype(dtype)
    shape = (len(fill) // d.itemsize,)
    p = producers.Producer(dtype=(d.code, d.bits, d.lanes), shape=shape, fill=fill)
    return p, dlbridge.from_dlpack(p)


def reduced(dtype: str, fill: bytes, access: Access, op: MPI.Op) -> bytes:
    _, s = filled(dtype, fill)
    p, r = filled(dtype, b"\xff" * len(fill))
    WORLD.Allreduce(access(s), access(r), op=op)
    return ctypes.string_at(p.handle.address, len(fill))


@accesses
@pytest.mark.parametrize("dtype", NUMBERS)
def test_sums(dtype: str, access: Access, record: Record) -> None:
    format_ = f"3{NUMBERS[dtype]}"
    out = reduced(dtype, struct.pack(format_, RANK, 1, 2), access, MPI.SUM)
    assert struct.unpack(format_, out) == (sum(range(SIZE)), SIZE, 2 * SIZE)
    record("zero-copy")


@accesses
@pytest.mark.parametrize("dtype, code", [("complex64", "f"), ("complex128", "d")])
def test_sums_of_complex_numbers(dtype: str, code: str, access: Access, record: Record) -> None:
    out = reduced(dtype, struct.pack(f"4{code}", RANK, 1, 2, -3), access, MPI.SUM)
    assert struct.unpack(f"4{code}", out) == (sum(range(SIZE)), SIZE, 2 * SIZE, -3 * SIZE)
    record("zero-copy")


@accesses
def test_bool_is_logical(access: Access) -> None:
    assert reduced("bool", bytes([RANK == 0, 0, 1]), access, MPI.LOR) == b"\1\0\1"
    assert reduced("bool", bytes([RANK == 0, 0, 1]), access, MPI.LAND) == bytes([SIZE == 1, 0, 1])


BYTES_ONLY = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]


@accesses
@pytest.mark.parametrize("dtype", BYTES_ONLY)
def test_dtypes_that_are_sent_as_bytes(dtype: str, access: Access, record: Record) -> None:
    fill = bytes([0x80, 0x3F, RANK, 0x40])
    _, s = filled(dtype, fill)
    p, r = filled(dtype, b"\xff" * 4)
    status = MPI.Status()
    WORLD.Sendrecv(access(s), NEXT, recvbuf=access(r), source=PREVIOUS, status=status)
    assert status.Get_count(MPI.BYTE) == 4
    assert ctypes.string_at(p.handle.address, 4) == bytes([0x80, 0x3F, PREVIOUS, 0x40])
    record("zero-copy")


def doubled_by_mpi(dtype: str, fill: bytes, access: Access) -> bytes:
    """The sum of two equal tensors, computed by MPI without a message."""
    _, one = filled(dtype, fill)
    p, other = filled(dtype, fill)
    MPI.SUM.Reduce_local(access(one), access(other))
    return ctypes.string_at(p.handle.address, len(fill))


@accesses
def test_bfloat16_is_not_added(access: Access) -> None:
    """MPICH refuses to add bytes. Open MPI adds them as integers, which is no valid sum."""
    one = b"\x80\x3f"
    if MPI.get_vendor()[0] == "MPICH":
        with pytest.raises(MPI.Exception) as refused:
            doubled_by_mpi("bfloat16", one, access)
        assert refused.value.Get_error_class() == MPI.ERR_OP
    else:
        assert doubled_by_mpi("bfloat16", one, access) == b"\x00\x7e"  # 2 is 00 40


def test_vectors_are_mistaken_for_long_double() -> None:
    """mpi4py selects a datatype by the element size, 16 bytes for float32x4. If this fails, it has
    been corrected."""
    one = struct.pack("4f", 1, 2, 3, 4)
    assert struct.unpack("4f", doubled_by_mpi("float32x4", one, DlpackOnly)) != (2, 4, 6, 8)
    status = MPI.Status()
    out = bytearray(16)
    x = DlpackOnly(filled("float32x4", one)[1])
    WORLD.Sendrecv(x, NEXT, recvbuf=[out, MPI.BYTE], source=PREVIOUS, status=status)
    assert status.Get_count(MPI.LONG_DOUBLE) == 1
    assert out == one  # the bytes are sent correctly


# Layouts and flags. ------------------------------------------------------------------------------

LAYOUTS: list[tuple[str, dict[str, Any], list[float] | str]] = [
    ("row-major", {}, [0, 1, 2, 3, 4, 5]),
    ("column-major, in memory order", {"strides": (1, 2)}, [0, 1, 2, 3, 4, 5]),
    ("offset", {"byte_offset": 24}, [6, 7, 8, 9, 10, 11]),
    ("null strides", {"strides": None}, [0, 1, 2, 3, 4, 5]),
    ("size 1", {"shape": (1, 3), "strides": (99, 1)}, [0, 1, 2]),
    ("scalar", {"shape": ()}, [0]),
    ("empty", {"shape": (0, 3)}, []),
    ("steps", {"strides": (12, 3)}, "not contiguous"),
    ("broadcast", {"strides": (0, 1)}, "not contiguous"),
    ("backwards", {"strides": (-3, -1), "byte_offset": 40}, "negative"),
]


@accesses
@pytest.mark.parametrize(
    "fields, received", [each[1:] for each in LAYOUTS], ids=[each[0] for each in LAYOUTS]
)
def test_layouts(
    fields: dict[str, Any], received: list[float] | str, access: Access, record: Record
) -> None:
    p = producers.Producer(**fields)
    out = bytearray(64)
    status = MPI.Status()

    def exchange() -> None:
        x = access(dlbridge.from_dlpack(p))
        WORLD.Sendrecv(x, NEXT, recvbuf=[out, MPI.BYTE], source=PREVIOUS, status=status)

    if isinstance(received, str):
        with pytest.raises(BufferError, match=received):
            exchange()
    else:
        exchange()
        assert status.Get_count(MPI.FLOAT) == len(received)
        assert list(struct.unpack_from(f"{len(received)}f", out)) == received
    assert p.calls == [1]
    record("refused" if isinstance(received, str) else "zero-copy")


@accesses
def test_read_only_memory_is_sent_and_not_received_into(access: Access, record: Record) -> None:
    p = producers.Producer(flags=1)
    x = access(dlbridge.from_dlpack(p))
    before = p.handle.snapshot()
    out = bytearray(24)
    WORLD.Sendrecv(x, NEXT, recvbuf=[out, MPI.BYTE], source=PREVIOUS)
    assert struct.unpack("6f", out) == (0, 1, 2, 3, 4, 5)
    with pytest.raises(BufferError, match="not writable"):
        WORLD.Irecv(x, PREVIOUS)
    with pytest.raises(BufferError, match="not writable"):
        WORLD.Allreduce(MPI.IN_PLACE, x)
    assert p.handle.snapshot() == before
    del x
    assert p.calls == [1]
    record("refused")


def test_device_memory_is_passed_without_stream_order() -> None:
    """mpi4py requests no stream order (-1) and passes the address to MPI, which may support
    devices. A Tensor does not export device memory as a buffer."""
    x = DlpackOnly(dlbridge.from_dlpack(producers.Producer(device=(2, 0))))
    assert MPI.Get_address(x) == x.tensor.data_ptr
    assert x.requests == [{"stream": -1, "max_version": (1, 0), "copy": False}]


# MPI's own memory, as Tensors. -------------------------------------------------------------------


def test_memory_that_mpi_allocated() -> None:
    memory = MPI.Alloc_mem(64)
    t = dlbridge.as_tensor(memory)
    assert (t.dtype, t.shape, t.data_ptr) == ("uint8", (64,), memory.address)
    del t
    MPI.Free_mem(memory)


def test_memory_that_processes_share() -> None:
    """Writes of one process to its Tensor are visible in the Tensors of the others."""
    # [shared]
    node = WORLD.Split_type(MPI.COMM_TYPE_SHARED)  # the processes of this machine
    window = MPI.Win.Allocate_shared(8 * node.size if node.rank == 0 else 0, 8, comm=node)
    memory, _ = window.Shared_query(0)
    t = dlbridge.as_tensor(memoryview(memory).cast("d"))  # float64[node.size], in each of them
    # [/shared]
    assert (t.dtype, t.shape, t.data_ptr) == ("float64", (node.size,), memory.address)
    numbers: Any = memoryview(t)
    window.Fence()
    numbers[node.rank] = float(node.rank)
    window.Fence()
    assert numbers.tolist() == list(range(node.size))
    window.Fence()
    del t, numbers
    window.Free()
    node.Free()
