# SPDX-License-Identifier: Apache-2.0
"""One container with the hook registered, ready to run."""

from . import mounts, proc_directories

PREFIX = "io.oci-gpu-hooks."
KEY = PREFIX + "mount-srv"


class Box:
    """A bundle on a host. Attributes may be changed until run().

    request     value of the hook's annotation; None for a container without it
    args        the hook's options (the host's side)
    wrapper     a program that runs the hook
    stage       where the hook is registered
    times       how often it is registered
    first       other hooks of that stage, which run before it
    in_proc     directories in /proc with a tmpfs that the runtime does not mount: a hook does, before all others
    loader      "engine" evaluates `when`; "concourse" runs every hook for every container
    timeout     seconds for the hook, in place of the file's; 0 for none, so that the runtime waits for ever
    no_env      the hook's entry lacks `env`, as one that somebody wrote by hand
    """

    def __init__(self, host, runtime, bundle, hook, args, request=None):
        self.host, self.runtime, self.bundle, self.hook = host, runtime, bundle, hook
        self.args, self.wrapper, self.timeout = args, (), None
        self.stage, self.times, self.first, self.loader = "createRuntime", 1, [], "engine"
        self.no_env, self.in_proc = False, []
        if request is not None:
            self.annotations[KEY] = request

    @property
    def annotations(self):
        return self.bundle.config["annotations"]

    @property
    def config(self):
        return self.bundle.config

    @property
    def rootfs(self):
        return self.bundle.rootfs

    def volume(self, destination, source, *options):
        """A directory of the host for the container, in the way of the engine."""
        self.bundle.mount(destination, source, "rbind", *options)

    def tmpfs(self, destination):
        if destination.startswith("/proc/") and not proc_directories.are_mounts(self.runtime.name):
            self.in_proc.append(destination)
        else:
            self._tmpfs(destination)

    def _tmpfs(self, destination):
        self.bundle.mount(destination, "tmpfs", "nosuid", "mode=755", fstype="tmpfs")

    def environment(self, setting):
        """NAME=VALUE of the container's own environment."""
        self.bundle.environment(setting)

    def map_ids(self, *ranges):
        """Give the container a user namespace: ranges of (id inside, id on the host, how many)."""
        self.config["linux"]["namespaces"].append({"type": "user"})
        for kind in ("uidMappings", "gidMappings"):
            self.config["linux"][kind] = [
                {"containerID": inside, "hostID": outside, "size": size}
                for inside, outside, size in ranges]

    def add_capability(self, name):
        for names in self.config["process"]["capabilities"].values():
            names.append(name)

    def start(self, script):
        """Begin running `script` as the container's program."""
        self.bundle.script(script)
        self.bundle.hook(self.stage, proc_directories.hooks(self.in_proc) + self.first + self._entries())
        self.bundle.write()
        return self.runtime.start(self.host, self.bundle)

    def _entries(self):
        if self.loader == "engine" and not self.hook.matches(self.annotations):
            return []
        return [self._entry()] * self.times

    def _entry(self):
        entry = self.hook.entry(self.args, self.wrapper)
        if self.timeout is not None:
            entry["timeout"] = self.timeout
        if self.timeout == 0:
            del entry["timeout"]
        if self.no_env:
            del entry["env"]
        return entry

    def run(self, script="echo started"):
        """Run `script` in the container to its end."""
        return at_once([self], script)[0]

    def mounts(self, target="/srv"):
        """The mounts that the container finds at and below `target`."""
        result = self.run("cat /proc/self/mountinfo")
        assert result.code == 0, (result.err, result.said)
        return [mount for mount in mounts.parse(result.out) if mount.below(target)]


def at_once(boxes, script):
    """Run one script in several containers at the same time; gives the results, in order."""
    runs = [box.start(script) for box in boxes]
    results = [run.finish() for run in runs]
    for box, run in zip(boxes, runs):
        # Looked at only now: runc itself mounts on the host for a moment while it starts.
        box.host.check()
        assert run.name not in box.runtime.left_over(), "the runtime still has the container"
    return results
