# SPDX-License-Identifier: BSD-3-Clause
"""dlbridge.inspect and its command.

reading: calls an object's protocols, and records the responses. cases: the tensors that some
consumer does not accept. conclusions: what follows from the responses. rendering: the result as
text, HTML, SVG and plain values. No folder imports a later one.
"""
