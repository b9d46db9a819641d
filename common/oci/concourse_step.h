// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "oci/config.h"

namespace ogh {

/** The program of every container of Concourse's, which only waits: what a step runs is started in it later. */
constexpr std::string_view concourse_init = "/tmp/gdn-init";

/** What a container is to Concourse. */
enum class ConcourseStep {
    None,     ///< it is not one of Concourse's
    Task,     ///< also one of `fly execute`
    Resource, ///< get, put or check: it runs the image of a resource type
    Unknown,  ///< Concourse's, with mounts that none of these has, or with those of both
};

/**
 * Tells Concourse's containers apart by what its web node and worker alone decide: the program and where volumes are
 * mounted. Environment, image and the name of a step are not looked at. Concourse 7.9.1 to 8.2.5:
 *
 * - The program of every container is concourse_init (worker/runtime/spec/spec.go).
 * - A get has a volume at /tmp/build/get, a put one at /tmp/build/put (atc/engine/step_factory.go, atc/exec/get_step.go,
 *   put_step.go). A check has no volume but those of every container (atc/exec/check_step.go).
 * - A task has one at /tmp/build/ and 8 hex digits, of its step's name (atc/engine/step_factory.go).
 *
 * A volume at one more of these places can be brought about: by an artifact of the name "../0123abcd" in a put, by the
 * absolute path of a cache in a task. No step can be without its own.
 */
ConcourseStep concourse_step(const Config &config);

} // namespace ogh
