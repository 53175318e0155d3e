// The dumbbell with one of ns-3's error models at the far end of the bottleneck, for packets of its forward direction.
// Called as dumbbell.cc, with `error`, which is packet, byte or burst, and its `probability` besides; with burst, `length`
// is the mean of the exponential distribution whose whole part is a burst's number of packets. Prints what was received
// there and what was lost, counted from `warmup` on, before what dumbbell.cc prints.
#define main dumbbell
#include "dumbbell.cc"
#undef main

static Ptr<ErrorModel> Errors(const Arguments& arg)
{
    if (arg.Text("error") == "burst")
    {
        Ptr<ExponentialRandomVariable> length = CreateObject<ExponentialRandomVariable>();
        length->SetAttribute("Mean", DoubleValue(arg.Number("length")));
        Ptr<BurstErrorModel> bursts = CreateObject<BurstErrorModel>();
        bursts->SetAttribute("ErrorRate", DoubleValue(arg.Number("probability")));
        bursts->SetAttribute("BurstSize", PointerValue(length));
        return bursts;
    }
    Ptr<RateErrorModel> rate = CreateObject<RateErrorModel>();
    rate->SetUnit(arg.Text("error") == "byte" ? RateErrorModel::ERROR_UNIT_BYTE : RateErrorModel::ERROR_UNIT_PACKET);
    rate->SetRate(arg.Number("probability"));
    return rate;
}

// The device of the second router at the bottleneck: the first that is no loopback.
static Ptr<PointToPointNetDevice> FarEnd()
{
    Ptr<Node> router = NodeList::GetNode(1);
    for (uint32_t i = 0; i < router->GetNDevices(); i++)
    {
        Ptr<PointToPointNetDevice> device = DynamicCast<PointToPointNetDevice>(router->GetDevice(i));
        if (device) return device;
    }
    NS_FATAL_ERROR("no device");
}

static void Count(uint64_t* count, double warmup, Ptr<const Packet>)
{
    if (Simulator::Now().GetSeconds() >= warmup) ++*count;
}

int main(int argc, char** argv)
{
    Arguments arg(argc, argv);
    uint64_t lost = 0, received = 0;
    double warmup = arg.Number("warmup");
    Simulator::Schedule(Seconds(0), [&]() {
        FarEnd()->SetReceiveErrorModel(Errors(arg));
        FarEnd()->TraceConnectWithoutContext("PhyRxDrop", MakeBoundCallback(&Count, &lost, warmup));
        FarEnd()->TraceConnectWithoutContext("PhyRxEnd", MakeBoundCallback(&Count, &received, warmup));
    });
    Simulator::ScheduleDestroy([&]() {
        std::cout << "{\"lost\": " << lost << ", \"received\": " << received << "}" << std::endl;
    });
    return dumbbell(argc, argv);
}
