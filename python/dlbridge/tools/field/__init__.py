"""Generates the page of the field, docs/field.md: collect.py collects the data, page.py writes it.

python -m dlbridge.tools.field.collect docs/field --environment NAME=PYTHON ...
python -m dlbridge.tools.field.page docs/field docs/field.md
"""
