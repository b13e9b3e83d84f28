"""Counts the instructions of the functions in hot_paths.cpp, and holds each to its limit."""

import re
import subprocess
import sys

# function: most instructions on its longest path. The deleter is reached by a tail call, which is
# counted as the deleter call itself; a `ret` on another path is not on the longest.
LIMITS = {
    "adopt_move_release_versioned": 6,
    "adopt_move_release_legacy": 6,
}


def bodies(objdump: str, path: str) -> dict[str, list[str]]:
    text = subprocess.run(
        [objdump, "-d", "--no-show-raw-insn", path], check=True, capture_output=True, text=True
    ).stdout
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if start := re.match(r"[0-9a-f]+ <(\w+)>:", line):
            name = start.group(1)
            found[name] = []
        elif instruction := re.match(r"\s+[0-9a-f]+:\s+(\S.*)", line):
            found[name].append(instruction.group(1).strip())
    return found


def main() -> int:
    objdump, path = sys.argv[1:]
    found = bodies(objdump, path)
    failed = False
    for name, limit in LIMITS.items():
        counted = [
            each
            for each in found[name]
            if not re.match(r"(nop|cs nop|data16|xchg\s+%ax,%ax|ret|endbr64)", each)
        ]
        calls = [each for each in counted if re.match(r"(jmp|call)q?\s+\*", each)]
        steps = len(counted) - len(calls)
        print(f"{name}: {steps} instructions and {len(calls)} deleter call, at most {limit}")
        for each in counted:
            print("   ", each)
        failed |= steps > limit or len(calls) != 1
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
