"""What tests must know of the build of CPython that runs them."""

from __future__ import annotations

import sysconfig

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
