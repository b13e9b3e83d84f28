# SPDX-License-Identifier: BSD-3-Clause
"""The command lines, the options of pytest, and the environment variables that the code reads."""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from api import CHECKOUT, CannotCollect, line

sys.path.append(str(CHECKOUT / "tests" / "docs"))
from check_environment import PAGE, variables

PACKAGES = {
    "dlbridge": "python/dlbridge",
    "dlbridge_tools": "python/dlbridge/tools",
    "dlbridge_headers": "packaging/headers/dlbridge_headers",
}


@contextmanager
def packages() -> Iterator[str]:
    """A folder with the sources as the packages that users import, without the compiled module."""
    with tempfile.TemporaryDirectory() as folder:
        for name, source in PACKAGES.items():
            Path(folder, name).symlink_to(CHECKOUT / source, target_is_directory=True)
        yield folder


# Command lines ---------------------------------------------------------------------------------


def parser_of(main: Callable[[], object]) -> argparse.ArgumentParser:
    """The parser with which a program reads its arguments."""
    found: list[argparse.ArgumentParser] = []
    original = argparse.ArgumentParser.parse_args

    def stop(self: argparse.ArgumentParser, *_: object) -> None:
        found.append(self)
        sys.exit(0)

    argparse.ArgumentParser.parse_args = stop  # type: ignore[assignment]
    try:
        main()
    except SystemExit:
        pass
    finally:
        argparse.ArgumentParser.parse_args = original  # type: ignore[method-assign]
    return found[0]


def parser_lines(parser: argparse.ArgumentParser, command: str) -> Iterator[str]:
    yield line("command", command)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, each in action.choices.items():
                yield from parser_lines(each, f"{command} {name}")
            continue
        facts = {
            "takes": action.nargs if action.nargs is not None else 1,
            "metavar": action.metavar,
            "default": None if action.default == argparse.SUPPRESS else action.default,
            "repeated": isinstance(action, argparse._AppendAction) or None,
            "required": action.required or None,
        }
        details = "; ".join(f"{key} {value}" for key, value in facts.items() if value is not None)
        for spelling in action.option_strings or [str(action.metavar or action.dest)]:
            kind = "option" if action.option_strings else "argument"
            yield line(kind, f"{command} {spelling}", details)
            for choice in action.choices or ():
                yield line("choice", f"{command} {spelling}={choice}")


def status_lines() -> Iterator[str]:
    """The exit statuses, which the doc comment of `run` states."""
    path = CHECKOUT / "python" / "dlbridge" / "tools" / "command_line.py"
    (run,) = (node for node in ast.parse(path.read_text()).body
              if isinstance(node, ast.FunctionDef) and node.name == "run")  # fmt: skip
    text = " ".join((ast.get_docstring(run) or "").split()).partition("exit status: ")[2]
    for number, meaning in re.findall(r"(\d+): ([^;.]+)", text):
        yield line("exit-status", number, meaning)


class PytestParser:
    """Takes the options that the plugin adds to pytest."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def getgroup(self, *_: str) -> PytestParser:
        return self

    def addoption(self, *names: str, metavar: str = "", **_: object) -> None:
        self.lines += [line("pytest-option", name, metavar) for name in names]

    def addini(self, name: str, *_: str, default: object = None) -> None:
        self.lines.append(line("pytest-ini", name, f"default {default!r}"))


def command_line() -> Iterator[str]:
    processors = os.cpu_count
    os.cpu_count = lambda: 4  # on which a default depends
    with packages() as folder:
        sys.path.insert(0, folder)
        try:
            for name in PACKAGES:
                main = importlib.import_module(f"{name}.__main__").main
                yield from parser_lines(parser_of(main), f"python -m {name}")
            plugin: Any = importlib.import_module("dlbridge_tools.pytest_plugin")
        except ModuleNotFoundError as error:
            raise CannotCollect(str(error)) from None
        finally:
            sys.path.remove(folder)
            os.cpu_count = processors
    options = PytestParser()
    plugin.pytest_addoption(options)
    yield from options.lines
    yield from status_lines()


# Environment -----------------------------------------------------------------------------------


def environment() -> Iterator[str]:
    read, _ = variables(CHECKOUT, ("include", "python", "cmake", "packaging/headers"))
    rows = set(re.findall(r"`(\w+)`", (CHECKOUT / PAGE).read_text()))
    if missing := sorted(read.keys() - rows):
        raise CannotCollect(f"{PAGE} has no row for {', '.join(missing)}")
    for name in read:
        yield line("variable", name)
