// A dumbbell in ns-3: N bulk TCP flows with access delays of their own over one bottleneck under a queue discipline.
// Called with key=value, of all keys that `Arguments` names; prints a JSON object, counted from `warmup` on.
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

// A law with the threshold of RFC 5681 eq. 4. That of ns-3's TcpNewReno and its heirs is half of the pipe, from which
// what was selectively acknowledged and what is lost is gone already: a window of ten falls to four after one loss.
template <class Law>
class Halving : public Law
{
  public:
    uint32_t GetSsThresh(Ptr<const TcpSocketState> state, uint32_t) override
    {
        return std::max(2 * state->m_segmentSize, state->m_cWnd.Get() / 2);
    }
};

class Reno : public Halving<TcpNewReno>
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("Reno").SetParent<TcpNewReno>().AddConstructor<Reno>();
        return id;
    }

    Ptr<TcpCongestionOps> Fork() override { return CopyObject<Reno>(this); }
};

// LEDBAT whose window may be one segment more than was in flight before an ACK (ALLOWED_INCREASE, RFC 6817 section
// 2.4.2). That of ns-3's TcpLedbat may be no more than was in flight, so that above its threshold it never grows.
class Ledbat : public Halving<TcpLedbat>
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("Ledbat").SetParent<TcpLedbat>().AddConstructor<Ledbat>();
        return id;
    }

    Ptr<TcpCongestionOps> Fork() override { return CopyObject<Ledbat>(this); }

  protected:
    void CongestionAvoidance(Ptr<TcpSocketState> state, uint32_t acked) override
    {
        SequenceNumber32 sent = state->m_highTxMark;
        state->m_highTxMark = sent + state->m_segmentSize;
        TcpLedbat::CongestionAvoidance(state, acked);
        state->m_highTxMark = sent;
    }
};

NS_OBJECT_ENSURE_REGISTERED(Reno);
NS_OBJECT_ENSURE_REGISTERED(Ledbat);

// rate (bit/s), limit (packets), queue, min, max, weight, seed, warmup and duration (s), payload (B), and for each flow
// its one-way access delay (s), start (s) and control (an ns-3 type).
class Arguments
{
  public:
    Arguments(int count, char** words)
    {
        for (int i = 1; i < count; i++)
        {
            std::string word = words[i];
            size_t at = word.find('=');
            m_given[word.substr(0, at)] = word.substr(at + 1);
        }
    }

    std::string Text(const std::string& key) const { return m_given.at(key); }
    double Number(const std::string& key) const { return std::stod(m_given.at(key)); }

    std::vector<std::string> List(const std::string& key) const
    {
        std::vector<std::string> items;
        std::stringstream in(m_given.at(key));
        for (std::string item; std::getline(in, item, ',');) items.push_back(item);
        return items;
    }

  private:
    std::map<std::string, std::string> m_given;
};

// What waits in the discipline and in the device behind it: integrals over time of the sum and of its square.
class Waiting
{
  public:
    explicit Waiting(double from) : m_from(from) {}
    void Discipline(uint32_t, uint32_t now) { Settle(); m_discipline = now; }
    void Device(uint32_t, uint32_t now) { Settle(); m_device = now; }
    void Sent(Ptr<const Packet> packet) { if (Now() >= m_from) m_sent += packet->GetSize(); }
    double Mean() { Settle(); return m_area / (Now() - m_from); }
    double Deviation() { return std::sqrt(std::max(0.0, m_square / (Now() - m_from) - std::pow(Mean(), 2))); }
    double Bits() const { return 8.0 * double(m_sent); }

  private:
    static double Now() { return Simulator::Now().GetSeconds(); }

    void Settle()
    {
        double lasted = Now() - std::max(m_since, m_from), packets = double(m_discipline) + double(m_device);
        if (lasted > 0)
        {
            m_area += packets * lasted;
            m_square += packets * packets * lasted;
        }
        m_since = Now();
    }

    double m_from, m_since = 0, m_area = 0, m_square = 0;
    uint32_t m_discipline = 0, m_device = 0;
    uint64_t m_sent = 0;
};

static void SetTcp(const Arguments& arg)
{
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", StringValue("ns3::TcpClassicRecovery"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(uint32_t(arg.Number("payload"))));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(false));
    Config::SetDefault("ns3::TcpLedbat::TargetDelay", TimeValue(MilliSeconds(100)));
    Config::SetDefault("ns3::TcpLedbat::SSParam", StringValue("no"));
}

static QueueDiscContainer Discipline(const Arguments& arg, Ptr<NetDevice> device)
{
    TrafficControlHelper control;
    std::string queue = arg.Text("queue");
    auto root = [&](const std::string& type, auto... settings) {
        control.SetRootQueueDisc(type, "MaxSize", StringValue(arg.Text("limit") + "p"), settings...);
    };
    if (queue == "codel")
    {
        root("ns3::CoDelQueueDisc", "UseEcn", BooleanValue(false));
    }
    else if (queue == "fq-codel")
    {
        // So many queues that no two flows meet in one.
        root("ns3::FqCoDelQueueDisc", "UseEcn", BooleanValue(false), "Flows", UintegerValue(1 << 24));
    }
    else if (queue == "red")
    {
        DoubleValue min(arg.Number("min")), max(arg.Number("max")), weight(arg.Number("weight"));
        UintegerValue packet(uint32_t(arg.Number("payload")) + 54);
        DataRateValue rate{DataRate(uint64_t(arg.Number("rate")))};
        root("ns3::RedQueueDisc", "MinTh", min, "MaxTh", max, "QW", weight, "LInterm", DoubleValue(10), "MeanPktSize",
             packet, "LinkBandwidth", rate, "LinkDelay", TimeValue(MilliSeconds(1)));
    }
    else
    {
        root("ns3::FifoQueueDisc");
    }
    QueueDiscContainer made = control.Install(device);
    Ptr<FqCoDelQueueDisc> fair = DynamicCast<FqCoDelQueueDisc>(made.Get(0));
    if (fair) fair->SetQuantum(uint32_t(arg.Number("payload")) + 52);
    return made;
}

static std::vector<Ptr<PacketSink>> Flows(const Arguments& arg, NodeContainer hosts, NodeContainer routers,
                                          Ipv4Address there)
{
    std::vector<std::string> delays = arg.List("delays"), starts = arg.List("starts"), controls = arg.List("controls");
    std::vector<Ptr<PacketSink>> sinks;
    for (uint32_t i = 0; i < hosts.GetN(); i++)
    {
        PointToPointHelper access;
        access.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
        access.SetChannelAttribute("Delay", TimeValue(Seconds(std::stod(delays[i]))));
        access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
        NetDeviceContainer link = access.Install(hosts.Get(i), routers.Get(0));
        std::ostringstream base;
        base << "10." << i / 250 + 1 << "." << i % 250 << ".0";
        Ipv4AddressHelper(base.str().c_str(), "255.255.255.0").Assign(link);
        TypeIdValue control(TypeId::LookupByName(controls[i]));
        hosts.Get(i)->GetObject<TcpL4Protocol>()->SetAttribute("SocketType", control);
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000 + i));
        ApplicationContainer receiver = sink.Install(routers.Get(1));
        receiver.Start(Seconds(0));
        sinks.push_back(DynamicCast<PacketSink>(receiver.Get(0)));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(there, 5000 + i));
        bulk.SetAttribute("SendSize", UintegerValue(uint32_t(arg.Number("payload"))));
        bulk.Install(hosts.Get(i)).Start(Seconds(std::stod(starts[i])));
    }
    return sinks;
}

int main(int argc, char** argv)
{
    Arguments arg(argc, argv);
    double rate = arg.Number("rate"), warmup = arg.Number("warmup"), span = arg.Number("duration") - warmup;
    uint32_t n = arg.List("delays").size();
    RngSeedManager::SetRun(uint64_t(arg.Number("seed")));
    SetTcp(arg);
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
    Ptr<PointToPointNetDevice> device = DynamicCast<PointToPointNetDevice>(middle.Get(0));
    Ptr<QueueDisc> discipline = Discipline(arg, device).Get(0);
    Waiting waiting(warmup);
    discipline->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Waiting::Discipline, &waiting));
    device->GetQueue()->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Waiting::Device, &waiting));
    device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Waiting::Sent, &waiting));
    Ipv4InterfaceContainer ends = Ipv4AddressHelper("10.250.0.0", "255.255.255.0").Assign(middle);
    std::vector<Ptr<PacketSink>> sinks = Flows(arg, hosts, routers, ends.GetAddress(1));
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    std::vector<uint64_t> before(n, 0);
    uint64_t dropped = 0, arrived = 0;
    Simulator::Schedule(Seconds(warmup), [&]() {
        for (uint32_t i = 0; i < n; i++) before[i] = sinks[i]->GetTotalRx();
        dropped = discipline->GetStats().nTotalDroppedPackets;
        arrived = discipline->GetStats().nTotalReceivedPackets;
    });
    Simulator::Stop(Seconds(warmup + span));
    Simulator::Run();
    const QueueDisc::Stats& stats = discipline->GetStats();
    std::cout << "{\"utilization\": " << waiting.Bits() / rate / span << ", \"queue_mean\": " << waiting.Mean()
              << ", \"queue_sd\": " << waiting.Deviation() << ", \"arrived\": " << stats.nTotalReceivedPackets - arrived
              << ", \"dropped\": " << stats.nTotalDroppedPackets - dropped << ", \"goodput_bps\": [";
    for (uint32_t i = 0; i < n; i++)
        std::cout << (i ? ", " : "") << double(sinks[i]->GetTotalRx() - before[i]) * 8 / span;
    std::cout << "]}" << std::endl;
    Simulator::Destroy();
    return 0;
}
