"""Kernel interfaces that no honest agent needs, closed by a seccomp filter (classic BPF, as seccomp(2) describes it).

Without capabilities most of them are refused anyway. Some are not: the kernel's key rings are inherited through a
namespace, and bpf, io_uring, userfaultfd and perf are where kernels break. Denied calls fail with EPERM.
"""

from __future__ import annotations

import platform
import struct
from functools import lru_cache

# Numbers of x86_64 (arch/x86/entry/syscalls/syscall_64.tbl) and of the generic table that arm64 uses.
DENIED: dict[str, tuple[int, int]] = {
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "quotactl": (179, 60),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "fanotify_init": (300, 262),
}
_ARCHES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_X32 = 0x40000000
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCH = 0, 4  # offsets in struct seccomp_data
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
EPERM = 1


@lru_cache(maxsize=1)
def program(machine: str | None = None) -> bytes:
    """The filter for this machine; empty where its numbers are not known, then nothing is filtered."""
    known = _ARCHES.get(machine or platform.machine())
    if known is None:
        return b""
    column, arch = known
    numbers = sorted(pair[column] for pair in DENIED.values())
    refuse = len(numbers) + 1  # from the first comparison to the refusal
    code = [(_LOAD, 0, 0, _ARCH), (_EQUAL, 0, refuse + 2, arch), (_LOAD, 0, 0, _NUMBER)]
    # Numbers of the x32 interface are the same calls by another name.
    code.append((_AT_LEAST, refuse, 0, _X32))
    for at, number in enumerate(numbers):
        code.append((_EQUAL, len(numbers) - at, 0, number))
    code += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ERRNO | EPERM)]
    return b"".join(struct.pack("=HBBI", *item) for item in code)
