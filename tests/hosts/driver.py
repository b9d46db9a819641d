# SPDX-License-Identifier: Apache-2.0
"""The user-space files of NVIDIA's driver, laid out below a directory as several distributions do it, and what each
capability brings of them. Every file is a stub; the names are those of facts about driver packages."""

import copy
import json
import os
import shutil
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .nvidia import VERSION

POINT = "/usr/local/nvidia"

# Of each library its name without `lib`; the number in its SONAME, without which that is the file's name; and its own
# version, where that is not the driver's. No hook has ever heard of nvidia-future, which goes with every capability.
LIBRARIES = {
    "utility": "nvidia-ml:1 nvidia-cfg:1 nvidia-nscq:2 nvidia-sandboxutils:1",
    "compute": "cuda:1 cudadebugger:1 nvidia-opencl:1 nvidia-ptxjitcompiler:1 nvidia-fatbinaryloader nvidia-compiler"
               " nvidia-pkcs11 nvidia-pkcs11-openssl3 nvidia-nvvm:4"
               " nvidia-nvvm70:4:4 nvidia-tileiras",
    "compute and graphics": "nvidia-gpucomp nvidia-allocator:1",
    "video": "vdpau_nvidia:1 nvidia-encode:1 nvidia-opticalflow:1 nvcuvid:1",
    "graphics": "nvidia-eglcore nvidia-glcore nvidia-tls nvidia-glsi nvidia-fbc:1 nvidia-ifr:1 nvidia-rtcore nvoptix:1"
                " GLX_nvidia:0 EGL_nvidia:0 GLESv2_nvidia:2 GLESv1_CM_nvidia:1 nvidia-glvkspirv nvidia-cbl"
                " nvidia-present nvidia-vksc-core nvidia-wayland-client"
                " nvidia-egl-gbm:1:1.1.2 nvidia-egl-wayland:1:1.1.13 nvidia-egl-wayland2:1:1.0.0"
                " nvidia-egl-xcb:1:1.0.0 nvidia-egl-xlib:1:1.0.1 nvidia-vulkan-producer nvidia-api:1:1",
    "ngx": "nvidia-ngx:1",
    "any": "nvidia-future:1"}
# Those that packages have for 32-bit programs, too.
IN_32 = ("cuda nvidia-ml nvidia-opencl nvidia-ptxjitcompiler nvidia-encode nvcuvid vdpau_nvidia nvidia-eglcore"
         " nvidia-glcore nvidia-tls nvidia-glsi GLX_nvidia EGL_nvidia").split()
# Those for which a driver's packages have the link that compilers take.
DEVELOPMENT = ("cuda", "nvidia-ml", "nvidia-encode", "nvcuvid")
PROGRAMS = {
    "utility": ["nvidia-smi", "nvidia-debugdump", "nvidia-persistenced", "nv-fabricmanager", "nvidia-imex",
                "nvidia-imex-ctl"],
    "compute": ["nvidia-cuda-mps-control", "nvidia-cuda-mps-server"], "display": ["nvidia-xconfig"]}
# Below the host's root, below the tree, and where programs look for them if that is not the host's own place.
FILES = {
    "utility": [("run/nvidia-persistenced/socket",), ("run/nvidia-fabricmanager/socket",),
                *((f"lib/firmware/nvidia/{{}}/{name}", f"share/firmware/nvidia/{{}}/{name}")
                  for name in ("gsp_ga10x.bin", "gsp_tu10x.bin"))],
    "compute": [("tmp/nvidia-mps", "run/nvidia-mps"),
                ("etc/OpenCL/vendors/nvidia.icd", "share/OpenCL/vendors/nvidia.icd")],
    "compute and graphics": [("usr/share/nvidia/nvidia-application-profiles-{}-rc",)],
    "graphics": [("usr/share/glvnd/egl_vendor.d/10_nvidia.json",),
                 ("usr/share/egl/egl_external_platform.d/10_nvidia_wayland.json",),
                 ("usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json",),
                 ("usr/share/nvidia/nvoptix.bin",),
                 ("etc/vulkan/icd.d/nvidia_icd.json", "share/vulkan/icd.d/nvidia_icd.json"),
                 ("etc/vulkan/implicit_layer.d/nvidia_layers.json",
                  "share/vulkan/implicit_layer.d/nvidia_layers.json")]}
# The libraries that files name, by the name that is before the first dot of theirs.
NAMED = {"nvidia": ["libnvidia-opencl.so.1"], "10_nvidia": ["libEGL_nvidia.so.0"],
         "10_nvidia_wayland": ["libnvidia-egl-wayland.so.1"], "15_nvidia_gbm": ["libnvidia-egl-gbm.so.1"],
         "nvidia_icd": ["libGLX_nvidia.so.0"], "nvidia_layers": ["libGLX_nvidia.so.0", "libnvidia-present.so.{}"]}
PROFILE = "nvidia/nvidia-application-profiles-rc.d/10-container.conf"
PARTS = {"compute": ["compute", "compute and graphics", "any"], "utility": ["utility", "any"],
         "video": ["video", "compute", "compute and graphics", "any"],
         "graphics": ["graphics", "compute and graphics", "any"],
         "display": ["graphics", "display", "compute and graphics", "any"], "ngx": ["ngx", "any"], "compat32": []}


@dataclass(frozen=True)
class Library:
    """`name` is that of its development link, less the end `.so`."""

    name: str
    soname: str
    file: str


def libraries(part, version=VERSION):
    """Those of one row of LIBRARIES."""
    for word in LIBRARIES.get(part, "").split():
        name, number, own = (word.split(":") + ["", ""])[:3]
        file = f"lib{name}.so.{own or version}"
        yield Library(f"lib{name}", f"lib{name}.so.{number}" if number else file, file)


@dataclass(frozen=True)
class Layout:
    """Where a distribution has the files: directories below the root."""

    name: str
    libraries: str = "usr/lib64"
    libraries_32: str = "usr/lib"
    graphics: str = None      # another directory for those of graphics, and
    vdpau: str = None         # for libvdpau_nvidia
    alternatives: str = None  # the files themselves are there; what others see are links into /etc/alternatives
    cache: tuple = ()         # the lines of ld.so.conf; (): no cache at all
    merged: bool = True       # /lib is usr/lib
    named: str = ""           # the directory in front of the libraries that files name, with a slash at the end
    moved: tuple = ()         # files that are elsewhere: (what it is in FILES, and what it is here), …

    def __str__(self):
        return self.name


LIB64 = Layout("lib64", cache=("/usr/lib64", "/usr/lib"))
DEBIAN = Layout("Debian", "usr/lib/x86_64-linux-gnu", "usr/lib/i386-linux-gnu", alternatives="nvidia/current",
                cache=("/usr/lib/x86_64-linux-gnu", "/usr/lib/i386-linux-gnu"))
DIRECTORIES = Layout("directories", graphics="usr/lib64/nvidia", vdpau="usr/lib64/vdpau", libraries_32="usr/lib/nvidia",
                 cache=("/usr/lib64", "/usr/lib64/nvidia", "/usr/lib/nvidia"))
NO_CACHE = Layout("no cache")
NO_CACHE_DEBIAN = Layout("no cache, Debian", "usr/lib/x86_64-linux-gnu", "usr/lib/i386-linux-gnu",
                         alternatives="nvidia/current")
NIXOS = Layout("NixOS", "run/opengl-driver/lib", "run/opengl-driver-32/lib", merged=False,
               named="/nix/store/0v-nvidia-x11-555.42.07/lib/",
               moved=(("etc/vulkan/", "run/opengl-driver/share/vulkan/"), ("icd.d/nvidia_icd.json",
                                                                          "icd.d/nvidia_icd.x86_64.json"),
                      ("usr/share/glvnd/", "run/opengl-driver/share/glvnd/"),
                      ("usr/share/egl/", "run/opengl-driver/share/egl/")))
# negativo17's packages and RPM Fusion's, for Fedora and RHEL.
RPM = Layout("RPM", cache=("/usr/lib64", "/usr/lib"), named="/usr/lib64/",
             moved=(("etc/vulkan/", "usr/share/vulkan/"), ("icd.d/nvidia_icd.json", "icd.d/nvidia_icd.x86_64.json")))
# With each library behind a link of update-alternatives.
RPM_ALTERNATIVES = Layout("RPM, alternatives", alternatives="nvidia", cache=("/usr/lib64", "/usr/lib"),
                          named="/usr/lib64/", moved=RPM.moved)
OPENSUSE = Layout("openSUSE", cache=("/usr/lib64", "/usr/lib"), moved=(("etc/vulkan/", "usr/share/vulkan/"),))


class Stubs:
    """Makes libraries that a loader takes, of any SONAME, and the program that stands in for nvidia-smi."""

    NAME = b"soname" * 12

    def __init__(self, directory):
        sources = Path(__file__).resolve().parent
        self.program = directory / "nvidia-smi"
        self._run("gcc", "-O1", sources / "nvidia_smi.c", "-o", self.program)
        self._libraries = {bits: self._link(directory, sources.parent / "roots/stub.c", bits) for bits in (64, 32)}

    @staticmethod
    def _run(*command):
        subprocess.run(command, check=True)

    def _link(self, directory, source, bits):
        file, machine = directory / f"stub{bits}", {64: "elf_x86_64", 32: "elf_i386"}[bits]
        self._run("gcc", f"-m{bits}", "-O1", "-fPIC", "-ffreestanding", "-fno-stack-protector", "-c", source,
                  "-o", file)
        self._run("ld", "-m", machine, "-shared", "-s", "-z", "noseparate-code", "-z", "max-page-size=4096",
                  "-soname", self.NAME.decode(), file, "-o", f"{file}.so")
        return Path(f"{file}.so").read_bytes()

    def library(self, path, soname, bits=64):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self._libraries[bits].replace(self.NAME, soname.encode().ljust(len(self.NAME), b"\0")))
        return path

    def with_note(self, path, soname, note):
        """A libcuda that says with which drivers it works, as that for forward compatibility does."""
        self.library(path, soname)
        text = path.with_name(f"{path.name}.note")
        text.write_text('.section .note.GNU-stack, "", @progbits\n'
                        '.section .note.cuda.fwd_compatibility, "a", @note\n.balign 4\n'
                        f'.long 19, {len(note)}, 1\n.asciz "NVIDIA Corporation"\n.balign 4\n'
                        f".byte {','.join(str(byte) for byte in note.encode())}\n.balign 4\n", encoding="ascii")
        self._run("as", text, "-o", f"{text}.o")
        self._run("ld", "-shared", "-s", "-soname", soname, self.program.with_name("stub64"), f"{text}.o", "-o", path)
        for name in (text, f"{text}.o"):
            os.unlink(name)
        return path

    def needing(self, path, soname, version):
        """A library that needs this version of the C library."""
        self.library(path, soname)
        directory = path.with_name(f"{path.name}.parts")
        directory.mkdir()
        for name, text in (("libc", ".globl needed\n.type needed, @function\nneeded: ret\n"),
                           ("caller", ".globl caller\ncaller: call needed@PLT\n")):
            (directory / name).write_text(f'.section .note.GNU-stack, "", @progbits\n.text\n{text}', encoding="ascii")
            self._run("as", directory / name, "-o", directory / f"{name}.o")
        (directory / "map").write_text(f"{version} {{ global: needed; }};\n", encoding="ascii")
        self._run("ld", "-shared", "-soname", "libc.so.6", "--version-script", directory / "map", directory / "libc.o",
                  "-o", directory / "libc.so.6")
        self._run("ld", "-shared", "-soname", soname, directory / "caller.o", directory / "libc.so.6", "-o", path)
        shutil.rmtree(directory)
        return path

    def program_32(self, path, needed):
        """A program for 32 bits that needs libraries of these SONAMEs; it does nothing."""
        directory = path.with_name(f"{path.name}.needed")
        files = [self.library(directory / name, name, 32) for name in needed]
        self._run("ld", "-m", "elf_i386", "-dynamic-linker", "/lib/ld-linux.so.2", "-e", "oci_gpu_hooks_stub",
                  self.program.with_name("stub32"), "--no-as-needed", *files, "-o", path)
        return path


class Driver:
    """An installation below `root`. `places` has for every path below the tree what it shows: a path of the host."""

    def __init__(self, root, stubs, layout=LIB64, version=VERSION, bits=(64, 32)):
        self.root, self.layout, self.version, self.bits = Path(root), layout, version, bits
        self._stubs, self.places = stubs, {}
        if (self.root / "usr").exists():
            shutil.rmtree(self.root / "usr")
        if layout.merged:
            for name in ("lib", "lib64"):
                (self.root / "usr" / name).mkdir(parents=True, exist_ok=True)
                if not (self.root / name).exists():
                    (self.root / name).symlink_to(f"usr/{name}")
        for part in LIBRARIES:
            for library in libraries(part, version):
                self._add_library(part, library)
        self._add_files()
        if layout.cache:
            (self.root / "etc").mkdir(exist_ok=True)
            (self.root / "etc/ld.so.conf").write_text("".join(f"{line}\n" for line in layout.cache))
            subprocess.run(["/sbin/ldconfig", "-r", self.root], check=True, stderr=subprocess.DEVNULL)

    def copied(self, root):
        """The same below another root; of the files there are no more than before, but further names."""
        if (root / "usr").exists():
            shutil.rmtree(root / "usr")
        shutil.copytree(self.root, root, symlinks=True, dirs_exist_ok=True, copy_function=os.link)
        (root / "tmp/nvidia-mps").chmod(0o777)
        other = copy.copy(self)
        other.root = root
        other.places = {path: place.replace(str(self.root), str(root), 1) for path, place in self.places.items()}
        return other

    def remove(self, *names):
        """Files that the host has not any more, though its loader cache may still name them; links to them stay."""
        for path in [path for path in self.places if os.path.basename(path) in names]:
            place = Path(self.places.pop(path))
            if place.is_dir():
                shutil.rmtree(place)
            else:
                place.unlink()

    def _directory(self, part, library, bits):
        layout = self.layout
        if bits == 32:
            return layout.libraries_32
        if layout.vdpau and "vdpau" in library.name:
            return layout.vdpau
        return layout.graphics if layout.graphics and part == "graphics" else layout.libraries

    def _add_library(self, part, library):
        for bits in self.bits:
            if bits == 32 and library.name[3:] not in IN_32:
                continue
            directory = real = self.root / self._directory(part, library, bits)
            names = [library.soname] if library.soname != library.file else []
            if names and self.layout.alternatives:
                real = directory / self.layout.alternatives
            self._stubs.library(real / library.file, library.soname, bits)
            for name in names + ([f"{library.name}.so"] if library.name[3:] in DEVELOPMENT else []):
                (real / name).symlink_to(library.file)
                self._alternative(directory / name, f"nvidia--{name}-{bits}", real / name)
            self.places[f"{'lib64' if bits == 64 else 'lib'}/{library.file}"] = str((real / library.file).resolve())

    def _alternative(self, path, name, target):
        """A link that an administrator can turn over to another version of a package."""
        if not self.layout.alternatives:
            return
        link = self.root / "etc/alternatives" / name
        for each, leads_to in ((link, f"/{target.relative_to(self.root)}"), (path, f"/etc/alternatives/{name}")):
            each.parent.mkdir(parents=True, exist_ok=True)
            each.symlink_to(leads_to)

    def _add_files(self):
        for names in PROGRAMS.values():
            for name in names:
                self._add(f"usr/bin/{name}", f"bin/{name}", lambda path: shutil.copy(self._stubs.program, path))
        for files in FILES.values():
            for path, *below in files:
                self._add(self._moved(path), self._tree_path(path, *below), self._make)

    def _moved(self, path):
        for before, now in self.layout.moved:
            path = path.replace(before, now)
        return path.format(self.version)

    def _tree_path(self, path, below=None):
        return os.path.dirname(below or path.removeprefix("usr/")).format(self.version) + "/" + os.path.basename(
            self._moved(path))

    def _add(self, path, tree_path, make):
        real = self.root / path
        if self.layout.alternatives and path.startswith(("usr/bin/", "usr/share/glvnd/")):
            real = self.root / f"usr/lib/{self.layout.alternatives}" / os.path.basename(path)
            self._alternative(self.root / path, os.path.basename(path), real)
        real.parent.mkdir(parents=True, exist_ok=True)
        make(real)
        self.places[tree_path] = str(real.resolve())

    def _naming(self, path):
        """What names libraries of the driver to a loader."""
        names = [self.layout.named + name.format(self.version) for name in NAMED[path.name.split(".")[0]]]
        if path.name.endswith(".icd"):
            return f"{names[0]}\n"
        if path.name == "nvidia_layers.json":
            return json.dumps({"file_format_version": "1.0.1", "layers": [{"library_path": name} for name in names]})
        return json.dumps({"file_format_version": "1.0.0", "ICD": {"library_path": names[0]}})

    def _make(self, path):
        if path.name == "socket":
            path.unlink(missing_ok=True)
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(str(path))
            path.chmod(0o666)
        elif path.name == "nvidia-mps":
            path.mkdir(exist_ok=True)
            path.chmod(0o777)
            if not (path / "control").exists():
                os.mkfifo(path / "control", 0o666)
        else:
            is_list = path.name.endswith((".json", ".icd"))
            path.write_text(self._naming(path) if is_list else f"{path.name} of the host\n", encoding="ascii")

    def libraries(self, capabilities, bits=64):
        """The Library of each one that these capabilities bring."""
        parts = {part for capability in capabilities for part in PARTS[capability]}
        found = [library for part in LIBRARIES if part in parts for library in libraries(part, self.version)
                 if bits == 64 or library.name[3:] in IN_32]
        return [library for library in found if f"{'lib64' if bits == 64 else 'lib'}/{library.file}" in self.places]

    def paths(self, capabilities):
        """The paths below the tree of all files that these capabilities bring."""
        paths = {f"lib64/{library.file}" for library in self.libraries(capabilities)}
        if "compat32" in capabilities:
            paths |= {f"lib/{library.file}" for library in self.libraries(capabilities, 32)}
        parts = {part for capability in capabilities for part in PARTS[capability]}
        paths |= {f"bin/{name}" for part in parts & set(capabilities) for name in PROGRAMS.get(part, ())}
        for path, *below in (file for part in parts for file in FILES.get(part, ())):
            paths.add(self._tree_path(path, *below))
        return {path for path in paths if path in self.places}

    def names(self, capabilities, bits=64):
        """Every name by which a program may open a library: what it is below the tree. The SONAME of each goes first:
        once a library is open, the loader finds it by its SONAME without looking."""
        directory = "lib64" if bits == 64 else "lib"
        names = {name: f"{POINT}/{directory}/{library.file}" for library in self.libraries(capabilities, bits)
                 for name in (library.soname, f"{library.name}.so", library.file)}
        vendors = names.get("libGLX_nvidia.so.0")
        return names | ({"libGLX_indirect.so.0": vendors} if vendors else {})


def install(root, layout=LIB64, bits=(64,)):
    """The whole driver below a root, in place of what there is of one."""
    with tempfile.TemporaryDirectory() as directory:
        return Driver(root, Stubs(Path(directory)), layout, bits=bits)
