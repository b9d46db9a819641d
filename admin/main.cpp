// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <cstdio>
#include <exception>

#include "base/error.h"
#include "base/exit_status.h"
#include "commands/command.h"

namespace {

int failed(ogh::ErrorKind kind, const char *message)
{
    std::fprintf(stderr, "oci-gpu-hooks: %s\n", message);
    return static_cast<int>(ogh::exit_status(kind));
}

} // namespace

int main(int argc, char **argv)
{
    ::umask(S_IWGRP | S_IWOTH); // what is written here is for all to read
    try {
        return ogh::admin::run_command(argc, argv);
    } catch (const ogh::Error &error) {
        return failed(error.kind(), error.what());
    } catch (const std::exception &error) {
        return failed(ogh::ErrorKind::Failure, error.what());
    }
}
