"""A Tensor as a block for notebooks: its description and the picture of its memory."""

from __future__ import annotations

from html import escape

import dlbridge
from dlbridge.tools.inspection.reading.description import Description
from dlbridge.tools.inspection.rendering import picture, svg
from dlbridge.tools.inspection.rendering.html import legend_lines


def tensor_html(t: dlbridge.Tensor) -> str:
    """Returns an HTML block. The picture shows the layout, for which no memory is read."""
    x = Description(
        data=t.data_ptr,
        byte_offset=t.byte_offset,
        device=t.__dlpack_device__(),
        dtype=(t.dtype.code, t.dtype.bits, t.dtype.lanes),
        ndim=t.ndim,
        shape=t.shape,
        strides=t.strides,
        read_only=t.readonly,
        flags=t.flags,
    )
    head = f"<code>{escape(repr(t))}</code>"
    drawing = picture.draw(x, 8)
    if drawing is None:  # without elements
        return f"<div>{head}</div>"
    return (
        f'<div>{head}<div style="overflow-x: auto">{svg.as_svg(x)}</div>'
        f'<div style="opacity: .65">{legend_lines(drawing.legend)}</div></div>'
    )
