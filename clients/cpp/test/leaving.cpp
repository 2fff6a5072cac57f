// leaving HOW: leaves in one of the ways that there are, and has its result asked for then.
#include <metasim.hpp>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

int main(int, char **argv)
{
    using namespace std::chrono_literals;
    const std::string how = argv[1];
    try {
        metasim::client c;
        c.publication("X").join();
        c.result("\"not this\"");
        int seen = 0;
        c.on_leave([&]() -> std::string {
            if (how == "raises")
                throw std::runtime_error("out of fuel");
            return how == "no-json" ? "{1, 2}" : "{\"seen\":" + std::to_string(seen) + "}";
        });
        for (metasim::time t : c.steps(how == "period" ? 0ms : 10ms)) {
            if (t != seen++ * 10ms)
                return 3;
            c.publish("X", std::string("x"));
            if (how == "inside" && seen == 3)
                c.leave();
        }
        if (how == "run")
            c.run();
        c.leave();
    } catch (const std::exception &e) {
        return std::fprintf(stderr, "leaving: %s\n", e.what()), 1;
    }
    return 0;
}
