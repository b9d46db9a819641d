// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/sysroot.h"

namespace ogh::admin {

// A part of somebody's file, between two lines that say so. The rest is left as it is.

/** @param text whole lines @return with the two lines around it, which have the name */
std::string marked(const std::string &name, const std::string &text);

/** With both lines. @return nothing if there is none @throws Error (BrokenHost) if one line is there without the other */
std::optional<std::string> part_in(const std::string &text, const std::string &name);

/**
 * The text with another part of that name, at the end where there is none so far.
 * @param part as marked() gives it; "" for none
 * @throws Error, as part_in()
 */
std::string with_part(const std::string &text, const std::string &name, const std::string &part);

/** A file that was written for engines, or a part of one, and that is to be known again. */
struct InstalledFile {
    std::string path;
    std::string hash;                 ///< of the text that it was written with
    std::vector<std::string> engines; ///< that it was written for
    std::string hook;                 ///< that it registers; "" for a file of an engine's configuration
    std::vector<std::string> options; ///< of the hook
    std::string part{}; ///< its name, of a part of somebody's file, see marked(); "" for a whole file
    std::string
        before{}; ///< while it is written: the hash of what it replaces; "" if that is nothing, and afterwards
};

/** Where what calls the hooks is kept while they are not installed, each file below this by its own path. */
inline constexpr const char *kept_directory = "/var/lib/oci-gpu-hooks/disabled";
std::string kept_path(const InstalledFile &file);

/**
 * What `install` has written on this host: a file that differs from what stands here was changed by somebody, and is
 * theirs. What it is about to write stands here before it is there, so that whatever is in effect is known, whenever it
 * is killed.
 */
struct Manifest {
    static constexpr const char *path = "/var/lib/oci-gpu-hooks/installed.json";

    std::vector<InstalledFile> files; ///< in the order in which they were first written

    /** @throws Error (BrokenHost) if it cannot be read, or is not what to_text() gives */
    static Manifest read(const Sysroot &sysroot);

    /** @param file whose text it is. @throws Error (BrokenHost) if it is nothing that 'install' writes */
    static Manifest parse(std::string_view text, const std::string &file);

    [[nodiscard]] std::string to_text() const;

    /** @return nullptr if there is none of that path, or no such part of it */
    [[nodiscard]] const InstalledFile *find(std::string_view wanted, std::string_view part = "") const;

    /** Adds the file, or changes what is said of it: its engines are added to those that it has. */
    void add(InstalledFile file);
};

} // namespace ogh::admin
