// SPDX-License-Identifier: Apache-2.0
#include "hook/hook.h"

#include <unistd.h>
#include <linux/capability.h>

#include <array>
#include <cstdint>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/exit_status.h"
#include "base/file.h"
#include "base/text.h"
#include "build_config.h"
#include "container/commit.h"
#include "container/device_node.h"
#include "hook/file_options.h"
#include "host/sysroot.h"
#include "kernel/end_signals.h"
#include "kernel/mount_table.h"
#include "kernel/process.h"
#include "kernel/user_namespace.h"
#include "lease/waiting/refusals.h"
#include "oci/state.h"
#include "request/annotations.h"

namespace ogh {

namespace {

constexpr size_t max_state_size = size_t{1} << 20U;
constexpr size_t usual_state_size = 2047;

// The first three to enter, the others to make things in the container, as its root or for it.
constexpr std::array<unsigned, 7> common_capabilities = {
    CAP_SYS_ADMIN, CAP_SYS_CHROOT, CAP_SYS_PTRACE, CAP_DAC_OVERRIDE, CAP_SETUID, CAP_SETGID, CAP_CHOWN};

/** Less than the 30 s that the JSON files allow, so that the hook has the last word. */
constexpr std::chrono::seconds time_limit{25};

/** What podman makes of --group-add keep-groups; crun(1). */
constexpr std::string_view keep_groups_annotation = "run.oci.keep_original_groups";

/**
 * A note of the ELF file, elf(5), by which its version can be read without running it. The linker keeps notes of what it
 * links.
 */
struct VersionNote {
    std::uint32_t name_size;
    std::uint32_t description_size;
    std::uint32_t type;
    std::array<char, 16> name;
    std::array<char, 16> version;
};

[[gnu::used, gnu::section(".note.oci-gpu-hooks"), gnu::aligned(4)]] constexpr VersionNote version_note{
    sizeof("oci-gpu-hooks"), sizeof(OGH_VERSION), 1, {"oci-gpu-hooks"}, {OGH_VERSION}};

} // namespace

Hook::Hook(const char *name, const char *description, Log &log, TimeLimit &limit)
    : name_(name), parent_(::getppid()), log_(log), limit_(limit),
      cli_(name, description), progress_{Cancellation(&limit)}
{
}

const Sysroot &Hook::sysroot()
{
    if (!sysroot_)
        sysroot_.emplace(options_.sysroot);
    return *sysroot_;
}

void Hook::say_notes()
{
    const Notes notes = std::move(progress_.notes);
    progress_.notes.clear();
    log_.write(notes);
}

bool Hook::parse(int argc, const char *const *argv)
{
    // Whoever forgets the name in 'args' has written a limit that would count for nothing.
    if (argc > 0 && argv[0][0] == '-')
        throw Error(ErrorKind::Usage,
                    quote(argv[0]) + " is taken for the name of the program, and does not count: it is the "
                                     "first of 'args', where the hook's name stands");
    cli_.heading("Options of every hook");
    add_common_options(cli_, options_);
    if (const auto text = cli_.parse(argc, argv)) {
        print(*text);
        return false;
    }
    options_.words = {argv + 1, argv + argc};
    const FileOptions sorted = sort_options(options_.words);
    options_.has_limit = sorted.has_limit;
    options_.only_looks = sorted.only_looks;
    log_.set_level(options_.log_level);
    if (options_.only_looks)
        log_.leave_syslog_alone();
    check(options_);
    if (options_.log_file && !options_.only_looks)
        log_.add_file(*options_.log_file);
    return true;
}

bool Hook::read_container(const OtherwiseAsked &otherwise)
{
    const std::string text =
        ::isatty(STDIN_FILENO) != 0
            ? std::string()
            : read_all(STDIN_FILENO, max_state_size, "the container's state on stdin", usual_state_size);
    if (text.empty()) {
        if (!options_.plan || !options_.request)
            throw Error(ErrorKind::Usage,
                        "no container's state on stdin; this is a hook that a container runtime calls, "
                        "see oci-gpu-hooks(7). By hand: --plan --request VALUE");
        return true;
    }
    const State state = parse_state(text);
    log_.set_container(state.id);
    not_creating_ = state.not_creating;
    container_.id = state.id;
    container_.pid = state.pid;
    const std::string config = read_config(state.bundle);
    if (!may_ask(config, options_) && (!otherwise || !otherwise()))
        return false;
    config_ = parse_config(config, state.bundle);
    // Podman writes none of what a pod's engine does: all such is the user's, or the image's.
    if (!is_by_podman(*config_))
        label_ = label_of(*config_);
    label_.bundle = state.bundle;
    container_ = {state.pid,
                  config_->rootfs,
                  config_->mount_label,
                  config_->cgroups_path,
                  config_->annotations.contains(keep_groups_annotation),
                  config_->user,
                  state.id};
    return true;
}

std::optional<Request> Hook::request(const OtherwiseAsked &otherwise)
{
    if (!read_container(otherwise)) {
        log_.write({{LogLevel::Info, "nothing to do: this container did not ask"}});
        return std::nullopt;
    }
    if (config_ && needs_keys(name_, *config_, options_))
        options_.keys = read_key_file(Sysroot("/"), *options_.key_file);
    auto asked = read_request(name_, config_ ? &*config_ : nullptr, options_, notes(), otherwise);
    if (asked) // then what is said of not asking is wrong, or of no interest
        std::erase_if(notes(), [](const Note &note) { return note.level > LogLevel::Warning; });
    say_notes();
    if (asked) {
        log_.connect();
        label_.asker = asked->asker_text();
        if (label_.user.empty())
            label_.user = login_user();
        prepare_records();
    }
    if (asked && !options_.plan)
        block_end_signals(); // from here on there may be something to take back
    return asked;
}

void Hook::print(const std::string &text)
{
    write_all(STDOUT_FILENO, text, "to stdout");
}

void Hook::go_on_in_child_if_needed()
{
    const std::vector<TypedMount> mounts = view_->mount_policy().inside().mounts_that_may_hang();
    if (mounts.empty())
        return;
    limit_.go_on_in_child(blame(mounts, container_.rootfs));
    view_.emplace(container_); // what the other one holds of /proc/self is the parent's
}

void Hook::watch_time()
{
    if (!config_ || options_.plan || view_)
        return;
    try {
        view_.emplace(container_);
    } catch (const Error &) {
        return; // whoever has to look will say it
    }
    go_on_in_child_if_needed();
}

ContainerView &Hook::look()
{
    if (!config_)
        throw Error(ErrorKind::Usage, "what is to be done depends on the image: --plan needs the state of a "
                                      "container that is being created on stdin");
    if (!view_) {
        view_.emplace(container_);
        go_on_in_child_if_needed();
    }
    return *view_;
}

bool Hook::is_being_created(const Edits &edits) const
{
    if (not_creating_.empty() || edits.empty())
        return true;
    Edits given = edits;
    given.proc.reset(); // hides what was not asked for
    if (!given.empty())
        throw Error(ErrorKind::Failure,
                    "the container is " + quote(not_creating_) +
                        " and not being created: one that is restored from a checkpoint is given nothing, "
                        "see oci-gpu-hooks(7)");
    log_.write({{LogLevel::Info, "nothing to do: the container is not being created"}});
    return false;
}

void Hook::carry_out(const Edits &edits)
{
    if (!is_being_created(edits))
        return;
    if (options_.plan) {
        check_host_nodes(edits.nodes); // a plan that would be refused is none
        print(to_json(edits));
    } else if (!edits.empty()) {
        ContainerView &view = look();
        commit(edits, std::move(view), progress_);
        view_.reset();
        say_notes();
    }
}

void Hook::try_to(const std::function<void()> &work)
{
    try {
        work();
    } catch (const Cancelled &) {
        throw;
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::Failure && error.kind() != ErrorKind::HostileContainer)
            throw;
        say_notes();
        log_.write({{LogLevel::Warning,
                     std::string(error.what()) + "; nothing was asked of this hook itself, ignoring"}});
    }
}

std::shared_ptr<History> Hook::history()
{
    if (history_ || options_.only_looks)
        return history_;
    const std::string &path = options_.history;
    // Of the root of a user namespace nobody knows whose /var that is.
    if (path.empty() ? in_initial_user_namespace() : path != "none")
        history_ = std::make_shared<History>(sysroot(), path.empty() ? default_history : path, name_);
    return history_;
}

/** Opens on the host what works in the container too. @throws Error */
void Hook::prepare_records()
{
    if (std::exchange(has_prepared_records_, true) || options_.only_looks)
        return;
    static_cast<void>(history());
    try {
        lease_place_ = LeaseDirectory::place(sysroot());
    } catch (const Error &) { // NOLINT(bugprone-empty-catch): who needs it will say so
    }
}

/** No container waits for numbers, and no message is about them. */
void Hook::count_refusal(int status) noexcept
try {
    if (lease_place_)
        ogh::count_refusal(std::move(*lease_place_).make(), name_, static_cast<size_t>(status));
} catch (const std::exception &) {
    return;
}

void Hook::write_refusal(const std::exception &error) noexcept
try {
    if (container_.id.empty())
        return; // by hand
    prepare_records();
    const auto *const known = dynamic_cast<const Error *>(&error);
    const int status = static_cast<int>(exit_status(known == nullptr ? ErrorKind::Failure : known->kind()));
    if (history_) {
        HistoryLine line = history_->begin("refused");
        line.add("container", container_.id);
        add_label(line, label_);
        line.add_number("status", static_cast<std::uint64_t>(status));
        line.add("reason", error.what());
        history_->add(std::move(line));
        say_history_problem();
    }
    count_refusal(status);
} catch (const std::exception &problem) {
    log_.write(LogLevel::Warning, std::string(problem.what()) + ", ignoring");
}

void Hook::say_history_problem() const
{
    if (history_ && !history_->problem().empty())
        log_.write(LogLevel::Warning, history_->problem() + ", ignoring");
}

int run_hook(const char *name, const char *description, const std::function<void(Hook &)> &body,
             const std::vector<unsigned> &linux_capabilities)
{
    Log log(name);
    const auto failed = [&](ErrorKind kind, std::string_view message) {
        log.write(LogLevel::Error, message);
        return static_cast<int>(exit_status(kind));
    };
    try {
        set_up_process();
        TimeLimit limit(time_limit);
        std::vector<unsigned> kept(common_capabilities.begin(), common_capabilities.end());
        kept.insert(kept.end(), linux_capabilities.begin(), linux_capabilities.end());
        limit_capabilities(kept);
        Hook hook(name, description, log, limit);
        try {
            body(hook);
        } catch (const std::exception &error) {
            hook.say_notes();
            hook.write_refusal(error);
            throw;
        }
        hook.say_notes();
        hook.say_history_problem();
    } catch (const Error &error) {
        return failed(error.kind(), error.what());
    } catch (const std::bad_alloc &) {
        return failed(ErrorKind::Failure, "out of memory");
    } catch (const std::exception &error) {
        return failed(ErrorKind::Failure, error.what());
    }
    return static_cast<int>(ExitStatus::Success);
}

} // namespace ogh
