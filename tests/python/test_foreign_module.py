# SPDX-License-Identifier: BSD-3-Clause
"""The producer and the consumer in C: tests of the test module `foreign`."""

import gc
import struct
import threading

import pytest

import foreign


@pytest.mark.parametrize("versioned", [False, True])
def test_consumer_reads_what_the_producer_wrote(versioned: bool) -> None:
    handle = foreign.tensor(
        shape=(2, 3),
        strides=(1, 2),
        byte_offset=8,
        dtype=(2, 32, 1),
        device=(3, 1),
        version=(1, 7),
        flags=1 << 40 | 3,
    )
    result = foreign.consume(handle.capsule(versioned))
    assert result.name == ("dltensor_versioned" if versioned else "dltensor")
    assert result.version == ((1, 7) if versioned else None)
    assert result.flags == (1 << 40 | 3 if versioned else None)
    assert (result.ndim, result.shape, result.strides) == (2, (2, 3), (1, 2))
    assert (result.data, result.byte_offset) == (handle.address, 8)
    assert (result.dtype, result.device, result.has_deleter) == ((2, 32, 1), (3, 1), True)
    assert struct.unpack("6f", result.tobytes()) == (2, 4, 6, 3, 5, 7)
    assert handle.calls == 0
    result.release()
    assert (handle.handed_out, handle.calls) == (1, 1)
    with pytest.raises(RuntimeError):
        result.release()


@pytest.mark.parametrize("how", ["here", "nogil", "thread", "pending"])
def test_log_has_the_state_of_each_deleter_call(how: str) -> None:
    handle = foreign.tensor()
    assert foreign.consume(handle.capsule()).release(how)  # type: ignore[arg-type]
    (call,) = handle.log
    assert call.gil == (how in ("here", "pending"))
    assert call.pending == (how == "pending")
    assert (call.thread == threading.get_ident()) == (how != "thread")


def test_unconsumed_capsule_frees_and_a_consumed_one_does_not() -> None:
    handle = foreign.tensor()
    capsule = handle.capsule()
    assert handle.calls == 0
    del capsule
    assert handle.calls == 1
    capsule = handle.capsule(True)
    result = foreign.consume(capsule)
    del capsule
    assert handle.calls == 1
    with pytest.raises(ValueError, match="no fresh DLPack capsule"):
        foreign.consume(handle.capsule(name=b"used_dltensor"))
    del result
    assert handle.calls == 2


def test_accounts_count_after_the_handle_is_deleted() -> None:
    exports, calls = foreign.accounts()
    capsule = foreign.tensor().capsule()
    gc.collect()
    assert foreign.accounts() == (exports + 1, calls)
    del capsule
    assert foreign.accounts() == (exports + 1, calls + 1)


def test_lost_exceptions_are_detected() -> None:
    assert foreign.survives_drop(foreign.tensor().capsule)
    assert not foreign.survives_drop(lambda: foreign.tensor().capsule(destructor="clears"))


def test_writes_change_the_snapshot() -> None:
    handle = foreign.tensor()
    before = handle.snapshot()
    foreign.consume(handle.capsule()).write(b"\1")
    assert handle.snapshot() != before
