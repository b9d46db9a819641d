// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace ogh::test {

/** A directory of its own for one test, removed with what is in it. */
class TempDirectory {
public:
    TempDirectory()
    {
        std::string name = (std::filesystem::temp_directory_path() / "ogh-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("mkdtemp failed");
        path_ = std::filesystem::canonical(name);
    }
    TempDirectory(const TempDirectory &) = delete;
    TempDirectory &operator=(const TempDirectory &) = delete;
    ~TempDirectory()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] std::string path(const std::string &name = "") const
    {
        return name.empty() ? path_.string() : path_.string() + "/" + name;
    }

    void directory(const std::string &name) const { std::filesystem::create_directories(path(name)); }

    void file(const std::string &name, const std::string &text = "") const
    {
        std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
        std::ofstream(path(name), std::ios::binary) << text;
    }

    void link(const std::string &name, const std::string &target) const
    {
        std::filesystem::create_symlink(target, path(name));
    }

private:
    std::filesystem::path path_;
};

} // namespace ogh::test
