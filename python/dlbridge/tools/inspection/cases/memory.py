"""Cases of the data pointer: NULL, offset, alignment; of deleter, access and flags."""

from __future__ import annotations

from dlbridge.tools import abi
from dlbridge.tools.inspection.cases.case import Case, has_elements
from dlbridge.tools.inspection.description import HOST

MEMORY = [
    Case(
        "data NULL",
        "defect",
        lambda x: x.data == 0 and has_elements(x),
        lambda x: "data is NULL, and there are elements",
        "wrong later later later SEGV later MPI VE later SEGV wrong later wrong later",
        lambda x: "The data pointer is NULL, and there are elements.",
    ),
    Case(
        "memory unreadable",
        "defect",
        lambda x: x.readable is False and x.data != 0,
        lambda x: "the memory is not there",
        "later later later later later later later later later SEGV later later later later",
        lambda x: "The data pointer leads to memory that is not there, or not for all elements.",
    ),
    Case(
        "empty, NULL",
        "",
        lambda x: x.layout is not None and x.layout.size == 0 and x.data == 0,
        lambda x: "no elements",
        "copies . . . . . . copies . copies copies . . .",
    ),
    Case(
        "empty, with a pointer",
        "note",
        lambda x: x.layout is not None and x.layout.size == 0 and x.data != 0,
        lambda x: "no elements",
        ". . . . . . . . . copies copies . . .",
        lambda x: "There are no elements, and yet a data pointer; dlpack.h asks for NULL.",
    ),
    Case(
        "empty, with odd strides",
        "",
        lambda x: (
            x.layout is not None
            and x.layout.size == 0
            and not x.layout.is_row_major(strict=True)
            and not x.layout.is_column_major(strict=True)
        ),
        lambda x: "no elements, and strides that are not those of compact memory",
        ". . . . MXE . BE . . . . . . .",
    ),
    Case(
        "rank 0",
        "note",
        lambda x: x.ndim == 0,
        lambda x: "no dimensions",
        ". . . . . . . . . . . . IE .",
        lambda x: "It has no dimensions: one element.",
    ),
    Case(
        "byte offset",
        "risk",
        lambda x: x.byte_offset != 0 and (x.device is None or x.device[0] in HOST),
        lambda x: f"the byte offset of {x.byte_offset}",
        ". . . IAE wrong . . wrong wrong . . wrong wrong .",
        lambda x: f"The first element is {x.byte_offset} bytes after the data pointer.",
    ),
    Case(
        "byte offset on a device",
        "risk",
        lambda x: x.byte_offset != 0 and x.device is not None and x.device[0] not in HOST,
        lambda x: f"the byte offset of {x.byte_offset}",
        ". . . IAE wrong . . . ? . . ? ? .",
        lambda x: f"The first element is {x.byte_offset} bytes after the data pointer.",
    ),
    Case(
        "byte offset in an element",
        "risk",
        lambda x: x.element_bytes > 0 and x.byte_offset % x.element_bytes != 0,
        lambda x: "the byte offset is no whole number of elements",
        ". VE . . . . . . . . . . . .",
        lambda x: f"The byte offset of {x.byte_offset} is no whole number of elements.",
    ),
    Case(
        "alignment",
        "note",
        lambda x: 0 < x.alignment < 64 and x.is_host,
        lambda x: f"aligned to {x.alignment}, asks for 64",
        ". . copies use! . . . . . . . . . .",
        lambda x: f"The first element lies at a multiple of {x.alignment} only; some ask for 64.",
    ),
    Case(
        "alignment of elements",
        "risk",
        lambda x: (
            x.is_host
            and has_elements(x)
            and 0 < x.alignment < min(x.element_bytes, 8)
            and x.element_bytes % x.alignment == 0
        ),
        lambda x: f"aligned to {x.alignment}, and elements have {x.element_bytes} bytes",
        ". . . . . . . . . . . . . .",
        lambda x: (
            f"Elements of {x.element_bytes} bytes are aligned to {x.alignment}: in C that is "
            "undefined, and vector instructions may stop there."
        ),
    ),
]

# Which consumers come to last.
REST = [
    Case(
        "deleter NULL",
        "risk",
        lambda x: x.deleter_is_null is True,
        lambda x: "the deleter is NULL",
        ". . drop! . . . . drop! . . . drop! . .",
        lambda x: "It has no deleter (NULL). That is allowed.",
    ),
    Case(
        "read-only",
        "note",
        lambda x: x.read_only is True,
        lambda x: "read-only",
        ". writes . . . . sends . writes . . . . TE",
        lambda x: "It is read-only.",
    ),
    Case(
        "padded without need",
        "note",
        lambda x: bool((x.flags or 0) & abi.SUBBYTE_PADDED) and x.element_bits % 8 == 0,
        lambda x: "marked as padded",
        ". . . . . RE . . . . . . . .",
        lambda x: "It is marked as padded, and its elements are whole bytes.",
    ),
    Case(
        "unknown flags",
        "note",
        lambda x: bool((x.flags or 0) & ~7),
        lambda x: "unknown flags",
        ". . . . . . . . . . . . . .",
        lambda x: f"There are flags that nobody knows: {(x.flags or 0) & ~7:#x}.",
    ),
]
