# SPDX-License-Identifier: Apache-2.0
"""Compiles native parts of the helper against the PyTorch that runs, and keeps them for later runs."""

import fcntl
import glob
import hashlib
import os
import shutil
import subprocess
import tempfile

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def library_for(torch, source_name, libraries):
    """Returns the path of the compiled source, linked with PyTorch libraries; a RuntimeError says in one line what
    failed."""
    source = os.path.join(_FOLDER, source_name)
    with open(source, "rb") as file:
        text = file.read()
    root = os.path.dirname(os.path.abspath(torch.__file__))
    with open(__file__, "rb") as file:
        text += file.read()  # the options
    identity = hashlib.sha256(text + root.encode()).hexdigest()[:12]
    folder = _cache_folder()
    path = os.path.join(folder, f"{os.path.splitext(source_name)[0]}-torch-{torch.__version__}-{identity}.so")
    with open(os.path.join(folder, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            _compile(torch, root, source, libraries, path)
    return path


def _cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(base, "uvmtrace")
    try:
        os.makedirs(folder, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    return tempfile.mkdtemp(prefix="uvmtrace-")


def _compile(torch, root, source, libraries, path):
    compiler = next((c for c in (os.environ.get("CXX"), "g++", "c++", "clang++") if c and shutil.which(c)), None)
    if compiler is None:
        raise RuntimeError("no C++ compiler was found (g++)")
    cuda = _cuda_include(root)
    if cuda is None:
        raise RuntimeError("cuda_runtime_api.h was not found (set CUDA_HOME)")
    library_folder = os.path.join(root, "lib")
    unfinished = f"{path}.{os.getpid()}"
    command = [compiler, "-O2", "-fPIC", "-shared", "-w", "-o", unfinished, source]
    command += ["-isystem", os.path.join(root, "include"), "-isystem", cuda]
    command += [f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"]
    if not getattr(getattr(torch, "version", None), "debug", False):
        command.append("-DNDEBUG")  # debug builds of PyTorch have more members in some classes
    command += [f"-L{library_folder}", *(f"-l{name}" for name in libraries), f"-Wl,-rpath,{library_folder}"]
    environment = {name: value for name, value in os.environ.items() if name != "CUDA_INJECTION64_PATH"}
    for standard in ("-std=c++20", "-std=c++17"):  # PyTorch's headers need one of the two
        result = subprocess.run(command + [standard], env=environment, capture_output=True, text=True)
        if result.returncode == 0:
            os.rename(unfinished, path)
            return
    lines = [line for line in result.stderr.splitlines() if "error" in line] or result.stderr.splitlines() or ["?"]
    raise RuntimeError(f"{compiler} failed: {lines[0]}")


def _cuda_include(root):
    homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ]
    candidates = [os.path.join(home, "include") for home in homes]
    nvcc = shutil.which("nvcc")
    if nvcc:
        candidates.append(os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(nvcc))), "include"))
    # The wheels that PyTorch depends on contain the headers too.
    candidates += sorted(glob.glob(os.path.join(os.path.dirname(root), "nvidia", "*", "include")))
    candidates += ["/usr/local/cuda/include", "/usr/include"]
    return next((c for c in candidates if os.path.exists(os.path.join(c, "cuda_runtime_api.h"))), None)
