// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "host/sysroot.h"
#include "oci/container_label.h"

namespace ogh {

/**
 * A line of the history: an object of JSON, in ASCII, each member once. What is not known, or empty, is left out. Texts may
 * be anybody's: each is cut.
 */
class HistoryLine final {
public:
    static constexpr size_t max_text = 2000; ///< of one, before it is escaped

    void add(std::string_view name, std::string_view text);
    void add(std::string_view name, const std::vector<std::string> &texts);

    void add_number(std::string_view name, std::uint64_t number);

    /** As seconds, to the millisecond. */
    void add_time(std::string_view name, std::int64_t ns);

    /** With its end. */
    [[nodiscard]] std::string end() && { return std::move(text_) + "}\n"; }

private:
    void add_json(std::string_view name, const std::string &value);

    std::string text_ = "{";
};

/** What the container is called: "name", "image", "user" and "asker". */
void add_label(HistoryLine &line, const ContainerLabel &label);

/** Where it is, below the sysroot, if nobody says otherwise. */
constexpr const char *default_history = "/var/lib/oci-gpu-hooks/history";

/** How long it may become; then it is renamed to NAME.1, in place of the one before. In bytes. */
constexpr size_t max_history = size_t{4} << 20U;

/**
 * The file that says who had which GPU, and who was refused: a line of JSON for each event, see HistoryLine. It is root's
 * alone to read, as it says who works with what. It works after entering a container, and no event waits for it or fails
 * by it: what goes wrong is kept for the log.
 */
class History final {
public:
    /**
     * Opens nothing but the root.
     * @param path absolute, below the sysroot. No component may be a symlink; its directories are made if they are missing
     * @param hook its name, which stands in each line
     * @throws Error (BrokenHost)
     */
    History(const Sysroot &sysroot, std::string path, std::string hook);

    /** A line with the time, the event and the hook. */
    [[nodiscard]] HistoryLine begin(std::string_view event) const;

    /** Adds the line in one write, so that those of hooks that run at once do not mix. */
    void add(HistoryLine line) noexcept;

    /** What went wrong first, for the log; "" if nothing did. */
    [[nodiscard]] const std::string &problem() const { return problem_; }

private:
    void write(const std::string &text) const;
    [[nodiscard]] UniqueFd open_directory(const std::string &path) const;
    void rotate(int directory, int file) const;

    UniqueFd root_;
    std::string path_;
    std::string hook_;
    std::string problem_;
};

} // namespace ogh
