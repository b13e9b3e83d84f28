# SPDX-License-Identifier: BSD-3-Clause
"""The forms of the report: for terminals, JUnit, annotations of GitHub, and a badge."""
