// The door to devices whose drivers are found at run time: streams in order, copies between devices
// and the host. It holds nothing but includes.
#pragma once

#include <dlbridge/runtime/carry.hpp>
#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/driver.hpp>
#include <dlbridge/runtime/hip.hpp>
#include <dlbridge/runtime/kept_events.hpp>
#include <dlbridge/runtime/lane.hpp>
#include <dlbridge/runtime/library.hpp>
#include <dlbridge/runtime/memory.hpp>
#include <dlbridge/runtime/order.hpp>
#include <dlbridge/runtime/transfer.hpp>
