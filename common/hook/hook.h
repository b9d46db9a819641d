// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/command_line.h"
#include "base/log.h"
#include "edits/edits.h"
#include "history/history.h"
#include "hook/options.h"
#include "host/sysroot.h"
#include "image/container_view.h"
#include "kernel/progress.h"
#include "kernel/time_limit.h"
#include "lease/waiting/lease_directory.h"
#include "oci/config.h"
#include "oci/container_label.h"
#include "request/request.h"

namespace ogh {

/**
 * One run of a hook, from its command line to the container. A hook's main adds its own options to cli(),
 * calls parse(), asks for the request, and hands over the edits that it has planned.
 */
class Hook final {
public:
    Hook(const char *name, const char *description, Log &log, TimeLimit &limit);
    Hook(const Hook &) = delete;
    Hook &operator=(const Hook &) = delete;

    [[nodiscard]] CommandLine &cli() { return cli_; }
    [[nodiscard]] const CommonOptions &options() const { return options_; }

    /** For what the hook itself says of who may ask, before request(): plugin, observers, needs_no_limit. */
    [[nodiscard]] CommonOptions &options() { return options_; }

    /**
     * Parses the command line.
     * @return whether to go on: false after --help or --version, which have been printed
     * @throws Error (Usage)
     */
    [[nodiscard]] bool parse(int argc, const char *const *argv);

    /**
     * Reads state and config.json.
     * @param otherwise what a container asks that has not asked itself
     * @return what is asked of this hook, nothing if there is nothing to do. Where there is, signals that ask this process
     *         to end are looked at by it from now on: see Cancellation
     */
    [[nodiscard]] std::optional<Request> request(const OtherwiseAsked &otherwise = {});

    /** The container's config.json has root.readonly. */
    [[nodiscard]] bool read_only() const { return config_ && config_->read_only; }

    /** The container's config.json, once request() has read it; nothing with --plan by hand. */
    [[nodiscard]] const std::optional<Config> &config() const { return config_; }

    /**
     * Does what look() does to stay within the time limit, for a hook that first looks at directories of the host which
     * may be on any filesystem. No error if the container cannot be looked at: it is said when it has to be.
     */
    void watch_time();

    /**
     * The container that asks, for a hook whose plan depends on what there is in it. Where a
     * filesystem of its mount namespace is served by another process or machine, which may not answer, the hook goes
     * on in a child process: see TimeLimit.
     * @throws Error also for --plan without a container
     */
    [[nodiscard]] ContainerView &look();

    /** Carries the edits out, or prints them with --plan. */
    void carry_out(const Edits &edits);

    /**
     * Does what nobody asked of this hook: something in the container that cannot be read, or is in the way, stops no
     * start, and is a warning. What was done by then has been taken back.
     * @throws Error for what is the host's fault; Cancelled
     */
    void try_to(const std::function<void()> &work);

    /** The container that asks, once request() has said what; all empty with --plan by hand. */
    [[nodiscard]] const Container &container() const { return container_; }

    /** What people call it, and by what it asks; once request() has said what. */
    [[nodiscard]] const ContainerLabel &label() const { return label_; }

    /** The process that has started this one: the runtime. It may have ended since. */
    [[nodiscard]] pid_t parent() const { return parent_; }

    /** The host's root, or what stands for it, opened at the first call; on the host. @throws Error */
    const Sysroot &sysroot();

    /** Where what comes and goes is written down; nothing where it is not. First called on the host. @throws Error */
    [[nodiscard]] std::shared_ptr<History> history();

    /** Writes down that the container is refused, if there is one. What is wrong with the history goes to the log. */
    void write_refusal(const std::exception &error) noexcept;

    /** Says what is wrong with the history, if something is. */
    void say_history_problem() const;

    /** Gives this run so much more time, for what it is going to wait for. */
    void extend_time(std::chrono::seconds by) { limit_.extend(by); }

    /** What is to be taken back if the container does not get what it asks for. */
    [[nodiscard]] UndoLog &undo() { return progress_.undo; }

    /** What is worth saying. It is written by say_notes(), and whatever ends this run. */
    [[nodiscard]] Notes &notes() { return progress_.notes; }

    void say_notes();

    /** Prints to stdout what the user asked to see. @throws SystemError */
    static void print(const std::string &text);

private:
    /**
     * The state on stdin, and the config.json that it names.
     * @return false where config.json asks for nothing, nor does it otherwise: then it is not parsed
     * @throws Error
     */
    bool read_container(const OtherwiseAsked &otherwise);

    /**
     * Whether there is time left for the edits: a restore makes the container's mounts and its /dev only afterwards.
     * @throws Error if there is not, and the container would be without what it asks for
     */
    [[nodiscard]] bool is_being_created(const Edits &edits) const;

    void go_on_in_child_if_needed();
    void prepare_records();
    void count_refusal(int status) noexcept;

    const char *name_;
    pid_t parent_;
    Log &log_;
    TimeLimit &limit_;
    CommandLine cli_;
    CommonOptions options_;
    std::optional<Config> config_;
    Container container_;
    ContainerLabel label_;
    std::optional<ContainerView> view_;
    Progress progress_;
    std::string not_creating_; ///< see State
    std::optional<Sysroot> sysroot_;
    std::shared_ptr<History> history_;
    std::optional<LeaseDirectory> lease_place_;
    bool has_prepared_records_ = false;
};

/**
 * What main does for every hook: sets up the process, runs `body`, catches everything once and writes one line.
 * @param linux_capabilities that this hook needs besides those that all need; numbers as in <linux/capability.h>
 * @return the exit code
 */
int run_hook(const char *name, const char *description, const std::function<void(Hook &)> &body,
             const std::vector<unsigned> &linux_capabilities = {});

} // namespace ogh
