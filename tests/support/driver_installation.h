// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "support/elf_image.h"
#include "support/ld_cache_image.h"
#include "support/temp_directory.h"

namespace ogh::test {

#if defined(__aarch64__)
inline const std::string triplet = "aarch64-linux-gnu";
inline constexpr std::uint16_t machine_64 = EM_AARCH64;
inline constexpr std::uint16_t machine_32 = EM_ARM;
inline constexpr std::int32_t flags_64 = 0x0A03;
inline constexpr std::int32_t flags_32 = 0x0903;
#else
inline const std::string triplet = "x86_64-linux-gnu";
inline constexpr std::uint16_t machine_64 = EM_X86_64;
inline constexpr std::uint16_t machine_32 = EM_386;
inline constexpr std::int32_t flags_64 = 0x0303;
inline constexpr std::int32_t flags_32 = 0x0003;
#endif

/** A library of this SONAME for this machine. */
inline ElfImage library_image(const std::string &soname, bool is_32 = false)
{
    ElfImage image;
    image.is_64 = !is_32;
    image.machine = is_32 ? machine_32 : machine_64;
    image.soname = soname;
    return image;
}

/** A directory with the files of a synthetic driver in the place of a host's root. */
class DriverInstallation : public TempDirectory {
public:
    static inline const std::string version = "555.42.07";

    /** NAME.so.VERSION, and beside it NAME.so.1 as a link to it, by which the loader finds it. */
    void library(const std::string &directory, const std::string &name, bool is_32 = false,
                 const std::string &its_version = version) const
    {
        const std::string soname = name + ".so.1";
        file(directory + "/" + name + ".so." + its_version, library_image(soname, is_32).bytes());
        std::filesystem::remove(path(directory + "/" + soname));
        link(directory + "/" + soname, name + ".so." + its_version);
    }

    /** A library with a version of its own, "libnvidia-egl-gbm.so.1" and "1.1.2". */
    void own_library(const std::string &directory, const std::string &soname, const std::string &minors) const
    {
        file(directory + "/" + soname + minors, library_image(soname).bytes());
        link(directory + "/" + soname, soname + minors);
    }

    /** As Debian has it: the file in nvidia/current, and a link to it by way of /etc/alternatives. */
    void debian_library(const std::string &name) const
    {
        const std::string libraries = "usr/lib/" + triplet;
        const std::string soname = name + ".so.1";
        library(libraries + "/nvidia/current", name);
        const std::string alternative = "etc/alternatives/nvidia--" + soname + "-" + triplet;
        directory("etc/alternatives");
        link(alternative, "/" + libraries + "/nvidia/current/" + soname);
        link(libraries + "/" + soname, "/" + alternative);
        cached("/" + libraries + "/" + soname);
    }

    /** Has the loader cache name it, once write_cache() is called; behind those that were named before. */
    void cached(const std::string &library, bool is_32 = false) const
    {
        const std::string name = library.substr(library.rfind('/') + 1);
        cache_.entries.push_back({name, library, is_32 ? flags_32 : flags_64});
    }

    void write_cache() const { file("etc/ld.so.cache", cache_.bytes()); }

    void program(const std::string &name) const
    {
        file(name, library_image("").bytes()); // as most programs are linked
        ::chmod(path(name).c_str(), 0755);
    }

private:
    mutable CacheImage cache_;
};

} // namespace ogh::test
