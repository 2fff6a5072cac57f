// network: ns-3 as the network between two robots. What comes on TO_B leaves real ns-3 node A as UDP, and what ns-3 brings to node B is
// published on AT_B; likewise TO_A and AT_A. The link has 1 Mbit/s, 5 ms, a queue of 20 packets, and loses one packet in twenty.
//
// metasim and ns-3 each have an event queue. The next event of ns-3 is the limit of next(): nothing is published before it unless a message
// comes, so the robots need not wait for the network step by step.
#include <metasim.hpp>

#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

// ns-3 tells nobody when its next event is. Its scheduler knows.
class Events : public ns3::MapScheduler {
public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId id = ns3::TypeId("Events").SetParent<ns3::MapScheduler>().AddConstructor<Events>();
        return id;
    }
    Events() { only = this; }
    static metasim::time next() { return only->IsEmpty() ? metasim::forever : metasim::time(only->PeekNext().key.m_ts); }

private:
    static inline Events *only = nullptr;
};

// ns-3 does what it has to do up to a time, and at it.
void advance(metasim::time to)
{
    do {
        ns3::Simulator::Stop(ns3::NanoSeconds(to.count()) - ns3::Simulator::Now());
        ns3::Simulator::Run();
    } while (Events::next() == to);
}

struct Network {
    metasim::client client;
    ns3::NodeContainer nodes;
    ns3::Ptr<ns3::Socket> sockets[2];
    std::uint64_t in = 0, out = 0;

    void build()
    {
        ns3::RngSeedManager::SetSeed(static_cast<std::uint32_t>(client.seed() % 4294944442u + 1)); // 0 is no seed of ns-3
        ns3::ObjectFactory scheduler;
        scheduler.SetTypeId(Events::GetTypeId());
        ns3::Simulator::SetScheduler(scheduler);
        nodes.Create(2);
        ns3::PointToPointHelper wire;
        wire.SetDeviceAttribute("DataRate", ns3::StringValue("1Mbps"));
        wire.SetChannelAttribute("Delay", ns3::StringValue("5ms"));
        wire.SetQueue("ns3::DropTailQueue", "MaxSize", ns3::StringValue("20p"));
        ns3::NetDeviceContainer devices = wire.Install(nodes);
        for (unsigned i = 0; i < 2; i++) {
            ns3::Ptr<ns3::RateErrorModel> loss = ns3::CreateObject<ns3::RateErrorModel>();
            loss->SetUnit(ns3::RateErrorModel::ERROR_UNIT_PACKET);
            loss->SetRate(0.05);
            loss->AssignStreams(i + 1);
            devices.Get(i)->SetAttribute("ReceiveErrorModel", ns3::PointerValue(loss));
        }
        ns3::InternetStackHelper().Install(nodes);
        ns3::Ipv4InterfaceContainer addresses = ns3::Ipv4AddressHelper("10.0.0.0", "255.255.255.0").Assign(devices);
        for (unsigned i = 0; i < 2; i++) {
            sockets[i] = ns3::Socket::CreateSocket(nodes.Get(i), ns3::UdpSocketFactory::GetTypeId());
            sockets[i]->Bind(ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), 9));
            sockets[i]->Connect(ns3::InetSocketAddress(addresses.GetAddress(1 - i), 9));
            sockets[i]->SetRecvCallback(ns3::MakeCallback(&Network::arrived, this));
        }
    }

    void arrived(ns3::Ptr<ns3::Socket> at)
    {
        while (ns3::Ptr<ns3::Packet> packet = at->Recv()) {
            std::vector<std::uint8_t> bytes(packet->GetSize());
            packet->CopyData(bytes.data(), packet->GetSize());
            client.publish(at == sockets[0] ? "AT_A" : "AT_B", bytes.data(), bytes.size());
            out++;
        }
    }

    void run()
    {
        client.subscription("TO_A").subscription("TO_B").publication("AT_A").publication("AT_B").join();
        build();
        while (client.next(Events::next())) {
            metasim::time now = client.now().time;
            if (Events::next() > now)
                advance(now); // the clock alone
            while (auto m = client.receive()) {
                unsigned from = m->channel == std::string("TO_B") ? 0 : 1;
                sockets[from]->Send(ns3::Create<ns3::Packet>(reinterpret_cast<const std::uint8_t *>(m->payload.data()), static_cast<std::uint32_t>(m->payload.size())));
                in++;
            }
            if (Events::next() == now)
                advance(now);
        }
        client.result("{\"in\":" + std::to_string(in) + ",\"out\":" + std::to_string(out) + "}");
        client.leave();
        ns3::Simulator::Destroy();
    }
};

} // namespace

int main()
{
    try {
        Network().run();
    } catch (const std::exception &e) {
        return std::fprintf(stderr, "network: %s\n", e.what()), 1;
    }
    return 0;
}
