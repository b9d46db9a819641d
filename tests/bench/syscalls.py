# SPDX-License-Identifier: Apache-2.0
"""`strace -c` of several commands side by side."""


def count(launcher, command, mounts, scratch):
    """Returns name -> number of system calls of `command`, which runs once under strace."""
    listing = scratch / "strace"
    launcher.once(["/usr/bin/strace", "-c", "-U", "calls,name", "-o", str(listing), *command], mounts)
    calls = {}
    for line in listing.read_text().splitlines():
        fields = line.split()
        if len(fields) == 2 and fields[0].isdigit():
            calls[fields[1]] = int(fields[0])
    return calls


def print_pairs(counted, hook):
    """`counted` is heading -> (of the floor, of the hook)."""
    names = sorted({name for pair in counted.values() for calls in pair for name in calls if name != "total"})
    print(f"System calls (strace -c), floor beside {hook}; a star marks what differs:\n")
    print((f"{'':24}" + "".join(f"{heading:>26}   " for heading in counted)).rstrip())
    print((f"{'':24}" + f"{'floor':>10}{hook:>16}   " * len(counted)).rstrip())
    for name in [*names, "total"]:
        row = f"{name:24}"
        for pair in counted.values():
            floor, calls = (each.get(name, 0) for each in pair)
            row += f"{floor:>10,}{calls:>16,} {'*' if floor != calls else ' '} "
        print(row.rstrip())
