// SPDX-License-Identifier: Apache-2.0
#include "exchangers.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <new>

namespace ogh::test {

namespace {

std::atomic<std::uint64_t> *shared_counter()
{
    void *memory = ::mmap(nullptr, sizeof(std::atomic<std::uint64_t>), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        fail("mmap");
    return new (memory) std::atomic<std::uint64_t>(0);
}

int cores()
{
    cpu_set_t set;
    CPU_ZERO(&set);
    check_call(::sched_getaffinity(0, sizeof set, &set), "sched_getaffinity");
    return CPU_COUNT(&set);
}

} // namespace

void exchange(const std::string &a, const std::string &b)
{
    check_call(::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE), "exchange of " + a);
}

Exchangers::Exchangers(const std::string &a, const std::string &b) : count_(shared_counter())
{
    for (int core = cores(); core > 0; --core) {
        children_.emplace_back([&] {
            for (;;) {
                exchange(a, b);
                ++*count_;
            }
        });
    }
}

Exchangers::~Exchangers()
{
    children_.clear();
    ::munmap(count_, sizeof *count_);
}

} // namespace ogh::test
