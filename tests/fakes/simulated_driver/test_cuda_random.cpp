// SPDX-License-Identifier: BSD-3-Clause
// Random programs: without a race report, the bytes are those of sequential execution.
#include <array>
#include <random>

#include "cuda_api.hpp"

namespace {

class CudaRandom : public cuda_driver_test {
 protected:
  static constexpr std::size_t blocks = 4, block_bytes = 8;

  void create_objects() {
    memory = new_memory(blocks * block_bytes);
    std::array<unsigned char, blocks * block_bytes> const zeros{};
    simulated_poke(at(memory), zeros.data(), zeros.size());
    for (std::size_t i = 0; i < streams.size(); ++i) {
      streams[i] = new_stream(i == 1);
      events[i] = new_event();
    }
    streams[0] = nullptr;
  }

  // Makes one random call, and updates the model as if the call had run immediately.
  void step() {
    void* const stream = streams[pick(streams.size())];
    std::size_t const to = pick(blocks);
    switch (pick(8)) {
      case 0:
      case 1: {
        auto const value = static_cast<unsigned char>(pick(256));
        EXPECT_EQ(simulated_write(stream, block(to), value, block_bytes), ok);
        model[to] = value;
        break;
      }
      case 2: {
        std::size_t const from = pick(blocks);
        EXPECT_EQ(simulated_copy(stream, block(to), block(from), block_bytes), ok);
        model[to] = model[from];
        break;
      }
      case 3:
        if (pick(4) == 0) {
          EXPECT_EQ(cuStreamSynchronize(stream), ok);
        }
        break;
      case 4:
        EXPECT_EQ(cuEventRecord(events[pick(events.size())], stream), ok);
        break;
      default:
        order(stream, streams[pick(streams.size())]);
        EXPECT_EQ(cuStreamWaitEvent(stream, events[pick(events.size())], 0), ok);
    }
  }

  std::size_t pick(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
  }
  void* block(std::size_t index) const { return at(memory + index * block_bytes); }

  std::mt19937 random;
  CUdeviceptr memory = 0;
  std::array<void*, 4> streams{};
  std::array<void*, 4> events{};
  std::array<unsigned char, blocks> model{};
};

TEST_F(CudaRandom, ProgramsWithoutRacesGiveTheBytesOfSequentialExecution) {
  int clean = 0;
  int stale = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    cuda_driver_test::SetUp();
    random.seed(seed);
    model = {};
    create_objects();
    for (std::size_t remaining = 4 + pick(30); remaining != 0; --remaining) {
      step();
    }
    ASSERT_EQ(cuCtxSynchronize(), ok);
    bool is_same = true;
    for (std::size_t i = 0; i < blocks; ++i) {
      is_same = is_same && byte_at(memory + (i + 1) * block_bytes - 1) == model[i];
    }
    clean += simulated_race_count() == 0 ? 1 : 0;
    stale += is_same ? 0 : 1;
    ASSERT_TRUE(is_same || simulated_race_count() != 0) << "seed " << seed;
  }
  EXPECT_GT(clean, 100);
  EXPECT_GT(stale, 100);
}

}  // namespace
