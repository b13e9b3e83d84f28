# SPDX-License-Identifier: BSD-3-Clause
"""What follows from an observation: differences, verdicts and oddities."""
