// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_text.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "base/file.h"

namespace ogh {

MappedText::MappedText(int fd, size_t limit, const std::string &what)
{
    struct stat status {};
    const size_t size = ::fstat(fd, &status) == 0 ? static_cast<size_t>(status.st_size) : 0;
    void *const memory = size == 0 || size > limit
                             ? MAP_FAILED
                             : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    is_mapped_ = memory != MAP_FAILED;
    if (is_mapped_)
        mapped_ = {static_cast<const char *>(memory), size};
    else // SELinux may forbid it to who may read
        copy_ = read_all(fd, limit, what, size);
}

MappedText::~MappedText()
{
    if (is_mapped_)
        ::munmap(const_cast<char *>(mapped_.data()), mapped_.size());
}

} // namespace ogh
