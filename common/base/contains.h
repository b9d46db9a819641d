// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>

namespace ogh {

/** Whether one of the items equals the value. */
template<typename List, typename Value> bool contains(const List &list, const Value &value)
{
    return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

/** Appends the item unless the list has it. */
template<typename List> void add_once(List &list, typename List::value_type item)
{
    if (!contains(list, item))
        list.push_back(std::move(item));
}

} // namespace ogh
