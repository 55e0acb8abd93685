// The only source of randomness: a generator with a seed that its owner prints.
#pragma once

#include <cstdint>
#include <string>

namespace banyan {

/// SplitMix64 (Steele, Lea, Flood 2014): 64 bits of state, equal streams for equal seeds on every platform.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}

  /// The next 64 random bits.
  std::uint64_t next();
  /// A number in [0, bound), each equally likely. `bound` must be above 0.
  std::uint64_t below(std::uint64_t bound);
  /// A number in [0, 1), uniformly distributed.
  double uniform();
  /// True with the given probability.
  bool chance(double probability) { return uniform() < probability; }
  /// A generator whose stream does not overlap this one's in practice.
  Rng fork() { return Rng(next()); }
  /// A random RFC 4122 version 4 UUID, lower case, with dashes.
  std::string uuid();

 private:
  std::uint64_t state_;
};

}  // namespace banyan
