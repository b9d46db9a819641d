// SPDX-License-Identifier: Apache-2.0
#include "health/log_signs.h"

#include <string_view>

#include "base/number.h"
#include "base/text.h"
#include "health/xid_table.h"
#include "host/pci_address.h"

namespace ogh::admin {

namespace {

using Kind = Sign::Kind;

constexpr size_t max_text = 100;

/** Takes `prefix` off. @return whether it was there */
bool take(std::string_view &text, std::string_view prefix)
{
    if (!text.starts_with(prefix))
        return false;
    text.remove_prefix(prefix.size());
    return true;
}

/** Takes all up to `end`, and that too. @return nothing if it is not there */
std::optional<std::string_view> take_until(std::string_view &text, std::string_view end)
{
    const size_t place = text.find(end);
    if (place == std::string_view::npos)
        return std::nullopt;
    const std::string_view found = text.substr(0, place);
    text.remove_prefix(place + end.size());
    return found;
}

/**
 * Whether that may be a line of netfilter's log: "PREFIXIN=eth0 OUT= SRC=…", by net/netfilter/nf_log_syslog.c of Linux, or
 * "PREFIX IN=eth0 OUT= MAC source = …", by net/bridge/netfilter/ebt_log.c. It is the kernel's own, and begins with up to 127
 * bytes that a rule's author has chosen: root of a container that has the host's network. No name of a device has a blank.
 * What follows is not looked at: a driver's message with the name of a program that is called so is passed over as well.
 */
bool may_be_of_netfilter(std::string_view text)
{
    constexpr std::string_view out = " OUT=";
    for (size_t place = text.find(out); place != std::string_view::npos; place = text.find(out, place + 1)) {
        const std::string_view word = text.substr(0, place);
        if (word.substr(word.rfind(' ') + 1).find("IN=") != std::string_view::npos) // npos + 1 is 0
            return true;
    }
    return false;
}

/** Behind "Xid 154, ": the number of the new action. What a program is called does not hold all of these words. */
std::optional<unsigned> new_recovery_action(std::string_view text)
{
    constexpr int hexadecimal = 16;
    if (!take_until(text, "GPU recovery action changed from 0x") || !take_until(text, ") to 0x"))
        return std::nullopt;
    const auto value =
        parse_number(text.substr(0, text.find_first_not_of("0123456789abcdefABCDEF")), hexadecimal);
    return value && *value <= 0xFFU ? std::optional(static_cast<unsigned>(*value)) : std::nullopt;
}

Sign recovery_sign(const LeaseKey &gpu, std::string_view text)
{
    const auto value = new_recovery_action(text);
    const RecoveryAction *const action = value ? find_recovery_action(*value) : nullptr;
    if (action == nullptr)
        return {Kind::Reported, gpu,
                "Xid 154, an action that is not known: " + printable(text.substr(0, max_text))};
    return {action->drains ? Kind::Claimed : Kind::Reported, gpu,
            std::string("Xid 154, recovery action: ") + action->what};
}

/** Behind "NVRM: Xid (PCI:": "0000:18:00): 79, …", of an instance of a GPU "0000:18:00 GPU-I:05): 13, …". */
std::optional<Sign> xid_sign(std::string_view text)
{
    constexpr unsigned max_xid = 9999;
    auto place = take_until(text, "): ");
    const auto number = take_until(text, ",");
    if (!place || !number)
        return std::nullopt;
    const std::string_view slot = place->substr(0, place->find(' '));
    const auto address =
        parse_pci_address(std::string(slot) + (slot.find('.') == std::string_view::npos ? ".0" : ""));
    const auto xid = parse_small_number(*number, max_xid);
    if (!address || !xid)
        return std::nullopt;
    const LeaseKey gpu = gpu_lease_key("nvidia", *address);
    if (*xid == xid_recovery_action)
        return recovery_sign(gpu, text);
    const XidRow *const row = find_xid(*xid);
    const bool fails = row != nullptr && row->drains;
    return Sign{fails ? Kind::Claimed : Kind::Reported, gpu,
                "Xid " + std::to_string(*xid) + ": " +
                    (row != nullptr ? row->what : printable(trimmed(text.substr(0, max_text))))};
}

/**
 * Behind "amdgpu ", as drivers/gpu/drm/amd/amdgpu/amdgpu_device.c and amdgpu_job.c of Linux have it: "0000:03:00.0: ", with
 * another "amdgpu: " before Linux 7.0. All of these are written by dev_printk(), with the device in its field.
 */
std::optional<Sign> amd_sign(std::string_view text, std::string_view device)
{
    const auto slot = take_until(text, ": ");
    const auto address = slot ? parse_pci_address(*slot) : std::nullopt;
    if (!address || device != "+pci:" + to_text(*address))
        return std::nullopt;
    take(text, "amdgpu: ");
    const LeaseKey gpu = gpu_lease_key("amd", *address);
    if (take(text, "GPU reset end with ret = "))
        return text == "0"
                   ? Sign{Kind::Over, gpu, "its reset succeeded"}
                   : Sign{Kind::Failed, gpu, "its reset failed: " + printable(text.substr(0, max_text))};
    if (take(text, "GPU reset(") && take_until(text, ") ") && text.starts_with("succeeded"))
        return Sign{Kind::Over, gpu, "its reset succeeded"};
    if (take(text, "ring ") && text.substr(0, text.find(',')).ends_with(" timeout"))
        return Sign{Kind::Reported, gpu, "ring " + printable(text.substr(0, text.find(',')))};
    return std::nullopt;
}

} // namespace

std::optional<Sign> sign_of(const LogRecord &record)
{
    std::string_view text = record.text;
    if (record.facility != 0 || may_be_of_netfilter(text))
        return std::nullopt;
    if (take(text, "NVRM: Xid (PCI:"))
        return xid_sign(text);
    return take(text, "amdgpu ") ? amd_sign(text, record.device) : std::nullopt;
}

} // namespace ogh::admin
