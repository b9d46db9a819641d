// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dotted_version.h"
#include "request/request.h"

namespace ogh::nvidia_devices {

// The language of NVIDIA_REQUIRE_*: "cuda>=12.1 brand=tesla,driver>=550,driver<551". Blanks separate alternatives, of which
// one has to hold; commas join terms, all of which have to.

/** What may be required of a GPU or of its driver. */
enum class Property {
    Cuda,   ///< the version of CUDA that the driver has
    Driver, ///< its own version
    Arch,   ///< the GPU's compute capability
    Brand,  ///< as NVML calls it: "geforce"
};

enum class Comparison { Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual };

struct Term {
    Property property = Property::Cuda;
    Comparison comparison = Comparison::Equal;
    DottedVersion version = {}; ///< of all but Brand
    std::string brand = {};     ///< in small letters

    bool operator==(const Term &) const = default;
};

/** One requirement. */
struct Requirement {
    std::string text;   ///< as it was written
    std::string origin; ///< who says so, for messages: "environment variable 'NVIDIA_REQUIRE_CUDA'"
    std::vector<std::vector<Term>> alternatives; ///< none: it holds

    bool operator==(const Requirement &) const = default;
};

/**
 * Empty alternatives and empty terms are dropped. Letters of names and brands may be of any case.
 * @throws Error (Usage) for a term that cannot be understood, wherever it stands
 */
Requirement parse_requirement(const RequestValue &required);

/** A version that is known, or of which only the least is. */
struct KnownVersion {
    DottedVersion version;
    bool or_newer = false;

    bool operator==(const KnownVersion &) const = default;
};

/** What is known of a GPU and its driver; nothing, or empty, for what is not. */
struct GpuFacts {
    std::optional<KnownVersion> cuda = {};
    std::optional<KnownVersion> arch = {};
    std::string driver = {};                   ///< "555.42.07"
    std::vector<std::string_view> brands = {}; ///< one of these, in small letters
};

enum class Answer { No, NotKnown, Yes };

/** Whether `requirement` is met; NotKnown if that depends on what is not known. Pure. */
Answer is_met(const Requirement &requirement, const GpuFacts &facts);

} // namespace ogh::nvidia_devices
