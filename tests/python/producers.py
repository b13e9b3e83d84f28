# SPDX-License-Identifier: BSD-3-Clause
"""DLPack producers on foreign tensors: one class for each behaviour of a producer."""

from __future__ import annotations

from typing import Any

import foreign

Fields = dict[str, Any]
VERSIONED = (1, 0)


class Producer:
    """Follows the array API 2023.12. Records its tensors, and the keywords of each request."""

    def __init__(self, **fields: Any) -> None:
        self.fields: Fields = fields
        self.handles: list[foreign.Handle] = []
        self.requests: list[Fields] = []

    def __dlpack_device__(self) -> Any:
        return self.fields.get("device", (1, 0))

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        names = ("stream", "max_version", "dl_device", "copy")
        keywords = zip(names, (stream, max_version, dl_device, copy))
        self.requests.append({key: value for key, value in keywords if value is not None})
        return self.export(max_version is not None and max_version >= VERSIONED)

    def export(self, versioned: bool, **fields: Any) -> object:
        """A capsule on a new foreign tensor."""
        self.handles.append(foreign.tensor(**{**self.fields, **fields}))
        return self.handles[-1].capsule(versioned)

    @property
    def handle(self) -> foreign.Handle:
        """The only exported tensor."""
        (handle,) = self.handles
        return handle

    @property
    def exports(self) -> list[int]:
        """The number of capsules for each tensor; each capsule requires one deleter call."""
        return [handle.handed_out for handle in self.handles]

    @property
    def calls(self) -> list[int]:
        """The number of deleter calls for each tensor."""
        return [handle.calls for handle in self.handles]


class KwEcho(Producer):
    """Accepts any keyword, and records all of them."""

    def __dlpack__(self, **keywords: Any) -> object:
        self.requests.append(keywords)
        return self.export("max_version" in keywords)


class OldStyle(Producer):
    """Follows the array API 2021.12: accepts stream only, returns legacy capsules."""

    def __dlpack__(self, *, stream: Any = None) -> object:  # type: ignore[override]
        self.requests.append({} if stream is None else {"stream": stream})
        return self.export(False)


class Bare(Producer):
    """Accepts no keyword."""

    def __dlpack__(self) -> object:  # type: ignore[override]
        self.requests.append({})
        return self.export(False)


class AlwaysLegacy(KwEcho):
    """Accepts max_version but returns a legacy capsule, as JAX and MLX do."""

    def __dlpack__(self, **keywords: Any) -> object:
        self.requests.append(keywords)
        return self.export(False)


class VersionLiar(KwEcho):
    """Returns a versioned capsule to every consumer, of any version."""

    def __dlpack__(self, **keywords: Any) -> object:
        self.requests.append(keywords)
        return self.export(True)


class NoDevice:
    """Has no __dlpack_device__, which NumPy's consumer does not call."""

    def __init__(self, **fields: Any) -> None:
        self.target = Producer(**fields)

    def __dlpack__(self, **keywords: Any) -> object:
        return self.target.__dlpack__(**keywords)


class Proxy:
    """Forwards every attribute to its target."""

    def __init__(self, target: Any) -> None:
        self.target = target

    def __getattr__(self, name: str) -> Any:
        return getattr(self.target, name)


class Forwarding:
    """Has both methods, and forwards their calls to its target."""

    def __init__(self, target: Any) -> None:
        self.target = target

    def __dlpack_device__(self) -> Any:
        return self.target.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.target.__dlpack__(**keywords)


class OnInstance:
    """Has both methods on the object, and none on the type."""

    def __init__(self, **fields: Any) -> None:
        self.target = Producer(**fields)
        self.__dlpack__ = self.target.__dlpack__
        self.__dlpack_device__ = self.target.__dlpack_device__


class Raises(KwEcho):
    """Raises the given exception."""

    def __init__(self, exception: BaseException) -> None:
        super().__init__()
        self.exception = exception

    def __dlpack__(self, **keywords: Any) -> object:
        self.requests.append(keywords)
        raise self.exception


class Returns(KwEcho):
    """Returns the given object in place of a capsule."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result

    def __dlpack__(self, **keywords: Any) -> Any:
        self.requests.append(keywords)
        return self.result


class ReportsDevice(KwEcho):
    """Returns, or raises, the given object from __dlpack_device__."""

    def __init__(self, reported: Any, **fields: Any) -> None:
        super().__init__(**fields)
        self.reported = reported

    def __dlpack_device__(self) -> Any:
        if isinstance(self.reported, BaseException):
            raise self.reported
        return self.reported


class NoCopy(Producer):
    """Refuses to copy: raises `refusal`."""

    refusal: BaseException = BufferError("this producer does not copy")

    def __dlpack__(self, **keywords: Any) -> object:
        if keywords.get("copy"):
            self.requests.append(keywords)
            raise self.refusal
        return super().__dlpack__(**keywords)


class Copier(Producer):
    """Exports one tensor, or a copy on request; `marks` sets the flag of a copy."""

    def __init__(self, marks: bool, **fields: Any) -> None:
        super().__init__(**fields)
        self.marks = marks
        self.original = foreign.tensor(**fields)

    def export(self, versioned: bool, **fields: Any) -> object:
        if not self.requests[-1].get("copy"):
            return self.original.capsule(versioned)
        return super().export(versioned, flags=2 if self.marks else 0)
