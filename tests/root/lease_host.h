// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "../support/expect.h"
#include "../support/temp_directory.h"
#include "lease/leases.h"
#include "lease/presence/presence.h"

namespace ogh::test {

/** The first process of a pid namespace of its own, or an ordinary one; it sleeps, and ends with this object. */
class Init final {
public:
    enum class Kind {
        Own,
        Joined,
        Started, ///< as Own, and has executed a program, as that of a container that runs
    };
    explicit Init(Kind kind = Kind::Own);
    /** What an init does. */
    using Program = void (*)(const std::vector<std::string> &words);

    /** As Started; its program is this one again, which does that and then waits. */
    explicit Init(Program program, std::vector<std::string> words = {});

    /** What main() calls first: as the program of an Init it does not return. */
    static void begin(int argc, char **argv);

    Init(Init &&other) noexcept;
    Init &operator=(Init &&other) noexcept;
    Init(const Init &) = delete;
    Init &operator=(const Init &) = delete;
    ~Init() { end(); }

    [[nodiscard]] pid_t pid() const { return pid_; }
    void end() noexcept;

private:
    void start(Kind kind, const std::vector<std::string> &program);

    pid_t pid_ = -1;
};

/** A host whose lease directory is below a directory of its own. */
struct LeaseHost : TempDirectory {
    [[nodiscard]] LeaseList list(const PreemptionPolicy &policy = {}) const
    {
        const LeaseStore store{LeaseDirectory(Sysroot(path()))};
        {
            LeaseStore::Session session = store.open(); // once whoever has the lock has given it back
            drop_gone(store.processes(), session.state());
            session.save();
        }
        LeaseList found = Leases::look(Sysroot(path()), policy);
        std::erase_if(found.entries, [](const LeaseEntry &entry) { return !entry.lives; });
        return found;
    }
    [[nodiscard]] std::string state_path() const { return path("run/oci-gpu-hooks/leases/state"); }
    [[nodiscard]] std::string state() const;
    [[nodiscard]] LeaseState lease_state() const; ///< what it says
    [[nodiscard]] bool has_ticket(std::uint64_t number) const;
    void write_state(const std::string &text) const;

    /** A request for all of `keys` of the container whose init that is. */
    [[nodiscard]] static LeaseRequest request(const Init &init, std::vector<LeaseKey> keys,
                                              LeaseMode mode = LeaseMode::Exclusive);

    /** Takes them for good. @return the exit code: 0, or of the error */
    int take(const LeaseRequest &request) const;

    /** What taking them fails with. */
    [[nodiscard]] Failure refusal(const LeaseRequest &request) const;
};

} // namespace ogh::test
