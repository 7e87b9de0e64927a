// Identity of a piece of content: XXH3-128, as 32 lower-case hexadecimal digits.
//
// For storing once and comparing, not as evidence against an adversary (xxHash is not
// cryptographic).

#ifndef REPRISE_HARNESS_BASE_CONTENT_ID_H_
#define REPRISE_HARNESS_BASE_CONTENT_ID_H_

#include <string>
#include <string_view>

namespace reprise {

std::string ContentId(std::string_view bytes);

}  // namespace reprise

#endif  // REPRISE_HARNESS_BASE_CONTENT_ID_H_
