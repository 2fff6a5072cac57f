// models MODEL ARGUMENTS: some built-in models again, to take their places in the scenarios that come with metasim:
//
//     echo IN OUT    ring IN OUT    sink IN...    controller    phold LPS POPULATION REMOTE MEAN LOOKAHEAD CLIENTS
#include <metasim.hpp>

#include "../../c/test/phold.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using arguments = std::vector<std::string>;

void pass_on(metasim::client &c, const arguments &a, const std::string &counts)
{
    std::uint64_t passed = 0;
    c.subscription(a.at(0)).publication(a.at(1)).join();
    c.on_others([&](const metasim::message &m) {
        passed++;
        c.publish(a[1], m.payload);
    });
    c.on_leave([&] { return "{\"" + counts + "\":" + std::to_string(passed) + "}"; });
    c.run();
}

void sink(metasim::client &c, const arguments &a)
{
    std::uint64_t received = 0, bytes = 0;
    for (const std::string &pattern : a)
        c.subscription(pattern);
    c.join();
    while (c.next())
        while (auto m = c.receive()) {
            received++;
            bytes += m->payload.size();
        }
    c.result("{\"received\":" + std::to_string(received) + ",\"bytes\":" + std::to_string(bytes) + "}");
    c.leave();
}

// The state of the cart-pole is a time and four numbers, little-endian as is every processor that this runs on.
void controller(metasim::client &c)
{
    constexpr double feedback[4] = {4.13551399, 7.75462354, 61.829526, 15.3610756};
    struct {
        std::int64_t time = -1;
        double of[4]{};
    } latest, next;
    std::uint64_t commands = 0;
    c.subscription("CARTPOLE_STATE").publication("CARTPOLE_FORCE").join();
    for (metasim::time t : c.steps(std::chrono::milliseconds(10))) {
        while (auto m = c.receive()) {
            std::memcpy(&next, m->payload.data(), sizeof next);
            if (next.time > latest.time)
                latest = next;
        }
        if (latest.time < 0)
            continue;
        commands++;
        struct {
            std::int64_t time;
            double force;
        } command{t.count(), feedback[0] * latest.of[0] + feedback[1] * latest.of[1] + feedback[2] * latest.of[2] + feedback[3] * latest.of[3]};
        command.force = std::clamp(command.force, -20.0, 20.0);
        c.publish("CARTPOLE_FORCE", &command, sizeof command);
    }
    c.result("{\"commands\":" + std::to_string(commands) + "}");
    c.leave();
}

void run_phold(metasim::client &c, const arguments &a)
{
    for (int i = 0; i < std::stoi(a.at(5)); i++) {
        std::string name = "phold-" + std::to_string(i);
        name == c.name() ? c.subscription(name) : c.publication(name);
    }
    c.join();
    std::unique_ptr<phold, void (*)(phold *)> p(phold_new(c.seed(), c.index(), c.count(), static_cast<std::uint32_t>(std::stoul(a[0])), static_cast<std::uint32_t>(std::stoul(a[1])),
                                                          std::stod(a[2]), std::stoll(a[3]), std::stoll(a[4])),
                                                phold_free);
    while (c.next(metasim::time(phold_next(p.get())))) {
        while (auto m = c.receive())
            if (!phold_schedule(p.get(), m->payload.data(), m->payload.size()))
                throw std::runtime_error("an event of another size");
        std::array<std::uint8_t, PHOLD_EVENT> payload;
        while (phold_next(p.get()) == c.now().time.count())
            if (int owner = phold_execute(p.get(), payload.data()); owner >= 0)
                c.publish(c.entry() + "-" + std::to_string(owner), payload);
    }
    char text[96];
    std::snprintf(text, sizeof text, "{\"events\":%llu,\"hash\":\"%016llx\"}", static_cast<unsigned long long>(phold_events(p.get())), static_cast<unsigned long long>(phold_hash(p.get())));
    c.result(text);
    c.leave();
}

void act(const std::string &model, const arguments &a)
{
    metasim::client c;
    if (model == "echo")
        pass_on(c, a, "echoed");
    else if (model == "ring")
        pass_on(c, a, "hops");
    else if (model == "sink")
        sink(c, a);
    else if (model == "controller")
        controller(c);
    else if (model == "phold")
        run_phold(c, a);
    else
        throw std::invalid_argument("there is no such model");
}

} // namespace

int main(int argc, char **argv)
{
    const std::string model = argc > 1 ? argv[1] : "";
    try {
        act(model, arguments(argv + std::min(argc, 2), argv + argc));
    } catch (const std::exception &e) {
        return std::fprintf(stderr, "models %s: %s\n", model.c_str(), e.what()), 1;
    }
    return 0;
}
