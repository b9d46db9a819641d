# SPDX-License-Identifier: Apache-2.0
"""An OCI bundle: a busybox root filesystem and a config.json, as `runc spec` writes it."""

import functools
import json
import subprocess
import tempfile

from . import rootfs


@functools.cache
def spec():
    """The config.json that runc proposes, as text."""
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(["runc", "spec", "--bundle", directory], check=True)
        with open(f"{directory}/config.json", encoding="utf-8") as file:
            return file.read()


class Bundle:
    """`config` is config.json as a dictionary; write() puts it down. `init`, if it is set, is a file that is
    mounted for the container's program, whose command line stays as it is."""

    def __init__(self, directory):
        self.directory = directory
        directory.mkdir()
        self.rootfs = rootfs.make(directory / "rootfs")
        self.config = json.loads(spec())
        self.config["process"]["terminal"] = False
        self.config["root"]["readonly"] = False
        self.config["annotations"] = {}
        self.init = None

    def mount(self, destination, source, *options, fstype="bind"):
        """One more entry of config.json's mounts, after those that are there."""
        self.config["mounts"].append({"destination": destination, "type": fstype,
                                      "source": str(source), "options": list(options)})

    def environment(self, *settings):
        """Further NAME=VALUE of the container's own environment, as from an image's ENV."""
        self.config["process"]["env"] += settings

    def script(self, text):
        """Make the container's program a shell that runs `text`."""
        if self.init is None:
            self.config["process"]["args"] = ["sh", "-c", text]
            return
        self.init.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        self.init.chmod(0o755)

    def hook(self, stage, entries):
        """Set the hooks of one stage; none at all leaves config.json without that stage."""
        self.config.setdefault("hooks", {})[stage] = entries

    def write(self):
        text = json.dumps(self.config, indent=1)
        (self.directory / "config.json").write_text(text, encoding="utf-8")
