// The common part of this benchmark's peers: command line, traffic, reports.
//
//   PEER serve ADDRESS PORT          prints "ready", serves one connection, reports what it received
//   PEER send ADDRESS PORT SECONDS   sends as fast as it can
//   PEER ping ADDRESS PORT COUNT     64 bytes there and back, one after the other, for 4 s at most
//
// A transport is a class with Listen, Accept, Connect, Send (all bytes), Receive (available bytes) and Close.
// The first byte of a connection selects the test. The first byte of each block marks the last one, which
// the receiver acknowledges with one byte. So every counted byte was delivered.
// Leaves out: several connections, IPv6.

#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace peer {

constexpr size_t kBlock = 1 << 16;
constexpr size_t kPing = 64;
constexpr double kPingSeconds = 4;
constexpr int kSocketBuffer = 32 << 20;
constexpr char kData = 's', kEcho = 'p', kMore = 1, kLast = 0;

using Clock = std::chrono::steady_clock;

inline double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

[[noreturn]] inline void Fail(const std::string& what) { throw std::runtime_error(what); }

inline sockaddr_in Address(const char* host, const char* port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(port)));
  if (inet_pton(AF_INET, host, &address.sin_addr) != 1) Fail(std::string("no address: ") + host);
  return address;
}

inline void Ready() {
  std::puts("ready");
  std::fflush(stdout);
}

inline void ReportReceived(uint64_t bytes, double seconds) {
  std::printf("{\"bytes\": %llu, \"seconds\": %.6f}\n", static_cast<unsigned long long>(bytes), seconds);
  std::fflush(stdout);
}

// The nearest rank, as `dcudp ping` has it.
inline double Quantile(const std::vector<double>& sorted, size_t percent) {
  const size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted.at(std::max<size_t>(rank, 1) - 1);
}

inline void ReportPings(std::vector<double> micros) {
  std::sort(micros.begin(), micros.end());
  std::printf("{\"count\": %zu, \"p50_us\": %.2f, \"p99_us\": %.2f}\n", micros.size(),
              Quantile(micros, 50), Quantile(micros, 99));
}

template <typename Transport>
void ReceiveAll(Transport& link, char* out, size_t size) {
  for (size_t have = 0; have < size;) {
    const size_t count = link.Receive(out + have, size - have);
    if (count == 0) Fail("the connection ended early");
    have += count;
  }
}

template <typename Transport>
void Swallow(Transport& link) {
  std::vector<char> buffer(kBlock);
  ReceiveAll(link, buffer.data(), 1);
  const auto start = Clock::now();
  uint64_t bytes = 1;
  // The position in the block, and the first byte of the block.
  size_t position = 1;
  char kind = buffer[0];
  while (kind != kLast || position < kBlock) {
    const size_t count = link.Receive(buffer.data(), kBlock - position % kBlock);
    if (count == 0) Fail("the connection ended early");
    if (position % kBlock == 0) {
      kind = buffer[0];
      position = 0;
    }
    position += count;
    bytes += count;
  }
  const double seconds = SecondsSince(start);
  link.Send("!", 1);
  ReportReceived(bytes, seconds);
}

template <typename Transport>
void Echo(Transport& link) {
  char word[kPing];
  for (;;) {
    ReceiveAll(link, word, 1);
    if (word[0] == kLast) return;
    ReceiveAll(link, word + 1, kPing - 1);
    link.Send(word, kPing);
  }
}

template <typename Transport>
void Serve(Transport& link) {
  char wanted;
  ReceiveAll(link, &wanted, 1);
  wanted == kEcho ? Echo(link) : Swallow(link);
  // Until the peer is gone, or this process is ended: the reply must arrive.
  while (link.Receive(&wanted, 1) > 0) {
  }
}

template <typename Transport>
void SendFor(Transport& link, double seconds) {
  std::vector<char> block(kBlock, 7);
  link.Send(&kData, 1);
  block[0] = kMore;
  for (const auto start = Clock::now(); SecondsSince(start) < seconds;) link.Send(block.data(), kBlock);
  block[0] = kLast;
  link.Send(block.data(), kBlock);
  ReceiveAll(link, block.data(), 1);
}

template <typename Transport>
void Ping(Transport& link, size_t count) {
  std::vector<double> micros;
  char word[kPing] = {kMore};
  link.Send(&kEcho, 1);
  const auto first = Clock::now();
  while (micros.size() < count && SecondsSince(first) < kPingSeconds) {
    const auto start = Clock::now();
    link.Send(word, kPing);
    ReceiveAll(link, word, kPing);
    micros.push_back(SecondsSince(start) * 1e6);
  }
  link.Send(&kLast, 1);
  ReportPings(micros);
}

template <typename Transport>
void Run(const std::vector<std::string>& arguments) {
  const std::string& how = arguments.at(0);
  const sockaddr_in address = Address(arguments.at(1).c_str(), arguments.at(2).c_str());
  if (how == "serve") {
    auto listener = Transport::Listen(address);
    Ready();
    auto link = listener.Accept();
    return Serve(link);
  }
  auto link = Transport::Connect(address);
  if (how == "send") SendFor(link, std::stod(arguments.at(3)));
  else if (how == "ping") Ping(link, std::stoul(arguments.at(3)));
  else Fail("no such command: " + how);
  link.Close();
}

// Ends without the clean-up of libraries, which takes some of them seconds.
[[noreturn]] inline void Leave(int status) {
  std::fflush(stdout);
  std::_Exit(status);
}

template <typename Transport>
[[noreturn]] void Main(int argc, char** argv) {
  try {
    Run<Transport>({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    Leave(1);
  }
  Leave(0);
}

}  // namespace peer
