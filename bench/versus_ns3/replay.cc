// Replays a list of transfers over a star or a fat tree in ns-3: hosts, switches, DCTCP, marking by one threshold.
//
// The ns-3 half of bench/versus_ns3/run.py, which runs the same list on Incastle with the same parameters.
// README.md in this folder lists the differences that remain. Every transfer has a separate TCP connection,
// with handshake and FIN. All of `bench/versus_ns3` goes through this one program: long flows are a list of
// transfers that outlast the run. fabric.h has the networks.
//
// ns-3 runs with its fastest settings: no trace unless --measure, no checksums, no queue disciplines at the
// hosts, writes of one segment. Routing is one array look-up instead of a search in ns-3's lists.
// Leaves out: shared memory in the switch (ns-3 has none), jitter in the hosts, framing (2 bytes of PPP).
//
//   replay --arrivals=FILE --completions=FILE --senders=N ...       prints one JSON object; --help lists all

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include "fabric.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iomanip>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 5000;

/// The parameters, under the names of the command line. run.py gives all of them.
struct Settings
{
    std::string arrivals;
    std::string completions;
    uint32_t senders{2};
    uint32_t k{0};
    std::string senderRate{"1Gbps"};
    std::string receiverRate{"1Gbps"};
    std::string delay{"25us"};
    uint32_t markAbove{20};
    uint32_t switchPackets{400};
    uint32_t hostPackets{10000};
    uint32_t mss{1460};
    uint32_t initialWindow{3};
    uint32_t receiveWindow{1 << 20};
    uint32_t ackEvery{1};
    std::string ackDelay{"5ms"};
    std::string minRto{"10ms"};
    std::string rtoTick{"1ms"};
    double g{0.0625};
    double initialAlpha{1.0};
    uint32_t minCwnd{0};
    double from{0.0};
    double seconds{1.0};
    bool measure{false};
};

Settings
Parse(int argc, char* argv[])
{
    Settings s;
    CommandLine line(__FILE__);
    line.AddValue("arrivals", "CSV: start_s,source,destination,bytes", s.arrivals);
    line.AddValue("completions", "CSV to write: a completion per line of arrivals", s.completions);
    line.AddValue("senders", "hosts sender:0 ...; one more is called receiver", s.senders);
    line.AddValue("k", "ports of each switch of a fat tree with hosts host:0 ..., in place of the star", s.k);
    line.AddValue("senderRate", "rate of the senders' links", s.senderRate);
    line.AddValue("receiverRate", "rate of the receiver's link", s.receiverRate);
    line.AddValue("delay", "one-way delay of each link", s.delay);
    line.AddValue("markAbove", "K in packets that wait", s.markAbove);
    line.AddValue("switchPackets", "packets that a port of the switch holds", s.switchPackets);
    line.AddValue("hostPackets", "packets that a NIC holds", s.hostPackets);
    line.AddValue("mss", "payload bytes of a full segment", s.mss);
    line.AddValue("initialWindow", "segments", s.initialWindow);
    line.AddValue("receiveWindow", "bytes", s.receiveWindow);
    line.AddValue("ackEvery", "one ACK for this many segments", s.ackEvery);
    line.AddValue("ackDelay", "the longest that an ACK is delayed", s.ackDelay);
    line.AddValue("minRto", "least and initial retransmission timeout", s.minRto);
    line.AddValue("rtoTick", "granularity of the retransmission timer", s.rtoTick);
    line.AddValue("g", "weight of the newest window in alpha", s.g);
    line.AddValue("initialAlpha", "alpha at the start", s.initialAlpha);
    line.AddValue("minCwnd", "least window after marks, in segments; 0: ns-3 has none", s.minCwnd);
    line.AddValue("from", "where goodput and queue begin, in seconds", s.from);
    line.AddValue("seconds", "simulated seconds", s.seconds);
    line.AddValue("measure", "trace packets and the receiver's queue", s.measure);
    line.Parse(argc, argv);
    return s;
}

/// The parameters of all links, and the receiver's rate.
Links
LinksOf(const Settings& s)
{
    return {s.receiverRate, s.delay, s.hostPackets};
}

/// DCTCP whose window after marks is never below a floor. ns-3's own falls below one segment, sends nothing any
/// more, and waits for its timer.
class FlooredDctcp : public TcpDctcp
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("FlooredDctcp")
                                .SetParent<TcpDctcp>()
                                .SetGroupName("Internet")
                                .AddConstructor<FlooredDctcp>()
                                .AddAttribute("Floor",
                                              "segments",
                                              UintegerValue(2),
                                              MakeUintegerAccessor(&FlooredDctcp::m_floor),
                                              MakeUintegerChecker<uint32_t>());
        return tid;
    }

    uint32_t GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t inFlight) override
    {
        return std::max(TcpDctcp::GetSsThresh(tcb, inFlight), m_floor * tcb->m_segmentSize);
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<FlooredDctcp>(this);
    }

  private:
    uint32_t m_floor{2};
};

void
SetDefaults(const Settings& s)
{
    auto tcp = [](const std::string& name, const AttributeValue& value) {
        Config::SetDefault("ns3::" + name, value);
    };
    const TypeId dctcp = s.minCwnd > 0 ? FlooredDctcp::GetTypeId() : TcpDctcp::GetTypeId();
    tcp("TcpL4Protocol::SocketType", TypeIdValue(dctcp));
    if (s.minCwnd > 0)
    {
        Config::SetDefault("FlooredDctcp::Floor", UintegerValue(s.minCwnd));
    }
    // Recovery as RFC 6675 has it; ns-3's default is proportional rate reduction.
    tcp("TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
    tcp("TcpSocket::SegmentSize", UintegerValue(s.mss));
    tcp("TcpSocket::InitialCwnd", UintegerValue(s.initialWindow));
    tcp("TcpSocket::SndBufSize", UintegerValue(s.receiveWindow));
    tcp("TcpSocket::RcvBufSize", UintegerValue(s.receiveWindow));
    tcp("TcpSocket::DelAckCount", UintegerValue(s.ackEvery));
    tcp("TcpSocket::DelAckTimeout", TimeValue(Time(s.ackDelay)));
    // A connection that fails at first tries again as fast as data would.
    tcp("TcpSocket::ConnTimeout", TimeValue(Time(s.minRto)));
    tcp("RttEstimator::InitialEstimation", TimeValue(Time(s.minRto)));
    tcp("TcpSocketBase::MinRto", TimeValue(Time(s.minRto)));
    tcp("TcpSocketBase::ClockGranularity", TimeValue(Time(s.rtoTick)));
    // Incastle's timestamps cost no bytes; without them both take round trips by Karn's rule.
    tcp("TcpSocketBase::Timestamp", BooleanValue(false));
    tcp("TcpSocketBase::Sack", BooleanValue(true));
    // No connection lingers in TIME_WAIT: Incastle frees both ends when all is acknowledged.
    tcp("TcpSocketBase::MaxSegLifetime", DoubleValue(0.001));
    tcp("TcpDctcp::DctcpShiftG", DoubleValue(s.g));
    tcp("TcpDctcp::DctcpAlphaOnInit", DoubleValue(s.initialAlpha));

    // A threshold: the instantaneous queue decides, everything from it on is marked. A packet waits in the
    // device besides those in the discipline, so that "K or more in the discipline" is "more than K wait".
    tcp("RedQueueDisc::MinTh", DoubleValue(s.markAbove));
    tcp("RedQueueDisc::MaxTh", DoubleValue(s.markAbove));
    tcp("RedQueueDisc::QW", DoubleValue(1.0));
    tcp("RedQueueDisc::Gentle", BooleanValue(false));
    tcp("RedQueueDisc::UseEcn", BooleanValue(true));
    tcp("RedQueueDisc::UseHardDrop", BooleanValue(false));
    tcp("RedQueueDisc::MeanPktSize", UintegerValue(s.mss + 40));
    tcp("RedQueueDisc::MaxSize",
        QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, s.switchPackets - 1)));
}

/// One line of the list.
struct Transfer
{
    Time start;
    uint32_t source;
    uint32_t destination;
    uint64_t bytes;
    uint64_t written{0};
    uint64_t received{0};
    Time completed{Time::Min()};
    Ptr<Socket> socket{};
};

/// The number of a host from its name.
uint32_t
HostOf(const std::string& name, uint32_t senders)
{
    return name == "receiver" ? senders : std::stoul(name.substr(name.find(':') + 1));
}

/// The list, which run.py has checked; the first line names the columns.
std::vector<Transfer>
Read(const Settings& s)
{
    std::ifstream file(s.arrivals);
    NS_ABORT_MSG_UNLESS(file, "cannot read " << s.arrivals);
    std::vector<Transfer> list;
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line))
    {
        std::istringstream fields(line);
        std::string start;
        std::string source;
        std::string destination;
        std::string bytes;
        std::getline(fields, start, ',');
        std::getline(fields, source, ',');
        std::getline(fields, destination, ',');
        std::getline(fields, bytes, ',');
        list.push_back({Time(start + "s"),
                        HostOf(source, s.senders),
                        HostOf(destination, s.senders),
                        std::stoull(bytes)});
    }
    return list;
}

/// Opens a connection for each transfer at its time, and counts what arrives.
class Replay
{
  public:
    Replay(const Settings& s, const Fabric& fabric)
        : m_fabric(fabric),
          m_mss(s.mss),
          m_from(Seconds(s.from)),
          m_list(Read(s))
    {
        for (uint32_t host = 0; host < fabric.Hosts(); ++host)
        {
            auto listener = Socket::CreateSocket(fabric.Host(host), TcpSocketFactory::GetTypeId());
            listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
            listener->Listen();
            listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                        MakeCallback(&Replay::Accept, this));
            m_listeners.push_back(listener);
        }
        ScheduleNext();
    }

    const std::vector<Transfer>& List() const
    {
        return m_list;
    }

    /// Application bytes received from the beginning of the measurement on.
    uint64_t Received() const
    {
        return m_received;
    }

  private:
    void ScheduleNext()
    {
        if (m_next < m_list.size())
        {
            Simulator::Schedule(m_list[m_next].start - Simulator::Now(), &Replay::Open, this);
        }
    }

    void Open()
    {
        const size_t index = m_next++;
        Transfer& transfer = m_list[index];
        transfer.socket = Socket::CreateSocket(m_fabric.Host(transfer.source),
                                               TcpSocketFactory::GetTypeId());
        transfer.socket->SetConnectCallback(MakeCallback(&Replay::Fill, this).Bind(index),
                                            MakeNullCallback<void, Ptr<Socket>>());
        transfer.socket->SetSendCallback(MakeCallback(&Replay::Refill, this).Bind(index));
        transfer.socket->Bind();
        transfer.socket->Connect(InetSocketAddress(Fabric::Address(transfer.destination), PORT));
        Address local;
        transfer.socket->GetSockName(local);
        const auto port = InetSocketAddress::ConvertFrom(local).GetPort();
        m_open[Key(Fabric::Address(transfer.source), port)] = index;
        ScheduleNext();
    }

    void Fill(size_t index, Ptr<Socket> socket)
    {
        Refill(index, socket, socket->GetTxAvailable());
    }

    void Refill(size_t index, Ptr<Socket> socket, uint32_t room)
    {
        Transfer& transfer = m_list[index];
        while (transfer.written < transfer.bytes)
        {
            const uint64_t size = std::min<uint64_t>(m_mss, transfer.bytes - transfer.written);
            // Only whole segments, or their boundaries would wander.
            if (room < size)
            {
                return;
            }
            socket->Send(Create<Packet>(static_cast<uint32_t>(size)));
            transfer.written += size;
            room = socket->GetTxAvailable();
        }
        if (transfer.socket)
        {
            transfer.socket = nullptr;
            socket->Close();
        }
    }

    void Accept(Ptr<Socket> socket, const Address& peer)
    {
        const auto from = InetSocketAddress::ConvertFrom(peer);
        const auto found = m_open.find(Key(from.GetIpv4(), from.GetPort()));
        NS_ABORT_MSG_IF(found == m_open.end(), "a connection that no transfer opened");
        socket->SetRecvCallback(MakeCallback(&Replay::Receive, this).Bind(found->second));
        socket->SetCloseCallbacks(MakeCallback(&Replay::Close, this),
                                  MakeNullCallback<void, Ptr<Socket>>());
        m_open.erase(found);
    }

    void Receive(size_t index, Ptr<Socket> socket)
    {
        Transfer& transfer = m_list[index];
        while (auto packet = socket->Recv())
        {
            if (packet->GetSize() == 0)
            {
                return;
            }
            transfer.received += packet->GetSize();
            if (Simulator::Now() >= m_from)
            {
                m_received += packet->GetSize();
            }
        }
        if (transfer.received == transfer.bytes && transfer.completed.IsNegative())
        {
            transfer.completed = Simulator::Now();
        }
    }

    void Close(Ptr<Socket> socket)
    {
        socket->Close();
    }

    static uint64_t Key(Ipv4Address address, uint16_t port)
    {
        return (static_cast<uint64_t>(address.Get()) << 16) + port;
    }

    const Fabric& m_fabric;
    uint32_t m_mss;
    Time m_from;
    std::vector<Transfer> m_list;
    std::vector<Ptr<Socket>> m_listeners;
    std::unordered_map<uint64_t, size_t> m_open;
    size_t m_next{0};
    uint64_t m_received{0};
};

/// The time-weighted mean of what waits at the receiver's port, and every packet that a link delivered.
class Tracer
{
  public:
    Tracer(const Settings& s, const Fabric& fabric)
        : m_from(Seconds(s.from))
    {
        fabric.LastDiscipline()
            ->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Tracer::InDiscipline, this));
        fabric.LastDeviceQueue()
            ->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Tracer::InDevice, this));
        for (uint32_t device = 0; device < fabric.Devices().GetN(); ++device)
        {
            fabric.Devices().Get(device)->TraceConnectWithoutContext(
                "PhyRxEnd",
                MakeCallback(&Tracer::Hop, this));
        }
    }

    double Mean(Time end)
    {
        Advance(end);
        return m_integral / (end - m_from).GetSeconds();
    }

    uint64_t Hops() const
    {
        return m_hops;
    }

  private:
    void InDiscipline(uint32_t, uint32_t now)
    {
        Advance(Simulator::Now());
        m_discipline = now;
    }

    void InDevice(uint32_t, uint32_t now)
    {
        Advance(Simulator::Now());
        m_device = now;
    }

    void Advance(Time now)
    {
        if (now > m_from)
        {
            const Time since = std::max(m_last, m_from);
            m_integral += (m_discipline + m_device) * (now - since).GetSeconds();
        }
        m_last = now;
    }

    void Hop(Ptr<const Packet>)
    {
        ++m_hops;
    }

    Time m_from;
    Time m_last{0};
    uint32_t m_discipline{0};
    uint32_t m_device{0};
    double m_integral{0.0};
    uint64_t m_hops{0};
};

double
UserSeconds()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6;
}

void
WriteCompletions(const Settings& s, const std::vector<Transfer>& list)
{
    std::ofstream file(s.completions);
    file << "index,completed_s,received\n" << std::fixed << std::setprecision(12);
    for (size_t index = 0; index < list.size(); ++index)
    {
        file << index << ',';
        if (!list[index].completed.IsNegative())
        {
            file << list[index].completed.GetSeconds();
        }
        file << ',' << list[index].received << '\n';
    }
    NS_ABORT_MSG_UNLESS(file.good(), "cannot write " << s.completions);
}

} // namespace

int
main(int argc, char* argv[])
{
    Time::SetResolution(Time::PS);
    const Settings s = Parse(argc, argv);
    SetDefaults(s);
    const Fabric fabric = s.k > 0 ? FatTree(s.k, LinksOf(s)) : Star(s.senders, s.senderRate, LinksOf(s));
    Replay replay(s, fabric);
    std::unique_ptr<Tracer> probe;
    if (s.measure)
    {
        probe = std::make_unique<Tracer>(s, fabric);
    }
    Simulator::Stop(Seconds(s.seconds));
    const double user = UserSeconds();
    const auto begun = std::chrono::steady_clock::now();
    Simulator::Run();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begun;
    std::printf("{\"wall_s\": %.6f, \"user_s\": %.6f, \"events\": %llu, \"received\": %llu, "
                "\"marks\": %llu, \"drops\": %llu, \"mean_queue\": %.4f, \"packet_hops\": %llu}\n",
                wall.count(),
                UserSeconds() - user,
                static_cast<unsigned long long>(Simulator::GetEventCount()),
                static_cast<unsigned long long>(replay.Received()),
                static_cast<unsigned long long>(
                    fabric.Total([](const auto& stats) { return stats.nTotalMarkedPackets; })),
                static_cast<unsigned long long>(
                    fabric.Total([](const auto& stats) { return stats.nTotalDroppedPackets; })),
                probe ? probe->Mean(Seconds(s.seconds)) : -1.0,
                static_cast<unsigned long long>(probe ? probe->Hops() : 0));
    if (!s.completions.empty())
    {
        WriteCompletions(s, replay.List());
    }
    Simulator::Destroy();
    return 0;
}
