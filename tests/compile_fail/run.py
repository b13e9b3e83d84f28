"""Compiles each case of a folder twice: as it is it must compile, and with -DWRONG it must not.

A case says in a line `// says: REGEX` what the compiler must then print, so that it fails for the
reason it was written for and no other, and in a line `// std: c++20` that it is not C++17.
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def compiles(compiler: str, includes: list[str], case: Path, *defines: str) -> tuple[bool, str]:
    flags = [f"-I{directory}" for entry in includes for directory in entry.split(";")]
    standard = re.search(r"// std: (\S+)|$", case.read_text()).group(1) or "c++17"
    with tempfile.TemporaryDirectory() as folder:  # zig's clang++ cannot only check the syntax
        made = ["-c", str(case), "-o", str(Path(folder) / "made.o")]
        done = subprocess.run(
            [compiler, f"-std={standard}", *flags, *defines, *made],
            capture_output=True,
            text=True,
        )
    return done.returncode == 0, done.stderr


def fault(compiler: str, includes: list[str], case: Path) -> str:
    """What is wrong with a case; empty when nothing is."""
    says = re.search(r"// says: (.*)", case.read_text()).group(1)
    right, why = compiles(compiler, includes, case)
    wrong, said = compiles(compiler, includes, case, "-DWRONG")
    if not right:
        return f"the positive twin does not compile\n{why}"
    if wrong:
        return "the wrong one compiles"
    return "" if re.search(says, said) else f"refused without saying /{says}/\n{said}"


def main() -> int:
    compiler, folder, *includes = sys.argv[1:]
    cases = sorted(Path(folder).glob("*.cpp"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda case: fault(compiler, includes, case), cases))
    for case, said in zip(cases, found):
        print(f"FAILED {case.name}: {said}" if said else f"ok     {case.name}")
    print(f"{found.count('')} of {len(cases)} cases passed")
    return int(any(found) or not cases)


if __name__ == "__main__":
    sys.exit(main())
