// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "lease/lease_changes.h"
#include "lease/lease_store.h"

namespace ogh {

/**
 * Devices that a container has. What was added by it is given back at the end, unless keep() was called; what the
 * container had before is not touched. Works after entering the container.
 */
class Lease final {
public:
    /** The devices, and no lease of them. */
    explicit Lease(std::vector<LeaseKey> devices) : devices_(std::move(devices)) {}
    Lease(std::shared_ptr<const LeaseStore> store, Grant grant, std::vector<LeaseKey> devices)
        : store_(std::move(store)), grant_(std::move(grant)), devices_(std::move(devices))
    {
    }
    Lease(const Lease &) = delete;
    Lease &operator=(const Lease &) = delete;
    Lease(Lease &&other) noexcept;
    ~Lease() { release(); }

    /** All that was asked for: `fixed` of the demand in its order, and then what was chosen of the candidates. */
    [[nodiscard]] const std::vector<LeaseKey> &devices() const { return devices_; }

    /**
     * Writes down what the container's device cgroup allows for the devices, by which they can be taken away from it again,
     * as far as that is possible. Call it when the container has been given them.
     */
    void note_rules(const DeviceRules &rules);

    /** The container is complete: it has the devices until it ends. */
    void keep() noexcept { store_.reset(); }

    /**
     * Gives back what was added, as far as that is possible: what stays is free when the container, which is not going to
     * start, has ended. A second time does nothing.
     */
    void release() noexcept;

    /** The same, and the request waits again, at the place that its number has. @throws Error */
    void exchange_for(Ticket request);

private:
    std::shared_ptr<const LeaseStore> store_; ///< nothing: there is nothing to give back
    Grant grant_;
    std::vector<LeaseKey> devices_;
};

} // namespace ogh
