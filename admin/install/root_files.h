// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/undo_log.h"
#include "base/unique_fd.h"
#include "host/sysroot.h"
#include "registration/manifest.h"

namespace ogh::admin {

inline constexpr mode_t file_mode = 0644;
inline constexpr mode_t executable_mode = 0755;

/** What lies where a file is to be. */
struct PresentFile {
    bool exists = false;
    bool is_plain = false; ///< and not a symlink, a directory or anything else
    std::string text;      ///< of a plain file
    mode_t mode = 0;       ///< the same
};

/**
 * Looks at files below a root, and writes them as root. Paths are absolute below it, and a symlink at their end is never
 * followed. Each change is whole or not at all, on the disk before the next one is made, where it was read again, and on
 * the undo log: what is not kept is taken back.
 */
class RootFiles final {
public:
    /**
     * The files of the host. No symlink on the way is followed: where one of an administrator leads is theirs to know. All
     * directories on the way have to be root's alone.
     */
    static RootFiles of_host(const Sysroot &sysroot);

    /**
     * Before anything of the host is written; until then nothing is made. Whoever can open the file can lock it, so it is
     * one that only root can open.
     * @param waits until another process gives the lock back
     * @throws Error (Busy) if another process has the lock, (BrokenHost) if others can open it
     */
    void lock(bool waits = false);

    /** @throws Error (BrokenHost), as all others, if a directory on the way is not as it has to be */
    [[nodiscard]] PresentFile look(const std::string &path) const;

    /**
     * Gives the file this text, with root as its owner; makes the directories on the way.
     * @param aside where the file lies under another name until it is whole: a directory of the same filesystem in which that
     *        does no harm; "" for the file's own
     */
    void write(const std::string &path, std::string_view text, mode_t mode = file_mode,
               const std::string &aside = "");

    /**
     * Puts a program in the place of what is there, with mode 0755. This is not on the undo log.
     * @param kept the name in the same directory that what was there has from then on; "" for none
     * @throws Error; what was there is there then
     */
    void replace_program(const std::string &path, std::string_view text, const std::string &kept) const;

    /** A file that is not there, or is no plain one, stays so. */
    void remove(const std::string &path);

    /** Removes the directory that a path is in, and those above up to `top`, as long as nothing is in them. */
    void remove_empty_directories(const std::string &path, const std::string &top) const;

    /** What was done stays. */
    void keep() noexcept { undo_.drop(); }

private:
    explicit RootFiles(UniqueFd root) : root_(std::move(root)) {}

    [[nodiscard]] std::optional<UniqueFd> find_directory(const std::string &path) const;
    [[nodiscard]] UniqueFd open_directory(const std::string &path) const;
    UniqueFd make_directory(const std::string &path);
    /** Until it is whole, as it is read again from the disk, it lies in `aside`. */
    void put(const std::string &path, std::string_view text, mode_t mode, const std::string &aside) const;
    void unlink(const std::string &path) const;
    void add_undo(const std::string &path, const PresentFile &before, const std::string &aside);

    UniqueFd root_;
    UniqueFd lock_;
    UndoLog undo_;
};

/** What lies there now: of a part, what stands between its two lines, see marked(). @throws Error (BrokenHost) */
PresentFile look_at(const RootFiles &root, const InstalledFile &file);

/** Whether it is as it was written, or, where `install` was killed, as that was to replace it. */
bool is_as_written(const InstalledFile &file, const PresentFile &present);

/** Puts a part of a file there, as marked() gives it, or takes it away: "". The rest stays, and so does the mode. */
void write_part(RootFiles &root, const InstalledFile &file, const std::string &text);

/** Takes the file away, or the part. */
void remove_written(RootFiles &root, const InstalledFile &file);

/** Writes the list, or removes it where it is empty. @throws Error */
void store(RootFiles &root, const Manifest &manifest, const std::string &path = Manifest::path);

} // namespace ogh::admin
