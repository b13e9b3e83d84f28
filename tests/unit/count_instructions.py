"""Counts the instructions of the functions in hot_paths.cpp and compares each with its limit.

None of the instructions may be atomic.
"""

import re
import subprocess
import sys

# For each function, the maximum number of instructions on its longest path. The compiler emits the
# deleter call as a tail call, which counts as the deleter call. A `ret` ends a shorter path and is
# not instructions.
LIMITS = {
    "adopt_move_release_versioned": 6,
    "adopt_move_release_legacy": 6,
}


def instructions_by_function(objdump: str, path: str) -> dict[str, list[str]]:
    text = subprocess.run(
        [objdump, "-d", "--no-show-raw-insn", path], check=True, capture_output=True, text=True
    ).stdout
    functions: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if start := re.match(r"[0-9a-f]+ <(\w+)>:", line):
            name = start.group(1)
            functions[name] = []
        elif instruction := re.match(r"\s+[0-9a-f]+:\s+(\S.*)", line):
            functions[name].append(instruction.group(1).strip())
    return functions


def main() -> int:
    objdump, path = sys.argv[1:]
    functions = instructions_by_function(objdump, path)
    failed = False
    for name, limit in LIMITS.items():
        instructions = [
            each
            for each in functions[name]
            if not re.match(r"(nop|cs nop|data16|xchg\s+%ax,%ax|ret|endbr64)", each)
        ]
        calls = [each for each in instructions if re.match(r"(jmp|call)q?\s+\*", each)]
        steps = len(instructions) - len(calls)
        print(f"{name}: {steps} instructions and {len(calls)} deleter call, at most {limit}")
        for each in instructions:
            print("   ", each)
        atomic = [each for each in instructions if each.startswith(("lock", "xchg"))]
        failed |= steps > limit or len(calls) != 1 or bool(atomic)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
