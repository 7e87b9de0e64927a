// What stands in braces in a target's command: `{ckpt}`, `{rank}` and their kin.
//
// A name in braces that is none of them is a mistake far more often than it is meant, and would
// name a folder "{checkpoint}" in silence; so it is an error. `{{name}}` stands for the text
// `{name}`, and `${name}` is left to the shell. Braces around anything but a lower-case word are
// text.

#ifndef REPRISE_HARNESS_PLAN_PLACEHOLDERS_H_
#define REPRISE_HARNESS_PLAN_PLACEHOLDERS_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace reprise {

const std::vector<std::string>& PlaceholderNames();

// kInvalidInput, without `where`, for a name that is none of PlaceholderNames().
Status CheckPlaceholders(std::string_view argument);

// REQUIRES: CheckPlaceholders(argument) passed, and `values` has all names.
std::string ReplacePlaceholders(std::string_view argument,
                                const std::map<std::string, std::string>& values);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PLAN_PLACEHOLDERS_H_
