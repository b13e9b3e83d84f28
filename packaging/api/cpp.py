# SPDX-License-Identifier: BSD-3-Clause
"""The C++ interface, which Doxygen reads: names, signatures, headers, macros, the ABI's names."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

from api import CHECKOUT, CannotCollect, line

sys.path.append(str(CHECKOUT / "docs" / "site"))
from cpp_xml import Entries, run_doxygen

INCLUDE = CHECKOUT / "include"
# These two folders declare the same names for their libraries.
BINDINGS = re.compile(r"python/(pybind11|nanobind)/")
# Values of one line; the tables of dtypes, devices and reasons are longer.
OPTIONS = "MAX_INITIALIZER_LINES=1"
FLAGS = ("static", "explicit", "constexpr")  # Doxygen states them in attributes, types or both


def text_of(element: ET.Element | None) -> str:
    """The text without the blanks that versions of Doxygen set differently."""
    text = "" if element is None else "".join(element.itertext())
    text = re.sub(r"\s*([<>(),&*=]|\.\.\.|::)\s*", r"\1", " ".join(text.split()))
    return re.sub(r"(?<=[>)&*])(?=\w)", " ", text.replace(",", ", "))


def parameters(function: ET.Element) -> str:
    """The types and defaults of the parameters. Their names are no part of the interface."""
    shown = []
    for each in function.findall("param"):
        default = text_of(each.find("defval"))
        type_ = text_of(each.find("type")) + text_of(each.find("array"))
        shown.append(type_ + (f" = {default}" if default else ""))
    return ", ".join(shown)


def after_parameters(argsstring: str) -> str:
    """What follows the parameters: const, noexcept, = delete, a trailing type."""
    depth = 0
    for position, character in enumerate(argsstring):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return argsstring[position + 1 :]
    return ""


def template(element: ET.Element) -> str:
    found = element.find("templateparamlist")
    if found is None:
        return ""
    shown = []
    for each in found:
        default = text_of(each.find("defval"))
        words = [text_of(each.find("type")), text_of(each.find("declname"))]
        shown.append(" ".join(filter(None, words)) + (f" = {default}" if default else ""))
    return f"template<{', '.join(shown)}> "


def member_lines(member: ET.Element, scope: str = "") -> Iterator[str]:
    kind = member.get("kind", "")
    name = member.findtext("qualifiedname") or member.findtext("name") or ""
    if scope:  # a specialisation, whose arguments qualifiedname lacks
        name = f"{scope}::{member.findtext('name')}"
    value, arguments = text_of(member.find("initializer")), text_of(member.find("argsstring"))
    words = text_of(member.find("type")).split(" ")
    flags = [each for each in FLAGS if member.get(each) == "yes" or each in words]
    type_ = " ".join(each for each in words if each not in (*FLAGS, "inline"))
    head = template(member) + " ".join([*flags, type_])
    if kind == "enum":
        yield line(kind, name, f"{'class' if member.get('strong') == 'yes' else ''} {type_}")
        number = -1
        for each in member.findall("enumvalue"):
            given = text_of(each.find("initializer")).lstrip("=")
            number = int(given, 0) if given else number + 1
            yield line("enumerator", f"{name}::{each.findtext('name')}", f"= {number}")
    elif kind == "define":
        names = [each.findtext("defname", "") for each in member.findall("param")]
        yield line("macro", name, f"({', '.join(names)})" if names else "")
    elif kind == "typedef":
        yield line("type", name, f"{template(member)}= {type_}")
    elif kind == "variable":
        fixed = value.replace("=", "= ", 1) if "constexpr" in flags else ""
        yield line("variable", name, f"{head} {fixed}")
    elif kind in ("function", "friend") and arguments:
        library = BINDINGS.search(member.find("location").get("file", ""))  # type: ignore[union-attr]
        where = f" [{library[1]}]" if library else ""
        details = f"{head}({parameters(member)}) {after_parameters(arguments)}{where}"
        yield line("function", name, details)


def class_lines(name: str, compound: ET.Element) -> Iterator[str]:
    if compound.get("prot") != "public":
        return
    bases = [text_of(each) for each in compound.findall("basecompoundref")
             if each.get("prot") == "public"]  # fmt: skip
    inherits = f": {', '.join(bases)}" if bases else ""
    yield line(compound.get("kind", ""), name, template(compound) + inherits)
    for section in compound.findall("sectiondef"):
        for member in section.findall("memberdef"):
            if member.get("prot") == "public":
                yield from member_lines(member, name)


def macros_of_users() -> Iterator[str]:
    """The macros that a project defines before it includes a header."""
    texts = [path.read_text() for path in INCLUDE.rglob("*") if path.suffix in (".hpp", ".ipp")]
    asked = re.compile(r"#(?:if|elif)n?(?:def)?\b.*?\b(DLBRIDGE_\w+)")
    defined = re.compile(r"#\s*define (DLBRIDGE_\w+)")
    known = {name for text in texts for name in defined.findall(text)}
    for name in {name for text in texts for name in asked.findall(text)} - known:
        yield line("macro", name, "of the project")


def collect() -> Iterator[str]:
    if shutil.which("doxygen") is None:
        raise CannotCollect("doxygen is not installed")
    with tempfile.TemporaryDirectory() as folder:
        xml, _ = run_doxygen(Path(folder), OPTIONS)
        entries = Entries(xml)
        for members in entries.by_name.values():
            for member in members:
                if member.tag == "memberdef":
                    yield from member_lines(member)
        for row in entries.classes.values():
            compound = ET.parse(xml / f"{row.get('refid')}.xml").find("compounddef")
            assert compound is not None
            yield from class_lines(text_of(compound.find("compoundname")), compound)
    yield from macros_of_users()
    for path in INCLUDE.rglob("*.hpp"):
        if "detail" not in path.parts:
            yield line("header", f"<{path.relative_to(INCLUDE).as_posix()}>")
    yield line("source", "<dlbridge/src/all.cpp>")
    abi = (INCLUDE / "dlbridge" / "abi.hpp").read_text()
    number = re.findall(r"define DLBRIDGE_ABI_NUMBER (\d+)", abi)[0]
    for options in re.findall(r"define DLBRIDGE_ABI_OPTIONS(.*)", abi):
        yield line("abi", f"v{number}{options.strip()}")
