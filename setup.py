# SPDX-License-Identifier: Apache-2.0
"""The wheel: CMake builds the module and the command and installs its component `python` into it.

UVMSIM_BUILD_DIR names a build folder that has both already (the presets python and test); nothing is compiled then.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent


def version():
    return re.search(r"^\s*VERSION (\d+\.\d+\.\d+)$", (HERE / "CMakeLists.txt").read_text(), re.MULTILINE)[1]


class BuildWithCMake(build_ext):
    def run(self):
        target = Path(self.build_lib).resolve()
        shutil.rmtree(target, ignore_errors=True)  # what an earlier version had
        folder = os.environ.get("UVMSIM_BUILD_DIR")
        if not folder:
            folder = HERE / "build" / "wheel"
            environment = {**os.environ, "PYTHON": sys.executable}
            self.cmake("--preset", "wheel", f"-DPython3_EXECUTABLE={sys.executable}", env=environment)
            self.cmake("--build", "--preset", "wheel", env=environment)
        self.cmake("--install", folder, "--component", "python", "--prefix", target)
        if not list(target.glob("uvmsim/_uvmsim*.so")):
            sys.exit(f"setup.py: error: {folder} has no Python module; pybind11-dev and python3-dev make it")

    @staticmethod
    def cmake(*arguments, env=None):
        subprocess.run(["cmake", *map(str, arguments)], cwd=HERE, env=env, check=True, stdout=sys.stderr)


setup(
    name="uvmsim",
    version=version(),
    description="Trace-driven simulator of GPU unified virtual memory",
    license="Apache-2.0",
    python_requires=">=3.10",
    packages=[],
    py_modules=[],
    ext_modules=[Extension("uvmsim._uvmsim", sources=[])],  # it is for one platform and one Python
    cmdclass={"build_ext": BuildWithCMake},
    extras_require={"figures": ["matplotlib", "pandas"]},
    entry_points={"console_scripts": ["uvmsim = uvmsim_command:main"]},
)
