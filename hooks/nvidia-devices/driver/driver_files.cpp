// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/driver/driver_files.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "base/contains.h"
#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "nvidia-devices/driver/driver_root.h"
#include "nvidia-devices/driver/file_search.h"
#include "nvidia-devices/driver/library_search.h"
#include "nvidia-devices/driver/library_table.h"
#include "nvidia-devices/driver/named_libraries.h"
#include "nvidia-devices/request/capability_bits.h"

namespace ogh::nvidia_devices {

namespace {

/** How many directories a message names. */
constexpr size_t named_directories = 5;

/** A library that was found, and its row in the table. */
struct Found {
    const LibraryName *name;
    DriverLibrary library;
};

/** The libraries that `wanted` brings, in the order of the table. Names in it differ, and so do the files. */
std::vector<Found> find_libraries(LibrarySearch &search, CapabilityBits wanted)
{
    std::vector<Found> all;
    const auto has = [&](std::string_view other) {
        return std::any_of(all.begin(), all.end(),
                           [&](const Found &each) { return each.name->name == other; });
    };
    for (const LibraryName &name : library_names()) {
        if (!wanted.has_any(name.brought_by) || (!name.instead_of.empty() && has(name.instead_of)))
            continue;
        if (auto library = search.find(name))
            all.push_back({&name, std::move(*library)});
    }
    return all;
}

void append(const std::vector<Found> &found, CapabilityBits wanted, std::vector<DriverLibrary> &libraries)
{
    for (const Found &each : found) {
        if (wanted.has_any(each.name->brought_by))
            libraries.push_back(each.library);
    }
}

/** What the request asks for of all that brings files. */
CapabilityBits wanted_by(const Capabilities &asked)
{
    CapabilityBits wanted;
    for (const Capability capability :
         {Capability::Compute, Capability::Utility, Capability::Video, Capability::Graphics,
          Capability::Display, Capability::Ngx, Capability::Compat32}) {
        if (asked.has(capability))
            wanted.add(capability);
    }
    return wanted;
}

/** One call of read_driver_files(). */
class FilesReader final {
public:
    FilesReader(const DriverPlaces &places, const FilesRequest &request, Notes &notes)
        : host_(places.sysroot), sysroot_(open_driver_root(places)), root_(sysroot_), request_(request),
          notes_(notes), cache_(read_library_cache(root_, notes))
    {
    }

    DriverFiles read(CapabilityBits wanted)
    {
        LibrarySearch search(root_, cache_, native_machine(), request_.version);
        const auto found = find_libraries(search, wanted);
        drop_what_cannot_work(search, found, wanted);
        DriverFiles result;
        append(found, wanted, result.libraries);
        add_others(search, result.libraries);
        if (wanted.has(Capability::Compat32))
            add_compat32(wanted, result.libraries);
        result.files = find_files(root_, request_.version, wanted, notes_);
        add_named(search, result);
        say_unusable(search, native_machine());
        if (wanted.has(Capability::Utility)) {
            const auto firmware = find_firmware(root_, host_, request_.version);
            result.files.insert(result.files.end(), firmware.begin(), firmware.end());
        }
        return result;
    }

private:
    void drop_what_cannot_work(const LibrarySearch &search, const std::vector<Found> &found,
                               CapabilityBits &wanted)
    {
        bool is_any_left = false;
        for (const CapabilityNeed &need : capability_needs()) {
            const auto is_needed = [&](const Found &each) {
                const LibraryName &name = *each.name;
                return contains(need.any_of, name.instead_of.empty() ? name.name : name.instead_of);
            };
            if (!wanted.has(need.capability))
                continue;
            if (std::any_of(found.begin(), found.end(), is_needed) ||
                may_lack(need.capability, files_of(need), search, native_machine(), need.any_of))
                is_any_left = true;
            else
                wanted.remove(need.capability);
        }
        if (!is_any_left && request_.required)
            throw Error(ErrorKind::BrokenHost,
                        "'all' finds nothing: this host has no library of the driver, such as " +
                            files_of(capability_needs().front()) + searched(search, native_machine()));
    }

    /** "'libnvcuvid.so.555.42.07' or 'libnvidia-encode.so.555.42.07'" */
    [[nodiscard]] std::string files_of(const CapabilityNeed &need) const
    {
        std::string files;
        for (const std::string_view name : need.any_of) {
            if (!name.empty())
                files += (files.empty() ? "" : " or ") + quote(std::string(name) + ".so." + request_.version);
        }
        return files;
    }

    void add_compat32(CapabilityBits wanted, std::vector<DriverLibrary> &libraries)
    {
        LibrarySearch search(root_, cache_, compat32_machine(), request_.version);
        const auto found = find_libraries(search, wanted);
        say_unusable(search, compat32_machine());
        // Some distributions have libraries for EGL, which do not depend on the driver's version, in packages apart.
        const bool can_work = std::any_of(found.begin(), found.end(), [](const Found &each) {
            return each.name->version == LibraryVersion::Driver;
        });
        if (!can_work &&
            !may_lack(Capability::Compat32, "32-bit libraries of the driver", search, compat32_machine(), {}))
            return;
        append(found, wanted, libraries);
        add_others(search, libraries);
    }

    /** For 32 bits a driver has not all libraries, and a directory that has those for 64 is looked at as well. */
    void say_unusable(const LibrarySearch &search, const LibraryMachine &machine)
    {
        for (const UnusableLibrary &each : search.unusable()) {
            if (machine.is_64 || !each.reason.is_foreign)
                notes_.push_back(
                    {LogLevel::Warning, quote(each.host_path) + " is left out: " + each.reason.why});
        }
    }

    /** Tables say what a library is for, and not which there may be: the driver is older or newer than they are. */
    void add_others(const LibrarySearch &search, std::vector<DriverLibrary> &libraries)
    {
        for (DriverLibrary &each : search.others()) {
            const auto has_its_name = [&](const DriverLibrary &other) {
                return other.is_32 == each.is_32 && !each.soname.empty() && other.soname == each.soname;
            };
            // A copy that somebody has set aside must not take the place of the library itself.
            if (std::any_of(libraries.begin(), libraries.end(), has_its_name))
                continue;
            notes_.push_back(
                {LogLevel::Info,
                 quote(each.host_path) +
                     " is not known here; it goes with each capability, as part of this driver"});
            libraries.push_back(std::move(each));
        }
    }

    /** Libraries that the files name and no table does, whatever their versions. */
    static void add_named(LibrarySearch &search, DriverFiles &found)
    {
        for (const DriverFile &file : found.files)
            for (const std::string &named : named_libraries(file.text)) {
                const std::string name = file_name_of(named);
                if (find_library(found.libraries, name) != nullptr)
                    continue;
                if (auto library = search.find({name, {}, LibraryVersion::Own}))
                    found.libraries.push_back(std::move(*library));
            }
    }

    /**
     * Something is missing without which a capability cannot work.
     * @param what it is
     * @return whether the capability is to have its other files; if not, it is left out
     * @throws Error if it must be given, or is there for another kernel module than the one that is loaded
     */
    bool may_lack(Capability capability, const std::string &what, const LibrarySearch &search,
                  const LibraryMachine &machine, std::span<const std::string_view> names)
    {
        const std::string needs = quote(name_of(capability)) + " needs " + what;
        const bool is_named = request_.capabilities.named.contains(capability);
        const std::string elsewhere = found_elsewhere(search, names);
        const UnusableLibrary *unusable = find_unusable(search, names);
        if (unusable != nullptr && unusable->reason.is_foreign && !elsewhere.empty())
            unusable = nullptr;
        const bool is_broken = unusable != nullptr ? !unusable->reason.is_foreign : !elsewhere.empty();
        const std::string text =
            needs + (unusable == nullptr ? ", which this host does not have"
                                         : ", and " + quote(unusable->host_path) +
                                               " cannot be used: " + unusable->reason.why);
        if (request_.required && (is_named || is_broken))
            throw Error(ErrorKind::BrokenHost,
                        unusable != nullptr
                            ? text
                            : text + searched(search, machine) + (elsewhere.empty() ? name_root : elsewhere));
        notes_.push_back({LogLevel::Info, text + (is_named ? "" : "; it is left out")});
        return is_named;
    }

    /** One of these libraries; of several the one that another machine's programs cannot use either. */
    static const UnusableLibrary *find_unusable(const LibrarySearch &search,
                                                std::span<const std::string_view> names)
    {
        const UnusableLibrary *found = nullptr;
        for (const UnusableLibrary &each : search.unusable()) {
            if (contains(names, each.name) && (found == nullptr || found->reason.is_foreign))
                found = &each;
        }
        return found;
    }

    /** "; searched: '/usr/lib64', …" */
    [[nodiscard]] std::string searched(const LibrarySearch &search, const LibraryMachine &machine) const
    {
        std::vector<std::string> directories = search.directories();
        if (directories.empty())
            directories.assign(machine.directories.begin(), machine.directories.end());
        directories.resize(std::min(directories.size(), named_directories));
        for (std::string &directory : directories)
            directory = root_.on_host(directory);
        return "; searched: " + quote_list(directories);
    }

    /**
     * Where the loader cache does not lead, or for which other version it is, and what to do about it; "" if it is nowhere.
     * Mostly the driver was updated, and the old module will stay loaded until the next start of the host.
     */
    [[nodiscard]] std::string found_elsewhere(const LibrarySearch &search,
                                              std::span<const std::string_view> names) const
    {
        for (const std::string_view name : names) {
            const std::string file = name.empty() ? "" : search.not_cached(name);
            if (!file.empty())
                return "; there is " + quote(file) + ", where " + quote(root_.on_host("/etc/ld.so.cache")) +
                       " does not lead: run ldconfig on the host";
        }
        for (const std::string_view name : names) {
            const std::string file = name.empty() ? "" : search.other_version(name);
            if (!file.empty())
                return "; there is " + quote(file) +
                       ": the driver's files were changed while its kernel module " + request_.version +
                       " is loaded; reboot, or load the new module";
        }
        return "";
    }

    static constexpr const char *name_root =
        "; if the driver's files are elsewhere on this host, name the directory by --driver-root";

    const Sysroot &host_;
    const Sysroot sysroot_; ///< --driver-root
    const DriverRoot root_;
    const FilesRequest &request_;
    Notes &notes_;
    const std::vector<CachedLibrary> cache_;
};

/** It is no capability by itself: without others it would silently bring nothing. */
void refuse_compat32_alone(const FilesRequest &request, CapabilityBits wanted)
{
    if (request.required && wanted == CapabilityBits{Capability::Compat32})
        throw Error(ErrorKind::Usage,
                    "'compat32' brings the libraries of other capabilities for 32-bit programs; "
                    "ask for one of those as well");
}

} // namespace

const DriverLibrary *find_library(const std::vector<DriverLibrary> &libraries, std::string_view name)
{
    const auto found = std::find_if(libraries.begin(), libraries.end(), [&](const DriverLibrary &each) {
        return !each.is_32 && (each.file == name || each.soname == name ||
                               (name.ends_with(".so") && each.file.starts_with(std::string(name) + ".")));
    });
    return found == libraries.end() ? nullptr : &*found;
}

DriverFiles read_driver_files(const DriverPlaces &places, const FilesRequest &request, Notes &notes)
{
    const CapabilityBits wanted = wanted_by(request.capabilities);
    if (wanted.is_empty())
        return {};
    refuse_compat32_alone(request, wanted);
    return FilesReader(places, request, notes).read(wanted);
}

} // namespace ogh::nvidia_devices
