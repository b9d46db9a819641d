// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/host/gpu_facts.h"

#include <algorithm>
#include <array>

#include "base/number.h"
#include "base/text.h"
#include "host/drm_nodes.h"
#include "host/host_file.h"

namespace ogh::nvidia_devices {

namespace {

constexpr size_t max_id_size = 64;

struct DriverRow {
    unsigned major;
    unsigned cuda; ///< 1000 times its major version, and 10 times its minor one, as CUDA itself counts
};

constexpr std::array<DriverRow, 31> drivers{
    {{367, 8000},  {375, 8000},  {384, 9000},  {387, 9010},  {390, 9010},  {396, 9020},  {410, 10000},
     {415, 10000}, {418, 10010}, {440, 10020}, {450, 11000}, {455, 11010}, {460, 11020}, {465, 11030},
     {470, 11040}, {495, 11050}, {510, 11060}, {515, 11070}, {520, 11080}, {525, 12000}, {530, 12010},
     {535, 12020}, {545, 12030}, {550, 12040}, {555, 12050}, {560, 12060}, {565, 12070}, {570, 12080},
     {575, 12090}, {580, 13000}, {590, 13010}}};

struct ChipRow {
    unsigned first; ///< PCI device ids
    unsigned last;
    unsigned arch; ///< 10 times the major number, and the minor one
};

constexpr std::array<ChipRow, 21> chips{{
    {0x13c0, 0x143f, 52},  // GM204, GM206
    {0x15c0, 0x15ff, 60},  // GP100
    {0x1600, 0x167f, 52},  // GM204
    {0x1700, 0x173f, 60},  // GP100
    {0x17c0, 0x17ff, 52},  // GM200
    {0x1b00, 0x1d7f, 61},  // GP102, GP104, GP106, GP107, GP108
    {0x1d80, 0x1dff, 70},  // GV100
    {0x1e00, 0x1fff, 75},  // TU102, TU104, TU106, TU117
    {0x2080, 0x20ff, 80},  // GA100
    {0x2180, 0x21ff, 75},  // TU116
    {0x2200, 0x223f, 86},  // GA102
    {0x2300, 0x23ff, 90},  // GH100
    {0x2400, 0x247f, 86},  // GA103
    {0x2480, 0x25ff, 86},  // GA104, GA106, GA107
    {0x2680, 0x28ff, 89},  // AD102, AD103, AD104, AD106, AD107
    {0x2900, 0x29ff, 100}, // GB100, GB102
    {0x2b80, 0x2bbf, 120}, // GB202
    {0x2c00, 0x2c7f, 120}, // GB203
    {0x2d00, 0x2dff, 120}, // GB206, GB207
    {0x2f00, 0x2f7f, 120}, // GB205
    {0x3180, 0x31ff, 103}, // GB110
}};

/** "A40-8Q": a part of a GPU that a hypervisor gives. */
bool is_virtual(std::string_view model)
{
    const size_t dash = model.rfind('-');
    if (dash == std::string_view::npos || model.size() < dash + 3)
        return false;
    const std::string_view size = model.substr(dash + 1, model.size() - dash - 2);
    return parse_number(size).has_value() &&
           std::string_view("ABCQ").find(model.back()) != std::string_view::npos;
}

std::optional<unsigned> read_device_id(const Sysroot &sysroot, const PciAddress &address)
{
    const auto text = read_host_file(sysroot, sysfs_folder(address) + "/device", max_id_size);
    const std::string_view id = text ? trimmed(std::string_view(*text).substr(0, text->find('\n'))) : "";
    const auto number = id.starts_with("0x") ? parse_number(id.substr(2), 16) : std::nullopt;
    return number && *number <= 0xffff ? std::optional(static_cast<unsigned>(*number)) : std::nullopt;
}

} // namespace

std::optional<KnownVersion> cuda_of_driver(std::string_view version)
{
    const auto major = parse_small_number(version.substr(0, version.find('.')), 1U << 20U);
    if (!major)
        return std::nullopt;
    const auto *const above =
        std::upper_bound(drivers.begin(), drivers.end(), *major,
                         [](unsigned wanted, const DriverRow &row) { return wanted < row.major; });
    if (above == drivers.begin())
        return std::nullopt;
    const DriverRow &row = *(above - 1);
    return KnownVersion{{row.cuda / 1000, row.cuda % 1000 / 10}, row.major != *major};
}

std::optional<KnownVersion> arch_of_device(unsigned device_id)
{
    const auto *const row = std::find_if(chips.begin(), chips.end(), [&](const ChipRow &each) {
        return device_id >= each.first && device_id <= each.last;
    });
    return row == chips.end() ? std::nullopt : std::optional(KnownVersion{{row->arch / 10, row->arch % 10}});
}

std::vector<std::string_view> brands_of_model(std::string_view model)
{
    const auto has = [&](std::string_view word) { return model.find(word) != std::string_view::npos; };
    if (has("GRID") || is_virtual(model))
        return {"grid", "vapps", "vpc", "vcs", "vws", "cloudgaming"};
    if (has("GeForce"))
        return {"geforce", "geforcertx"};
    if (has("Quadro"))
        return {"quadro", "quadrortx"};
    if (has("TITAN"))
        return {"titan", "titanrtx"};
    if (has("NVS"))
        return {"nvs"};
    if (has("RTX"))
        return {"nvidiartx", "quadrortx"};
    if (has("Tesla") || model.starts_with("NVIDIA "))
        return {"tesla", "nvidia"};
    return {};
}

GpuFacts read_gpu_facts(const Sysroot &sysroot, const Inventory &inventory, size_t gpu)
{
    const Gpu &described = inventory.gpus[gpu];
    GpuFacts facts;
    if (inventory.version) {
        facts.driver = inventory.version->version;
        facts.cuda = cuda_of_driver(facts.driver);
    }
    if (const auto id = read_device_id(sysroot, described.address))
        facts.arch = arch_of_device(*id);
    facts.brands = brands_of_model(described.information.model);
    return facts;
}

} // namespace ogh::nvidia_devices
