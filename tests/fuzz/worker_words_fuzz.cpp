// SPDX-License-Identifier: Apache-2.0
#include "engines/worker_words.h"
#include "promise.h"
#include "target.h"

namespace ogh::fuzz::worker_words {

using namespace ogh::admin;

/** A command line, an empty line, and an environment; parts of each end with NUL. */
void check(std::string_view input)
{
    const size_t gap = input.find("\n\n");
    const std::string_view line = input.substr(0, gap);
    const std::string_view rest = gap == std::string_view::npos ? "" : input.substr(gap + 2);
    const auto words = split_at_nul(line);
    size_t size = 0;
    for (const std::string &word : words) {
        require(word.find('\0') == std::string::npos, "a word ends with NUL");
        size += word.size() + 1;
    }
    require(size == line.size() || size == line.size() + 1, "a byte is lost");
    const auto environment = split_at_nul(rest);
    if (words.empty() || !is_worker(words))
        return;
    require(line.find("concourse") != std::string_view::npos, "no worker");
    if (const auto runtime = worker_setting(words, environment, "runtime"))
        require(line.find(*runtime) != std::string_view::npos ||
                    rest.find(*runtime) != std::string_view::npos,
                "a setting that nobody has set");
}

} // namespace ogh::fuzz::worker_words
