# SPDX-License-Identifier: Apache-2.0
"""What the hooks add to a pod's start: rounds of pods with and without them, each of which has the node to itself."""

import random
import re
import statistics
import time
from datetime import datetime

# Of containerd's log: both calls have the runtime create a container, and so have the hooks run.
CALL = re.compile(r'time="(\S+)" level=info msg="(?:RunPodSandbox|StartContainer) for (.*)"', re.IGNORECASE)
WITHOUT, WITH = None, "gpu"  # runtime classes
QUANTITIES = ("containerd's calls", "the whole start")
SETTLE_S = 1  # in which kubelet takes down what is left of the last pod


def milliseconds(text):
    return datetime.fromisoformat(text).timestamp() * 1000


def in_calls(log):
    """Milliseconds that containerd took for them."""
    return sum(milliseconds(at) * (1 if " returns " in rest else -1) for at, rest in CALL.findall(log))


class PodTimes:
    """Of a Kubelet."""

    def __init__(self, kubelet):
        self._kubelet, self._log = kubelet, kubelet.node.directory / "log"
        self._number = 0
        # By what is measured, how many GPUs a pod has, and its runtime class.
        self.times = {(what, gpus, runtime): [] for what in QUANTITIES for gpus in (0, 1) for runtime in (WITHOUT, WITH)}

    def _once(self, gpus, runtime):
        time.sleep(SETTLE_S)
        self._number += 1
        name, before = f"pod-{self._number}", len(self._log.read_text("utf-8"))
        began = time.time() * 1000
        printed = self._kubelet.pod(name, "echo /dev/nvidia*", gpus, runtimeClassName=runtime)
        assert ("/dev/nvidiactl" in printed) == (gpus > 0 and runtime == WITH), printed
        first_line, _ = next(self._kubelet.lines_of(name))
        self._kubelet.end_pods()
        return in_calls(self._log.read_text("utf-8")[before:]), milliseconds(first_line) - began

    def measure(self, rounds):
        ways = [(gpus, runtime) for gpus in (0, 1) for runtime in (WITHOUT, WITH)]
        for number in range(rounds + 1):
            # What the last one has left to the kernel is a different one's share each time.
            for way in random.sample(ways, len(ways)):
                for what, taken in zip(QUANTITIES, self._once(*way)):
                    if number > 0:  # the first round fills caches
                        self.times[(what, *way)].append(taken)

    def _added(self, what, gpus):
        without, with_them = (self.times[what, gpus, runtime] for runtime in (WITHOUT, WITH))
        return (f"{statistics.median(with_them) - statistics.median(without):.1f} "
                f"({min(with_them) - min(without):.1f})")

    def table(self):
        """As tests/bench/engines prints it, and of a start without hooks the quartiles."""
        lines = ["| a pod | alone | nothing | a GPU of NVIDIA's |", "|---|---|---|---|"]
        for what in QUANTITIES:
            low, alone, high = statistics.quantiles(self.times[what, 0, WITHOUT], n=4)
            lines.append(f"| {what} | {alone:.0f} [{low:.0f} to {high:.0f}] | {self._added(what, 0)} | {self._added(what, 1)} |")
        return "\n".join(lines)
