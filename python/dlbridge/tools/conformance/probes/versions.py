# SPDX-License-Identifier: BSD-3-Clause
"""The probes of versions: what a request of a version returns."""

from __future__ import annotations

from ... import abi
from ..helpers.exports import (
    NO_CAPSULE,
    ONLY_LEGACY,
    Keywords,
    accepts_keyword,
    call_text,
    every_kind,
    make,
    needs_keyword,
    obtain,
    request,
)
from ..helpers.survey import judge, survey
from ..judgement import calls, fields
from ..outcomes import Broken, Skip, name_error
from ..registry import probe
from ..target import Target

KNOWN = (1, 3)  # the newest version of dlpack.h when this module was written
OLD: Keywords = {"max_version": (0, 8)}  # of a consumer of DLPack 0


@probe("P-05", twice=True)
def versioned_at_all(target: Target) -> None:
    x = make(target)
    if not accepts_keyword(x, "max_version"):
        raise Broken("__dlpack__ has no keyword max_version")
    try:
        result = request(x, max_version=(1, 0))
    except Exception as error:
        every_kind(x)  # raises Skip where the array is never exported
        raise Broken(f"__dlpack__(max_version=(1, 0)) raised {name_error(error)}") from None
    if not abi.is_capsule(result):
        raise Skip(f"__dlpack__(max_version=(1, 0)) returned {type(result).__name__}")
    if abi.name_of(result) == abi.LEGACY:
        raise Broken(f"max_version=(1, 0) returned a capsule named {abi.LEGACY!r}")


def _version(capsule: object) -> tuple[int, int] | None:
    """Returns the version in a versioned capsule, also one of an unknown major version."""
    if not abi.is_capsule(capsule) or abi.name_of(capsule) != abi.VERSIONED:
        return None
    block = abi.read_memory(abi.pointer_of(capsule), 8)
    if block is None:
        return None
    version = abi.Version.from_buffer_copy(block)
    return version.major, version.minor


@probe("P-06", twice=True)
def versions_that_exist(target: Target) -> str:
    x = make(target)
    needs_keyword(x, "max_version")
    seen, legacy = [], False
    for asked in ((1, 0), KNOWN, *calls.NEWER):
        try:
            capsule = request(x, max_version=asked)
            version = _version(capsule)
        except Exception:  # P-36 judges refusals
            continue
        if version is None:
            legacy |= abi.is_capsule(capsule)
            continue
        found = calls.version(version, asked)
        if found:
            raise Broken(f"{call_text({'max_version': asked})}: {found}")
        seen.append(version)
    if not seen:
        raise Skip(ONLY_LEGACY if legacy else NO_CAPSULE)
    newest = max(seen)
    newer = "" if newest <= KNOWN else f", which is newer than {fields.dotted(KNOWN)}"
    return f"version {fields.dotted(newest)}{newer}"


@probe("P-34", twice=True)
def legacy_unless_asked(target: Target) -> None:
    x = make(target)
    requests: list[Keywords] = [{}]
    if accepts_keyword(x, "max_version"):
        requests += [{"max_version": None}, OLD]
    for keywords in requests:
        try:
            result = request(x, **keywords)
        except BufferError:
            continue
        except Exception as error:
            if keywords is OLD:
                every_kind(x)  # raises Skip where the array is never exported
                raise Broken(f"{call_text(keywords)} raised {name_error(error)}") from None
            continue  # P-03 and P-48 judge refusals
        if abi.is_capsule(result) and abi.name_of(result) == abi.VERSIONED:
            raise Broken(f"{call_text(keywords)} returned a capsule named {abi.VERSIONED!r}, which "
                         "a consumer of DLPack 0 cannot read")  # fmt: skip


@probe("P-34")
def legacy_after_other_requests(target: Target) -> None:
    every = survey(target)
    judge(every.every(), fields.legacy_unless_asked, "every request has max_version")


@probe("P-36", twice=True)
def any_version_may_be_asked(target: Target) -> None:
    x = make(target)
    needs_keyword(x, "max_version")
    obtain(x, max_version=(1, 0))  # it exports this array
    for asked in (KNOWN, *calls.NEWER):
        try:
            request(x, max_version=asked)
        except Exception as error:
            call = call_text({"max_version": asked})
            raise Broken(f"{call} raised {name_error(error)}, and (1, 0) is accepted") from None
