// tank takes part in the run of tank.metasim.yaml, which starts it. Replace model.h by your own simulator.
#include "metasim.hpp"
#include "model.h"

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

int main()
{
    using namespace std::chrono_literals;
    try {
        metasim::client c; // metasim says in the environment where the server is
        c.publication("LEVEL").subscription("PUMP").join();
        tank model = {0, 0};
        for ([[maybe_unused]] metasim::time t : c.steps(10ms)) { // 0, 10 ms, 20 ms, ... as long as the run lasts
            int commands = 0;
            while (c.receive()) // all that is due at t or before, in order
                commands++;
            tank_step(&model, commands);
            c.publish("LEVEL", std::to_string(model.level));
        }
        c.result("{\"level\":" + std::to_string(model.level) + "}");
        c.leave();
    } catch (const std::exception &e) {
        return std::fprintf(stderr, "tank: %s\n", e.what()), 1;
    }
    return 0;
}
