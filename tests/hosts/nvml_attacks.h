// SPDX-License-Identifier: Apache-2.0
#pragma once

/** Tries the attack of that name, and writes "NAME=done", or why not: "NAME=EPERM". */
void attack(const char *name, const char *argument, int answer);

/** Writes what is in a directory, in order: "PATH: NAME NAME". */
void show_directory(const char *path, int answer);
