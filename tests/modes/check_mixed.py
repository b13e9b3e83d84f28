# SPDX-License-Identifier: BSD-3-Clause
"""Examines the module of units of both modes that clang++ -flto links.

The linker keeps one function and one variable of a name, so that the module has one state.
"""

import collections
import importlib.util
import re
import subprocess
import sys

path = sys.argv[1]
listing = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
names = collections.Counter(re.findall(r" [bBdDuvV] (_ZZN8dlbridge\w+)", listing))  # statics
assert names, listing
assert set(names.values()) == {1}, names

spec = importlib.util.spec_from_file_location("mixed", path)
assert spec is not None and spec.loader is not None
mixed = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mixed)
for name, array in (("float", mixed.floats()), ("double", mixed.doubles())):
    assert mixed.kind(array) == name
    try:
        mixed.fail(array)
    except MemoryError:
        continue
    raise AssertionError("fail() raised no MemoryError")
try:
    mixed.kind(memoryview(b"1"))
except TypeError as error:
    assert "float32[...] on cpu" in str(error) and "float64[...] on cpu" in str(error), error
else:
    raise AssertionError("kind() took bytes")
