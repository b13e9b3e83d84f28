# SPDX-License-Identifier: BSD-3-Clause
"""The Conan recipe of dlbridge, for a checkout and for a release: README.md."""

import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy, download, get, rmdir

SOURCES = ("CMakeLists.txt", "LICENSE", "NOTICE", "LICENSES/*", "cmake/*", "include/*")


class DlbridgeRecipe(ConanFile):
    name = "dlbridge"
    description = "Carries tensors over library borders without copying them, by DLPack"
    license = "BSD-3-Clause AND Apache-2.0"  # the second is that of dlpack.h
    topics = ("dlpack", "tensor", "array", "zero-copy", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"  # of the build; the package has none of them
    no_copy_source = True

    @property
    def _checkout(self):
        return Path(self.recipe_folder).parents[1]

    def set_version(self):
        if self.version:
            return
        text = (self._checkout / "include" / "dlbridge" / "abi.hpp").read_text()
        numbers = re.findall(r"#define DLBRIDGE_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text)
        self.version = ".".join(numbers)

    def export_sources(self):
        for pattern in [] if self.conan_data else SOURCES:
            copy(self, pattern, self._checkout, self.export_sources_folder)

    def source(self):
        if self.conan_data:  # of a release
            sources = self.conan_data["sources"][self.version]
            get(self, **sources["dlbridge"], strip_root=True)
            download(self, **sources["dlpack"], filename=Path("dlpack", "dlpack", "dlpack.h"))

    def validate(self):
        check_min_cppstd(self, 17)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for option in ("TESTS", "BENCH", "PYTHON"):
            toolchain.cache_variables[f"DLBRIDGE_{option}"] = False
        # Without any of these, CMake searches for dlpack.h, and downloads it if it finds none.
        downloaded = str(Path(self.source_folder, "dlpack")) if self.conan_data else None
        directory = self.conf.get("user.dlbridge:dlpack_include_dir", downloaded, check_type=str)
        if directory:
            toolchain.cache_variables["DLPACK_INCLUDE_DIR"] = directory
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install()
        rmdir(self, Path(self.package_folder) / "share" / "licenses")  # Conan's folder is licenses
        for pattern in ("LICENSE", "NOTICE", "LICENSES/*"):
            copy(self, pattern, self.source_folder, Path(self.package_folder) / "licenses")

    def package_id(self):
        self.info.clear()

    def package_info(self):
        # The targets are those of the installed CMake package, dlbridge::dlbridge and ::python.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [str(Path("share", "cmake", "dlbridge"))]
        self.cpp_info.includedirs = ["include", str(Path("share", "dlbridge", "include"))]
        self.cpp_info.set_property("pkg_config_name", "dlbridge")
        self.cpp_info.bindirs = self.cpp_info.libdirs = []
        if self.settings.get_safe("os") == "Linux":
            self.cpp_info.system_libs = ["dl"]  # for the drivers that runtime/ loads
