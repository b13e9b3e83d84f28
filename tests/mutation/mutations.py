# SPDX-License-Identifier: BSD-3-Clause
"""Finds the places of a C++ header where a small change makes a mutant.

The functions work on the text of the header and rely on the format that clang-format gives it:
binary operators stand between blanks, and those of templates and of pointers do not. A change that
does not compile does no harm, because `mutate.py` then takes the next one.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """The replacement of text[start:end]."""

    kind: str
    start: int
    end: int
    replacement: str

    def apply(self, text: str) -> str:
        return text[: self.start] + self.replacement + text[self.end :]

    def lines(self, text: str) -> tuple[str, str]:
        """The changed lines before and after the mutation, with single blanks."""
        first = text.rfind("\n", 0, self.start) + 1
        last = text.find("\n", self.end)
        before, after = text[first:last], text[first : self.start] + self.replacement
        return " ".join(before.split()), " ".join((after + text[self.end : last]).split())


# What holds no code: comments, strings, characters, lines of the preprocessor.
NO_CODE = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | (?<!\w)'(?:\\.|[^'\\\n])+'
    | ^[ ]*\#(?:\\\n|[^\n])*""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


def blank(text: str, start: int, end: int) -> str:
    return text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]


def closing(text: str, opening: int, pair: str) -> int:
    """The position after the bracket that closes the one at `opening`. Of angle brackets, those
    within parentheses are operators."""
    depth = parentheses = 0
    for i in range(opening, len(text)):
        parentheses += {"(": 1, ")": -1}.get(text[i], 0) if pair == "<>" else 0
        if text[i] in pair and parentheses == 0:
            depth += 1 if text[i] == pair[0] else -1
            if depth == 0:
                return i + 1
    return len(text)


def code_of(text: str, compiled: set[int]) -> str:
    """The text with blanks for all that is not mutated: what holds no code, parameters of
    templates, static assertions, and the lines that the compiler does not see."""
    for found in NO_CODE.finditer(text):
        text = blank(text, *found.span())
    for opening, pair in ((r"\btemplate <", "<>"), (r"\bstatic_assert\(", "()")):
        for found in re.finditer(opening, text):
            text = blank(text, found.start(), closing(text, found.end() - 1, pair))
    lines = text.split("\n")
    return "\n".join(
        line if number in compiled else " " * len(line) for number, line in enumerate(lines, 1)
    )


OPERATORS = {
    "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"),
    "==": ("!=",), "!=": ("==",), "&&": ("||",), "||": ("&&",),
    "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "%": ("*",),
    "&": ("|",), "|": ("&",), "+=": ("-=",), "-=": ("+=",), "*=": ("/=",), "/=": ("*=",),
}  # fmt: skip
OPERATOR = re.compile(r"(?<=\s)(?:[<>=!]=|[-+*/]=|&&|\|\||[-+*/%<>&|])(?=\s)")
BOOLEAN = re.compile(r"\b(?:true|false)\b")
INTEGER = re.compile(r"(?<![\w.'])(?:0[xX][0-9a-fA-F]+|\d+)(?=[uUlL]*(?![\w.']))")
IF = re.compile(r"\bif (?=\()")


def kind_of(operator: str) -> str:
    if operator in ("&&", "||"):
        return "logic"
    return "arithmetic" if operator[0] in "+-*/%&|" else "comparison"


def changed_tokens(code: str, choice: random.Random) -> Iterator[Mutation]:
    for found in OPERATOR.finditer(code):
        instead = choice.choice(OPERATORS[found[0]])
        yield Mutation(kind_of(found[0]), *found.span(), instead)
    for found in BOOLEAN.finditer(code):
        yield Mutation("constant", *found.span(), "false" if found[0] == "true" else "true")
    for found in INTEGER.finditer(code):
        value = int(found[0], 0)
        instead = str(value + 1 if value == 0 else choice.choice((value - 1, value + 1)))
        yield Mutation("constant", *found.span(), instead)


def negated_conditions(text: str, code: str) -> Iterator[Mutation]:
    for found in IF.finditer(code):
        start, end = found.end() + 1, closing(code, found.end(), "()") - 1
        start = max(start, code.rfind("; ", start, end) + 2)  # after a declaration
        if [each[0] for each in OPERATOR.finditer(code, start, end)] in (["=="], ["!="]):
            continue  # the operator's own mutation is the same
        yield Mutation("condition", start, end, f"!({text[start:end]})")


CONTROL = re.compile(r"\b(?:if|for|while|else|switch|case|default)\b")
TYPE = re.compile(r"\s*(?:inline |extern )?(?:namespace|class|struct|union|enum)\b")
DECLARES = re.compile(
    r"(?:using|static|constexpr|const|auto|typedef|friend|explicit|default|DLBRIDGE_ASSUME)\b"
)


def is_removable(statement: str, in_control: bool) -> bool:
    """Whether the rest still makes sense: assignments, calls, and jumps that end a branch."""
    if re.match(r"(?:return|throw|break|continue)\b", statement):
        return in_control
    if DECLARES.match(statement) or CONTROL.match(statement):
        return False
    if re.match(r"delete ", statement) or re.fullmatch(r"(?:\+\+|--)[\w.\->]+", statement):
        return True
    target = re.split(r"[=(]", statement, maxsplit=1)[0].rstrip("+-*/%|&^ ")
    return target != statement and re.fullmatch(r"\*?[\w:.\->\[\]<>]+", target) is not None


BODY = re.compile(
    r"(?:[)\]](?: (?:const|noexcept|mutable|override|&)&*| [A-Z_]+| -> [\w:<>*& ]+)*|else|do|try)$"
)


def scope_of(head: str, outer: str) -> str:
    """What a brace opens, from the text before it since the last statement."""
    if TYPE.match(head) and not head.endswith(")"):
        return "type"
    return "body" if BODY.search(head) or (not head and outer == "body") else "values"


def deleted_statements(code: str) -> Iterator[Mutation]:
    """The deletions of statements in functions. A scope holds what its brace opened, the depth of
    parentheses there, and whether it belongs to a control statement."""
    scopes = [("type", 0, False)]
    parentheses = start = 0  # start: of the statement
    for i in (found.start() for found in re.finditer(r"[(){};:]", code)):
        character, head = code[i], code[start:i].strip()
        outer, depth, in_control = scopes[-1]
        if character in "()":
            parentheses += 1 if character == "(" else -1
        elif character == "{":
            scopes.append((scope_of(head, outer), parentheses, CONTROL.match(head) is not None))
        elif character == "}" and len(scopes) > 1:
            scopes.pop()
        ends = character == ";" and depth == parentheses
        if ends and outer == "body" and is_removable(head, in_control):
            yield Mutation("deletion", code.index(head, start), i + 1, "")
        is_label = character == ":" and re.match(r"(?:case\b.*|default|public|private)$", head)
        closes = character == "}" and outer != "values"
        opens = character == "{" and scopes[-1][0] != "values"
        if is_label or closes or opens or ends:
            start = i + 1


def all_mutations(text: str, compiled: set[int], seed: str) -> list[Mutation]:
    """All mutations of a header in the order of the seed, in which the kinds take turns.

    compiled: the numbers of the lines that the compiler sees."""
    choice = random.Random(seed)
    code = code_of(text, compiled)
    found = [
        *changed_tokens(code, choice),
        *negated_conditions(text, code),
        *deleted_statements(code),
    ]
    choice.shuffle(found)
    turns: dict[str, int] = {}
    ranked = []
    for each in found:
        turns[each.kind] = turns.get(each.kind, 0) + 1
        ranked.append((turns[each.kind], each))
    return [each for _, each in sorted(ranked, key=lambda pair: pair[0])]
