// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"

namespace ogh::test {

/** Both ends of a connection. */
class SocketPair {
public:
    SocketPair()
    {
        std::array<int, 2> ends{};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
            throw std::runtime_error("socketpair");
        ours_ = UniqueFd(ends[0]);
        theirs_ = UniqueFd(ends[1]);
    }

    /** The end for what is tested. */
    UniqueFd take() { return std::move(theirs_); }

    [[nodiscard]] int ours() const { return ours_.get(); }

    void write(std::string_view bytes) const
    {
        if (::send(ours_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(bytes.size()))
            throw std::runtime_error("send");
    }

    void write_nothing_more() const { ::shutdown(ours_.get(), SHUT_WR); }

    /** What the other end has written up to now. */
    [[nodiscard]] std::string read() const
    {
        std::string text(size_t{1} << 16U, '\0');
        const ssize_t got = ::recv(ours_.get(), text.data(), text.size(), MSG_DONTWAIT);
        text.resize(got > 0 ? static_cast<size_t>(got) : 0);
        return text;
    }

private:
    UniqueFd ours_;
    UniqueFd theirs_;
};

} // namespace ogh::test
