# SPDX-License-Identifier: BSD-3-Clause
"""Writes the recipes of a release in the form that Conan Center, conda-forge and vcpkg take.

    recipes.py SDIST FOLDER

The version and the hashes are those of SDIST, a file of the release. The recipes in this folder
have words such as @VERSION@ in their place.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
PACKAGING = CHECKOUT / "packaging"
# What becomes what: the folders are those in the repositories of the three projects.
FORMS = {
    "conan/center": "conan-center/recipes/dlbridge",
    "conan/conanfile.py": "conan-center/recipes/dlbridge/all/conanfile.py",
    "conan/test_package": "conan-center/recipes/dlbridge/all/test_package",
    "conda-forge/recipe.yaml": "conda-forge/recipes/dlbridge/recipe.yaml",
    "vcpkg/dlbridge": "vcpkg/ports/dlbridge",
}


def words(sdist: Path) -> dict[str, str]:
    content = sdist.read_bytes()
    citation = (CHECKOUT / "CITATION.cff").read_text()
    download = (CHECKOUT / "cmake/dlbridgeFindDlpack.cmake").read_text()
    (repository,) = re.findall(r'^repository-code: "(.+)"$', citation, re.MULTILINE)
    version = sdist.name[len("dlbridge-") : -len(".tar.gz")]
    return {
        "VERSION": version,
        "SOURCE": f"{repository}/releases/download/v{version}/{sdist.name}",
        "SHA256": hashlib.sha256(content).hexdigest(),
        "SHA512": hashlib.sha512(content).hexdigest(),
        "REPOSITORY": repository,
        "DLPACK_URL": re.findall(r'set\(DLBRIDGE_DLPACK_URL "(.+)"', download)[0],
        "DLPACK_SHA256": re.findall(r'set\(DLBRIDGE_DLPACK_SHA256 "(.+)"', download)[0],
    }


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    known = words(Path(sys.argv[1]))
    output = Path(sys.argv[2])
    for source, target in FORMS.items():
        for path in sorted([PACKAGING / source, *(PACKAGING / source).rglob("*")]):
            if path.is_file() and "__pycache__" not in path.parts:
                written = output / target / path.relative_to(PACKAGING / source)
                written.parent.mkdir(parents=True, exist_ok=True)
                text = re.sub("@([A-Z0-9_]+)@", lambda word: known[word[1]], path.read_text())
                written.write_text(text)


if __name__ == "__main__":
    main()
