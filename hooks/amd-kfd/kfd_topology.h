// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/number.h"
#include "host/pci_address.h"
#include "host/sysroot.h"

namespace ogh::amd_kfd {

// Files of sysfs, of which dozens are read for each container: no path is walked more than once, and no descriptor
// asked what it is. Symlinks on the way are followed; the kernel's own are relative and stay in sysfs.

/** A file that may be kept from this process. */
struct SysfsFile {
    enum class State {
        Read,
        Missing, ///< or its device goes away at this moment
        Hidden,  ///< KFD gives EPERM for the GPUs that the process's device cgroup does not let it open
    };

    State state = State::Missing;
    std::string text = {}; ///< without the newline at its end

    bool operator==(const SysfsFile &) const = default;
};

/** What it means that a file could not be opened or read; nothing for an error that is the host's. */
std::optional<SysfsFile::State> state_of_error(int error_number);

/**
 * @param directory descriptor of a directory, O_PATH is enough
 * @param path relative to it
 * @param what names `directory` in messages, unquoted
 * @throws Error (BrokenHost) for every other error, and for a file larger than sysfs has any
 */
SysfsFile read_sysfs_file(int directory, const std::string &path, const std::string &what);

/**
 * Reads a `dev` file, "226:129".
 * @return nothing if there is none
 * @throws Error (BrokenHost) also if it holds anything else
 */
std::optional<DeviceNumber> read_device_number(int directory, const std::string &path,
                                               const std::string &what);

/** Which instructions a GPU has: KFD's gfx_target_version, major * 10000 + minor * 100 + stepping. */
struct GfxVersion {
    unsigned number = 0; ///< 0: not known, as on old kernels

    bool operator==(const GfxVersion &) const = default;
};

/** As compilers call it: "gfx90a", "gfx1100"; the last two digits are hexadecimal. "" if it is not known. */
std::string name_of(GfxVersion version);

/**
 * Whether processors of this version are parts of a CPU ("APU" in the table of processors of LLVM's User Guide for
 * AMDGPU Backend), and not GPUs of their own.
 */
bool is_integrated(GfxVersion version);

/** For the process environment of a container, where ROCm reads it, and nowhere else. */
constexpr std::string_view override_variable = "HSA_OVERRIDE_GFX_VERSION";

/**
 * That variable with a value with which ROCm packages that were not built for this version have been seen to work: the
 * nearest version that they were built for. Which versions an image's ROCm knows cannot be seen from outside.
 * @return "HSA_OVERRIDE_GFX_VERSION=11.0.0"; "" where nothing is known to help, or nothing is needed
 */
std::string override_text(GfxVersion version);

/** The properties of a node of KFD's topology that matter here; what the file does not have is 0. */
struct KfdProperties {
    std::uint64_t simd_count = 0;      ///< 0: no GPU
    std::uint64_t cpu_cores_count = 0; ///< with simd_count, a CPU and its GPU in one, as old kernels have it
    std::uint64_t mem_banks_count = 0;
    std::uint64_t local_mem_size = 0; ///< bytes; 0 on current kernels
    std::uint64_t unique_id = 0;      ///< 0: none
    std::uint64_t location_id = 0; ///< bus, device, and function or number of the partition, 8, 5 and 3 bits
    std::uint64_t domain = 0;      ///< of PCI; not there on old kernels
    GfxVersion gfx;
    /** Of the DRM node that belongs to it; nothing if there is none that could be a render node's. */
    std::optional<unsigned> render_minor;

    [[nodiscard]] bool is_gpu() const { return simd_count != 0; }

    bool operator==(const KfdProperties &) const = default;
};

/**
 * Understands a `properties` file: lines of a key, a blank and a decimal number, in any order. Keys that are not known,
 * and lines that are anything else, are passed over.
 */
KfdProperties parse_kfd_properties(std::string_view text);

/** Where the GPU sits, or, of a partition, the GPU that it is a part of; a function other than 0 cannot be told. */
PciAddress parent_address(const KfdProperties &properties);

/** Which partition of its GPU it is, for what is no PCI device itself: the lowest three bits of the location. */
unsigned partition_number(const KfdProperties &properties);

/** A GPU, or a partition of one, that KFD can compute on. */
struct KfdNode {
    std::string name; ///< its number in the topology
    KfdProperties properties;
};

/** What KFD shows to this process. */
struct KfdTopology {
    std::vector<KfdNode> gpus; ///< in no order
    unsigned hidden = 0;       ///< GPUs that this process's device cgroup does not let it open
};

/** Adds a node as its `properties` file says; CPUs, and nodes that are being taken away, are passed over. */
void add_node(KfdTopology &topology, const std::string &name, const SysfsFile &properties);

/** The compute half of the amdgpu driver, in sysfs. */
class KfdClass final {
public:
    /** @throws Error (BrokenHost) if sysfs cannot be looked into */
    explicit KfdClass(const Sysroot &sysroot);

    /** Whether the kernel has it at all. */
    [[nodiscard]] bool exists() const { return place_.has_value(); }

    /** Of /dev/kfd. @throws Error (BrokenHost) */
    [[nodiscard]] std::optional<DeviceNumber> number() const;

    /**
     * One file is read for each node, its properties: what `gpu_id` says of it, that it is a GPU or is hidden, they say
     * too.
     * @throws Error (BrokenHost)
     */
    [[nodiscard]] KfdTopology topology() const;

    /** The bytes of a node's memory that is a GPU's own; nothing if it is not said. @throws Error (BrokenHost) */
    [[nodiscard]] std::optional<std::uint64_t> memory(const std::string &name,
                                                      const KfdProperties &properties) const;

private:
    std::optional<ResolvedPath> place_;
    std::string what_; ///< names it in messages
};

} // namespace ogh::amd_kfd
