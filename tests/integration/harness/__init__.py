# SPDX-License-Identifier: Apache-2.0
"""What the integration tests stand on: hosts, bundles, runtimes and hooks.d files."""
