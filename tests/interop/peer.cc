// One endpoint of the UDT library, version 4.11: sends and receives known data, and prints their
// hashes. The counterpart of ours: the same command line, the same data from a seed.
//
//   peer listen|connect|meet OWN_PORT [PEER_PORT] [--send BYTES] [--receive BYTES] [--seed S]
//        [--message BYTES] [--close first|last] [--limit SECONDS]
//
// Loopback only. Leaves out: several connections, addresses of IPv6, partial messages.

#include <arpa/inet.h>
#include <algorithm>
#include <unistd.h>

#include <udt/udt.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t kPiece = 1 << 16;

// SplitMix64, each number as eight bytes, the low byte first (crates/testbed/src/data.rs).
class Source {
 public:
  explicit Source(uint64_t seed) : state_(seed) {}

  void Fill(std::vector<char>* out) {
    for (char& byte : *out) {
      if (used_ == 8) {
        word_ = Next();
        used_ = 0;
      }
      byte = static_cast<char>(word_ >> (8 * used_++));
    }
  }

 private:
  uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  uint64_t state_;
  uint64_t word_ = 0;
  int used_ = 8;
};

// FNV-1a.
struct Tally {
  uint64_t hash = 0xCBF29CE484222325u;
  uint64_t bytes = 0;
  uint64_t messages = 0;

  void Add(const char* data, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      hash = (hash ^ static_cast<unsigned char>(data[i])) * 0x100000001B3u;
    }
    bytes += count;
    ++messages;
  }
};

struct Options {
  std::string how;
  int own = 0;
  int peer = 0;
  uint64_t send = 0;
  uint64_t receive = 0;
  uint64_t seed = 1;
  size_t message = 0;
  bool closes_first = true;
  unsigned limit = 60;
};

[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error(what); }

[[noreturn]] void FailUdt(const std::string& what) {
  Fail(what + ": " + UDT::getlasterror().getErrorMessage());
}

Options Parse(const std::vector<std::string>& words) {
  Options options;
  size_t next = 1;
  options.how = words.at(0);
  options.own = std::stoi(words.at(next++));
  if (options.how != "listen") options.peer = std::stoi(words.at(next++));
  for (; next < words.size(); next += 2) {
    const std::string& name = words[next];
    const std::string& value = words.at(next + 1);
    if (name == "--send") options.send = std::stoull(value);
    else if (name == "--receive") options.receive = std::stoull(value);
    else if (name == "--seed") options.seed = std::stoull(value);
    else if (name == "--message") options.message = std::stoull(value);
    else if (name == "--close") options.closes_first = value == "first";
    else if (name == "--limit") options.limit = std::stoul(value);
    else Fail("no such option: " + name);
  }
  return options;
}

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

template <typename T>
void Set(UDTSOCKET socket, UDT::SOCKOPT option, T value) {
  if (UDT::setsockopt(socket, 0, option, &value, sizeof value) == UDT::ERROR) FailUdt("setsockopt");
}

UDTSOCKET Connect(const Options& options) {
  UDTSOCKET socket = UDT::socket(AF_INET, options.message ? SOCK_DGRAM : SOCK_STREAM, 0);
  Set(socket, UDT_RENDEZVOUS, options.how == "meet");
  sockaddr_in own = Loopback(options.own);
  auto* name = reinterpret_cast<sockaddr*>(&own);
  if (UDT::bind(socket, name, sizeof own) == UDT::ERROR) FailUdt("bind");
  int length = sizeof own;
  UDT::getsockname(socket, name, &length);
  if (options.how == "listen" && UDT::listen(socket, 1) == UDT::ERROR) FailUdt("listen");
  std::printf("ready 127.0.0.1:%d\n", ntohs(own.sin_port));
  std::fflush(stdout);
  if (options.how == "listen") {
    UDTSOCKET accepted = UDT::accept(socket, nullptr, nullptr);
    if (accepted == UDT::INVALID_SOCK) FailUdt("accept");
    return accepted;
  }
  sockaddr_in peer = Loopback(options.peer);
  if (UDT::connect(socket, reinterpret_cast<sockaddr*>(&peer), sizeof peer) == UDT::ERROR) {
    FailUdt("connect");
  }
  return socket;
}

void Send(UDTSOCKET socket, const Options& options, Tally* sent) {
  Source source(options.seed);
  std::vector<char> piece;
  while (sent->bytes < options.send) {
    piece.resize(std::min<uint64_t>(options.send - sent->bytes, options.message ? options.message : kPiece));
    source.Fill(&piece);
    for (size_t done = 0; done < piece.size();) {
      const char* rest = piece.data() + done;
      const int count = static_cast<int>(piece.size() - done);
      const int taken = options.message ? UDT::sendmsg(socket, rest, count, -1, true)
                                        : UDT::send(socket, rest, count, 0);
      if (taken == UDT::ERROR) FailUdt("send");
      done += taken;
    }
    sent->Add(piece.data(), piece.size());
  }
}

// Reads one piece or message; false once the peer has closed.
bool ReceiveSome(UDTSOCKET socket, const Options& options, Tally* received) {
  std::vector<char> piece(options.message ? 1 << 23 : kPiece);
  const int room = static_cast<int>(piece.size());
  const int count = options.message ? UDT::recvmsg(socket, piece.data(), room)
                                    : UDT::recv(socket, piece.data(), room, 0);
  if (count == UDT::ERROR) {
    if (UDT::getlasterror_code() == CUDTException::ECONNLOST) return false;
    FailUdt("receive");
  }
  received->Add(piece.data(), count);
  return true;
}

void Run(const Options& options) {
  UDTSOCKET socket = Connect(options);
  Tally sent;
  Tally received;
  std::string error;
  std::thread sender([&] {
    try {
      Send(socket, options, &sent);
    } catch (const std::exception& problem) {
      error = problem.what();
    }
  });
  bool there = true;
  while (there && received.bytes < options.receive) there = ReceiveSome(socket, options, &received);
  sender.join();
  if (!error.empty()) Fail(error);
  if (received.bytes < options.receive) Fail("the peer closed early");
  // The endpoint that closes last waits for its peer's shutdown.
  while (there && !options.closes_first) there = ReceiveSome(socket, options, &received);
  UDT::TRACEINFO trace;
  const bool traced = UDT::perfmon(socket, &trace, false) != UDT::ERROR;
  // It lingers until everything is acknowledged.
  UDT::close(socket);
  std::printf("{\"sent\": %llu, \"sent_hash\": \"%016llx\", \"received\": %llu, \"received_hash\": \"%016llx\", "
              "\"messages\": %llu, \"peer_closed\": %s, \"retransmissions\": %d, \"naks_sent\": %d}\n",
              static_cast<unsigned long long>(sent.bytes), static_cast<unsigned long long>(sent.hash),
              static_cast<unsigned long long>(received.bytes),
              static_cast<unsigned long long>(received.hash),
              static_cast<unsigned long long>(options.message ? received.messages : 0),
              there ? "false" : "true", traced ? trace.pktRetransTotal : -1,
              traced ? trace.pktSentNAKTotal : -1);
}

}  // namespace

int main(int count, char** words) {
  try {
    const Options options = Parse({words + 1, words + count});
    // The library may wait without end for a peer that is gone.
    alarm(options.limit);
    UDT::startup();
    Run(options);
    UDT::cleanup();
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "peer: %s\n", problem.what());
    std::fflush(stdout);
    _exit(1);
  }
  return 0;
}
