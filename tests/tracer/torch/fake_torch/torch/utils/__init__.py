from torch.utils import _python_dispatch  # noqa: F401
