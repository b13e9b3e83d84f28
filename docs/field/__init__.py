# SPDX-License-Identifier: BSD-3-Clause
"""Generates docs/generated/field.md: collect.py collects the data, page.py writes the page.

PYTHONPATH=docs python -m field.collect docs/field --environment NAME=PYTHON ...
PYTHONPATH=docs python -m field.page docs/field docs/generated
"""
