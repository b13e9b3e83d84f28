"""Producers of every habit, made of foreign tensors: one class for each habit."""

from __future__ import annotations

from typing import Any

import foreign

Fields = dict[str, Any]
VERSIONED = (1, 0)


class Producer:
    """By the book of 2023.12. It keeps every tensor it hands out, and every question."""

    def __init__(self, **fields: Any) -> None:
        self.fields: Fields = fields
        self.handles: list[foreign.Handle] = []
        self.asked: list[Fields] = []

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
        question = (stream, max_version, dl_device, copy)
        named = zip(("stream", "max_version", "dl_device", "copy"), question)
        self.asked.append({key: value for key, value in named if value is not None})
        return self.give(max_version is not None and max_version >= VERSIONED)

    def give(self, versioned: bool, **fields: Any) -> object:
        """A capsule on a new foreign tensor."""
        self.handles.append(foreign.tensor(**{**self.fields, **fields}))
        return self.handles[-1].capsule(versioned)

    @property
    def handle(self) -> foreign.Handle:
        """The one tensor that was handed out."""
        (handle,) = self.handles
        return handle

    @property
    def owed(self) -> list[int]:
        return [handle.handed_out for handle in self.handles]

    @property
    def calls(self) -> list[int]:
        return [handle.calls for handle in self.handles]


class KwEcho(Producer):
    """Takes any keyword, and records all as they come."""

    def __dlpack__(self, **keywords: Any) -> object:
        self.asked.append(keywords)
        return self.give("max_version" in keywords)


class OldStyle(Producer):
    """Of 2021.12: knows stream and nothing else, and gives legacy capsules."""

    def __dlpack__(self, *, stream: Any = None) -> object:  # type: ignore[override]
        self.asked.append({} if stream is None else {"stream": stream})
        return self.give(False)


class Bare(Producer):
    """Knows no keyword at all."""

    def __dlpack__(self) -> object:  # type: ignore[override]
        self.asked.append({})
        return self.give(False)


class AlwaysLegacy(KwEcho):
    """Takes max_version and gives a legacy capsule all the same, as JAX and MLX do."""

    def __dlpack__(self, **keywords: Any) -> object:
        self.asked.append(keywords)
        return self.give(False)


class VersionLiar(KwEcho):
    """Gives a versioned capsule to whoever asks, with whatever version."""

    def __dlpack__(self, **keywords: Any) -> object:
        self.asked.append(keywords)
        return self.give(True)


class NoDevice:
    """Has no __dlpack_device__, as NumPy's consumer never asks for it."""

    def __init__(self, **fields: Any) -> None:
        self.behind = Producer(**fields)

    def __dlpack__(self, **keywords: Any) -> object:
        return self.behind.__dlpack__(**keywords)


class Proxy:
    """Passes every attribute on to what is behind it."""

    def __init__(self, behind: Any) -> None:
        self.behind = behind

    def __getattr__(self, name: str) -> Any:
        return getattr(self.behind, name)


class Forwarding:
    """Has both methods, and passes the questions on."""

    def __init__(self, behind: Any) -> None:
        self.behind = behind

    def __dlpack_device__(self) -> Any:
        return self.behind.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.behind.__dlpack__(**keywords)


class OnInstance:
    """Has both methods on the object, none on the type."""

    def __init__(self, **fields: Any) -> None:
        self.behind = Producer(**fields)
        self.__dlpack__ = self.behind.__dlpack__
        self.__dlpack_device__ = self.behind.__dlpack_device__


class Raises(KwEcho):
    """Raises what it is told to."""

    def __init__(self, exception: BaseException) -> None:
        super().__init__()
        self.exception = exception

    def __dlpack__(self, **keywords: Any) -> object:
        self.asked.append(keywords)
        raise self.exception


class Gives(KwEcho):
    """Gives whatever it is told to in place of a capsule."""

    def __init__(self, given: Any) -> None:
        super().__init__()
        self.given = given

    def __dlpack__(self, **keywords: Any) -> Any:
        self.asked.append(keywords)
        return self.given


class SaysDevice(KwEcho):
    """Says of its device whatever it is told to."""

    def __init__(self, said: Any, **fields: Any) -> None:
        super().__init__(**fields)
        self.said = said

    def __dlpack_device__(self) -> Any:
        if isinstance(self.said, BaseException):
            raise self.said
        return self.said


class NoCopy(Producer):
    """Refuses to copy, with the exception it is told to raise."""

    refusal: BaseException = BufferError("this producer does not copy")

    def __dlpack__(self, **keywords: Any) -> object:
        if keywords.get("copy"):
            self.asked.append(keywords)
            raise self.refusal
        return super().__dlpack__(**keywords)


class Copier(Producer):
    """Keeps one tensor, and copies it when it is asked to; marks the copy if it is told to."""

    def __init__(self, marks: bool, **fields: Any) -> None:
        super().__init__(**fields)
        self.marks = marks
        self.kept = foreign.tensor(**fields)

    def give(self, versioned: bool, **fields: Any) -> object:
        if not self.asked[-1].get("copy"):
            return self.kept.capsule(versioned)
        return super().give(versioned, flags=2 if self.marks else 0)
