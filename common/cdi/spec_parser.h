// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cdi/spec.h"
#include "cdi/yaml_text.h"

namespace ogh::cdi {

/** A value of a specification, as strict as the reference implementation (encoding/json of Go) is about what it may be. */
class Value final {
public:
    /** @param node outlives it */
    explicit Value(const YamlNode &node) : node_(&node) {}

    [[nodiscard]] bool is_null() const;

    /** @throws Error (BrokenHost) for a list, a mapping, or a NUL in it: it would cut a path short */
    [[nodiscard]] std::string text() const;

    /** @throws Error (BrokenHost) if it is no whole number from `least` to `most`. Null is 0 */
    [[nodiscard]] std::int64_t number(std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                                      std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;

    /** A number of 32 bits; nothing for null. @throws Error (BrokenHost) as number() */
    [[nodiscard]] std::optional<std::uint32_t> small_number() const;

    /** @throws Error (BrokenHost) if it is no list; null is an empty one */
    [[nodiscard]] std::vector<Value> list() const;

    /** @throws Error (BrokenHost) if it is neither true nor false; null is false */
    [[nodiscard]] bool flag() const;

    /** Each a text; null is an empty list. */
    [[nodiscard]] std::vector<std::string> texts() const;

    [[nodiscard]] Error wrong(const std::string &why) const;

private:
    friend class Fields;

    const YamlNode *node_;
};

/** How names are compared. */
enum class Case { Any, Exact };

/** A mapping. Each of its fields has to be asked for, or is not known. */
class Fields final {
public:
    /**
     * @param value null is an empty one
     * @throws Error (BrokenHost) if it is no mapping, a key is no text or is there twice
     */
    explicit Fields(const Value &value, Case names = Case::Any);

    /** The field of that name, in whatever case it is written; null if it is absent. */
    [[nodiscard]] Value take(std::string_view name);

    [[nodiscard]] bool empty() const { return fields_.empty(); }

    /** @throws Error (BrokenHost) if one of them, whatever its name, is no text */
    void check_texts() const;

    /** @throws Error (BrokenHost) that names a field which was not asked for */
    void finish() const;

private:
    struct Field {
        std::string name;
        Value value;
        bool taken = false;
    };

    void check_unique(const Value &value, Case names_as) const;

    std::vector<Field> fields_;
};

/** Whether somebody wants to know more of a device than its name: called with its kind and its name. */
using IsWanted = std::function<bool(std::string_view, std::string_view)>;

/**
 * A specification, in JSON or YAML: versions 0.3.0 to 1.1.0. Whatever the reference implementation refuses is refused.
 * Pure.
 * @param is_wanted the edits of other devices are checked, and left out: a file may have a thousand. Empty: all are
 * @throws Error (BrokenHost) that says what is wrong, and in which line
 */
Spec parse_spec(std::string_view text, const IsWanted &is_wanted = {});

} // namespace ogh::cdi
