// SPDX-License-Identifier: BSD-3-Clause
// kept_stream: a stored stream, used by the thread that stored it and by others.
#include <dlbridge/kept_stream.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

namespace {

using dlbridge::default_stream;
using dlbridge::device;
using dlbridge::kept_stream;
using dlbridge::stream_ref;

stream_ref on_other_thread(kept_stream const& kept, device where) {
  stream_ref result = stream_ref::default_of(dlbridge::cpu);
  std::thread([&] { result = kept.get(where); }).join();
  return result;
}

stream_ref with_handle(device where, std::uintptr_t handle) {
  return stream_ref(where, reinterpret_cast<void*>(handle));
}

TEST(KeptStream, IsTheSameStreamOnEveryThread) {
  device const cuda(kDLCUDA, 1);
  device const rocm(kDLROCM, 0);
  for (stream_ref const stream : {with_handle(cuda, 0x1000), stream_ref::default_of(cuda),
                                  with_handle(rocm, 0x1000), stream_ref::default_of(rocm)}) {
    kept_stream const kept(stream);
    EXPECT_EQ(kept.get(stream.device()), stream);
    EXPECT_EQ(on_other_thread(kept, stream.device()), stream);
  }
}

TEST(KeptStream, ThePerThreadStreamOfAnotherThreadIsTheDefaultOne) {
  for (device const where : {device(kDLCUDA, 1), device(kDLCUDAManaged, 0), device(kDLROCM, 1)}) {
    stream_ref const stream = with_handle(where, 2);
    kept_stream const kept(stream);
    EXPECT_EQ(kept.get(where), stream);
    EXPECT_EQ(on_other_thread(kept, where), stream_ref::default_of(where));
  }
}

TEST(KeptStream, ANewThreadIsAnotherThreadThanOneThatEnded) {
  device const where(kDLCUDA, 0);
  kept_stream kept;
  std::thread([&] {
    kept = kept_stream(stream_ref::default_of(where, default_stream::per_thread));
  }).join();
  for (int i = 0; i < 3; ++i) {  // the system reuses the IDs of ended threads
    EXPECT_EQ(on_other_thread(kept, where), stream_ref::default_of(where));
  }
}

TEST(KeptStream, KeepsTheContextOfADefaultStream) {
  device const where(kDLCUDA, 0);
  int context = 0;
  for (auto const which : {default_stream::legacy, default_stream::per_thread}) {
    stream_ref const stream = stream_ref::default_of(where, which).in_context(&context);
    kept_stream const kept(stream);
    EXPECT_EQ(kept.get(where), stream);
    EXPECT_EQ(on_other_thread(kept, where), stream_ref::default_of(where).in_context(&context));
    EXPECT_TRUE(kept != kept_stream(stream_ref::default_of(where, which)));
  }
}

TEST(KeptStream, IsNoneWithoutStreams) {
  EXPECT_TRUE(kept_stream().is_none());
  EXPECT_TRUE(kept_stream(stream_ref::default_of(dlbridge::cpu)).is_none());
  EXPECT_FALSE(kept_stream(stream_ref::default_of(device(kDLCUDA, 0))).is_none());
  EXPECT_FALSE(kept_stream(stream_ref::default_of(device(kDLROCM, 0))).is_none());
}

TEST(KeptStream, ComparesHandlesAndThreads) {
  device const where(kDLCUDA, 0);
  kept_stream const mine(with_handle(where, 2));
  kept_stream theirs;
  std::thread([&] { theirs = kept_stream(with_handle(where, 2)); }).join();
  EXPECT_TRUE(mine == kept_stream(with_handle(where, 2)));
  EXPECT_TRUE(mine != theirs);
  EXPECT_TRUE(theirs != kept_stream(stream_ref::default_of(where)));
  EXPECT_TRUE(kept_stream() != kept_stream(stream_ref::default_of(device(kDLROCM, 0))));
}

}  // namespace
