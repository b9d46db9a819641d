# SPDX-License-Identifier: Apache-2.0
"""Several containers at the same time, over the same source directory."""

import re

from harness.box import at_once
from harness.expect import started

# Each waits until all have written, so that all of them are there at the same time.
MEET = """
cat /srv/datasets/words
echo $HOSTNAME > /srv/outputs_rw/$NAME
tries=0
while [ $(ls /srv/outputs_rw | wc -l) -lt $COUNT ] && [ $tries -lt 600 ]; do
    sleep 0.1; tries=$((tries + 1))
done
ls /srv/outputs_rw | wc -l
touch /srv/datasets/new 2> /dev/null && echo written
grep -c ' /srv/' /proc/self/mountinfo
"""


def boxes_that_meet(count, srv, new_box):
    srv.directories("datasets", "models")
    (srv / "outputs_rw").mkdir()
    boxes = [new_box("all") for _ in range(count)]
    for number, box in enumerate(boxes):
        box.bundle.environment(f"NAME=box-{number}", f"COUNT={count}")
    return boxes


def meet(count, srv, new_box):
    results = at_once(boxes_that_meet(count, srv, new_box), MEET)
    for result in results:
        assert started(result) == f"words of datasets\n{count}\n3\n"
    names = sorted(path.name for path in (srv / "outputs_rw").iterdir())
    assert names == sorted(f"box-{number}" for number in range(count))


def test_two_containers_at_once(srv, new_box):
    meet(2, srv, new_box)


def test_fifty_containers_at_once(srv, new_box):
    meet(50, srv, new_box)


def test_containers_with_different_requests_at_once(srv, new_box):
    """Each gets its own; one that is refused does not trouble the others."""
    srv.directories(*(f"directory-{number}" for number in range(20)))
    boxes = [new_box(f"directory-{number}") for number in range(20)] + [new_box("nonsense")]
    results = at_once(boxes, "ls /srv")
    assert [result.out for result in results] == [f"directory-{n}\n" for n in range(20)] + [""]
    assert re.search("exit status 3", results[-1].err)
