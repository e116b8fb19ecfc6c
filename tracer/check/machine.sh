# SPDX-License-Identifier: Apache-2.0
# What outputs that are kept begin with: the day, the machine and the versions.
machine() {
  echo "date: $(date -u +%F)"
  echo "GPU: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | paste -sd ';')"
  echo "CUDA: $(nvcc --version | sed -n 's/.*release \([^,]*\),.*/\1/p')"
  echo "uvmtrace: $(uvmtrace --version 2>/dev/null | head -1)"
  python3 - <<'PYTHON'
from importlib.metadata import PackageNotFoundError, version
for name in ("torch", "transformers", "torchvision", "triton", "jax"):
    try:
        print(f"{name}: {version(name)}")
    except PackageNotFoundError:
        print(f"{name}: not there")
PYTHON
}
