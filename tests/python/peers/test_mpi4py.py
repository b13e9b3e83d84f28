"""MPI by mpi4py: messages to and from a Tensor's own memory, as a buffer and by DLPack alone.

Run by itself it talks to itself; `mpiexec -n 2 python -m pytest` of this file makes a ring of two.
DLBRIDGE_TEST_PROCESSES says how many there must be.
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


def test_as_many_processes_as_were_started() -> None:
    assert int(os.environ.get("DLBRIDGE_TEST_PROCESSES", "1")) == SIZE


class Behind:
    """A Tensor of which only the two methods of DLPack are seen; records what is asked."""

    def __init__(self, tensor: dlbridge.Tensor) -> None:
        self.tensor = tensor
        self.asked: list[dict[str, Any]] = []

    def __dlpack__(self, **keywords: Any) -> object:
        self.asked.append(keywords)
        return self.tensor.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.tensor.__dlpack_device__()


def itself(tensor: dlbridge.Tensor) -> Any:
    return tensor


Counted = Callable[[str], None]


@pytest.fixture
def counted(
    request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> Counted:
    """Says how a message went, for the count of every library's exchanges."""
    name = request.node.name
    return lambda outcome: record_property("exchange", ["takes", "message", name, outcome, ""])


Face = Callable[[dlbridge.Tensor], Any]
faces = pytest.mark.parametrize("face", [itself, Behind], ids=["buffer", "dlpack"])


class Memory:
    """A Tensor of float64 on memory of plain C, as MPI is to see it, and the memory's numbers."""

    def __init__(self, face: Face, numbers: list[float]) -> None:
        fill = struct.pack(f"{len(numbers)}d", *numbers)
        self.producer = producers.Producer(shape=(2, COUNT // 2), dtype=FLOAT64, fill=fill)
        self.face: Any = face(dlbridge.from_dlpack(self.producer))

    @property
    def address(self) -> int:
        return self.producer.handle.address

    def numbers(self) -> list[float]:
        return list(struct.unpack(f"{COUNT}d", ctypes.string_at(self.address, COUNT * 8)))

    def drop(self) -> list[int]:
        """Deleter calls before the Tensor is dropped, and after."""
        before = sum(self.producer.calls)
        self.face = None
        return [before, sum(self.producer.calls)]


def values(rank: int) -> list[float]:
    return [100.0 * rank + i for i in range(COUNT)]


def of_previous() -> list[float]:
    return values(PREVIOUS)


def of_first() -> list[float]:
    return values(0)


def of_all() -> list[float]:
    return [sum(column) for column in zip(*map(values, range(SIZE)))]


# Exchanges: each rank has its values in s, and what is expected in r afterwards. -----------------


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
    """The window is r's memory, and the neighbour writes into it."""
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


@faces
@pytest.mark.parametrize("name", EXCHANGES)
def test_exchange(name: str, face: Face, counted: Counted) -> None:
    run, expected = EXCHANGES[name]
    s, r = Memory(face, values(RANK)), Memory(face, [-1.0] * COUNT)
    run(s.face, r.face)
    assert r.numbers() == expected()
    assert s.numbers() == values(RANK)
    if isinstance(s.face, Behind):
        asked = s.face.asked + r.face.asked
        assert asked and all(each == {"max_version": (1, 0), "copy": False} for each in asked)
    assert (s.drop(), r.drop()) == ([0, 1], [0, 1])
    counted("zero-copy")


@faces
def test_the_address_is_the_memorys(face: Face) -> None:
    m = Memory(face, values(0))
    for _ in range(3):
        assert MPI.Get_address(m.face) == MPI.buffer(m.face).address == m.address
    assert m.drop() == [0, 1]


@faces
def test_mpi_itself_names_that_address(face: Face) -> None:
    """Base and size of a window, as the MPI library keeps them."""
    m = Memory(face, values(0))
    window = MPI.Win.Create(m.face, comm=WORLD)
    assert window.Get_attr(MPI.WIN_BASE) == m.address
    assert window.Get_attr(MPI.WIN_SIZE) == COUNT * 8
    assert m.drop() == [0, 0]  # the window keeps it
    window.Free()
    del window
    assert m.drop() == [1, 1]


@faces
def test_a_message_that_was_set_up_once_sends_what_is_there_now(face: Face) -> None:
    """A copy, made at any time before, would send something else."""
    s, r = Memory(face, values(RANK)), Memory(face, values(RANK))
    requests = [WORLD.Recv_init(r.face, PREVIOUS), WORLD.Send_init(s.face, NEXT)]
    for round in (1.0, 2.0):
        ctypes.memmove(s.address, struct.pack(f"{COUNT}d", *[round] * COUNT), COUNT * 8)
        MPI.Prequest.Startall(requests)
        MPI.Prequest.Waitall(requests)
        assert r.numbers() == [round] * COUNT
    for request in requests:
        request.Free()
    del request, requests
    assert (s.drop(), r.drop()) == ([0, 1], [0, 1])


@faces
def test_messages_under_way_keep_the_memory(face: Face) -> None:
    s, r = Memory(face, values(RANK)), Memory(face, [-1.0] * COUNT)
    requests = [WORLD.Irecv(r.face, PREVIOUS), WORLD.Isend(s.face, NEXT)]
    assert (s.drop(), r.drop()) == ([0, 0], [0, 0])
    MPI.Request.Waitall(requests)
    assert r.numbers() == of_previous()
    assert (s.drop(), r.drop()) == ([1, 1], [1, 1])


def test_capsules_that_nobody_renames_are_freed_once() -> None:
    """mpi4py leaves its capsules to their destructor."""
    p = producers.Producer()
    handed_out, freed = foreign.accounts()
    for _ in range(5):
        assert MPI.Get_address(p) == p.handles[-1].address
    assert foreign.accounts() == (handed_out + 5, freed + 5)
    assert p.calls == p.owed == [1] * 5


# Dtypes. A sum works when mpi4py has found the right datatype: MPI adds no bytes. ----------------

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


def filled(dtype: str, written: bytes) -> tuple[producers.Producer, dlbridge.Tensor]:
    d = dlbridge.dtype(dtype)
    shape = (len(written) // d.itemsize,)
    p = producers.Producer(dtype=(d.code, d.bits, d.lanes), shape=shape, fill=written)
    return p, dlbridge.from_dlpack(p)


def reduced(dtype: str, written: bytes, face: Face, op: MPI.Op) -> bytes:
    _, s = filled(dtype, written)
    p, r = filled(dtype, b"\xff" * len(written))
    WORLD.Allreduce(face(s), face(r), op=op)
    return ctypes.string_at(p.handle.address, len(written))


@faces
@pytest.mark.parametrize("dtype", NUMBERS)
def test_sums(dtype: str, face: Face, counted: Counted) -> None:
    form = f"3{NUMBERS[dtype]}"
    out = reduced(dtype, struct.pack(form, RANK, 1, 2), face, MPI.SUM)
    assert struct.unpack(form, out) == (sum(range(SIZE)), SIZE, 2 * SIZE)
    counted("zero-copy")


@faces
@pytest.mark.parametrize("dtype, code", [("complex64", "f"), ("complex128", "d")])
def test_sums_of_complex_numbers(dtype: str, code: str, face: Face, counted: Counted) -> None:
    out = reduced(dtype, struct.pack(f"4{code}", RANK, 1, 2, -3), face, MPI.SUM)
    assert struct.unpack(f"4{code}", out) == (sum(range(SIZE)), SIZE, 2 * SIZE, -3 * SIZE)
    counted("zero-copy")


@faces
def test_bool_is_logical(face: Face) -> None:
    assert reduced("bool", bytes([RANK == 0, 0, 1]), face, MPI.LOR) == b"\1\0\1"
    assert reduced("bool", bytes([RANK == 0, 0, 1]), face, MPI.LAND) == bytes([SIZE == 1, 0, 1])


BYTES_ONLY = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]


@faces
@pytest.mark.parametrize("dtype", BYTES_ONLY)
def test_dtypes_that_travel_as_bytes(dtype: str, face: Face, counted: Counted) -> None:
    written = bytes([0x80, 0x3F, RANK, 0x40])
    _, s = filled(dtype, written)
    p, r = filled(dtype, b"\xff" * 4)
    status = MPI.Status()
    WORLD.Sendrecv(face(s), NEXT, recvbuf=face(r), source=PREVIOUS, status=status)
    assert status.Get_count(MPI.BYTE) == 4
    assert ctypes.string_at(p.handle.address, 4) == bytes([0x80, 0x3F, PREVIOUS, 0x40])
    counted("zero-copy")


def added_here(dtype: str, written: bytes, face: Face) -> bytes:
    """One and the same twice, added by MPI without a message."""
    _, one = filled(dtype, written)
    p, other = filled(dtype, written)
    MPI.SUM.Reduce_local(face(one), face(other))
    return ctypes.string_at(p.handle.address, len(written))


@faces
def test_bfloat16_is_not_added(face: Face) -> None:
    """MPICH refuses to add bytes. Open MPI adds them, which gives no sum."""
    one = b"\x80\x3f"
    if MPI.get_vendor()[0] == "MPICH":
        with pytest.raises(MPI.Exception) as refused:
            added_here("bfloat16", one, face)
        assert refused.value.Get_error_class() == MPI.ERR_OP
    else:
        assert added_here("bfloat16", one, face) == b"\x00\x7e"  # 2 is 00 40


def test_vectors_are_taken_for_long_double() -> None:
    """mpi4py goes by the size of an element: float32x4 has 16 bytes. When this fails, it has
    learned of lanes."""
    one = struct.pack("4f", 1, 2, 3, 4)
    assert struct.unpack("4f", added_here("float32x4", one, Behind)) != (2, 4, 6, 8)
    status = MPI.Status()
    out = bytearray(16)
    x = Behind(filled("float32x4", one)[1])
    WORLD.Sendrecv(x, NEXT, recvbuf=[out, MPI.BYTE], source=PREVIOUS, status=status)
    assert status.Get_count(MPI.LONG_DOUBLE) == 1
    assert out == one  # it arrives all the same


# Layouts and marks. ------------------------------------------------------------------------------

LAYOUTS: list[tuple[str, dict[str, Any], list[float] | str]] = [
    ("row-major", {}, [0, 1, 2, 3, 4, 5]),
    ("column-major, as it lies", {"strides": (1, 2)}, [0, 1, 2, 3, 4, 5]),
    ("offset", {"byte_offset": 24}, [6, 7, 8, 9, 10, 11]),
    ("null strides", {"strides": None}, [0, 1, 2, 3, 4, 5]),
    ("size 1", {"shape": (1, 3), "strides": (99, 1)}, [0, 1, 2]),
    ("scalar", {"shape": ()}, [0]),
    ("empty", {"shape": (0, 3)}, []),
    ("steps", {"strides": (12, 3)}, "not contiguous"),
    ("broadcast", {"strides": (0, 1)}, "not contiguous"),
    ("backwards", {"strides": (-3, -1), "byte_offset": 40}, "negative"),
]


@faces
@pytest.mark.parametrize(
    "fields, arrives", [each[1:] for each in LAYOUTS], ids=[each[0] for each in LAYOUTS]
)
def test_layouts(
    fields: dict[str, Any], arrives: list[float] | str, face: Face, counted: Counted
) -> None:
    p = producers.Producer(**fields)
    out = bytearray(64)
    status = MPI.Status()

    def go() -> None:
        x = face(dlbridge.from_dlpack(p))
        WORLD.Sendrecv(x, NEXT, recvbuf=[out, MPI.BYTE], source=PREVIOUS, status=status)

    if isinstance(arrives, str):
        with pytest.raises(BufferError, match=arrives):
            go()
    else:
        go()
        assert status.Get_count(MPI.FLOAT) == len(arrives)
        assert list(struct.unpack_from(f"{len(arrives)}f", out)) == arrives
    assert p.calls == [1]
    counted("refused" if isinstance(arrives, str) else "zero-copy")


@faces
def test_read_only_memory_is_sent_and_not_received_into(face: Face, counted: Counted) -> None:
    p = producers.Producer(flags=1)
    x = face(dlbridge.from_dlpack(p))
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
    counted("refused")


def test_device_memory_is_named_and_not_waited_for() -> None:
    """mpi4py asks for no order (-1) and hands on the address; an MPI that knows devices takes it
    from there. A Tensor refuses to be a buffer of such memory."""
    x = Behind(dlbridge.from_dlpack(producers.Producer(device=(2, 0))))
    assert MPI.Get_address(x) == x.tensor.data_ptr
    assert x.asked == [{"stream": -1, "max_version": (1, 0), "copy": False}]


# MPI's own memory, as Tensors. -------------------------------------------------------------------


def test_memory_that_mpi_allocated() -> None:
    memory = MPI.Alloc_mem(64)
    t = dlbridge.as_tensor(memory)
    assert (t.dtype, t.shape, t.data_ptr) == ("uint8", (64,), memory.address)
    del t
    MPI.Free_mem(memory)


def test_memory_that_processes_share() -> None:
    """What one process writes into its Tensor the others read in theirs, without a message."""
    # [shared]
    here = WORLD.Split_type(MPI.COMM_TYPE_SHARED)  # the processes of this machine
    window = MPI.Win.Allocate_shared(8 * here.size if here.rank == 0 else 0, 8, comm=here)
    memory, _ = window.Shared_query(0)
    t = dlbridge.as_tensor(memoryview(memory).cast("d"))  # float64[here.size], in each of them
    # [/shared]
    assert (t.dtype, t.shape, t.data_ptr) == ("float64", (here.size,), memory.address)
    numbers: Any = memoryview(t)
    window.Fence()
    numbers[here.rank] = float(here.rank)
    window.Fence()
    assert numbers.tolist() == list(range(here.size))
    window.Fence()
    del t, numbers
    window.Free()
    here.Free()
