# SPDX-License-Identifier: BSD-3-Clause
"""What an object exports by each protocol: the observation."""
