# SPDX-License-Identifier: Apache-2.0
"""The API of an engine, docker's or podman's for programs that speak docker's, as the runners of CI call it."""

import http.client
import json
import os
import socket
import subprocess
import threading
import time

from .docker import WITH_THE_TESTS
from .host import LIMIT_S

VERSION = "v1.40"


class Connection(http.client.HTTPConnection):
    """To a socket of this machine."""

    def __init__(self, path):
        super().__init__("localhost", timeout=LIMIT_S)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(LIMIT_S)
        self.sock.connect(os.fspath(self._path))


class Api:
    """Each call by a connection of its own."""

    def __init__(self, path):
        self._path = path

    def begin(self, method, path, body=None):
        """Sends a request; gives the connection, which has no answer yet."""
        connection = Connection(self._path)
        connection.request(method, f"/{VERSION}{path}", json.dumps(body) if body is not None else None,
                           {"Content-Type": "application/json"})
        return connection

    @staticmethod
    def answer(connection):
        """The status, and what is said."""
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, text

    def call(self, *words):
        return self.answer(self.begin(*words))

    def create(self, name, command, **host_config):
        """As a runner creates the container of a job. These tests do without CAP_SYS_RESOURCE."""
        limits = [{"Name": limit, "Soft": 1024, "Hard": 1024} for limit in ("nofile", "nproc")]
        status, text = self.call("POST", f"/containers/create?name={name}", {
            "Image": "localhost/image", "Cmd": ["sh", "-c", command], "OpenStdin": False,
            "HostConfig": {"NetworkMode": "none", "Ulimits": limits, **host_config}})
        assert status == 201, text
        return json.loads(text)["Id"]

    def start(self, name):
        return self.call("POST", f"/containers/{name}/start")

    def remove(self, name):
        return self.call("DELETE", f"/containers/{name}?force=true")


class PodmanService:
    """`podman system service` on a test's host."""

    def __init__(self, host, podman, path):
        # pylint: disable=consider-using-with
        self._service = subprocess.Popen(
            [*WITH_THE_TESTS, *host.command(podman.command("system", "service", "--time", "0", f"unix://{path}"))],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.api = Api(path)
        deadline = time.monotonic() + LIMIT_S
        while not path.exists():
            assert self._service.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)

    def close(self):
        self._service.terminate()
        self._service.wait(LIMIT_S)


class Starting(threading.Thread):
    """A start that may wait."""

    def __init__(self, api, name):
        super().__init__(daemon=True)
        self.connection, self.result = api.begin("POST", f"/containers/{name}/start"), None
        self.start()

    def run(self):
        try:
            self.result = Api.answer(self.connection)
        except OSError as error:
            self.result = (0, str(error))

    def end(self):
        """The status, and what is said."""
        self.join(LIMIT_S)
        return self.result
