// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/pci_address.h"

namespace ogh {

/** What somebody says in a hook's own grammar. */
struct RequestValue {
    std::string value;  ///< never empty
    std::string origin; ///< who says it, for messages: "annotation 'io.oci-gpu-hooks.mount-srv'"

    bool operator==(const RequestValue &) const = default;
};

/** The longest value that is looked at, in bytes. */
constexpr std::size_t max_request_size = 65536;

/** @param verb behind `origin` in the message. @throws Error (Usage) for a value that is longer than that */
RequestValue request_value(std::string value, std::string origin, const char *verb = "is");

/** `0` or `0-3`: places in the list of GPUs in PCI order, both ends included. */
struct IndexRange {
    unsigned first = 0;
    unsigned last = 0;

    bool operator==(const IndexRange &) const = default;
};

/**
 * `0` or `0-3`, as people write it.
 * @return nothing for anything else, a number above `limit`, or a range that runs backwards
 */
std::optional<IndexRange> parse_index_range(std::string_view item, unsigned limit);

/** What each vendor names its devices by: a UUID, `renderD129`, `gfx1100`, `0:3`. Its inventory knows what there is. */
struct DeviceName {
    std::string text;

    bool operator==(const DeviceName &) const = default;
};

/** One GPU, or some, named in a request. */
struct Selector {
    std::string text; ///< as it was written, for messages
    std::variant<IndexRange, PciAddress, DeviceName> what;

    bool operator==(const Selector &) const = default;
};

/** What a container asks of a GPU hook. */
struct Selectors {
    bool none = false;        ///< `none`: no GPU, and nothing else is set
    bool environment = false; ///< `env`: the variables for the vendor's tools say it; nothing else is set
    bool all = false;
    unsigned any = 0;                 ///< N of `any:N` and `any:GROUP:N`; 0 if it was not asked for
    std::vector<Selector> named = {}; ///< as they were written, without repeats
    bool allowed = false;             ///< `allowed`: of `all`, what this process may open itself
    std::string any_of = {};          ///< GROUP of `any:GROUP:N`; "" for any at all

    bool operator==(const Selectors &) const = default;
};

/**
 * Understands `none`, `env`, or a list, separated by commas, of `all`, `any:N`, `any:GROUP:N`, `allowed`, indices and
 * ranges, PCI addresses and names. Blanks around items and repeats are allowed.
 * @throws Error (Usage) for an empty item or one that nothing could be called; `none` or `env` beside others; two of
 *         `all`, `allowed`, `any:N` and another `any:N`
 */
Selectors parse_selectors(const RequestValue &asked);

/**
 * A list of GPUs that the host allows: the same without `none`, `env`, `any:N` and `allowed`.
 * @throws Error (Usage)
 */
Selectors parse_allowed_selectors(const RequestValue &asked);

/**
 * Adds `any:N` or `any:GROUP:N` to what `selectors` has.
 * @param asked the whole value, for messages
 * @return whether the item is one of these
 * @throws Error (Usage) if its number or group is none that can be meant, or `selectors` has another one
 */
bool add_any(std::string_view item, const RequestValue &asked, Selectors &selectors);

/**
 * One item that is no keyword: an index, a range, a PCI address or a name.
 * @param asked the whole value, for messages
 * @throws Error (Usage)
 */
Selector parse_selector(std::string_view item, const RequestValue &asked);

} // namespace ogh
