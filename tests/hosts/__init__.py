# SPDX-License-Identifier: Apache-2.0
"""Hosts that are made up, each below a directory: for the tests with containers, the benchmarks, the demo and the virtual
machine. Who is not written in Python calls `make`."""
