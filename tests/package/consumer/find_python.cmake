# SPDX-License-Identifier: BSD-3-Clause
# Finds the Python of the consumer's extension.
find_package(Python COMPONENTS Interpreter Development.Module)
