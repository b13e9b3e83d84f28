# SPDX-License-Identifier: BSD-3-Clause
"""What breaks a rule: the probes judge many exports by it, and inspect those of one object.

Each function of a rule returns None where it cannot judge, HOLDS, or what is broken: a text that
begins with a small letter, and has no period. No function here calls the producer.
"""

from __future__ import annotations

from . import copies, fields, flags, memory
from .verdict import HOLDS as HOLDS
from .verdict import Judge, Verdict

# What one export shows, by rule.
OF_EXPORT: dict[str, Judge] = {
    "P-10": fields.device,
    "P-37": fields.device_type,
    "P-33": fields.device_index,
    "P-11": fields.shape,
    "P-12": fields.strides,
    "P-15": fields.idle_strides,
    "P-14": fields.alignment,
    "P-16": fields.dtype,
    "P-17": fields.boolean,
    "P-53": fields.bits_of_small_float,
    "P-55": fields.type_code,
    "P-41": fields.data_without_elements,
    "S-06": lambda sample: fields.padding(sample.contents),
    "P-34": fields.legacy_unless_asked,
    "P-13": memory.bounds,
    "P-38": memory.elements,
    "P-22": flags.read_only,
    "P-50": flags.writable,
    "P-49": flags.legacy_of_read_only,
    "P-47": flags.defined,
    "P-39": copies.marked,
    "P-40": copies.only_copies_marked,
    "P-42": copies.writable,
    "P-24": copies.apart,
}
__all__ = ["HOLDS", "OF_EXPORT", "Judge", "Verdict"]
