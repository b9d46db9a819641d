// SPDX-License-Identifier: Apache-2.0
#include "oci/concourse_step.h"

#include <array>
#include <string_view>

#include "base/contains.h"
#include "base/path_names.h"

namespace ogh {

namespace {

constexpr std::string_view build_directory = "/tmp/build/";

/** The last is that of an earlier Concourse. */
constexpr std::array<std::string_view, 3> resource_directories{"/tmp/build/get", "/tmp/build/put",
                                                               "/tmp/build/check"};

/** Those that every container has, or every container of a resource (worker.go of atc/worker/gardenruntime). */
constexpr std::array<std::string_view, 6> common_targets{concourse_init, "/scratch",      "/etc/ssl/certs",
                                                         "/etc/hosts",   "/etc/hostname", "/etc/resolv.conf"};

/** As `%x` of the first four bytes of a SHA-256 writes it. */
bool is_task_directory(std::string_view target)
{
    constexpr size_t digits = 8;
    return target.starts_with(build_directory) && target.size() == build_directory.size() + digits &&
           target.find_first_not_of("0123456789abcdef", build_directory.size()) == std::string_view::npos;
}

} // namespace

ConcourseStep concourse_step(const Config &config)
{
    if (config.program != concourse_init)
        return ConcourseStep::None;
    bool task = false;
    bool resource = false;
    bool other = false;
    for (const BindMount &bind : config.binds) {
        const std::string &target = bind.destination;
        const std::string path = target.starts_with('/') ? without_dots(target) : "";
        if (is_task_directory(path))
            task = true;
        else if (contains(resource_directories, path))
            resource = true;
        else
            other = other || !contains(common_targets, path);
    }
    if (task || resource)
        return task && resource ? ConcourseStep::Unknown
               : task           ? ConcourseStep::Task
                                : ConcourseStep::Resource;
    return other ? ConcourseStep::Unknown : ConcourseStep::Resource;
}

} // namespace ogh
