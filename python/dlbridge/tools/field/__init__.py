"""The page of the field, docs/field.md: collected by collect.py, written by page.py.

python -m dlbridge.tools.field.collect docs/field --environment NAME=PYTHON ...
python -m dlbridge.tools.field.page docs/field docs/field.md
"""
