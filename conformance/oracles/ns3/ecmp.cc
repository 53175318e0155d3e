// Equal-cost paths in ns-3: N bulk TCP flows from one router to another, over as many routers between them as there are
// paths. Both send each flow over one of ns-3's equal-cost routes, chosen by ns-3's hash of its addresses and ports
// (RFC 2992): what ns-3.37 has itself draws a route for each packet (RandomEcmpRouting).
// Called as dumbbell.cc, for a rate and a queue of each path, with paths and window (B) besides.
#define main dumbbell
#include "dumbbell.cc"
#undef main

// Forwards each flow over one of the routes that global routing has for its destination.
class FlowEcmp : public Ipv4RoutingProtocol
{
  public:
    FlowEcmp(Ptr<Node> node, uint32_t perturbation)
        : m_ipv4(node->GetObject<Ipv4>()), m_routes(node->GetObject<GlobalRouter>()->GetRoutingProtocol()),
          m_perturbation(perturbation)
    {
        DynamicCast<Ipv4ListRouting>(m_ipv4->GetRoutingProtocol())->AddRoutingProtocol(this, 10);
    }

    bool RouteInput(Ptr<const Packet> packet, const Ipv4Header& header, Ptr<const NetDevice>,
                    UnicastForwardCallback forward, MulticastForwardCallback, LocalDeliverCallback,
                    ErrorCallback) override
    {
        std::vector<Ipv4RoutingTableEntry*> equal;
        for (uint32_t i = 0; i < m_routes->GetNRoutes(); i++)
        {
            Ipv4RoutingTableEntry* entry = m_routes->GetRoute(i);
            if (entry->IsNetwork() &&
                entry->GetDestNetworkMask().IsMatch(header.GetDestination(), entry->GetDestNetwork()))
            {
                equal.push_back(entry);
            }
        }
        if (equal.size() < 2) return false;
        uint32_t hash = Ipv4QueueDiscItem(packet->Copy(), Address(), 0, header).Hash(m_perturbation);
        Ipv4RoutingTableEntry* chosen = equal[hash % equal.size()];
        Ptr<Ipv4Route> route = Create<Ipv4Route>();
        route->SetDestination(header.GetDestination());
        route->SetGateway(chosen->GetGateway());
        route->SetOutputDevice(m_ipv4->GetNetDevice(chosen->GetInterface()));
        forward(route, packet, header);
        return true;
    }

    // Packets of the node itself go by global routing.
    Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header&, Ptr<NetDevice>, Socket::SocketErrno& error) override
    {
        error = Socket::ERROR_NOROUTETOHOST;
        return nullptr;
    }

    void NotifyInterfaceUp(uint32_t) override {}
    void NotifyInterfaceDown(uint32_t) override {}
    void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override {}
    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}
    void SetIpv4(Ptr<Ipv4>) override {}
    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}

  private:
    Ptr<Ipv4> m_ipv4;
    Ptr<Ipv4GlobalRouting> m_routes;
    uint32_t m_perturbation;
};

// What is counted on a path.
struct Path
{
    Ptr<QueueDisc> discipline;
    Waiting* waiting;
    uint64_t dropped = 0, arrived = 0;
};

static PointToPointHelper Wire(DataRate rate, int delayMs, const std::string& room)
{
    PointToPointHelper wire;
    wire.SetDeviceAttribute("DataRate", DataRateValue(rate));
    wire.SetChannelAttribute("Delay", TimeValue(MilliSeconds(delayMs)));
    wire.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(room));
    return wire;
}

static NetDeviceContainer Connect(PointToPointHelper wire, Ptr<Node> from, Ptr<Node> to)
{
    return wire.Install(NodeContainer(from, to));
}

// The paths from the first of the ends to the second, each with a queue of its own.
static std::vector<Path> Paths(const Arguments& arg, NodeContainer ends, NodeContainer between)
{
    std::vector<Path> paths;
    for (uint32_t i = 0; i < between.GetN(); i++)
    {
        DataRate rate{uint64_t(arg.Number("rate"))};
        NetDeviceContainer first = Connect(Wire(rate, 1, "1p"), ends.Get(0), between.Get(i));
        NetDeviceContainer second = Connect(Wire(DataRate("1Gbps"), 0, "100000p"), between.Get(i), ends.Get(1));
        Ptr<PointToPointNetDevice> device = DynamicCast<PointToPointNetDevice>(first.Get(0));
        Path path{Discipline(arg, device).Get(0), new Waiting(arg.Number("warmup"))};
        path.discipline->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Waiting::Discipline, path.waiting));
        device->GetQueue()->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Waiting::Device, path.waiting));
        device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Waiting::Sent, path.waiting));
        Ipv4AddressHelper(("10.250." + std::to_string(i) + ".0").c_str(), "255.255.255.0").Assign(first);
        Ipv4AddressHelper(("10.251." + std::to_string(i) + ".0").c_str(), "255.255.255.0").Assign(second);
        paths.push_back(path);
    }
    return paths;
}

int main(int argc, char** argv)
{
    Arguments arg(argc, argv);
    double warmup = arg.Number("warmup"), span = arg.Number("duration") - warmup;
    uint32_t n = arg.List("delays").size(), seed = uint32_t(arg.Number("seed"));
    RngSeedManager::SetRun(seed);
    SetTcp(arg);
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(uint32_t(arg.Number("window"))));
    NodeContainer ends(2), between(uint32_t(arg.Number("paths"))), hosts(n), receiver(1);
    InternetStackHelper stack;
    stack.InstallAll();
    std::vector<Path> paths = Paths(arg, ends, between);
    NetDeviceContainer last = Connect(Wire(DataRate("1Gbps"), 0, "100000p"), ends.Get(1), receiver.Get(0));
    Ipv4Address there = Ipv4AddressHelper("10.252.0.0", "255.255.255.0").Assign(last).GetAddress(1);
    std::vector<Ptr<PacketSink>> sinks = Flows(arg, hosts, NodeContainer(ends.Get(0), receiver.Get(0)), there);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    for (uint32_t i = 0; i < 2; i++) Create<FlowEcmp>(ends.Get(i), 2 * seed + i);

    std::vector<uint64_t> before(n, 0);
    Simulator::Schedule(Seconds(warmup), [&]() {
        for (uint32_t i = 0; i < n; i++) before[i] = sinks[i]->GetTotalRx();
        for (Path& path : paths)
        {
            path.dropped = path.discipline->GetStats().nTotalDroppedPackets;
            path.arrived = path.discipline->GetStats().nTotalReceivedPackets;
        }
    });
    Simulator::Stop(Seconds(warmup + span));
    Simulator::Run();
    std::cout << "{\"paths\": [";
    for (uint32_t i = 0; i < paths.size(); i++)
    {
        const QueueDisc::Stats& stats = paths[i].discipline->GetStats();
        std::cout << (i ? ", " : "") << "{\"throughput_bps\": " << paths[i].waiting->Bits() / span
                  << ", \"queue_mean\": " << paths[i].waiting->Mean()
                  << ", \"arrived\": " << stats.nTotalReceivedPackets - paths[i].arrived
                  << ", \"dropped\": " << stats.nTotalDroppedPackets - paths[i].dropped << "}";
    }
    std::cout << "], \"goodput_bps\": [";
    for (uint32_t i = 0; i < n; i++)
        std::cout << (i ? ", " : "") << double(sinks[i]->GetTotalRx() - before[i]) * 8 / span;
    std::cout << "]}" << std::endl;
    Simulator::Destroy();
    return 0;
}
