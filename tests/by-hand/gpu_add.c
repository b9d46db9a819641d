/* SPDX-License-Identifier: Apache-2.0
 *
 * gpu_add [hold] : has a GPU add one to a million numbers, by the driver's library alone, and says whether it did. With
 * "hold" it keeps the GPU until it is ended. Names and numbers are those of NVIDIA's CUDA Driver API.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { count = 1 << 20, block = 256 };

static const char program[] = ".version 6.3\n"
                              ".target sm_75\n"
                              ".address_size 64\n"
                              ".visible .entry add(.param .u64 numbers)\n"
                              "{\n"
                              ".reg .b32 %r<5>;\n"
                              ".reg .b64 %l<4>;\n"
                              "mov.u32 %r1, %ctaid.x;\n"
                              "mov.u32 %r2, %ntid.x;\n"
                              "mov.u32 %r3, %tid.x;\n"
                              "mad.lo.s32 %r4, %r1, %r2, %r3;\n"
                              "ld.param.u64 %l1, [numbers];\n"
                              "cvta.to.global.u64 %l2, %l1;\n"
                              "mad.wide.u32 %l3, %r4, 4, %l2;\n"
                              "ld.global.u32 %r1, [%l3];\n"
                              "add.u32 %r2, %r1, 1;\n"
                              "st.global.u32 [%l3], %r2;\n"
                              "ret;\n"
                              "}\n";

static void *library;

static void *symbol(const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        printf("%s\n", dlerror());
        exit(1);
    }
    return found;
}

static void check(const char *what, int result)
{
    if (result != 0) {
        printf("%s: %d\n", what, result);
        exit(1);
    }
}

static void *load(void)
{
    int device = 0;
    void *context = NULL;
    void *module = NULL;
    void *function = NULL;
    check("cuInit", ((int (*)(unsigned))symbol("cuInit"))(0));
    check("cuDeviceGet", ((int (*)(int *, int))symbol("cuDeviceGet"))(&device, 0));
    check("cuCtxCreate", ((int (*)(void **, unsigned, int))symbol("cuCtxCreate_v2"))(&context, 0, device));
    check("cuModuleLoadData", ((int (*)(void **, const void *))symbol("cuModuleLoadData"))(&module, program));
    check("cuModuleGetFunction",
          ((int (*)(void **, void *, const char *))symbol("cuModuleGetFunction"))(&function, module, "add"));
    return function;
}

static unsigned add(void *function)
{
    typedef int (*Launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          void *, void **, void **);
    unsigned long long numbers = 0;
    void *arguments[] = {&numbers};
    static unsigned results[count];
    unsigned right = 0;
    check("cuMemAlloc",
          ((int (*)(unsigned long long *, size_t))symbol("cuMemAlloc_v2"))(&numbers, sizeof results));
    check("cuMemsetD32",
          ((int (*)(unsigned long long, unsigned, size_t))symbol("cuMemsetD32_v2"))(numbers, 10, count));
    check("cuLaunchKernel", ((Launch)symbol("cuLaunchKernel"))(function, count / block, 1, 1, block, 1, 1, 0,
                                                               NULL, arguments, NULL));
    check("cuMemcpyDtoH", ((int (*)(void *, unsigned long long, size_t))symbol("cuMemcpyDtoH_v2"))(
                              results, numbers, sizeof results));
    for (int i = 0; i < count; ++i)
        right += results[i] == 11;
    return right;
}

int main(int argc, char **argv)
{
    (void)argv;
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL) {
        printf("%s\n", dlerror());
        return 1;
    }
    printf("%u of %d right\n", add(load()), count);
    fflush(stdout);
    if (argc > 1)
        pause();
    return 0;
}
