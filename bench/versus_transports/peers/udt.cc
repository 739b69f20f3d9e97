// The UDT library 4.11 (Debian: libudt-dev) as a peer: one stream, its default congestion control.
//
// Buffers are the library's defaults: 12 MB in each direction, a window of 25,600 packets. Its socket buffers
// are DCUDP's, up to net.core.rmem_max.

#include <udt/udt.h>

#include "peer.h"

namespace {

[[noreturn]] void FailUdt(const std::string& what) {
  peer::Fail(what + ": " + UDT::getlasterror().getErrorMessage());
}

class Udt {
 public:
  static Udt Listen(const sockaddr_in& address) {
    Udt listener = Make();
    if (UDT::bind(listener.socket_, Generic(&address), sizeof address) == UDT::ERROR) FailUdt("bind");
    if (UDT::listen(listener.socket_, 1) == UDT::ERROR) FailUdt("listen");
    return listener;
  }

  Udt Accept() {
    const UDTSOCKET accepted = UDT::accept(socket_, nullptr, nullptr);
    if (accepted == UDT::INVALID_SOCK) FailUdt("accept");
    return Udt(accepted);
  }

  static Udt Connect(const sockaddr_in& address) {
    Udt link = Make();
    if (UDT::connect(link.socket_, Generic(&address), sizeof address) == UDT::ERROR) FailUdt("connect");
    return link;
  }

  void Send(const char* data, size_t size) {
    for (size_t sent = 0; sent < size;) {
      const int count = UDT::send(socket_, data + sent, static_cast<int>(size - sent), 0);
      if (count == UDT::ERROR) FailUdt("send");
      sent += static_cast<size_t>(count);
    }
  }

  size_t Receive(char* out, size_t size) {
    const int count = UDT::recv(socket_, out, static_cast<int>(size), 0);
    return count == UDT::ERROR ? 0 : static_cast<size_t>(count);
  }

  void Close() { UDT::close(socket_); }

 private:
  explicit Udt(UDTSOCKET socket) : socket_(socket) {}

  static Udt Make() {
    UDT::startup();
    const Udt made(UDT::socket(AF_INET, SOCK_STREAM, 0));
    for (const UDT::SOCKOPT option : {UDP_SNDBUF, UDP_RCVBUF}) {
      if (UDT::setsockopt(made.socket_, 0, option, &peer::kSocketBuffer, sizeof peer::kSocketBuffer) == UDT::ERROR) {
        FailUdt("setsockopt");
      }
    }
    return made;
  }

  static const sockaddr* Generic(const sockaddr_in* address) {
    return reinterpret_cast<const sockaddr*>(address);
  }

  UDTSOCKET socket_;
};

}  // namespace

int main(int argc, char** argv) { peer::Main<Udt>(argc, argv); }
