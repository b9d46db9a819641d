// SPDX-License-Identifier: Apache-2.0
// Opens each library named on its command line, and prints which file the loader took: `NAME PATH`, or `NAME - REASON`.
//
// It runs in images that are older than the compiler's C library, and in images of musl. So it takes no header and no
// start-up code, and declares the few functions that it needs: tests/roots/probe_symbols.map gives them the version that
// every glibc has had since 2.2.5.
typedef unsigned long size;

// What dlopen gives, in glibc and in musl, begins with these members.
struct library {
    size base;
    const char *path;
};

void *dlopen(const char *name, int flags);
const char *dlerror(void);
int fork(void);
int waitpid(int pid, int *status, int options);
size strlen(const char *text);
long write(int descriptor, const void *data, size length);
void _exit(int status) __attribute__((noreturn));
int __libc_start_main(int (*program)(int, char **, char **), int count, char **words, void (*init)(void),
                      void (*fini)(void), void (*loader_fini)(void), void *stack_end);

enum { now_lazily = 1 };

static void print(const char *text)
{
    write(1, text, strlen(text));
}

static void probe(const char *name)
{
    const struct library *opened = dlopen(name, now_lazily);
    print(name);
    print(opened ? " " : " - ");
    print(opened ? opened->path : dlerror());
    print("\n");
}

// Each in a process of its own, so that none of them finds what another has loaded.
static int program(int count, char **words, char **environment)
{
    int status;

    (void)environment;
    for (int i = 1; i < count; ++i) {
        const int child = fork();
        if (child == 0) {
            probe(words[i]);
            _exit(0);
        }
        waitpid(child, &status, 0);
    }
    return 0;
}

void start(long *stack, void (*loader_fini)(void)) __attribute__((noreturn));

void start(long *stack, void (*loader_fini)(void))
{
    __libc_start_main(program, (int)stack[0], (char **)(stack + 1), 0, 0, loader_fini, stack);
    _exit(127);
}

// The kernel and the loader give the arguments on the stack, which has to be aligned before a function is called.
__asm__(".globl _start\n"
        "_start:\n"
        "    xor %ebp, %ebp\n"
        "    mov %rsp, %rdi\n"
        "    mov %rdx, %rsi\n"
        "    and $-16, %rsp\n"
        "    call start\n");
