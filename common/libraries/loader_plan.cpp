// SPDX-License-Identifier: Apache-2.0
#include "libraries/loader_plan.h"

#include <fnmatch.h>

#include <algorithm>
#include <variant>

#include "base/contains.h"
#include "base/text.h"
#include "libraries/merged_cache.h"
#include "loader/ld_cache.h"

namespace ogh {

namespace {

constexpr const char *own_conf_head = "# Directories that were put into this container by oci-gpu-hooks\n";
/** What musl searches where there is no path file (musl, ldso/dynlink.c). */
constexpr const char *musl_default = "/lib\n/usr/local/lib\n/usr/lib\n";

void warn(Notes &notes, const std::string &text)
{
    notes.push_back({LogLevel::Warning, text});
}

/** Nothing is to be written. What was left beside it goes by being written over. */
bool is_right(const LoaderFile &file, std::string_view content)
{
    return file.state == LoaderFile::State::Plain && file.content == content &&
           (!file.has_leftover || !file.why_not_replace.empty());
}

/** A file that a loader reads: it has to be right, in one way or the other. */
void must_be(const std::string &path, const LoaderFile &file, std::string content, bool read_only,
             Edits &edits)
{
    if (is_right(file, content))
        return;
    const bool replace = !read_only && file.why_not_replace.empty();
    edits.files.push_back(
        {path, std::move(content), replace ? FileEdit::How::Replace : FileEdit::How::MountOver, file.mode});
}

/** A file that only a later ldconfig reads: worth a warning if it cannot be written. */
void should_be(const std::string &path, const LoaderFile &file, std::string content, Edits &edits,
               Notes &notes)
{
    if (is_right(file, content))
        return;
    if (file.why_not_replace.empty())
        edits.files.push_back({path, std::move(content), FileEdit::How::Replace, file.mode, true});
    else
        warn(notes, quote(path) +
                        " stays as it is, so that a later ldconfig in the container loses the directories: " +
                        file.why_not_replace);
}

/** The lines of a file that names directories, without comments and blank ones. */
std::vector<std::string> directory_lines(std::string_view text)
{
    std::vector<std::string> lines;
    for (const std::string &line : split_list(text, '\n')) {
        const std::string directory(trimmed(std::string_view(line).substr(0, line.find('#'))));
        if (!directory.empty())
            lines.push_back(directory);
    }
    return lines;
}

/** Both in one list, each directory once. */
std::vector<std::string> joined(std::vector<std::string> first, const std::vector<std::string> &then)
{
    first.insert(first.end(), then.begin(), then.end());
    return without_repeats(first);
}

/** An earlier run's directories stay: they belong to this container as well. */
std::string own_conf(const LoaderImage &image)
{
    std::string text = own_conf_head;
    for (const std::string &directory : joined(image.directories, directory_lines(image.own_conf.content)))
        text += directory + "\n";
    return text;
}

void plan_conf(const LoaderImage &image, Edits &edits, Notes &notes)
{
    should_be(own_loader_conf_path, image.own_conf, own_conf(image), edits, notes);
    if (image.conf.state == LoaderFile::State::Other) {
        warn(notes, quote(loader_conf_path) + " in the container " + image.conf.problem +
                        ", ignoring; a later ldconfig in the container loses the directories");
        return;
    }
    if (!includes_own_conf(image.conf.content))
        should_be(loader_conf_path, image.conf,
                  "include " + std::string(own_loader_conf_path) + "\n" + image.conf.content, edits, notes);
}

/** A glibc before 2.33 knows nothing of glibc-hwcaps; it writes no extensions. */
std::vector<AddedLibrary> libraries_for(const LdCache *cache, std::vector<AddedLibrary> libraries)
{
    if (cache != nullptr && !cache->has_extensions)
        std::erase_if(libraries, [](const AddedLibrary &library) { return !library.subdirectory.empty(); });
    return libraries;
}

void plan_cache(const LoaderImage &image, bool read_only, Edits &edits, Notes &notes)
{
    std::variant<LdCache, NoLdCache> parsed = NoLdCache{image.cache.problem};
    if (image.cache.state == LoaderFile::State::Plain)
        parsed = parse_ld_cache(image.cache.content);
    const auto *cache = std::get_if<LdCache>(&parsed);
    if (cache == nullptr && image.cache.state != LoaderFile::State::Absent)
        warn(notes, quote(loader_cache_path) +
                        " in the container cannot be used, a new one takes its place: " +
                        std::get<NoLdCache>(parsed).why);
    if (cache != nullptr && cache->left_out > 0)
        warn(notes, quote(loader_cache_path) + " in the container has " + std::to_string(cache->left_out) +
                        " entries that lead outside of it, which are left out");
    const auto libraries = libraries_for(cache, image.libraries);
    const auto left_out = image.has_all_libraries ? image.directories : std::vector<std::string>();
    std::string merged = merged_cache(cache, left_out, libraries);
    // Without libraries, and without old entries that go, the image's own file is as good.
    if (libraries.empty() && (cache == nullptr || merged == merged_cache(cache, {}, {})))
        return;
    must_be(loader_cache_path, image.cache, std::move(merged), read_only, edits);
}

/** musl takes both for the end of a directory. */
std::vector<std::string> musl_directories(std::string_view text)
{
    std::vector<std::string> directories;
    for (const std::string &line : split_list(text, '\n')) {
        for (const std::string &directory : split_list(line, ':')) {
            if (!directory.empty())
                directories.push_back(directory);
        }
    }
    return directories;
}

void plan_musl(const MuslPath &musl, const std::vector<std::string> &directories, bool read_only,
               Edits &edits, Notes &notes)
{
    const bool absent = musl.file.state == LoaderFile::State::Absent;
    const bool plain = musl.file.state == LoaderFile::State::Plain;
    if (!absent && !plain)
        warn(notes, quote(musl.path) + " in the container " + musl.file.problem +
                        ", a new one with musl's own directories takes its place");
    const std::vector<std::string> old = musl_directories(plain ? musl.file.content : musl_default);
    const std::vector<std::string> wanted = joined(directories, old);
    if (plain && wanted == old)
        return;
    std::string text;
    for (const std::string &directory : wanted)
        text += directory + "\n";
    // Made even for a read-only root, which it becomes after the hooks: with the empty file that a mount would leave
    // behind, musl searches nowhere.
    must_be(musl.path, musl.file, std::move(text), read_only && !absent, edits);
}

/** Programs whose loader reads none of the files that can be written here. */
void warn_without_cache(const LoaderImage &image, Notes &notes)
{
    const bool has_none = !image.has_glibc && image.musl.empty();
    const auto searched = split_list(image.library_path, ':');
    const bool is_searched =
        std::all_of(image.directories.begin(), image.directories.end(),
                    [&](const auto &directory) { return contains(searched, directory); });
    if (is_searched || (!has_none && image.without_cache.empty()))
        return;
    std::string directories;
    for (const std::string &directory : image.directories)
        directories += (directories.empty() ? "" : ":") + directory;
    warn(notes, (image.without_cache.empty()
                     ? "the image has neither glibc's loader nor musl's where programs name it"
                     : "programs with the loader of " + quote_list(image.without_cache) + " do not read " +
                           quote(loader_cache_path)) +
                    ": they find the libraries with LD_LIBRARY_PATH=" + printable(directories) +
                    " in the container's environment");
}

} // namespace

bool includes_own_conf(std::string_view conf)
{
    constexpr std::string_view word = "include";
    for (const std::string &line : directory_lines(conf)) {
        if (!line.starts_with(word) || line.size() == word.size() ||
            (line[word.size()] != ' ' && line[word.size()] != '\t'))
            continue;
        std::string patterns = line.substr(word.size());
        std::replace(patterns.begin(), patterns.end(), '\t', ' ');
        for (const std::string &pattern : split_list(patterns, ' ')) {
            const std::string absolute = pattern.starts_with('/') ? pattern : "/etc/" + pattern;
            if (::fnmatch(absolute.c_str(), own_loader_conf_path, FNM_PATHNAME | FNM_PERIOD) == 0)
                return true;
        }
    }
    return false;
}

Edits plan_loader_files(const LoaderImage &image, bool read_only, Notes &notes)
{
    Edits edits;
    if (image.directories.empty()) {
        notes.push_back(
            {LogLevel::Info, "nothing to do: no directory with libraries was asked for or put in"});
        return edits;
    }
    warn_without_cache(image, notes);
    if (!image.has_glibc && image.musl.empty())
        return edits;
    if (image.has_glibc) {
        if (!read_only)
            plan_conf(image, edits, notes);
        plan_cache(image, read_only, edits, notes);
    }
    for (const MuslPath &musl : image.musl)
        plan_musl(musl, image.directories, read_only, edits, notes);
    if (edits.files.empty())
        notes.push_back({LogLevel::Info, "nothing to do: the loader's files have the directories already"});
    return edits;
}

} // namespace ogh
