"""The findings as text, HTML, SVG and plain values."""
