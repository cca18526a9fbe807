"""How the C library hands out memory, which decides much of the speed of training on a CPU.

glibc serves large blocks with `mmap` and gives them back to the kernel when they are freed, so each large
tensor of each update is paid for in page faults. With higher thresholds the blocks stay in the process and
are used again.
"""

import ctypes
import platform

_M_TRIM_THRESHOLD = -1  # bytes free at the heap's top before they go back to the kernel (malloc.h)
_M_MMAP_THRESHOLD = -3  # bytes from which a block is mapped on its own (malloc.h)
_LARGEST_HEAP_BLOCK = 1 << 30  # bytes; glibc takes any number here on request, beyond its own limit of 32 MiB
_KEEP_ALL = (1 << 31) - 1  # the largest C int


def keep_freed_memory() -> bool:
    """Let the process reuse the memory of freed tensors; true where that could be arranged (glibc).

    Call it before the first large tensor exists. Elsewhere (macOS, Windows, musl) nothing happens.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    settings = ((_M_MMAP_THRESHOLD, _LARGEST_HEAP_BLOCK), (_M_TRIM_THRESHOLD, _KEEP_ALL))
    return all([mallopt(option, value) == 1 for option, value in settings])
