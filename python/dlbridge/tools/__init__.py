# SPDX-License-Identifier: BSD-3-Clause
"""The tools: demo, doctor, inspect, matrix, conformance. `import dlbridge` imports none of them."""
