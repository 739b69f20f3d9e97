// Plain datagrams as a peer: what sockets of this kernel can do at most, with nothing delivered twice, in order
// or for certain. Sends 40 datagrams of a full packet per system call (GSO), receives as many (GRO).
//
// The command line is that of peer.h; the receiver also reports what it did not receive.

#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>

#include "peer.h"

namespace {

using peer::Fail;

constexpr size_t kDatagram = 1500 - 20 - 8;
constexpr size_t kSegments = 40;
// Datagrams of other sizes report that all data are sent: how many bytes.
constexpr size_t kEnd = sizeof(uint64_t);
constexpr int kReplyMillis = 20;
constexpr int kEndsAtMost = 100;
constexpr size_t kReceiveBuffer = 1 << 16;

int Socket() {
  const int made = socket(AF_INET, SOCK_DGRAM, 0);
  if (made < 0) Fail("socket");
  // As much as ours has: root may have more than net.core.rmem_max.
  for (const int option : {SO_RCVBUF, SO_RCVBUFFORCE, SO_SNDBUF}) {
    setsockopt(made, SOL_SOCKET, option, &peer::kSocketBuffer, sizeof peer::kSocketBuffer);
  }
  return made;
}

const sockaddr* Generic(const sockaddr_in* address) { return reinterpret_cast<const sockaddr*>(address); }

int Connected(const sockaddr_in& address) {
  const int made = Socket();
  if (connect(made, Generic(&address), sizeof address) < 0) Fail("connect");
  return made;
}

// Echoes pings; counts data from the first to the end, and acknowledges the end.
void Serve(const sockaddr_in& address) {
  const int socket = Socket();
  const int on = 1;
  if (setsockopt(socket, IPPROTO_UDP, UDP_GRO, &on, sizeof on) < 0) Fail("UDP_GRO");
  if (bind(socket, Generic(&address), sizeof address) < 0) Fail("bind");
  peer::Ready();
  std::vector<char> buffer(kReceiveBuffer);
  peer::Clock::time_point first, last;
  uint64_t bytes = 0;
  bool reported = false;
  for (;;) {
    sockaddr_in from{};
    socklen_t length = sizeof from;
    const ssize_t count =
        recvfrom(socket, buffer.data(), buffer.size(), 0, reinterpret_cast<sockaddr*>(&from), &length);
    if (count < 0) Fail("receive");
    const size_t size = static_cast<size_t>(count);
    if (size == peer::kPing || size == kEnd) sendto(socket, buffer.data(), size, 0, Generic(&from), length);
    if (size == kEnd && !reported) {
      uint64_t sent;
      std::memcpy(&sent, buffer.data(), sizeof sent);
      const double seconds = std::chrono::duration<double>(last - first).count();
      std::printf("{\"bytes\": %llu, \"seconds\": %.6f, \"sent\": %llu}\n", static_cast<unsigned long long>(bytes),
                  seconds, static_cast<unsigned long long>(sent));
      std::fflush(stdout);
      reported = true;
    }
    if (size < kDatagram) continue;
    last = peer::Clock::now();
    if (bytes == 0) first = last;
    bytes += size;
  }
}

void Segment(msghdr* message, char* control, size_t size) {
  message->msg_control = control;
  message->msg_controllen = size;
  cmsghdr* header = CMSG_FIRSTHDR(message);
  header->cmsg_level = SOL_UDP;
  header->cmsg_type = UDP_SEGMENT;
  header->cmsg_len = CMSG_LEN(sizeof(uint16_t));
  const uint16_t segment = kDatagram;
  std::memcpy(CMSG_DATA(header), &segment, sizeof segment);
}

void SendFor(int socket, double seconds) {
  std::vector<char> data(kDatagram * kSegments, 7);
  iovec part{data.data(), data.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(uint16_t))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  Segment(&message, control, sizeof control);
  uint64_t sent = 0;
  for (const auto start = peer::Clock::now(); peer::SecondsSince(start) < seconds;) {
    const ssize_t count = sendmsg(socket, &message, 0);
    if (count < 0) Fail("send");
    sent += static_cast<uint64_t>(count);
  }
  // The end may be lost as everything here.
  pollfd reply{socket, POLLIN, 0};
  for (int i = 0; i < kEndsAtMost; ++i) {
    if (send(socket, &sent, sizeof sent, 0) < 0) Fail("send");
    if (poll(&reply, 1, kReplyMillis) > 0) return;
  }
  Fail("no reply");
}

void Ping(int socket, size_t count) {
  std::vector<double> micros;
  char word[peer::kPing] = {};
  for (size_t i = 0; i < count; ++i) {
    const auto start = peer::Clock::now();
    if (send(socket, word, sizeof word, 0) < 0 || recv(socket, word, sizeof word, 0) < 0) Fail("ping");
    micros.push_back(peer::SecondsSince(start) * 1e6);
  }
  peer::ReportPings(micros);
}

void Run(const std::vector<std::string>& arguments) {
  const std::string& how = arguments.at(0);
  const sockaddr_in address = peer::Address(arguments.at(1).c_str(), arguments.at(2).c_str());
  if (how == "serve") Serve(address);
  else if (how == "send") SendFor(Connected(address), std::stod(arguments.at(3)));
  else if (how == "ping") Ping(Connected(address), std::stoul(arguments.at(3)));
  else Fail("no such command: " + how);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    peer::Leave(1);
  }
  peer::Leave(0);
}
