// SPDX-License-Identifier: Apache-2.0

// Only in static executables. libcap-ng can look up users by name, and the C library would serve that by
// loading shared libraries at run time: never in a process that has entered a container. Nothing here
// calls these functions; defined so, nothing can come to do it unnoticed.

#include <grp.h>
#include <pwd.h>

#include <cerrno>

int getpwnam_r(const char * /*name*/, passwd * /*entry*/, char * /*buffer*/, size_t /*size*/, passwd **result)
{
    *result = nullptr;
    return ENOENT;
}

int getpwuid_r(uid_t /*uid*/, passwd * /*entry*/, char * /*buffer*/, size_t /*size*/, passwd **result)
{
    *result = nullptr;
    return ENOENT;
}

int getgrnam_r(const char * /*name*/, group * /*entry*/, char * /*buffer*/, size_t /*size*/, group **result)
{
    *result = nullptr;
    return ENOENT;
}

passwd *getpwuid(uid_t /*uid*/)
{
    return nullptr;
}

int initgroups(const char * /*user*/, gid_t /*group*/)
{
    errno = ENOSYS;
    return -1;
}
