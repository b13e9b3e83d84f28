"""What a tensor can be that some consumer does not take, and what each consumer then does.

One row for each case: when it holds, how it is said, and a cell for each consumer. All that is said
of consumers comes from these rows, the oddities as well as the verdicts. Every cell was seen, with
the versions that consumers.py names; the tests see those again whose libraries are there.
"""

from __future__ import annotations

from dlbridge.tools.inspection.cases.devices import DEVICES
from dlbridge.tools.inspection.cases.dtypes import DTYPES
from dlbridge.tools.inspection.cases.memory import MEMORY, REST
from dlbridge.tools.inspection.cases.shapes import SHAPES
from dlbridge.tools.inspection.cases.strides import STRIDES

# In the order in which consumers look.
CASES = [*SHAPES, *DEVICES, *DTYPES, *MEMORY, *STRIDES, *REST]

# Of a versioned struct of another major version, in which nothing may be read but version and
# deleter (spec 2.1).
OTHER_MAJOR = "BE RE . . . later later BE VE later AIn . . later"
