// SPDX-License-Identifier: Apache-2.0
//
// The driver that takes libFuzzer's place in the test run: replay TARGET DIRECTORY|FILE...
//
// Gives every file of the corpus to the target, then a few hundred mutations of each.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "mutations.h"
#include "target.h"

namespace {

namespace fs = std::filesystem;
using ogh::fuzz::mutations;

using Check = void (*)(std::string_view);

struct Seed {
    std::string name;
    std::string content;
};

/** What the target works on, for a handler that may not allocate: an assertion or a sanitizer ends the process. */
std::array<char, 512> current{};

void tell_current(int signal)
{
    const size_t length = std::char_traits<char>::length(current.data());
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, current.data(), length);
    static_cast<void>(std::signal(signal, SIG_DFL));
    static_cast<void>(std::raise(signal));
}

std::string printable(const std::string &input)
{
    std::string text;
    for (const char c : input) {
        std::array<char, 8> escape{};
        const bool plain = c >= ' ' && c <= '~' && c != '\\';
        static_cast<void>(std::snprintf(escape.data(), escape.size(), plain ? "%c" : "\\x%02x",
                                        static_cast<unsigned char>(c)));
        text += escape.data();
    }
    return text;
}

/** @return whether all went well; number 0 is the file itself */
bool replay(Check check, const Seed &seed, size_t number, const std::string &input)
{
    static_cast<void>(std::snprintf(current.data(), current.size(), "ended in %s, mutation %zu\n",
                                    seed.name.c_str(), number));
    // Exactly as large as the input, so that a sanitizer sees a read behind its end.
    const std::vector<char> bytes(input.begin(), input.end());
    try {
        check({bytes.data(), bytes.size()});
        return true;
    } catch (const std::exception &error) {
        static_cast<void>(std::fprintf(stderr, "%s, mutation %zu: %s\n    input: %s\n", seed.name.c_str(),
                                       number, error.what(), printable(input).c_str()));
        return false;
    }
}

std::vector<Seed> read_seeds(const std::vector<std::string> &paths)
{
    std::vector<fs::path> files;
    for (const std::string &path : paths) {
        if (!fs::is_directory(path))
            files.emplace_back(path);
        else
            std::copy(fs::directory_iterator(path), {}, std::back_inserter(files));
    }
    // The same order everywhere: mutations take parts of other files.
    std::sort(files.begin(), files.end());
    std::vector<Seed> seeds;
    for (const fs::path &file : files) {
        std::ifstream stream(file, std::ios::binary);
        if (!stream)
            throw std::runtime_error("cannot read " + file.string());
        seeds.push_back({file.string(), {std::istreambuf_iterator<char>(stream), {}}});
    }
    if (seeds.empty())
        throw std::runtime_error("no files to replay");
    return seeds;
}

size_t count_failures(Check check, const std::vector<Seed> &seeds, size_t &inputs)
{
    std::vector<std::string> corpus;
    corpus.reserve(seeds.size());
    for (const Seed &seed : seeds)
        corpus.push_back(seed.content);
    size_t failures = 0;
    for (const Seed &seed : seeds) {
        size_t number = 0;
        failures += replay(check, seed, number, seed.content) ? 0U : 1U;
        for (const std::string &input : mutations(seed.content, corpus))
            failures += replay(check, seed, ++number, input) ? 0U : 1U;
        inputs += number + 1;
    }
    return failures;
}

Check check_of(const std::string &target)
{
    using namespace ogh::fuzz;
    const std::map<std::string, Check> checks{OGH_CHECKS};
    const auto found = checks.find(target);
    if (found == checks.end())
        throw std::runtime_error("there is no target '" + target + "'");
    return found->second;
}

} // namespace

int main(int argc, char **argv)
{
    try {
        static_cast<void>(std::signal(SIGABRT, tell_current));
        const std::vector<std::string> arguments{argv + 1, argv + argc};
        const auto check = check_of(arguments.at(0));
        const auto seeds = read_seeds({arguments.begin() + 1, arguments.end()});
        size_t inputs = 0;
        const size_t failures = count_failures(check, seeds, inputs);
        std::printf("%zu files, %zu inputs, %zu failures\n", seeds.size(), inputs, failures);
        return failures == 0 ? 0 : 1;
    } catch (const std::exception &error) {
        static_cast<void>(std::fprintf(stderr, "replay: %s\n", error.what()));
        return 2;
    }
}
