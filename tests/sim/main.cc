// postrider-sim: the production core and pipeline in a simulated world, seed by
// seed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <string>

#include "sim/canary.h"
#include "sim/world.h"

namespace postrider::sim {
namespace {

struct Options {
  std::uint64_t seeds = 100;
  std::uint64_t first = 1;
  std::optional<std::uint64_t> seed = {};
  bool trace = false;
  bool quiet = false;
  std::string canary = {};
  std::string rule = {};
};

struct Totals {
  std::uint64_t seeds = 0, deliveries = 0, faults = 0, violations = 0, steps = 0;
  std::uint64_t fewest_faults = ~std::uint64_t{0};
  Duration simulated = {};
};

void report(const Outcome& outcome, const Options& options) {
  for (const Violation& violation : outcome.violations)
    fmt::print("seed {}: {}: {}\n", outcome.seed, violation.rule, violation.text);
  if (!outcome.violations.empty())
    fmt::print("  replay: postrider-sim{} --seed {} --trace\n",
               options.canary.empty() ? "" : "-canaries --canary " + options.canary, outcome.seed);
}

// One in a hundred is run twice: the same seed must give the same trace.
bool add(Totals& totals, std::uint64_t seed, const Options& options) {
  Outcome outcome = World{seed, options.trace ? Trace::Print : Trace::No}.run();
  if (seed % 100 == 0 && !options.trace) {
    if (const Outcome again = World{seed}.run(); again.trace != outcome.trace)
      outcome.violations.push_back({"same seed, same trace", "the second run differs from the first"});
  }
  ++totals.seeds;
  totals.deliveries += outcome.deliveries;
  totals.faults += outcome.faults;
  totals.fewest_faults = std::min(totals.fewest_faults, outcome.faults);
  totals.steps += outcome.steps;
  totals.simulated += outcome.simulated;
  totals.violations += outcome.violations.size();
  const bool caught = std::any_of(outcome.violations.begin(), outcome.violations.end(), [&](const Violation& each) {
    return options.rule.empty() || each.rule == options.rule;
  });
  if (caught || options.rule.empty()) report(outcome, options);
  return caught;
}

int run(const Options& options) {
  Totals totals;
  const std::uint64_t first = options.seed.value_or(options.first);
  const std::uint64_t count = options.seed ? 1 : options.seeds;
  const auto begun = std::chrono::steady_clock::now();
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const bool caught = add(totals, seed, options);
    // A canary is caught once, by the rule that it is for.
    if (!options.canary.empty() && caught) break;
  }
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  if (!options.quiet) {
    fmt::print(
        "{} steps, {:.0f} simulated hours, {} faults in the calmest "
        "seed, {:.1f} s\n",
        totals.steps, static_cast<double>(totals.simulated.count()) / 3.6e9, totals.fewest_faults, took);
    if (totals.violations == 0)
      fmt::print("0 of {}: < {:.3g} % per seed with 95 % confidence\n", totals.seeds,
                 300.0 / static_cast<double>(totals.seeds));
  }
  fmt::print("{} seeds, {} deliveries, {} faults, {} violations\n", totals.seeds, totals.deliveries, totals.faults,
             totals.violations);
  return totals.violations == 0 ? 0 : 1;
}

}  // namespace
}  // namespace postrider::sim

int main(int argc, char** argv) {
  using namespace postrider::sim;
  Options options;
  CLI::App app{
      "Runs the production core and pipeline in a simulated world: "
      "several nodes, producers, providers, and\n"
      "faults between any two steps; then heals it and looks whether "
      "every promise was kept.",
      "postrider-sim"};
  app.add_option("--seeds", options.seeds, "how many seeds")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--first", options.first, "the first seed")->capture_default_str();
  app.add_option("--seed", options.seed, "this seed alone");
  app.add_flag("--trace", options.trace, "print everything that happens");
  app.add_flag("--quiet", options.quiet, "only violations and the last line");
  if (has_canaries())
    app.add_option("--canary", options.canary, "plant this bug")->check(CLI::IsMember(canary_names()));
  if (has_canaries()) app.add_option("--rule", options.rule, "go on until this rule finds it");
  CLI11_PARSE(app, argc, argv);
  plant(options.canary);
  return run(options);
}
