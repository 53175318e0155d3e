// The dumbbell with senders that pace or count marks: BBR and DCTCP. Called as dumbbell.cc. A queue `red` marks what can be
// marked, also above `max`, so that with one threshold and a `weight` of 1 it is DCTCP's step. `unmended` names what is left as
// it is in ns-3 (of samples, acks, pace, aggregation). Prints how many packets were marked from `warmup` on after what dumbbell.cc
// prints.
#define main dumbbell
#include "dumbbell.cc"
#undef main

#include <set>

static std::set<std::string> g_unmended;

static bool Mends(const std::string& what)
{
    return g_unmended.count(what) == 0;
}

// The private members of ns-3's classes that are needed. Of DCTCP, the ACKs that have not made the window larger yet. Of BBR, what
// was delivered, the quantum, the bandwidth, and what ACKs have brought beyond it since when.
uint32_t& Count(TcpLinuxReno& reno);
uint64_t& Delivered(TcpBbr& bbr);
uint32_t& Quantum(TcpBbr& bbr);
DataRate Bandwidth(TcpBbr& bbr);
uint32_t& Excess(TcpBbr& bbr);
Time& ExcessSince(TcpBbr& bbr);

template <auto count, auto delivered, auto quantum, auto filter, auto excess, auto since>
struct Reach
{
    friend uint32_t& Count(TcpLinuxReno& reno) { return reno.*count; }
    friend uint64_t& Delivered(TcpBbr& bbr) { return bbr.*delivered; }
    friend uint32_t& Quantum(TcpBbr& bbr) { return bbr.*quantum; }
    friend DataRate Bandwidth(TcpBbr& bbr) { return (bbr.*filter).GetBest(); }
    friend uint32_t& Excess(TcpBbr& bbr) { return bbr.*excess; }
    friend Time& ExcessSince(TcpBbr& bbr) { return bbr.*since; }
};

template struct Reach<&TcpLinuxReno::m_cWndCnt, &TcpBbr::m_delivered, &TcpBbr::m_sendQuantum, &TcpBbr::m_maxBwFilter,
                      &TcpBbr::m_ackEpochAcked, &TcpBbr::m_ackEpochTime>;

// DCTCP that takes whole segments from the window (dctcp_ssthresh) and begins to count ACKs anew in a reduction
// (tcp_init_cwnd_reduction), as Linux does. The window of ns-3 grows by whole segments, keeps a part of one in a reduction, and the
// ACKs that were counted.
class Dctcp : public TcpDctcp
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("Dctcp").SetParent<TcpDctcp>().AddConstructor<Dctcp>();
        return id;
    }

    Ptr<TcpCongestionOps> Fork() override { return CopyObject<Dctcp>(this); }

    uint32_t GetSsThresh(Ptr<const TcpSocketState> state, uint32_t in_flight) override
    {
        Count(*this) = 0;
        uint32_t window = state->m_cWnd.Get() / state->m_segmentSize;
        uint32_t less = (state->m_cWnd.Get() - TcpDctcp::GetSsThresh(state, in_flight)) / state->m_segmentSize;
        return std::max(2u, window - less) * state->m_segmentSize;
    }
};

NS_OBJECT_ENSURE_REGISTERED(Dctcp);

// BBR with a pace that is 1 % less than the bandwidth and a quantum of two segments from 1.2 Mbit/s on, as Linux's. That of ns-3
// follows draft-cardwell-iccrg-bbr-congestion-control-00, which has no such margin, and its quantum is always one segment. What ACKs
// bring beyond the bandwidth is counted from the last time when they had brought no more (bbr_update_ack_aggregation): ns-3 counts all
// that they bring, up to 4,096 bytes, because it expects nothing in the first second.
class Bbr : public TcpBbr
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("Bbr").SetParent<TcpBbr>().AddConstructor<Bbr>();
        return id;
    }

    Ptr<TcpCongestionOps> Fork() override { return CopyObject<Bbr>(this); }

    void CongControl(Ptr<TcpSocketState> state, const TcpRateOps::TcpRateConnection& rates, const TcpRateOps::TcpRateSample& sample) override
    {
        if (Mends("aggregation"))
        {
            double expected = Bandwidth(*this) * (Simulator::Now() - ExcessSince(*this)) / 8;
            Excess(*this) = std::max(0., Excess(*this) - expected);
            ExcessSince(*this) = Simulator::Now();
        }
        Delivered(*this) = rates.m_delivered;
        UpdateModelAndState(state, sample);
        if (m_rate > DataRate(0)) state->m_pacingRate = m_rate;
        SetPacingRate(state, GetPacingGain());
        m_rate = state->m_pacingRate;
        if (Mends("pace")) state->m_pacingRate = m_rate * 0.99;
        bool small = state->m_pacingRate < DataRate("1.2Mb/s") || !Mends("pace");
        Quantum(*this) = (small ? 1 : 2) * state->m_segmentSize;
        SetCwnd(state, sample);
    }

  private:
    DataRate m_rate{0}; // without the margin
};

NS_OBJECT_ENSURE_REGISTERED(Bbr);

// The first device of a router that is no loopback: that of the bottleneck.
static Ptr<PointToPointNetDevice> Bottleneck(Ptr<Node> router)
{
    for (uint32_t i = 0; i < router->GetNDevices(); i++)
    {
        Ptr<PointToPointNetDevice> device = DynamicCast<PointToPointNetDevice>(router->GetDevice(i));
        if (device) return device;
    }
    NS_FATAL_ERROR("no device");
}

// Packets that the discipline of the bottleneck has marked.
static uint32_t Marked()
{
    Ptr<Node> router = NodeList::GetNode(0);
    Ptr<TrafficControlLayer> control = router->GetObject<TrafficControlLayer>();
    return control->GetRootQueueDiscOnDevice(Bottleneck(router))->GetStats().nTotalMarkedPackets;
}

// A socket whose samples of the delivery rate can be reached.
class Sampled : public TcpSocketBase
{
  public:
    static Ptr<TcpRateOps> Rates(Ptr<TcpSocketBase> socket) { return (*socket).*(&Sampled::m_rateOps); }
};

// Begins a sample anew at each ACK, as Linux does. ns-3 keeps the last one where what an ACK delivers was not sent at a later count
// of delivered bytes: of two segments sent between two ACKs, the second has a sample with a segment more in the same time. And
// before 3.41 the time of the ACKs is counted from what the sample before began with: the rate of a flow with few segments in
// flight falls to a fifth.
static void BeginSample(const TcpRateOps::TcpRateSample& traced)
{
    TcpRateOps::TcpRateSample& sample = const_cast<TcpRateOps::TcpRateSample&>(traced);
    if (Mends("acks")) sample.m_ackElapsed = Simulator::Now() - sample.m_priorTime;
    if (!Mends("samples")) return;
    Simulator::ScheduleNow([&sample]() {
        sample.m_priorTime = Seconds(0);
        sample.m_priorDelivered = 0;
        sample.m_deliveryRate = DataRate(0);
    });
}

static void MendSamplesOf(Ptr<Node> host)
{
    Ptr<Socket> socket = DynamicCast<BulkSendApplication>(host->GetApplication(0))->GetSocket();
    Ptr<TcpRateOps> rates = Sampled::Rates(DynamicCast<TcpSocketBase>(socket));
    rates->TraceConnectWithoutContext("TcpRateSampleUpdated", MakeCallback(&BeginSample));
}

int main(int argc, char** argv)
{
    Arguments arg(argc, argv);
    for (const std::string& what : arg.List("unmended")) g_unmended.insert(what);
    bool marks = arg.Text("queue") == "red";
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", EnumValue(marks ? TcpSocketState::On : TcpSocketState::Off));
    Config::SetDefault("ns3::RedQueueDisc::UseEcn", BooleanValue(marks));
    Config::SetDefault("ns3::RedQueueDisc::UseHardDrop", BooleanValue(false));
    Config::SetDefault("ns3::RedQueueDisc::Gentle", BooleanValue(false));
    if (Mends("aggregation")) Config::SetDefault("ns3::TcpBbr::AckEpochAckedResetThresh", UintegerValue(1u << 30));
    std::vector<std::string> starts = arg.List("starts");
    for (uint32_t i = 0; i < starts.size(); i++)
    {
        Simulator::Schedule(Seconds(std::stod(starts[i])) + NanoSeconds(1), [i]() { MendSamplesOf(NodeList::GetNode(i + 2)); });
    }
    uint32_t before = 0, marked = 0;
    Simulator::Schedule(Seconds(arg.Number("warmup")), [&]() { before = Marked(); });
    Simulator::Schedule(Seconds(arg.Number("duration")) - NanoSeconds(1), [&]() { marked = Marked() - before; });
    Simulator::ScheduleDestroy([&]() { std::cout << "{\"marked\": " << marked << "}" << std::endl; });
    return dumbbell(argc, argv);
}
