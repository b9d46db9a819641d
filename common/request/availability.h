// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "host/pci_address.h"
#include "request/selectors.h"

namespace ogh {

/** A device of this host that a container may ask for. A vendor's inventory makes the list, in PCI order. */
struct Candidate {
    /** Its place as the vendor's tools count; nothing for what they do not count. */
    std::optional<unsigned> index;
    PciAddress address;
    /** Of a part of a device: that device's place in the list. It is allowed where that one is. */
    std::optional<size_t> whole = {};
    std::string lease_key;           ///< the same for every name of it; see LeaseKey
    std::vector<std::string> names;  ///< each means this device; the case of letters does not matter
    std::vector<std::string> groups; ///< each means those devices of the group that may be given
    std::string description;         ///< for lists; plain text that can be pasted back, such as the UUID
    std::string problem;             ///< why it cannot be handed out; "" if it can
    ErrorKind problem_kind = ErrorKind::BrokenHost; ///< of the error if it is asked for nevertheless
    /** Why `all` and `any` leave it out although a name or a group may have it; "" if they do not. */
    std::string only_by_name;
    std::string closed =
        {}; ///< why this process may not open it; "" if it may, or nobody asked for `allowed`
    bool looks_dead = false; ///< that is its problem, see mark_dead()
};

/** The host's side. */
struct SelectionPolicy {
    std::optional<Selectors> allow = {};      ///< as parse_allowed_selectors() makes it; nothing: all
    std::optional<unsigned> max_devices = {}; ///< for one container
    bool is_most_by_key = false;              ///< it is the key's, which allows less than the host
    std::optional<Selectors> allow_too =
        {}; ///< of the key that was given; what is not in both is not handed out
};

/** Whether one of the candidate's names is `wanted`, in letters of either case. */
bool has_name(const std::vector<std::string> &names, const std::string &wanted);

/** The device that leases name by that key. @return nullptr if there is none */
const Candidate *find_by_lease_key(const std::vector<Candidate> &candidates, const std::string &key);

/** Nothing answers at its address: that is its problem, if it has no other. */
void mark_dead(Candidate &candidate);

/** "0 (GPU-…)"; what has no index is called by its description alone. */
std::string label(const Candidate &candidate);

/** "1 GPU", "2 GPUs" */
std::string count_text(size_t count);

/** The candidates under the host's policy, and how it is said what may be given. The arguments must outlive it. */
class Availability final {
public:
    Availability(const std::vector<Candidate> &candidates, const SelectionPolicy &policy);

    [[nodiscard]] size_t size() const { return candidates_.size(); }
    [[nodiscard]] const Candidate &at(size_t i) const { return candidates_[i]; }

    /** By --allow. */
    [[nodiscard]] bool is_allowed(size_t i) const { return allowed_[i]; }
    [[nodiscard]] bool is_usable(size_t i) const { return candidates_[i].problem.empty(); }
    /** Whether `all` and `any` may take it. */
    [[nodiscard]] bool is_common(size_t i) const
    {
        return is_allowed(i) && is_usable(i) && candidates_[i].only_by_name.empty();
    }

    /** Where those stand for which that holds, ascending. */
    template<typename Holds> [[nodiscard]] std::vector<size_t> places(const Holds &holds) const
    {
        std::vector<size_t> found;
        for (size_t i = 0; i < candidates_.size(); ++i) {
            if (holds(i))
                found.push_back(i);
        }
        return found;
    }

    /** For lists: why it cannot be given; "" if it can. */
    [[nodiscard]] std::string state(size_t i) const;

    /** How many devices there may be beside `used` ones. */
    [[nodiscard]] size_t remaining(size_t used) const;

    // Errors, which the caller throws. `text` is what was asked for, `within` the range that it was part of or "".

    /** There is not enough of it: by --allow, or at all. */
    [[nodiscard]] Error missing(const std::string &text) const;
    /** This process may open nothing of what may be given. */
    [[nodiscard]] Error none_open(const std::string &text) const;
    /** There is no such thing. */
    [[nodiscard]] Error unknown(const std::string &text, const std::string &within = "") const;
    [[nodiscard]] Error not_allowed(const std::string &text, const std::string &within = "") const;
    [[nodiscard]] Error unusable(size_t i, const std::string &text, const std::string &within = "") const;
    [[nodiscard]] Error too_many(size_t wanted) const;
    /** @param whose "of 'gfx1100'", "besides those that are named"; "" for any at all */
    [[nodiscard]] Error too_few(size_t wanted, size_t there, const std::string &whose) const;

private:
    [[nodiscard]] bool is_cut_by_policy() const;
    [[nodiscard]] bool is_cut_by_key() const;
    [[nodiscard]] bool has_some_by_name_alone() const;
    /** How many are allowed, and there, and cannot be given: what they leave too few of, no policy refuses. */
    [[nodiscard]] size_t out_of_order() const;
    /** What may be asked for here, whole, so that it can be pasted back. */
    [[nodiscard]] std::string text() const;

    const std::vector<Candidate> &candidates_;
    const SelectionPolicy &policy_;
    std::vector<bool> allowed_;
};

/** Whether a selector means a candidate. @param with_groups or by its own index, address or name alone */
bool means(const Selector &selector, const Candidate &candidate, bool with_groups);

/** Whether one that names something does, by a group of it too. */
bool is_named(const Selectors &selectors, const Candidate &candidate);

} // namespace ogh
