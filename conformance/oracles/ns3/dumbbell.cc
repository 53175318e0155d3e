// A dumbbell in ns-3: N bulk TCP flows with access delays of their own over one bottleneck under a queue discipline.
// Arguments: key=value, see `arg` below; output: one JSON object. Counted from `warmup` to `duration`.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cmath>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

// Packets that wait, in the discipline and in the device behind it, integrated over time.
static double g_disc = 0, g_device = 0, g_since = 0, g_area = 0, g_square = 0, g_from = 0;
static uint64_t g_sent = 0;

static void Settle()
{
    double now = Simulator::Now().GetSeconds();
    double begin = std::max(g_since, g_from);
    if (now > begin)
    {
        double q = g_disc + g_device;
        g_area += q * (now - begin);
        g_square += q * q * (now - begin);
    }
    g_since = now;
}

static void Disc(uint32_t, uint32_t now) { Settle(); g_disc = now; }
static void Device(uint32_t, uint32_t now) { Settle(); g_device = now; }
static void Sent(Ptr<const Packet> p) { if (Simulator::Now().GetSeconds() >= g_from) g_sent += p->GetSize(); }

int main(int argc, char** argv)
{
    std::map<std::string, std::string> arg;
    for (int i = 1; i < argc; i++)
    {
        std::string s = argv[i];
        size_t at = s.find('=');
        arg[s.substr(0, at)] = s.substr(at + 1);
    }
    auto number = [&](const char* key) { return std::stod(arg.at(key)); };
    auto list = [&](const char* key) {
        std::vector<double> out;
        std::stringstream in(arg.at(key));
        for (std::string item; std::getline(in, item, ',');) out.push_back(std::stod(item));
        return out;
    };
    double rate = number("rate"), warmup = number("warmup"), duration = number("duration");
    std::vector<double> delays = list("delays"), starts = list("starts");
    uint32_t n = delays.size();
    g_from = warmup;
    RngSeedManager::SetRun(uint64_t(number("seed")));

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpNewReno"));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", StringValue("ns3::TcpClassicRecovery"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1460));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(1)));

    NodeContainer routers, hosts;
    routers.Create(2);
    hosts.Create(n);
    InternetStackHelper stack;
    stack.Install(routers);
    stack.Install(hosts);

    PointToPointHelper bottleneck;
    bottleneck.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(rate))));
    bottleneck.SetChannelAttribute("Delay", TimeValue(MilliSeconds(1)));
    bottleneck.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    NetDeviceContainer middle = bottleneck.Install(routers);

    TrafficControlHelper control;
    std::string limit = arg.at("limit") + "p";
    if (arg.at("queue") == "codel")
    {
        control.SetRootQueueDisc("ns3::CoDelQueueDisc", "MaxSize", StringValue(limit), "UseEcn", BooleanValue(false));
    }
    else if (arg.at("queue") == "fq-codel")
    {
        control.SetRootQueueDisc("ns3::FqCoDelQueueDisc", "MaxSize", StringValue(limit), "UseEcn", BooleanValue(false));
    }
    else if (arg.at("queue") == "red")
    {
        control.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", StringValue(limit), "MinTh", DoubleValue(number("min")),
                                 "MaxTh", DoubleValue(number("max")), "QW", DoubleValue(number("weight")), "LInterm", DoubleValue(10),
                                 "Gentle", BooleanValue(true), "Wait", BooleanValue(true), "MeanPktSize", UintegerValue(1512),
                                 "LinkBandwidth", DataRateValue(DataRate(uint64_t(rate))), "LinkDelay", TimeValue(MilliSeconds(1)));
    }
    else
    {
        control.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(limit));
    }
    QueueDiscContainer discs = control.Install(middle.Get(0));
    discs.Get(0)->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Disc));
    Ptr<PointToPointNetDevice> device = DynamicCast<PointToPointNetDevice>(middle.Get(0));
    device->GetQueue()->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Device));
    device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Sent));

    Ipv4AddressHelper address("10.250.0.0", "255.255.255.0");
    Ipv4InterfaceContainer ends = address.Assign(middle);
    std::vector<Ptr<PacketSink>> sinks;
    for (uint32_t i = 0; i < n; i++)
    {
        PointToPointHelper access;
        access.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
        access.SetChannelAttribute("Delay", TimeValue(Seconds(delays[i])));
        access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
        NetDeviceContainer link = access.Install(hosts.Get(i), routers.Get(0));
        std::ostringstream base;
        base << "10." << i / 250 + 1 << "." << i % 250 << ".0";
        Ipv4AddressHelper at(base.str().c_str(), "255.255.255.0");
        at.Assign(link);
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000 + i));
        ApplicationContainer there = sink.Install(routers.Get(1));
        there.Start(Seconds(0));
        sinks.push_back(DynamicCast<PacketSink>(there.Get(0)));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(ends.GetAddress(1), 5000 + i));
        bulk.SetAttribute("SendSize", UintegerValue(1460));
        ApplicationContainer here = bulk.Install(hosts.Get(i));
        here.Start(Seconds(starts[i]));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    std::vector<uint64_t> before(n, 0);
    uint64_t dropped = 0, arrived = 0;
    Simulator::Schedule(Seconds(warmup), [&]() {
        for (uint32_t i = 0; i < n; i++) before[i] = sinks[i]->GetTotalRx();
        const QueueDisc::Stats& s = discs.Get(0)->GetStats();
        dropped = s.nTotalDroppedPackets;
        arrived = s.nTotalReceivedPackets;
    });
    Simulator::Stop(Seconds(duration));
    Simulator::Run();
    Settle();
    double span = duration - warmup, mean = g_area / span, sum = 0, squares = 0;
    for (uint32_t i = 0; i < n; i++)
    {
        double got = double(sinks[i]->GetTotalRx() - before[i]);
        sum += got;
        squares += got * got;
    }
    const QueueDisc::Stats& s = discs.Get(0)->GetStats();
    std::cout << "{\"utilization\": " << g_sent * 8.0 / rate / span << ", \"queue_mean\": " << mean
              << ", \"queue_sd\": " << std::sqrt(std::max(0.0, g_square / span - mean * mean)) << ", \"drop_rate\": "
              << double(s.nTotalDroppedPackets - dropped) / double(s.nTotalReceivedPackets - arrived)
              << ", \"jain\": " << sum * sum / (n * squares) << ", \"goodput_bps\": " << sum * 8 / span << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
