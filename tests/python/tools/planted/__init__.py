# SPDX-License-Identifier: BSD-3-Clause
"""A small array library, correct but for the one defect or variant that a test plants in it.

dlbridge is used for the definition of DLPack's structs alone: the tools that examine the library
must not examine their own code. Defects and variants replace functions of the modules, and so
these call one another by the module's global names.
"""
