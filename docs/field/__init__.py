# SPDX-License-Identifier: BSD-3-Clause
"""Generates the page of the field, docs/field.md: collect.py collects the data, page.py writes it.

PYTHONPATH=docs python -m field.collect docs/field --environment NAME=PYTHON ...
PYTHONPATH=docs python -m field.page docs/field docs/field.md
"""
