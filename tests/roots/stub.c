// SPDX-License-Identifier: Apache-2.0
// All there is in a library of the tests. It takes no header and no other library, so it can be built for any machine
// that the compiler knows.
int oci_gpu_hooks_stub(void);

int oci_gpu_hooks_stub(void)
{
    return 1;
}
