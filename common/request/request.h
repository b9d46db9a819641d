// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "oci/config.h"
#include "request/device_plugin.h"
#include "request/key_file.h"
#include "request/selectors.h"

namespace ogh {

/** Who may ask for something for a container. */
enum class OptIn {
    Annotation,  ///< whoever sets its annotations
    Environment, ///< also whoever sets its environment: the image, a task file
    Always,      ///< the host, for every container
};

/** The host's side of a request. */
struct OptInOptions {
    OptIn opt_in = OptIn::Annotation;
    std::optional<std::string> request;
    std::optional<std::string> key_file; ///< absolute; with OptIn::Environment
    std::optional<KeyFile> keys;         ///< what is in it, once it is needed
    std::vector<std::string> only;       ///< KEY=PATTERN each
    DevicePlugin plugin;                 ///< of hooks for GPUs
    std::vector<std::string> observers;  ///< of hooks for GPUs; as check_observers() accepts them
    std::vector<std::string> words;      ///< of the command line, behind the hook's name
    bool has_limit = false;              ///< one of them is a limit: FileOptions::has_limit
    bool needs_no_limit = false;         ///< in a pod either: the hook gives nothing of the host's
};

/** Who asks for something for a container. */
enum class Asker {
    Annotation,  ///< the container, by an annotation of this collection, whoever has set it
    Environment, ///< the container, by a variable: its image, a task file
    Key,         ///< the container, by a variable and a key of --key-file
    Always,      ///< the host, for every container (--opt-in always), such as those of a worker with a tag
    Device,      ///< the host, for this container (--request): it was given a CDI device
    Plugin,      ///< a device plugin of Kubernetes that the host believes (--from)
    EngineAnnotation, ///< the container, by annotations that are meant for engines (`cdi.k8s.io/…`)
    Observer,         ///< the host, for a container that looks after its GPUs (--observer)
    OtherHook,        ///< nobody: another hook was asked, and this one goes along with it
};

/** All that is asked of one hook for one container. It is read once, and everything else asks it. */
struct Request {
    Asker asker = {};
    RequestValue what;
    /** What is said besides, by what stands behind the hook's name in its key: "lease", "capabilities". */
    std::map<std::string, RequestValue, std::less<>> details = {};
    KeyLimits limits = {};                   ///< of the key that it was asked with
    std::string key = {};                    ///< its name, never the key itself
    std::optional<PluginSource> plugin = {}; ///< where the plugin says it

    /** Whether the host asks, and not the container. */
    [[nodiscard]] bool is_by_host() const { return asker == Asker::Always || asker == Asker::Device; }

    /** Whether a host that has nothing to give is no error: nobody has made this container for such a one. */
    [[nodiscard]] bool may_go_without() const { return asker == Asker::Always || asker == Asker::Observer; }

    /** By what it is asked, for people: "key:NAME", "tag" where every container is given it, "annotation", and so on. */
    [[nodiscard]] std::string asker_text() const;

    /** @return nullptr if nothing is said of it */
    [[nodiscard]] const RequestValue *detail(std::string_view name) const;
};

using OtherwiseAsked = std::function<std::optional<Request>()>;

/**
 * Reads what is asked of `hook`: by the annotation `io.oci-gpu-hooks.HOOK`, by the variable that stands for it with
 * --opt-in environment or always, or by the host's --request, as the options allow; where the host believes a device plugin
 * (--from), what that has given the container, unless it asks for `none` itself. In a pod `io.oci-gpu-hooks.HOOK/CONTAINER`
 * is for that container alone and wins, see find_own_annotation(). What is said besides (`HOOK.lease`) counts in the same
 * ways, but not where the host alone asks. Nobody asks for a get, put or check of Concourse's: it starts
 * without. An observer (--observer) is asked for `all`, unless it asks itself, and --only does not apply to it. Why there
 * is nothing to do stands in `notes`.
 *
 * @param config nullptr if there is no container (--plan by hand): then only --request counts
 * @param otherwise what else counts as a request, where there is none; --only does not apply to it
 * @throws Error: Usage for a value that is empty or too long, and for a key of this collection that no hook knows: a
 *         container must not silently start without what it asked for; Denied if it asks and --only leaves it out, if it
 *         asks itself beside a plugin, for a variable without a key that --key-file has a line for which serves the hook,
 *         and as check_pod() for an annotation, unless it says `none`
 */
std::optional<Request> read_request(std::string_view hook, const Config *config, const OptInOptions &options,
                                    Notes &notes, const OtherwiseAsked &otherwise = {});

/**
 * Whether config.json may ask for anything, looked at as bytes: most containers do not, and then nothing of it needs to be
 * parsed. False only if read_request() would find nothing to do and nothing to refuse.
 */
bool may_ask(std::string_view config_text, const OptInOptions &options);

/** Whether a variable of the container would count with a key: a file that is wrong must not stop others. */
bool needs_keys(std::string_view hook, const Config &config, const OptInOptions &options);

/**
 * Who writes a pod is not the host's administrator, so what a pod's annotation asks counts only where the hook has a
 * limit.
 * @param origin what asks, for the message
 * @throws Error (Denied) which names what to run, if the container is a pod's and there is none
 */
void check_pod(std::string_view hook, const Config &config, const OptInOptions &options,
               const std::string &origin);

} // namespace ogh
