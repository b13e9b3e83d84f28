# SPDX-License-Identifier: BSD-3-Clause
"""The table of signatures: C++ functions of tensors, and what calls of them return or refuse.

Each row is a function of tests/extension/signatures*.hpp, or of members.cpp. test_signatures.py
calls it as bound by each binding library, with arrays of each caller's library.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Array:
    """An array of the caller's library: in arguments to be made, in results to be compared."""

    values: Any
    dtype: str = "float32"
    of: str | None = None  # another library, of a result


@dataclass(frozen=True)
class Made:
    """An argument: an object of a class of the module, made from arguments."""

    type: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Refusal:
    """An exception and its message; `…` in it stands for any text."""

    message: str
    type: type[Exception] = TypeError


# Writable parameters refuse the arrays of JAX, which never change.
READ_ONLY = Refusal("… writable; got float32[2] on cpu, read-only: writability differs. …")
JAX_IS_READ_ONLY = {"jax": READ_ONLY}


@dataclass(frozen=True)
class Call:
    """One call, and its result or refusal. `arguments` may contain arrays at any depth."""

    arguments: tuple[Any, ...]
    result: Any = None
    keywords: dict[str, Any] = field(default_factory=dict)
    after: tuple[Any, ...] | None = None  # the arguments afterwards, where the call writes to them
    by: dict[str, Any] = field(default_factory=dict)  # results that differ, by caller


@dataclass(frozen=True)
class Row:
    """A function, its C++ signature, the features that it shows, and its calls.

    The name may be that of a member: "Table.values.fset" is the setter of a property. The items of
    an iterator are compared as a list.
    """

    name: str
    signature: str
    shows: tuple[str, ...]
    calls: tuple[Call, ...]
    bindings: tuple[str, ...] = ("pybind11", "nanobind", "fast")  # fast: def_fast


BY_DEF = ("pybind11", "nanobind")  # of rows whose functions def_fast does not bind
MEMBERS = ("extension", "nanobind_extension")  # of members.cpp

ROWS = (
    Row(
        "sum",
        "double(tensor_span<float const, shape<dynamic_extent>> x)",
        ("borrowed",),
        (
            Call((Array([1, 2, 3]),), 6.0),
            Call((), 3.0, keywords={"x": Array([1, 2])}),
            Call(
                (Array([[1], [2]], "uint8"),),
                Refusal(
                    "sum(): argument 'x': expected float32[*] on cpu; got uint8[2, 1] on cpu: "
                    "dtype, rank differ"
                ),
            ),
            Call(("text",), Refusal("sum(): argument 'x': not a DLPack producer: …")),
        ),
    ),
    Row(
        "fill",
        "void(tensor_span<float, shape<dynamic_extent>> x, float value)",
        ("borrowed", "writable"),
        (
            Call(
                (Array([1, 2]), 7.0),
                None,
                after=(Array([7, 7]), 7.0),
                by=JAX_IS_READ_ONLY,
            ),
        ),
    ),
    Row(
        "doubled",
        "argument<float, shape<dynamic_extent>>(argument<float const, shape<dynamic_extent>> x)",
        ("owned", "empty_like gives the spelled type"),
        (Call((Array([1, 2]),), Array([2, 4])),),
    ),
    Row(
        "same",
        "argument<float const>(argument<float const> x)",
        ("owned",),
        (Call((Array([[1], [2]]),), Array([[1], [2]])),),
    ),
    Row(
        "sum_or_zero",
        "double(std::optional<tensor_span<float const, shape<dynamic_extent>>> x)",
        ("optional", "borrowed"),
        (
            Call((Array([1, 2]),), 3.0),
            Call((None,), 0.0),
            Call(
                (Array([1], "uint8"),),
                Refusal(
                    "sum_or_zero(): argument 'x': expected float32[*] on cpu; got uint8[1] on "
                    "cpu: dtype differs"
                ),
            ),
        ),
    ),
    Row(
        "points",
        "std::int64_t(tensor_span<double const, shape<dynamic_extent, 3>> x)",
        ("borrowed", "extents"),
        (
            Call(
                (Array([[1, 2, 3]], "float64"),),
                1,
                by={"jax": Refusal("points(): … got float32[1, 3] on cpu: dtype differs")},
            ),
            Call(
                (Array([[1, 2]], "float64"),),
                Refusal("points(): argument 'x': expected float64[*, 3] on cpu; got …"),
            ),
        ),
    ),
    Row(
        "compact",
        "std::int64_t(tensor_span<float const, shape<dynamic_extent, dynamic_extent>, row_major>)",
        ("borrowed", "layout"),
        (Call((Array([[1, 2], [3, 4]]),), 4),),
    ),
    Row(
        "rank",
        "int(any_tensor x)",
        ("owned", "any dtype"),
        (Call((Array([[1, 2]], "uint8"),), 2), Call((Array([1]),), 1)),
    ),
    Row(
        "iota",
        "managed_tensor(std::int64_t n)",
        ("the default library of a result",),
        (Call((3,), Array([0, 1, 2], of="dlbridge")),),
    ),
    Row(
        "like",
        "argument<float, shape<dynamic_extent, dynamic_extent>>(argument<float const, ...> x)",
        ("empty_like gives the spelled type",),
        (Call((Array([[5, 6]]),), Array([[0, 1]])),),
    ),
    Row(
        "like_row_major",
        "argument<float, shape<...>, row_major>(argument<float const, shape<...>> x)",
        ("empty_like gives the spelled type",),
        (Call((Array([[5, 6]]),), Array([[0, 1]])),),
    ),
    Row(
        "like_list",
        "argument<double, shape<dynamic_extent>>(argument<float const, shape<...>> x)",
        ("empty_like gives the spelled type", "empty_like takes extents"),
        (Call((Array([[5, 6, 7]]),), Array([0, 1, 2], "float64")),),
    ),
    Row(
        "like_dims",
        "argument<float>(argument<float const, shape<...>> x), empty_like(dims)",
        ("empty_like takes extents",),
        (Call((Array([[5, 6]]),), Array([[0], [1]])),),
    ),
    Row(
        "like_vector",
        "argument<float, shape<...>>(argument<float const> x), empty_like(std::vector<int>)",
        ("empty_like takes extents",),
        (Call((Array([[5, 6]]),), Array([[0], [1]])),),
    ),
    Row(
        "like_array_of_wrong_rank",
        "argument<float, shape<...>>(argument<float const> x), empty_like(std::array)",
        ("empty_like takes extents",),
        (
            Call(
                (Array([[5, 6]]),),
                Refusal(
                    "expected float32[*, *] on cpu, writable; got float32[3] on cpu: rank differs",
                    BufferError,
                ),
            ),
        ),
    ),
    Row(
        "like_dtype",
        "any_argument(argument<float const> x, int bits)",
        ("empty_like takes a dtype known at run time",),
        (
            Call((Array([5]), 32), Array([1, 0], "int32")),
            Call((Array([5]), 8), Array([1, 0], "int8")),
        ),
    ),
    Row(
        "same_of_any_dtype",
        "any_argument(any_argument x)",
        ("any dtype", "owned"),
        (Call((Array([[1], [2]], "uint8"),), Array([[1], [2]], "uint8")),),
    ),
    Row(
        "larger",
        "argument<float const, shape<...>>(argument<float const, ...> x, argument<...> y)",
        ("argument movable and assignable",),
        (
            Call((Array([1]), Array([2, 3])), Array([2, 3])),
            Call((Array([1, 2]), Array([3])), Array([1, 2])),
        ),
    ),
    Row(
        "sum_list",
        "double(std::vector<tensor_span<float const, shape<dynamic_extent>>> const& xs)",
        ("list", "borrowed"),
        (
            Call(([Array([1, 2]), Array([3])],), 6.0),
            Call(((Array([1, 2]), Array([3])),), 6.0),
            Call(([],), 0.0),
            Call(
                ([Array([1]), Array([1]), Array([1]), Array([2], "uint8")],),
                Refusal(
                    "sum_list(): argument 'xs', element 3: expected float32[*] on cpu; got "
                    "uint8[1] on cpu: dtype differs"
                ),
            ),
            Call(
                ([Array([1]), "text"],),
                Refusal("sum_list(): argument 'xs', element 1: not a DLPack producer: …"),
            ),
            Call((3,), Refusal("sum_list(): argument 'xs': expected a sequence; got int")),
            Call(("text",), Refusal("sum_list(): argument 'xs': expected a sequence; got str")),
        ),
    ),
    Row(
        "sum_owned_list",
        "double(std::vector<argument<float const, shape<dynamic_extent>>> xs)",
        ("list", "owned", "argument movable and assignable"),
        (
            Call(([Array([1, 2]), Array([3])],), 6.0),
            Call(
                ([Array([[1]])],),
                Refusal("sum_owned_list(): argument 'xs', element 0: …: rank differs"),
            ),
        ),
    ),
    Row(
        "sum_dict",
        "double(std::map<std::string, tensor_span<float const, ...>> const& xs)",
        ("dict", "borrowed"),
        (
            Call(({"a": Array([1, 2]), "bc": Array([3])},), 9.0),
            Call(
                ({"a": Array([1, 2]), "w": Array([3], "uint8")},),
                Refusal(
                    "sum_dict(): argument 'xs', key 'w': expected float32[*] on cpu; got uint8[1] "
                    "on cpu: dtype differs"
                ),
            ),
            Call(
                ({3: Array([1])},),
                Refusal("sum_dict(): argument 'xs', key 3: expected a str; got int"),
            ),
            Call(([Array([1])],), Refusal("sum_dict(): argument 'xs': expected a dict; got list")),
        ),
    ),
    Row(
        "sum_pair",
        "double(std::pair<tensor_span<float const, ...>, double> const& x)",
        ("pair", "borrowed"),
        (
            Call(((Array([1, 2]), 2.0),), 6.0),
            Call(([Array([1, 2]), 2],), 6.0),
            Call(
                ((Array([1]), "2"),),
                Refusal("sum_pair(): argument 'x', element 1: expected a float; got str"),
            ),
            Call(
                ((Array([1]),),),
                Refusal(
                    "sum_pair(): argument 'x': expected a sequence of length 2; got one of length 1"
                ),
            ),
        ),
    ),
    Row(
        "sum_tuple",
        "double(std::tuple<tensor_span<float const>, argument<float const>, int> x)",
        ("tuple", "borrowed", "owned"),
        (
            Call(((Array([1, 2]), Array([3]), 4),), 10.0),
            Call(
                ((Array([1]), Array([1], "uint8"), 4),),
                Refusal("sum_tuple(): argument 'x', element 1: expected float32[*] on cpu; got …"),
            ),
        ),
    ),
    Row(
        "sum_array",
        "double(std::array<tensor_span<float const, ...>, 2> const& x)",
        ("list", "borrowed"),
        (Call(([Array([1, 2]), Array([3])],), 6.0),),
    ),
    Row(
        "sum_optional_list",
        "double(std::optional<std::vector<tensor_span<float const, ...>>> const& xs)",
        ("optional", "list", "nested"),
        (
            Call((None,), -1.0),
            Call(([Array([2])],), 2.0),
            Call(
                ([None],),
                Refusal("sum_optional_list(): argument 'xs', element 0: not a DLPack producer: …"),
            ),
        ),
    ),
    Row(
        "sum_list_of_optional",
        "double(std::vector<std::optional<argument<float const, ...>>> const& xs)",
        ("optional", "list", "nested", "owned"),
        (Call(([None, Array([2])],), 102.0),),
    ),
    Row(
        "kind_of_variant",
        "std::int64_t(std::variant<argument<float const>, argument<std::int32_t const>> const& x)",
        ("variant", "owned"),
        (
            Call((Array([1]),), 0),
            Call((Array([1], "int32"),), 1),
            Call(
                (Array([1], "uint8"),),
                Refusal(
                    "kind_of_variant(): argument 'x': expected float32[*] on cpu; got uint8[1] on "
                    "cpu: dtype differs; or expected int32[*] on cpu; got uint8[1] on cpu: dtype "
                    "differs"
                ),
            ),
        ),
    ),
    Row(
        "fill_all",
        "void(std::vector<tensor_span<float, ...>> const& xs, float value)",
        ("list", "writable", "borrowed"),
        (
            Call(
                ([Array([1, 2]), Array([3])], 7),
                None,
                after=([Array([7, 7]), Array([7])],),
                by=JAX_IS_READ_ONLY,
            ),
        ),
    ),
    Row(
        "plus",
        "argument<float, ...>(argument<float const> x, std::variant<float, argument<...>> y)",
        ("broadcast scalars", "variant"),
        (
            Call((Array([1, 2]), Array([3, 4])), Array([4, 6])),
            Call((Array([1, 2]), 3), Array([4, 5])),
            Call((Array([1, 2]), 3.5), Array([4.5, 5.5])),
            Call(
                (Array([1, 2]), "3"),
                Refusal("plus(): argument 'y': expected a float; got str; or not a DLPack …"),
            ),
        ),
    ),
    Row(
        "kind_of_number",
        "std::int64_t(std::variant<std::int64_t, double, argument<float const, ...>> const& x)",
        ("variant", "broadcast scalars"),
        (Call((1,), 0), Call((1.0,), 1), Call((Array([1]),), 2)),
    ),
    Row(
        "split",
        "std::vector<argument<float, ...>>(argument<float const, ...> x)",
        ("list", "results in containers"),
        (Call((Array([1, 2]),), [Array([1]), Array([2])]),),
    ),
    Row(
        "named",
        "std::map<std::string, argument<float, ...>>(argument<float const, ...> x)",
        ("dict", "results in containers"),
        (Call((Array([2]),), {"double": Array([4]), "half": Array([1])}),),
    ),
    Row(
        "pair_of",
        "std::pair<argument<float, ...>, int>(argument<float const, ...> x)",
        ("pair", "results in containers"),
        (Call((Array([2]),), (Array([6]), 3)),),
    ),
    Row(
        "tuple_of",
        "std::tuple<argument<...>, std::string, managed_tensor>(std::vector<argument<...>> xs)",
        ("tuple", "list", "results in containers"),
        (Call(([Array([2]), Array([3])],), (Array([4]), "two", Array([2]))),),
    ),
    Row(
        "either_of",
        "std::variant<double, argument<float const, ...>>(argument<float const, ...> x, bool sum)",
        ("variant", "results in containers"),
        (Call((Array([2]), False), Array([2])), Call((Array([2]), True), 2.0)),
    ),
    Row(
        "maybe",
        "std::optional<argument<float, ...>>(std::optional<argument<float const, ...>> x)",
        ("optional",),
        (Call((Array([2]),), Array([4])), Call((None,), None)),
    ),
    Row(
        "same_list",
        "std::vector<argument<float const, ...>>(std::vector<argument<float const, ...>> xs)",
        ("list", "owned", "results in containers"),
        (Call(([Array([2]), Array([3])],), [Array([2]), Array([3])]), Call(([],), [])),
    ),
    Row(
        "chunks",
        "std::variant<std::tuple<list, list>, std::tuple<list, std::map<std::string, own>>>("
        "argument<float const, ...> x, bool with_offsets), list: "
        "std::vector<std::optional<own>>, own: argument<float, ...>",
        ("list", "tuple", "dict", "results in containers of two levels"),
        (
            Call((Array([1, 2]), False), ([Array([2, 4]), None], [])),
            Call((Array([1]), True), ([Array([2]), None], {"x": Array([3])})),
        ),
    ),
    Row(
        "weigh",
        "std::int64_t(tensor_span<float const, shape<named<'n'>, 3>> x, "
        "tensor_span<float const, shape<named<'n'>>> y)",
        ("extents that agree by name", "borrowed"),
        (
            Call((Array([[1, 2, 3], [4, 5, 6]]), Array([1, 2])), 4),
            Call(
                (Array([[1, 2, 3]]), Array([1, 2])),
                Refusal(
                    "weigh(): argument 'y': expected float32[n] on cpu, with n = 1 as in 'x'; got "
                    "float32[2] on cpu: extents differ"
                ),
            ),
            Call(
                (Array([[1, 2]]), Array([1])),
                Refusal(
                    "weigh(): argument 'x': expected float32[n, 3] on cpu; got float32[1, 2] on "
                    "cpu: extents differ"
                ),
            ),
        ),
    ),
    Row(
        "weigh_optional",
        "std::int64_t(tensor_span<float const, shape<named<'n'>, 3>> x, std::optional<...> y)",
        ("extents that agree by name", "optional"),
        (
            Call((Array([[1, 2, 3]]), None), 1),
            Call((Array([[1, 2, 3]]), Array([1])), 2),
            Call(
                (Array([[1, 2, 3]]), Array([1, 2])),
                Refusal("weigh_optional(): argument 'y': … with n = 1 as in 'x'; got …"),
            ),
        ),
    ),
    Row(
        "multiply",
        "argument<...>(argument<float const, shape<named<'n'>, named<'k'>>> x, "
        "argument<float const, shape<named<'k'>, named<'m'>>> y)",
        ("extents that agree by name", "owned"),
        (
            Call((Array([[1, 2]]), Array([[3], [4]])), Array([[11]])),
            Call(
                (Array([[1, 2]]), Array([[3, 4]])),
                Refusal(
                    "multiply(): argument 'y': expected float32[k, m] on cpu, with k = 2 as in "
                    "'x'; got float32[1, 2] on cpu: extents differ"
                ),
            ),
        ),
    ),
    Row(
        "trace",
        "double(tensor_span<float const, shape<named<'n'>, named<'n'>>> x)",
        ("extents that agree by name",),
        (
            Call((Array([[1, 2], [3, 4]]),), 5.0),
            Call(
                (Array([[1, 2]]),),
                Refusal(
                    "trace(): argument 'x': expected float32[n, n] on cpu; got float32[1, 2] on "
                    "cpu: extents differ"
                ),
            ),
        ),
    ),
    Row(
        "agree_inside",
        "std::int64_t(argument<float const> x, argument<float const> y), require_agreement",
        ("extents that agree by name", "owned"),
        (
            Call((Array([1, 2]), Array([3, 4])), 2),
            Call(
                (Array([1, 2]), Array([3])),
                Refusal(
                    "expected float32[n] on cpu, with n = 2 as in tensor 1; got float32[1] on cpu: "
                    "extents differ",
                    BufferError,
                ),
            ),
        ),
    ),
    Row(
        "Table",
        "class_(init<span, float>(), values, factor = 1); class_(init<...>(), rows, columns)",
        ("constructor", "overloads"),
        (
            Call(
                (Array([[1]], "uint8"),),
                Refusal(
                    "Table(): no overload takes these arguments:\n1. …argument 'values': expected "
                    "float32[*, *] on cpu; got uint8[1, 1] on cpu: dtype differs\n2. …is missing "
                    "argument 'columns'"
                ),
            ),
            Call(
                (),
                Refusal("Table(): …factor: …\n  got an unexpected keyword argument 'rows'\n2. …"),
                keywords={"values": Array([[1]]), "rows": 1},
            ),
        ),
        MEMBERS,
    ),
    Row(
        "Table.values_of",
        "tensor<float const, shape<...>>(tensor<float const, shape<...>> x)",
        ("static method",),
        (
            Call((Array([[1, 2]]),), Array([[1, 2]])),
            Call((), Array([[3]]), keywords={"x": Array([[3]])}),
            Call(
                (Array([1]),),
                Refusal(
                    "values_of(): argument 'x': expected float32[*, *] on cpu; got float32[1] on "
                    "cpu: rank differs"
                ),
            ),
        ),
        MEMBERS,
    ),
    Row(
        "Table.values.fget",
        "member_view(Table&)",
        ("property", "constructor"),
        (
            Call((Made("Table", (Array([[1, 2]]),)),), Array([[1, 2]], of="dlbridge")),
            Call((Made("Table", (Array([[5], [6]]), 2)),), Array([[10], [12]], of="dlbridge")),
        ),
        MEMBERS,
    ),
    Row(
        "Table.values.fset",
        "void(Table&, tensor_span<float const, shape<dynamic_extent, dynamic_extent>>)",
        ("property",),
        (
            Call((Made("Table", (Array([[1]]),)), Array([[3, 4]])), None),
            Call(
                (Made("Table", (Array([[1]]),)), Array([3])),
                Refusal(
                    "Table.values.setter(): argument 'value': expected float32[*, *] on cpu; got "
                    "float32[1] on cpu: rank differs"
                ),
            ),
            Call(
                (Made("Table", (Array([[1]]),)), "text"),
                Refusal("Table.values.setter(): argument 'value': not a DLPack producer: …"),
            ),
        ),
        MEMBERS,
    ),
    Row(
        "Table.rows.fget",
        "std::int64_t(Table const&)",
        ("property",),
        (Call((Made("Table", (Array([[1], [2]]),)),), 2),),
        MEMBERS,
    ),
    Row(
        "Table.array.fget",
        "member_view(Table&), returns{library::numpy}",
        ("property", "a named library"),
        (Call((Made("Table", (Array([[1, 2]]),)),), Array([[1, 2]], of="numpy")),),
        MEMBERS,
    ),
    Row(
        "Table.__iter__",
        "iterator(object)",
        ("iterator",),
        (
            Call(
                (Made("Table", (Array([[1], [2]]),)),),
                [Array([1], of="dlbridge"), Array([2], of="dlbridge")],
            ),
        ),
        MEMBERS,
    ),
    Row(
        "lengths",
        "list(args, kwargs)",
        ("cast",),
        (
            Call((Array([1, 2]), Array([3])), [2, 1, 1], keywords={"x": Array([4])}),
            Call((), []),
            Call(
                (Array([1]),),
                Refusal("argument 'x': expected float32[*] on cpu; got float32[1, 1] on cpu: …"),
                keywords={"x": Array([[4]])},
            ),
            Call((3,), Refusal("not a DLPack producer: … of type int. Pass numpy.asarray() of it")),
        ),
        MEMBERS,
    ),
    Row(
        "halved",
        "argument<float16, ...>(argument<float16 const, shape<dynamic_extent>> x)",
        ("small floats", "owned"),
        (
            Call((Array([1, 3], "float16"),), Array([0.5, 1.5], "float16")),
            Call(
                (Array([1]),),
                Refusal(
                    "halved(): argument 'x': expected float16[*] on cpu; got float32[1] on cpu: "
                    "dtype differs"
                ),
            ),
        ),
        BY_DEF,
    ),
    Row(
        "sum_converted",
        "double(tensor_span<float const, shape<dynamic_extent>, converted> x)",
        ("converted dtypes", "borrowed"),
        (
            Call((Array([1, 2, 3]),), 6.0),
            Call((Array([1, 2, 3], "int64"),), 6.0),
            Call((Array([1, 2, 3], "uint8"),), 6.0),
            Call((Array([0.5, 2], "float16"),), 2.5),
            Call((Array([0.5, 2], "float64"),), 2.5),
            Call(
                (Array([[1], [2]], "int32"),),
                Refusal(
                    "sum_converted(): argument 'x': expected float32[*] on cpu, converted from "
                    "real dtypes; got int32[2, 1] on cpu: rank differs"
                ),
            ),
            Call(("text",), Refusal("sum_converted(): argument 'x': not a DLPack producer: …")),
        ),
        BY_DEF,
    ),
    Row(
        "running_sum",
        "argument<float, ...>(convert<float, shape<dynamic_extent>> x)",
        ("converted dtypes", "owned"),
        (
            Call((Array([1, 2, 3]),), Array([1, 3, 6])),
            Call((Array([1, 2, 3], "uint8"),), Array([1, 3, 6])),
        ),
        BY_DEF,
    ),
    Row(
        "double_converted",
        "argument<float, ...>(convert<float, shape<dynamic_extent>> x)",
        ("converted dtypes", "owned", "empty_like gives the spelled type"),
        (
            Call((Array([1, 2]),), Array([2, 4])),
            Call((Array([1, 2], "int16"),), Array([2, 4])),
            Call((Array([0.5, 2], "float16"),), Array([1, 4])),
        ),
        BY_DEF,
    ),
    Row(
        "same_converted",
        "convert<float>(convert<float> x)",
        ("converted dtypes", "owned"),
        (
            Call((Array([[1], [2]]),), Array([[1], [2]])),
            Call((Array([[1], [2]], "uint16"),), Array([[1], [2]])),
        ),
        BY_DEF,
    ),
    Row(
        "sum_converted_tensor",
        "double(tensor<float const, shape<dynamic_extent>, converted> x)",
        ("converted dtypes", "owned"),
        (Call((Array([1, 2]),), 3.0), Call((Array([1, 2], "int8"),), 3.0)),
        BY_DEF,
    ),
    Row(
        "sum_converted_or_zero",
        "double(std::optional<tensor_span<float const, ..., converted>> x)",
        ("converted dtypes", "optional"),
        (
            Call((None,), 0.0),
            Call((Array([1, 2], "uint32"),), 3.0),
            Call(
                (Array([[1]], "uint8"),),
                Refusal("sum_converted_or_zero(): argument 'x': …: rank differs"),
            ),
        ),
        BY_DEF,
    ),
    Row(
        "sum_converted_list",
        "double(std::vector<tensor_span<float const, ..., converted>> const& xs)",
        ("converted dtypes", "list", "borrowed"),
        (
            Call(([Array([1, 2]), Array([3], "uint8"), Array([4], "float64")],), 10.0),
            Call(
                ([Array([1]), Array([[1]], "uint8")],),
                Refusal(
                    "sum_converted_list(): argument 'xs', element 1: expected float32[*] on cpu, "
                    "converted from real dtypes; got uint8[1, 1] on cpu: rank differs"
                ),
            ),
        ),
        BY_DEF,
    ),
    Row(
        "sum_converted_dict",
        "double(std::map<std::string, convert<float, ...>> const& xs)",
        ("converted dtypes", "dict", "owned"),
        (Call(({"a": Array([1, 2], "int32"), "b": Array([3])},), 6.0),),
        BY_DEF,
    ),
    Row(
        "kind_of_converted",
        "std::int64_t(std::variant<argument<std::int32_t const>, convert<float>> const& x)",
        ("converted dtypes", "variant"),
        (
            Call((Array([1], "int32"),), 0),
            Call((Array([1], "uint8"),), 1),
            Call((Array([1]),), 1),
        ),
        BY_DEF,
    ),
    Row(
        "sum_converted_integers",
        "double(tensor_span<std::int32_t const, ..., converted> x)",
        ("converted dtypes", "borrowed"),
        (
            Call((Array([1, 2], "int32"),), 3.0),
            Call((Array([1, 2], "int8"),), 3.0),
            Call((Array([1, 2], "uint16"),), 3.0),
            Call(
                (Array([1], "uint32"),),
                Refusal(
                    "sum_converted_integers(): argument 'x': expected int32[*] on cpu, converted "
                    "from narrower integers; got uint32[1] on cpu: dtype differs. Convert its "
                    "dtype first if its values fit: not every value of it does"
                ),
            ),
            Call(
                (Array([1]),),
                Refusal(
                    "sum_converted_integers(): argument 'x': …; got float32[1] on cpu: dtype "
                    "differs. Round it and convert its dtype first: a float may have a fraction"
                ),
            ),
        ),
        BY_DEF,
    ),
    Row(
        "dot_converted",
        "double(tensor_span<float const, shape<named<'n'>>, converted> x, "
        "convert<double, shape<named<'n'>>> y)",
        ("converted dtypes", "extents that agree by name"),
        (
            Call((Array([1, 2], "uint8"), Array([3, 4])), 11.0),
            Call(
                (Array([1, 2], "uint8"), Array([3])),
                Refusal(
                    "dot_converted(): argument 'y': expected float64[n] on cpu, converted from "
                    "real dtypes, with n = 2 as in 'x'; got float64[1] on cpu: extents differ"
                ),
            ),
        ),
        BY_DEF,
    ),
    Row(
        "gather",
        "argument<float, ...>(argument<float const, ...> x, "
        "convert<std::int32_t, shape<dynamic_extent>, by_value> at)",
        ("converted by value", "owned"),
        (
            Call((Array([1, 2, 3]), Array([2, 0], "int32")), Array([3, 1])),
            Call((Array([1, 2, 3]), Array([2, 0], "uint8")), Array([3, 1])),
            Call((Array([1, 2, 3]), Array([2, 0], "float64")), Array([3, 1])),
            Call(
                (Array([1, 2, 3]), Array([0, 1.5], "float32")),
                Refusal(
                    "gather(): argument 'at': expected int32[*] on cpu, converted by value, "
                    "integers from -2147483648 to 2147483647; got 1.5 at [1] of float32[2] on cpu: "
                    "value differs. Pass integers within these limits"
                ),
            ),
        ),
        BY_DEF,
    ),
    Row(
        "sum_of_bytes",
        "std::int64_t(row_major_of<any_tensor> const& x)",
        ("any dtype", "row-major"),
        (Call((Array([1, 2, 3], "uint8"),), 6), Call((Array([[1, 2], [3, 4]], "int32"),), 10)),
        BY_DEF,
    ),
    Row(
        "add",
        "argument<float, ...>(argument<float const, shape<dynamic_extent, dynamic_extent>> x, "
        "std::variant<float, convert<float>> const& y), broadcast_to",
        ("broadcast scalars", "broadcast tensors", "variant", "converted dtypes"),
        (
            Call((Array([[1, 2], [3, 4]]), 10), Array([[11, 12], [13, 14]])),
            Call((Array([[1, 2], [3, 4]]), 0.5), Array([[1.5, 2.5], [3.5, 4.5]])),
            Call((Array([[1, 2], [3, 4]]), Array([10, 20])), Array([[11, 22], [13, 24]])),
            Call(
                (Array([[1, 2], [3, 4]]), Array([[10], [20]], "int16")),
                Array([[11, 12], [23, 24]]),
            ),
            Call((Array([[1, 2]]), Array([[3, 4]])), Array([[4, 6]])),
            Call(
                (Array([[1, 2], [3, 4]]), Array([1, 2, 3])),
                Refusal(
                    "expected extents that broadcast to [2, 2]; got float32[3] on cpu: extents "
                    "differ",
                    BufferError,
                ),
            ),
            Call(
                (Array([[1, 2]]), Array([[[1, 2]]])),
                Refusal(
                    "expected extents that broadcast to [1, 2]; got float32[1, 1, 2] on cpu: rank "
                    "differs",
                    BufferError,
                ),
            ),
            Call(
                (Array([[1, 2]]), "3"),
                Refusal("add(): argument 'y': expected a float; got str; or not a DLPack …"),
            ),
        ),
        BY_DEF,
    ),
    Row(
        "scale",
        "argument<float, ...>(argument<float const, ...> x, "
        "std::variant<float, tensor_span<float const>> const& y), broadcast_to",
        ("broadcast scalars", "broadcast tensors", "variant", "borrowed"),
        (
            Call((Array([[1, 2], [3, 4]]), 2), Array([[2, 4], [6, 8]])),
            Call((Array([[1, 2], [3, 4]]), Array([2, 3])), Array([[2, 6], [6, 12]])),
        ),
        BY_DEF,
    ),
    Row(
        "multiply_both",
        "argument<float, ...>(convert<float> x, convert<float> y), broadcast_extents",
        ("broadcast tensors", "converted dtypes", "empty_like takes extents"),
        (
            Call((Array([[1], [2]]), Array([3, 4, 5], "uint8")), Array([[3, 4, 5], [6, 8, 10]])),
            Call(
                (Array([[1, 2]]), Array([3, 4, 5])),
                Refusal(
                    "expected extents that broadcast with [1, 2]; got [3]: extents differ",
                    BufferError,
                ),
            ),
        ),
        BY_DEF,
    ),
)
