"""Numbers and nouns for messages."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """
    >>> plural(1, "byte"), plural(-1, "element"), plural(2, "byte")
    ('1 byte', '-1 element', '2 bytes')
    """
    return f"{count} {noun}{'' if abs(count) == 1 else 's'}"


def listed(numbers: tuple[int, ...], noun: str) -> str:
    """
    >>> listed((1,), "element"), listed((3, 1), "element")
    ('1 element', '3, 1 elements')
    """
    *others, last = numbers
    if not others:
        return plural(last, noun)
    return f"{', '.join(map(str, numbers))} {noun}s"
