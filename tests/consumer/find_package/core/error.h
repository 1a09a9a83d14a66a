// A user's header that has the path of one of Belfry's: Belfry's own must not pick it up.
#pragma once

namespace user {
inline constexpr int kAnswer = 7;
}
