"""Compiles each case of a folder twice: as it is it must compile, and with -DWRONG it must not.

A case says in a line `// says: REGEX` what the compiler must then print, so that it fails for the
reason it was written for and no other, and in a line `// std: c++20` that it is not C++17.
"""

import re
import subprocess
import sys
import tempfile
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


def main() -> int:
    compiler, folder, *includes = sys.argv[1:]
    cases = sorted(Path(folder).glob("*.cpp"))
    faults = 0
    for case in cases:
        says = re.search(r"// says: (.*)", case.read_text()).group(1)
        right, why = compiles(compiler, includes, case)
        wrong, said = compiles(compiler, includes, case, "-DWRONG")
        if not right:
            print(f"FAILED {case.name}: the positive twin does not compile\n{why}")
        elif wrong:
            print(f"FAILED {case.name}: the wrong one compiles")
        elif not re.search(says, said):
            print(f"FAILED {case.name}: refused without saying /{says}/\n{said}")
        else:
            print(f"ok     {case.name}")
            continue
        faults += 1
    print(f"{len(cases) - faults} of {len(cases)} cases passed")
    return int(faults > 0 or not cases)


if __name__ == "__main__":
    sys.exit(main())
