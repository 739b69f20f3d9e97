// SRT (Debian: libsrt-openssl-dev) as a peer: its file mode, a stream of bytes without the time stamps of live
// video. With the environment variable PEER_PASSPHRASE, AES with 128 bits.
//
// Buffers are the library's defaults (12 MB in each direction, a window of 25,600 packets); sockets as in udt.cc.

#include <srt/srt.h>

#include "peer.h"

namespace {

constexpr int kKeyBytes = 16;

[[noreturn]] void FailSrt(const std::string& what) { peer::Fail(what + ": " + srt_getlasterror_str()); }

class Srt {
 public:
  static Srt Listen(const sockaddr_in& address) {
    Srt listener = Make();
    if (srt_bind(listener.socket_, Generic(&address), sizeof address) == SRT_ERROR) FailSrt("bind");
    if (srt_listen(listener.socket_, 1) == SRT_ERROR) FailSrt("listen");
    return listener;
  }

  Srt Accept() {
    const SRTSOCKET accepted = srt_accept(socket_, nullptr, nullptr);
    if (accepted == SRT_INVALID_SOCK) FailSrt("accept");
    return Srt(accepted);
  }

  static Srt Connect(const sockaddr_in& address) {
    Srt link = Make();
    if (srt_connect(link.socket_, Generic(&address), sizeof address) == SRT_ERROR) FailSrt("connect");
    return link;
  }

  void Send(const char* data, size_t size) {
    for (size_t sent = 0; sent < size;) {
      const int count = srt_send(socket_, data + sent, static_cast<int>(size - sent));
      if (count == SRT_ERROR) FailSrt("send");
      sent += static_cast<size_t>(count);
    }
  }

  size_t Receive(char* out, size_t size) {
    const int count = srt_recv(socket_, out, static_cast<int>(size));
    return count == SRT_ERROR ? 0 : static_cast<size_t>(count);
  }

  void Close() { srt_close(socket_); }

 private:
  explicit Srt(SRTSOCKET socket) : socket_(socket) {}

  static Srt Make() {
    srt_startup();
    srt_setloglevel(LOG_CRIT);
    const Srt made(srt_create_socket());
    made.Set(SRTO_TRANSTYPE, SRTT_FILE);
    for (const SRT_SOCKOPT option : {SRTO_UDP_SNDBUF, SRTO_UDP_RCVBUF}) {
      made.Set(option, peer::kSocketBuffer);
    }
    if (const char* passphrase = std::getenv("PEER_PASSPHRASE")) {
      made.Set(SRTO_PBKEYLEN, kKeyBytes);
      const int length = static_cast<int>(std::strlen(passphrase));
      if (srt_setsockflag(made.socket_, SRTO_PASSPHRASE, passphrase, length) == SRT_ERROR) FailSrt("passphrase");
    }
    return made;
  }

  template <typename Value>
  void Set(SRT_SOCKOPT option, Value value) const {
    if (srt_setsockflag(socket_, option, &value, sizeof value) == SRT_ERROR) FailSrt("option");
  }

  static const sockaddr* Generic(const sockaddr_in* address) {
    return reinterpret_cast<const sockaddr*>(address);
  }

  SRTSOCKET socket_;
};

}  // namespace

int main(int argc, char** argv) { peer::Main<Srt>(argc, argv); }
