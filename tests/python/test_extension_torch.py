# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch tensors as arguments of an extension, which imports them by the exchange table, except
complex ones."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from new_interpreter import run
from test_import_by_table import table_class
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode

import dlbridge
import extension
import foreign
from bindings import BINDINGS, DETAILED, function

peer: Any = torch
KINDS = ["span_to_read", "span_to_write", "owned", "argument", "any_tensor", "managed_tensor"]


class Derived(torch.Tensor):
    """A subclass that exports what its base does."""


class Overriding(torch.Tensor):
    """A subclass that exports other values."""

    def __dlpack__(self, **keywords: Any) -> Any:
        return peer.full((3,), 9.0).__dlpack__(**keywords)


class OverridingAgain(Overriding):
    pass


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    """The tensors whose __dlpack__ was called."""
    called: list[torch.Tensor] = []
    original = torch.Tensor.__dlpack__

    def counting(self: torch.Tensor, *args: Any, **keywords: Any) -> Any:
        called.append(self)
        return original(self, *args, **keywords)

    monkeypatch.setattr(torch.Tensor, "__dlpack__", counting)
    return called


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("of_class", [torch.Tensor, torch.nn.Parameter, Derived])
@pytest.mark.parametrize("binding", BINDINGS)
def test_the_table_is_used(
    binding: str, of_class: Any, kind: str, requests: list[torch.Tensor]
) -> None:
    x = torch.ones(3).as_subclass(of_class)
    assert function(binding, kind)(x) == x.data_ptr()
    assert importlib.import_module(binding.partition(".")[0]).kind(x) == "float32"
    assert requests == []


def test_the_counter_counts(requests: list[torch.Tensor]) -> None:
    peer.from_dlpack(torch.ones(3))
    assert len(requests) == 1


@pytest.mark.parametrize("of_class", [Overriding, OverridingAgain])
@pytest.mark.parametrize("binding", BINDINGS)
def test_a_subclass_that_overrides_dlpack(binding: str, of_class: Any) -> None:
    x = torch.ones(3).as_subclass(of_class)
    assert peer.from_dlpack(x).tolist() == dlbridge.from_dlpack(x).tolist() == [9, 9, 9]
    assert function(binding, "sum")(x) == 27
    assert function(binding, "same")(x).tolist() == [9, 9, 9]


@pytest.mark.parametrize("binding", BINDINGS)
def test_the_result_for_a_parameter_is_a_plain_tensor(binding: str) -> None:
    """autograd does not track the access, as with every consumer of torch's exchange table."""
    x = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    assert function(binding, "sum")(x) == 3
    for name in ("doubled", "same"):
        result = function(binding, name)(x)
        assert (type(result), result.requires_grad) == (torch.Tensor, False)


@pytest.mark.parametrize("binding", BINDINGS)
def test_no_function_writes_where_a_gradient_is_recorded(binding: str) -> None:
    x = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x.mul_(2)  # nor does PyTorch itself
    for each in (x, x * 2, x.view(2, 1).reshape(-1)):
        with pytest.raises(TypeError) as raised:
            function(binding, "span_to_write")(each)
        assert binding.endswith("by_library") or (
            "a PyTorch tensor that requires a gradient while gradients are enabled: writability "
            "differs. Call the function under torch.no_grad(), or pass x.detach()"
        ) in str(raised.value)
        assert function(binding, "span_to_write")(each.detach()) == each.data_ptr()
        for disabled in (torch.no_grad(), torch.inference_mode()):
            with disabled:
                assert function(binding, "span_to_write")(each) == each.data_ptr()


# [in-place]
def scale_(x: torch.Tensor, factor: float) -> torch.Tensor:
    """Multiplies in place. A backward pass that needs the former values then fails."""
    with torch.no_grad():
        extension.scale(x, factor)
    torch.autograd.graph.increment_version(x)
    return x


# [/in-place]


def test_autograd_notices_what_a_function_writes() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    version = w._version
    scale_(w, 2.0)
    assert (w.tolist(), w._version) == ([2, 4], version + 1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()  # type: ignore[no-untyped-call]
    (w * w).sum().backward()  # type: ignore[no-untyped-call]
    assert w.grad is not None
    assert w.grad.tolist() == [4, 8]


@pytest.mark.parametrize("binding", BINDINGS)
def test_the_result_for_a_subclass_is_a_plain_tensor(binding: str) -> None:
    assert type(function(binding, "doubled")(torch.ones(3).as_subclass(Derived))) is torch.Tensor


@pytest.mark.parametrize("binding", BINDINGS)
def test_complex_tensors(binding: str) -> None:
    x = torch.tensor([1 + 2j, 3 + 4j])
    assert function(binding, "complex_sum")(x) == 6


@pytest.mark.parametrize("binding", DETAILED)
def test_conjugated_views_are_refused(binding: str) -> None:
    x = torch.tensor([1 + 2j, 3 + 4j]).conj()
    assert x.is_conj()
    with pytest.raises(TypeError) as raised:
        function(binding, "complex_sum")(x)
    assert isinstance(raised.value.__cause__, BufferError)
    assert "conjugate" in str(raised.value)
    assert function(binding, "complex_sum")(x.resolve_conj()) == -6


def test_a_conjugated_view_by_the_library(extension: Any) -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        extension.by_library.complex_sum(torch.tensor([1 + 2j]).conj())


@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("binding", BINDINGS)
def test_a_fake_tensor_is_refused(binding: str, kind: str) -> None:
    with FakeTensorMode():
        x = torch.ones(3)
        with pytest.raises(TypeError) as raised:
            function(binding, kind)(x)
    if binding in DETAILED:
        assert "tensor without data" in str(raised.value)


@pytest.mark.parametrize(
    "make", [lambda: torch.eye(3).to_sparse(), lambda: torch.empty(2, device="meta")]
)
@pytest.mark.parametrize("binding", BINDINGS)
def test_tensors_without_strided_memory_are_refused(binding: str, make: Any) -> None:
    with pytest.raises(TypeError):
        function(binding, "anywhere")(make())


@pytest.mark.parametrize("binding", DETAILED)
def test_the_exception_of_torch_is_the_cause(binding: str) -> None:
    with pytest.raises(TypeError) as raised:
        function(binding, "sum")(torch.eye(3).to_sparse())
    cause = raised.value.__cause__
    assert str(raised.value) == f"sum(): argument 'x': {type(cause).__name__}: {cause}"


def test_torch_imports_a_class_of_an_extension(extension: Any) -> None:
    image = extension.Image(2, 3)
    image.fill(2)
    x = peer.from_dlpack(image)
    x[0, 0] = 7
    assert image.dot(torch.ones(2, 3)) == 17
    del image
    assert x.sum() == 17


def test_a_method_allocates_a_torch_tensor(extension: Any) -> None:
    like = extension.Image(2, 3).like(torch.ones(1))
    assert (type(like), like.shape) == (torch.Tensor, (2, 3))


def test_a_result_with_negative_strides_is_refused(extension: Any) -> None:
    """PyTorch would end the process."""
    assert extension.backwards(np.arange(3, dtype="f4")).tolist() == [2, 1, 0]
    for x in (torch.ones(3), Derived(torch.ones(3))):
        with pytest.raises(BufferError, match="strides of 0 and above, as PyTorch requires") as e:
            extension.backwards(x)
        assert "For the author: return a copy, such as copy_of(view)" in str(e.value)
        assert extension.copied_backwards(x).tolist() == [1, 1, 1]


def imaginary(count: int) -> torch.Tensor:
    """A view that torch negates lazily: the memory has the opposite sign."""
    x = torch.full((count,), 1 + 2j).conj().imag
    assert x.is_neg()
    return x


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("name", ["sum", "doubled", *KINDS])
@pytest.mark.parametrize("binding", DETAILED)
def test_lazily_negated_views_are_refused(binding: str, name: str, count: int) -> None:
    x = imaginary(count)
    for _ in range(2):  # the second call takes the fast path
        with pytest.raises(TypeError, match=r"negated lazily.*Call its resolve_neg\(\) first"):
            function(binding, name)(x)
    assert function(binding, "sum")(x.resolve_neg()) == -2 * count


VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "every second": lambda x: x[::2],
    "matrix": lambda x: x.reshape(2, 3),
    "transposed": lambda x: x.reshape(2, 3).T,
    "column": lambda x: x.reshape(2, 3)[:, :1],
    "scalar": lambda x: x[0],
    "row": lambda x: x.unsqueeze(0),
    "expanded": lambda x: x[:1].expand(4),
    "diagonal": lambda x: x.reshape(2, 3).diagonal(),
    "windows": lambda x: x.unfold(0, 3, 1),
    "detached": lambda x: x.detach(),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("binding", DETAILED)
def test_views_of_lazily_negated_views_are_refused(
    binding: str, view: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    x = view(imaginary(6))
    assert x.is_neg()
    for _ in range(2):
        with pytest.raises(TypeError, match="negated lazily"):
            function(binding, "sum")(x)


class Asked(TorchFunctionMode):
    """Counts the calls of is_neg()."""

    count = 0

    def __torch_function__(
        self, called: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.count += called is torch.Tensor.is_neg
        return called(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    ("x", "is_asked"),
    [
        (torch.ones(6), False),
        (torch.ones(2, 3).T, False),
        (torch.ones(2, 6)[:, ::2], True),
        (torch.ones(6)[::2], True),
        (torch.ones(1), True),
        (torch.ones(()), True),
    ],
)
@pytest.mark.parametrize("binding", BINDINGS)
def test_only_a_tensor_whose_strides_are_all_even_may_be_negated(
    binding: str, x: torch.Tensor, is_asked: bool
) -> None:
    call = function(binding, "any_tensor")
    call(x)
    with Asked() as asked:
        call(x)
    assert (asked.count > 0) == is_asked


def test_a_lazily_negated_view_by_the_library(extension: Any) -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        extension.by_library.sum(imaginary(3))


@pytest.mark.parametrize("binding", BINDINGS)
def test_strided_views_are_accepted(binding: str) -> None:
    x = torch.arange(6.0)[::2]
    for _ in range(2):
        assert function(binding, "sum")(x) == 6


def test_a_dtype_that_the_library_lacks_is_named(extension: Any) -> None:
    """PyTorch states MemoryError for each failure of its allocator."""
    with pytest.raises(BufferError) as raised:
        extension.int4_like(torch.ones(3))
    assert str(raised.value) == (
        "producer failed: expected a tensor from the library's allocator, of int4 for torch; got "
        "Unsupported kInt bits 4"
    )


def named_as_of_torch() -> Any:
    """An object of another library, whose class states the name of PyTorch's."""
    base = table_class()
    return type("Tensor", (base,), {"__module__": "torch"})(foreign.tensor())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the exchange table is used")
@pytest.mark.parametrize(
    "make, is_read",
    [
        (lambda: torch.ones(3), True),
        (lambda: torch.ones(()), True),
        (lambda: torch.empty(0, 2), True),
        (lambda: torch.ones(2, 6, dtype=torch.bfloat16)[:, ::2], True),
        (lambda: torch.nn.Parameter(torch.ones(3)), True),
        (lambda: torch.ones(3).as_subclass(Derived), False),
        (lambda: torch.ones(3, dtype=torch.complex64), False),
        (lambda: torch.ones(3, dtype=torch.float8_e4m3fn), False),
        (lambda: torch.eye(3).to_sparse(), False),
        (lambda: torch.empty(2, device="meta"), False),
        (named_as_of_torch, False),
        (lambda: np.ones(3), False),
    ],
)
def test_the_functions_of_pytorch_are_used(extension: Any, make: Any, is_read: bool) -> None:
    assert extension.by_fast.sum(torch.ones(3)) == 3  # tests them
    assert extension.reads_torch(make()) == is_read


def test_an_object_that_only_has_the_name(extension: Any) -> None:
    assert extension.by_fast.sum(torch.ones(3)) == 3
    x = named_as_of_torch()
    for _ in range(2):
        assert extension.by_fast.any_tensor(x) == x.handle.address


@pytest.mark.parametrize(
    "active", ["FakeTensorMode()", "torch.device('meta')", "torch.inference_mode()", "Failing()"]
)
def test_the_first_call_while_a_mode_is_active(active: str) -> None:
    """The mode replaces the tensors of the self-test. The exchange table then remains."""
    output = run(f"""
        import warnings
        warnings.simplefilter("ignore")
        import torch, extension
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.overrides import TorchFunctionMode

        class Failing(TorchFunctionMode):
            def __torch_function__(self, *arguments):
                raise RuntimeError("not here")

        x = torch.arange(6.0)[::2]
        with {active}:
            print(extension.by_fast.sum(x))
        print(extension.by_fast.sum(x))
    """)
    assert output == "6.0\n6.0\n"
