// The networks of replay.cc: hosts around one switch, and a fat tree of switches with k ports each (M. Al-Fares,
// A. Loukissas, A. Vahdat, SIGCOMM 2008). Between points, with a RED discipline at each port of a switch and a
// device's queue alone at hosts.
//
// Leaves out: equal ports by anything but sender and receiver, so that all flows between two hosts take one path.

#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace ns3
{

/// Which link of a node, from 0, leads from one host to another. Both are numbers of hosts.
using Chooser = std::function<uint32_t(uint32_t from, uint32_t to)>;

/// Parameters that all links share.
struct Links
{
    std::string rate;
    std::string delay;
    uint32_t hostPackets;
};

/// Routes by what the node chooses: link i is its interface i + 1 (0 is the loopback). Host i has the address
/// 10.0.i.1.
class DirectRouting : public Ipv4RoutingProtocol
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("DirectRouting").SetParent<Ipv4RoutingProtocol>().SetGroupName("Internet");
        return tid;
    }

    DirectRouting() = default;

    /// A switch's table; a host sends everything to its only link.
    explicit DirectRouting(Chooser choose)
        : m_choose(std::move(choose))
    {
    }

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet>,
                               const Ipv4Header& header,
                               Ptr<NetDevice>,
                               Socket::SocketErrno& error) override
    {
        error = Socket::ERROR_NOTERROR;
        return Route(header);
    }

    bool RouteInput(Ptr<const Packet> packet,
                    const Ipv4Header& header,
                    Ptr<const NetDevice> device,
                    const UnicastForwardCallback& forward,
                    const MulticastForwardCallback&,
                    const LocalDeliverCallback& deliver,
                    const ErrorCallback&) override
    {
        if (m_choose)
        {
            forward(Route(header), packet, header);
        }
        else
        {
            deliver(packet, header, m_ipv4->GetInterfaceForDevice(device));
        }
        return true;
    }

    void SetIpv4(Ptr<Ipv4> ipv4) override
    {
        m_ipv4 = ipv4;
    }

    void NotifyInterfaceUp(uint32_t) override
    {
        m_routes.clear();
    }

    void NotifyInterfaceDown(uint32_t) override
    {
    }

    void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override
    {
    }

    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override
    {
    }

    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override
    {
    }

  private:
    static uint32_t HostOf(Ipv4Address address)
    {
        return (address.Get() >> 8) & 0xffff;
    }

    Ptr<Ipv4Route> Route(const Ipv4Header& header)
    {
        const Ipv4Address destination = header.GetDestination();
        const uint32_t link =
            m_choose ? m_choose(HostOf(header.GetSource()), HostOf(destination)) : 0;
        if (m_routes.size() <= link)
        {
            m_routes.resize(link + 1);
        }
        if (!m_routes[link])
        {
            auto route = Create<Ipv4Route>();
            route->SetSource(m_ipv4->GetAddress(link + 1, 0).GetLocal());
            route->SetOutputDevice(m_ipv4->GetNetDevice(link + 1));
            m_routes[link] = route;
        }
        Ptr<Ipv4Route> route = m_routes[link];
        // On a link of two ends the next hop has no address to be found.
        route->SetGateway(Ipv4Address::GetZero());
        route->SetDestination(destination);
        return route;
    }

    Chooser m_choose;
    Ptr<Ipv4> m_ipv4;
    std::vector<Ptr<Ipv4Route>> m_routes;
};

/// Hosts and switches with links between them.
class Fabric
{
  public:
    explicit Fabric(uint32_t hosts, Links links)
        : m_links(std::move(links))
    {
        m_hosts.Create(hosts);
        m_stack.SetIpv6StackInstall(false);
        m_stack.Install(m_hosts);
        for (uint32_t host = 0; host < hosts; ++host)
        {
            SetRouting(m_hosts.Get(host), CreateObject<DirectRouting>());
        }
    }

    uint32_t Hosts() const
    {
        return m_hosts.GetN();
    }

    Ptr<Node> Host(uint32_t host) const
    {
        return m_hosts.Get(host);
    }

    static Ipv4Address Address(uint32_t host)
    {
        return Ipv4Address((10U << 24) + (host << 8) + 1);
    }

    /// The discipline and the device's queue of the port to the last host: what waits is in one of them.
    Ptr<QueueDisc> LastDiscipline() const
    {
        return m_lastDiscipline;
    }

    Ptr<Queue<Packet>> LastDeviceQueue() const
    {
        return DynamicCast<PointToPointNetDevice>(m_lastPort)->GetQueue();
    }

    const NetDeviceContainer& Devices() const
    {
        return m_devices;
    }

    uint64_t Total(const std::function<uint64_t(const QueueDisc::Stats&)>& field) const
    {
        uint64_t total = 0;
        for (const auto& discipline : m_disciplines)
        {
            total += field(discipline->GetStats());
        }
        return total;
    }

    Ptr<Node> AddSwitch(Chooser choose)
    {
        auto node = CreateObject<Node>();
        m_stack.Install(node);
        SetRouting(node, CreateObject<DirectRouting>(std::move(choose)));
        return node;
    }

    /// A link between a switch and a host. Hosts come in ascending order.
    void ConnectHost(Ptr<Node> near, uint32_t host, const std::string& rate)
    {
        auto ends = Link(rate).Install(near, m_hosts.Get(host));
        m_devices.Add(ends);
        m_lastPort = ends.Get(0);
        DynamicCast<PointToPointNetDevice>(ends.Get(1))
            ->GetQueue()
            ->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, m_links.hostPackets));
        AddAddress(ends.Get(0), Ipv4Address(Address(host).Get() + 1));
        AddAddress(ends.Get(1), Address(host));
        m_lastDiscipline = AddDiscipline(ends.Get(0));
    }

    /// A link between two switches.
    void Connect(Ptr<Node> a, Ptr<Node> b)
    {
        auto ends = Link(m_links.rate).Install(a, b);
        m_devices.Add(ends);
        for (uint32_t end = 0; end < 2; ++end)
        {
            AddAddress(ends.Get(end), Ipv4Address((11U << 24) + ++m_between));
            AddDiscipline(ends.Get(end));
        }
    }

    const std::string& Rate() const
    {
        return m_links.rate;
    }

  private:
    static void SetRouting(Ptr<Node> node, Ptr<DirectRouting> routing)
    {
        node->GetObject<Ipv4>()->SetRoutingProtocol(routing);
    }

    static void AddAddress(Ptr<NetDevice> device, Ipv4Address address)
    {
        auto ipv4 = device->GetNode()->GetObject<Ipv4>();
        const uint32_t interface = ipv4->AddInterface(device);
        ipv4->AddAddress(interface, Ipv4InterfaceAddress(address, Ipv4Mask("255.255.255.0")));
        ipv4->SetUp(interface);
    }

    PointToPointHelper Link(const std::string& rate) const
    {
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", StringValue(rate));
        link.SetChannelAttribute("Delay", StringValue(m_links.delay));
        link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
        return link;
    }

    Ptr<QueueDisc> AddDiscipline(Ptr<NetDevice> port)
    {
        TrafficControlHelper red;
        red.SetRootQueueDisc("ns3::RedQueueDisc");
        m_disciplines.push_back(red.Install(port).Get(0));
        return m_disciplines.back();
    }

    Links m_links;
    InternetStackHelper m_stack;
    NodeContainer m_hosts;
    NetDeviceContainer m_devices;
    Ptr<NetDevice> m_lastPort;
    Ptr<QueueDisc> m_lastDiscipline;
    std::vector<Ptr<QueueDisc>> m_disciplines;
    uint32_t m_between{0};
};

/// Senders and, last, the receiver around one switch.
inline Fabric
Star(uint32_t senders, const std::string& senderRate, const Links& links)
{
    Fabric fabric(senders + 1, links);
    auto middle = fabric.AddSwitch([](uint32_t, uint32_t to) { return to; });
    for (uint32_t host = 0; host <= senders; ++host)
    {
        fabric.ConnectHost(middle, host, host < senders ? senderRate : links.rate);
    }
    return fabric;
}

/// One of `ports` equal ports for all packets between two hosts. Every switch draws anew.
inline uint32_t
Drawn(uint32_t from, uint32_t to, uint32_t switchNumber, uint32_t ports)
{
    // The finalizer of SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, OOPSLA 2014).
    uint64_t mixed = (static_cast<uint64_t>(from) << 40) ^ (static_cast<uint64_t>(to) << 20) ^ switchNumber;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    mixed ^= mixed >> 31;
    return static_cast<uint32_t>(mixed % ports);
}

/// k pods of k/2 edge and k/2 aggregation switches over (k/2)^2 core switches: k^3/4 hosts.
inline Fabric
FatTree(uint32_t k, const Links& links)
{
    const uint32_t half = k / 2;
    const uint32_t inPod = half * half;
    Fabric fabric(k * inPod, links);
    std::vector<Ptr<Node>> cores;
    for (uint32_t core = 0; core < inPod; ++core)
    {
        cores.push_back(fabric.AddSwitch([=](uint32_t, uint32_t to) { return to / inPod; }));
    }
    for (uint32_t pod = 0; pod < k; ++pod)
    {
        std::vector<Ptr<Node>> edges;
        for (uint32_t edge = 0; edge < half; ++edge)
        {
            const uint32_t rack = pod * half + edge;
            edges.push_back(fabric.AddSwitch([=](uint32_t from, uint32_t to) {
                return to / half == rack ? to % half : half + Drawn(from, to, rack, half);
            }));
            for (uint32_t port = 0; port < half; ++port)
            {
                fabric.ConnectHost(edges[edge], rack * half + port, links.rate);
            }
        }
        for (uint32_t aggregation = 0; aggregation < half; ++aggregation)
        {
            const uint32_t number = k * half + pod * half + aggregation;
            auto node = fabric.AddSwitch([=](uint32_t from, uint32_t to) {
                const bool inside = to / inPod == pod;
                return inside ? to % inPod / half : half + Drawn(from, to, number, half);
            });
            for (const auto& edge : edges)
            {
                fabric.Connect(node, edge);
            }
            for (uint32_t core = 0; core < half; ++core)
            {
                fabric.Connect(node, cores[aggregation * half + core]);
            }
        }
    }
    return fabric;
}

} // namespace ns3
