// One row of the API's table: which request, who may make it, and what answers it.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "api/auth.h"
#include "api/errors.h"
#include "api/parts.h"
#include "api/workers.h"

namespace postrider {

struct ApiRequest {
  HttpIn in = {};
  Caller caller = {};
  std::string id = {};     // what {id} in the path stands for, as it came
  std::uint64_t draw = 0;  // the seed of this request's own random numbers
};

/// An answer, or what is wrong with the request.
using Answered = std::variant<HttpOut, ApiError>;
/// Answers without waiting, on the server's loop; or hands `respond` on to who answers later.
using AtOnce = void (*)(const ApiParts&, const ApiRequest&, const Respond&);
/// Waits for the store, on a worker.
using WithStore = Answered (*)(const ApiParts&, Worker&, const ApiRequest&);

enum class Peers : std::uint8_t { Keyed, KeyedUnlessLocal };

struct ApiRoute {
  std::string_view method;
  std::string_view path;      // with at most one {id}
  std::optional<Role> least;  // empty: open to everybody, without a key
  Does does = Does::Reads;
  std::variant<AtOnce, WithStore> answer;
  Peers peers = Peers::Keyed;
};

/// All there are. What is not here is 404.
std::span<const ApiRoute> api_routes();

/// What {id} stands for when the path fits; empty text for a pattern without {id}.
std::optional<std::string_view> fits(std::string_view pattern, std::string_view path);

/// What a failed store verb is answered with; the worker learns of it too.
ApiError store_failed(Worker& worker, const Error& error);

/// The tenant that a request is about: the key's own, or for ops the one of `?tenant=` (empty: all of them).
std::variant<std::optional<TenantId>, ApiError> tenant_of(const ApiParts& parts, const Caller& caller,
                                                          const std::string* named);

}  // namespace postrider
