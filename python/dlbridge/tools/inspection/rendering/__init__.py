# SPDX-License-Identifier: BSD-3-Clause
"""The findings as text, HTML, SVG and plain values."""
