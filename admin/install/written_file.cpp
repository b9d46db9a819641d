// SPDX-License-Identifier: Apache-2.0
#include "install/written_file.h"

#include "registration/marked_part.h"

namespace ogh::admin {

PresentFile look_at(const RootFiles &root, const InstalledFile &file)
{
    PresentFile present = root.look(file.path);
    if (file.part.empty() || !present.is_plain)
        return present;
    const auto text = part_in(present.text, file.part);
    present.exists = present.is_plain = text.has_value();
    present.text = text.value_or("");
    return present;
}

bool is_as_written(const InstalledFile &file, const PresentFile &present)
{
    return present.is_plain && sha256_of(present.text) == file.hash;
}

void write_part(RootFiles &root, const InstalledFile &file, const std::string &text)
{
    const PresentFile whole = root.look(file.path);
    root.write(file.path, with_part(whole.text, file.part, text), whole.mode);
}

void remove_written(RootFiles &root, const InstalledFile &file)
{
    if (file.part.empty())
        root.remove(file.path);
    else
        write_part(root, file, "");
}

void store(RootFiles &root, const Manifest &manifest)
{
    if (manifest.files.empty())
        root.remove(Manifest::path);
    else
        root.write(Manifest::path, manifest.to_text());
}

} // namespace ogh::admin
