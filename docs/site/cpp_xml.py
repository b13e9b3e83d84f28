# SPDX-License-Identifier: BSD-3-Clause
"""Reads the public names of the headers from Doxygen's XML: for the C++ reference of the site, and
for the list of the interface, packaging/api/cpp.txt."""

from __future__ import annotations

import collections
import os
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]


def run_doxygen(target: Path, options: str = "") -> tuple[Path, list[str]]:
    """Returns the folder of the XML, and the warnings. `options` are lines of the Doxyfile."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    configuration = (CHECKOUT / "docs" / "Doxyfile").read_text()
    done = subprocess.run(
        ["doxygen", "-"],
        input=f"{configuration}OUTPUT_DIRECTORY={target}\n{options}\n",
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
    )
    return target / "xml", done.stderr.replace(f"{CHECKOUT}{os.sep}", "").splitlines()


class Entries:
    """The public names, each with its elements of the XML. Functions and variables of the folder
    `without` are left out."""

    def __init__(self, xml: Path, without: str | None = None) -> None:
        self.without = without
        self.left_out: set[str] = set()  # identifiers of Doxygen
        self.by_name: dict[str, list[ET.Element]] = collections.defaultdict(list)
        self.classes: dict[str, ET.Element] = {}  # of the index, also nested ones
        classes = self.classes
        for each in ET.parse(xml / "index.xml").getroot():
            if each.get("kind") in ("class", "struct"):
                classes[each.findtext("name", "")] = each
            elif each.get("kind") in ("namespace", "file"):
                self.add_members(ET.parse(xml / f"{each.get('refid')}.xml"), each.get("kind", ""))
        for name, each in classes.items():
            template = name.partition("<")[0]
            if template.rpartition("::")[0] in classes:  # a part of the entry of its class
                continue
            primary = classes.get(template)
            if primary is None or primary is each or not primary.findall("member"):
                element = ET.Element("innerclass", refid=each.get("refid", ""), prot="public")
                element.text = name
                self.by_name[template.removeprefix("dlbridge::")].append(element)

    def add_members(self, compound: ET.ElementTree[Any], kind: str) -> None:
        for each in compound.iter("memberdef"):
            if kind == "file" and each.find("briefdescription/para") is None:
                continue
            location = each.find("location")
            if self.without and location is not None and self.without in location.get("file", ""):
                self.left_out.add(each.get("id", ""))
                continue
            if (each.get("kind") == "define") == (kind == "file"):
                name = each.findtext("qualifiedname") or each.findtext("name") or ""
                self.by_name[name.removeprefix("dlbridge::")].append(each)
