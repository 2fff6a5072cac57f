// survivor run|step|next DIRECTORY: as clients/c/test/survivor.c.
#include <metasim.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <thread>

int main(int, char **argv)
{
    using namespace std::chrono_literals;
    const std::string style = argv[1], directory = argv[2];
    try {
        metasim::client c;
        const std::string out = "OUT-" + c.name();
        c.publication(out).subscription("OUT-.*|TICK");
        c.on_lost([](const std::string &why) { std::fprintf(stderr, "%s\n", why.c_str()); });
        c.join();
        std::uint64_t sum = 0, n = 0;
        auto noise = c.rand("noise");
        c.on_leave([&] { return "{\"n\":" + std::to_string(n) + ",\"sum\":" + std::to_string(sum) + "}"; });
        auto speak = [&] {
            std::uint64_t word = sum + noise();
            unsigned char payload[8];
            for (int i = 0; i < 8; i++)
                payload[i] = static_cast<unsigned char>(word >> 8 * i);
            c.publish(out, payload, sizeof payload);
        };
        auto take = [&](const metasim::message &m) {
            sum = sum * 31 + static_cast<std::uint64_t>(m.due.time.count());
            for (std::size_t i = 0; i < m.payload.size(); i++)
                sum = sum * 31 + static_cast<unsigned char>(static_cast<const char *>(static_cast<const void *>(m.payload.data()))[i]);
            if (++n % 3 == 0)
                speak();
        };
        auto take_all = [&] {
            while (auto m = c.receive())
                take(*m);
        };
        auto hold = [&](const std::string &file) {
            std::puts("holds");
            std::fflush(stdout);
            while (!std::ifstream(directory + "/" + file))
                std::this_thread::sleep_for(1ms);
        };
        speak();
        if (style == "run") {
            c.on_others(take);
            c.every(1ms, speak);
            c.after(50ms, [&] { hold("50"); });
            c.after(100ms, [&] { hold("100"); });
            c.run();
        } else if (style == "step") {
            for (metasim::time t : c.steps(1ms)) {
                (void)t;
                take_all();
                speak();
            }
            c.leave();
        } else {
            while (c.next(c.now().time + 3ms))
                take_all();
            c.leave();
        }
    } catch (const std::exception &e) {
        return std::fprintf(stderr, "survivor: %s\n", e.what()), 1;
    }
    return 0;
}
