// SPDX-License-Identifier: Apache-2.0
#include "oci/one_reading.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/contains.h"
#include "base/error.h"
#include "base/letters.h"
#include "base/text.h"

namespace ogh {

namespace {

using nlohmann::json;

/** Members of config.json that a hook looks at, at whatever depth; see parse_config(). */
constexpr auto known_names = std::to_array<std::string_view>(
    {"additionalGids", "allow",      "annotations", "args", "capabilities", "cgroupsPath", "destination",
     "devices",        "effective",  "env",         "gid",  "hooks",        "linux",       "major",
     "minor",          "mountLabel", "mounts",      "path", "process",      "readonly",    "resources",
     "root",           "source",     "timeout",     "type", "uid",          "user"});

/** Of an object with one of these names the members are anybody's, and each name is what it is in its own case. */
constexpr auto free_names =
    std::to_array<std::string_view>({"annotations", "sysctl", "unified", "netDevices"});

/** As Go folds names: two letters beyond ASCII are letters of it in another case. */
std::string folded(std::string name)
{
    for (const auto &[letter, as] : {std::pair{"\u017f", "s"}, std::pair{"\u212a", "k"}})
        for (size_t at = name.find(letter); at != std::string::npos; at = name.find(letter))
            name.replace(at, std::string_view(letter).size(), as);
    std::transform(name.begin(), name.end(), name.begin(), to_lower);
    return name;
}

class NameCheck final : public json::json_sax_t {
public:
    explicit NameCheck(const char *what) : what_(what) {}

    bool start_object(size_t /*elements*/) override
    {
        open_.push_back({std::exchange(next_is_free_, false), {}});
        return true;
    }

    bool end_object() override
    {
        open_.pop_back();
        return true;
    }

    bool key(std::string &name) override
    {
        Object &object = open_.back();
        const std::string common = object.is_free ? name : folded(name);
        if (!object.names.insert(common).second)
            throw refused(name, "is there twice, perhaps in another case");
        const auto is_known = [&](std::string_view known) { return is_same_word(known, common); };
        const auto known = std::find_if(known_names.begin(), known_names.end(), is_known);
        if (!object.is_free && known != known_names.end() && *known != name)
            throw refused(name, "is " + quote(*known) + " to some runtimes, and nothing to others");
        next_is_free_ = !object.is_free && contains(free_names, name);
        return true;
    }

    bool start_array(size_t /*elements*/) override { return scalar(); }
    bool end_array() override { return true; }
    bool null() override { return scalar(); }
    bool boolean(bool /*value*/) override { return scalar(); }
    bool number_integer(json::number_integer_t /*value*/) override { return scalar(); }
    bool number_unsigned(json::number_unsigned_t /*value*/) override { return scalar(); }
    bool number_float(json::number_float_t /*value*/, const std::string & /*text*/) override
    {
        return scalar();
    }
    bool string(std::string & /*value*/) override { return scalar(); }
    bool binary(json::binary_t & /*value*/) override { return scalar(); }
    bool parse_error(size_t /*at*/, const std::string & /*token*/, const json::exception & /*error*/) override
    {
        return false; // whoever has read it as JSON says so
    }

private:
    struct Object {
        bool is_free;
        std::set<std::string> names;
    };

    bool scalar()
    {
        next_is_free_ = false;
        return true;
    }

    [[nodiscard]] Error refused(const std::string &name, const std::string &why) const
    {
        return {ErrorKind::Failure, std::string(what_) + ": the member " + quote(name) + " " + why};
    }

    const char *what_;
    std::vector<Object> open_;
    bool next_is_free_ = false; ///< the members of the value that comes next
};

} // namespace

void check_one_reading(std::string_view text, const char *what)
{
    NameCheck check(what);
    json::sax_parse(text, &check);
}

} // namespace ogh
