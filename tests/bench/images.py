# SPDX-License-Identifier: Apache-2.0
"""What the benchmark of ldcache-update works on: layers of images, with shared libraries in them."""

import os
import pathlib
import shutil
import subprocess

PROJECT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = "bookworm"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
DRIVER = "/opt/driver"  # where the layers of a driver have it
CACHE = "etc/ld.so.cache"

# Functions enough that the names are not at the beginning of the file, as in any library of use.
ORDINARY = "".join(f"int function_{number}(void) {{ return {number}; }}\n" for number in range(100))
# All that matters is in the first KiB: the rest is section headers, which no loader reads.
TINY = "int function(void) { return 1; }\n"
TINY_OPTIONS = ("-s", "-fno-asynchronous-unwind-tables", "-Wl,-z,noseparate-code", "-Wl,-z,norelro",
                "-Wl,--build-id=none")


def debian():
    """The smallest Debian; made first if it is not there yet."""
    subprocess.run([PROJECT / "tests/roots/make_debian"], check=True)
    return PROJECT / "build/roots" / RELEASE


def link(directory, name, tiny=False):
    """The bytes of a library that needs no other; `name` is its SONAME."""
    output = directory / "linked.so"
    options = TINY_OPTIONS if tiny else ()
    subprocess.run(["cc", "-shared", "-nostdlib", "-fPIC", "-O1", *options, f"-Wl,-soname,{name}", "-xc", "-",
                    "-o", output], input=TINY if tiny else ORDINARY, text=True, check=True)
    content = output.read_bytes()
    output.unlink()
    return content


def make_libraries(directory, name, count, size=None):
    """Libraries as packages have them: the SONAME is a link to a file with a longer name.

    All are copies of one, with another SONAME of the same length. `size`: tiny ones, cut or stretched to so
    many bytes, sparse.
    """
    directory.mkdir(parents=True)
    pattern = f"lib{name}-{{:04}}.so.1"
    content = link(directory, pattern.format(0), size is not None)
    for number in range(count):
        soname = pattern.format(number)
        file = directory / f"{soname}.2.3"
        file.write_bytes(content.replace(pattern.format(0).encode(), soname.encode()))
        if size:
            os.truncate(file, size)
        (directory / soname).symlink_to(file.name)


def make_driver(layer, count, program, size=None):
    """A layer with a driver's libraries, and with the program that the container runs."""
    make_libraries(layer / DRIVER.strip("/"), "driver", count, size)
    shutil.copy(program, layer / "program")
    return layer


def make_large(layer, count):
    """A layer with so many libraries more; its cache has to be made by ldconfig, see put_cache()."""
    make_libraries(layer / LIBRARIES, "bench", count)
    return layer


def put_cache(layer, content):
    (layer / "etc").mkdir()
    (layer / CACHE).write_bytes(content)


def stack(*layers):
    """As overlayfs takes them; the first is the uppermost."""
    return ":".join(map(str, layers))


def listed(cache, scratch):
    """What a cache holds, in its order, as ldconfig prints it."""
    file = scratch / "listed"
    file.write_bytes(cache)
    done = subprocess.run(["/sbin/ldconfig", "-p", "-C", file], check=True, capture_output=True, text=True)
    return [line for line in done.stdout.splitlines() if "=>" in line]
