// The kernel's TCP as a peer, for its ping-pong; its goodput is iperf3's.

#include <netinet/tcp.h>
#include <sys/socket.h>

#include "peer.h"

namespace {

class Tcp {
 public:
  static Tcp Listen(const sockaddr_in& address) {
    const Tcp listener = Make();
    const int on = 1;
    setsockopt(listener.socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener.socket_, Generic(&address), sizeof address) < 0) peer::Fail("bind");
    if (listen(listener.socket_, 1) < 0) peer::Fail("listen");
    return listener;
  }

  Tcp Accept() { return Prompt(accept(socket_, nullptr, nullptr)); }

  static Tcp Connect(const sockaddr_in& address) {
    const Tcp link = Make();
    if (connect(link.socket_, Generic(&address), sizeof address) < 0) peer::Fail("connect");
    return Prompt(link.socket_);
  }

  void Send(const char* data, size_t size) {
    for (size_t sent = 0; sent < size;) {
      const ssize_t count = send(socket_, data + sent, size - sent, MSG_NOSIGNAL);
      if (count < 0) peer::Fail("send");
      sent += static_cast<size_t>(count);
    }
  }

  size_t Receive(char* out, size_t size) {
    return static_cast<size_t>(std::max<ssize_t>(recv(socket_, out, size, 0), 0));
  }

  void Close() { shutdown(socket_, SHUT_RDWR); }

 private:
  explicit Tcp(int socket) : socket_(socket) {
    if (socket < 0) peer::Fail("socket");
  }

  static Tcp Make() { return Tcp(socket(AF_INET, SOCK_STREAM, 0)); }

  // Without Nagle's delay.
  static Tcp Prompt(int socket) {
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return Tcp(socket);
  }

  static const sockaddr* Generic(const sockaddr_in* address) {
    return reinterpret_cast<const sockaddr*>(address);
  }

  int socket_;
};

}  // namespace

int main(int argc, char** argv) { peer::Main<Tcp>(argc, argv); }
