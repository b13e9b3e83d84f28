# SPDX-License-Identifier: BSD-3-Clause
"""What several modules of probes use. No module in this folder imports one of probes."""
