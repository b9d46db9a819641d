// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ogh {

/**
 * What is done, or what it is done to, in words of a message. They are put together where there is a message: there is one
 * for each system call that could fail, and to quote a path takes as long as some of these calls. It is an argument and
 * no more, as it refers to texts that are its caller's.
 */
class What final {
public:
    What(const std::string &words) : words_(words) {} ///< by itself, where a function takes one
    What(const char *words) : words_(words) {}

    /** A path, in quotes in the message. @param behind what follows it */
    static What path(std::string_view path, std::string_view behind = {}) { return {{}, path, behind}; }

    /** @param words before the path, with a blank at the end */
    static What doing(std::string_view words, std::string_view path) { return {words, path, {}}; }

    [[nodiscard]] std::string text() const;

private:
    What(std::string_view words, std::string_view path, std::string_view behind)
        : words_(words), path_(path), behind_(behind), has_path_(true)
    {
    }

    std::string_view words_;
    std::string_view path_;
    std::string_view behind_;
    bool has_path_ = false;
};

} // namespace ogh
