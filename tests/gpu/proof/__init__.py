# SPDX-License-Identifier: BSD-3-Clause
"""The checks on a GPU: checks of dlbridge on CUDA, each in a process of its own.

`python3 noxfile.py gpu` runs it. docs/contributing/gpu_checks.md describes it.
"""
