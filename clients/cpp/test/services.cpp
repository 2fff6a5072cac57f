// services planner | asker | goer: a client that answers the service PLAN, and two that ask it. clients/services_test.go has the same in Go.
// services throws: a client that asks itself in steps, and whose service throws.
#include <metasim.hpp>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;

static std::string text_of(const metasim::bytes &b) { return std::string(static_cast<const char *>(static_cast<const void *>(b.data())), b.size()); }

// The result of a client that asks.
struct result {
    metasim::client &c;
    std::string lines;

    void add(const std::string &text)
    {
        lines += lines.empty() ? "\"" : ",\"";
        for (char b : text)
            lines += b == '"' ? "\\\"" : std::string(1, b);
        lines += '"';
    }
    void add(const metasim::bytes *answer, const metasim::error *why)
    {
        std::string what = answer != nullptr ? text_of(*answer) : why->code == METASIM_LIMIT ? "limit" : why->what();
        add(std::to_string(c.now().time / 1us) + " us: " + what);
    }
    // Adds what a call returns or throws.
    template <typename call> void add_call(call what)
    {
        try {
            const metasim::bytes answer = what();
            add(&answer, nullptr);
        } catch (const metasim::error &e) {
            add(nullptr, &e);
        }
    }
};

static void planner(metasim::client &c)
{
    c.answer("PLAN", [&](const metasim::request &r) {
         int n = std::stoi(text_of(r.payload));
         std::string text = std::string(r.from) + " asked " + std::to_string(n) + " at " + std::to_string(r.sent.time / 1us);
         if (n == 0)
             r.refuse("no way");
         else if (n == 2)
             r.reply(text);
         else if (n > 2)
             c.after(n * 1ms, [r, text] { r.reply(text); });
     }).join();
    c.run();
}

static void asker(metasim::client &c)
{
    c.caller("PLAN").subscription("ANGLE").join();
    result lines{c, ""};
    const std::vector<std::pair<std::string, metasim::time>> asks{{"2", 1s}, {"0", 1s}, {"1", 3ms}, {"2", 4ms}, {"5", 4ms}, {"3", 1s}};
    for (const auto &[n, limit] : asks)
        lines.add_call([&, &n = n, &limit = limit] { return c.call("PLAN", n, limit); });
    std::vector<metasim_pending> open;
    for (const char *n : {"5", "3", "1", "2"})
        open.push_back(c.start("PLAN", n, 12ms));
    int angles = 0;
    auto receive = [&] {
        while (c.receive())
            angles++;
    };
    c.next();
    receive();
    for (metasim::time t = c.now().time + 1ns; !open.empty(); t += 1ms) {
        c.step(t);
        receive();
        for (auto p = open.begin(); p != open.end();) {
            if (!c.done(*p)) {
                ++p;
                continue;
            }
            lines.add_call([&] { return c.wait(*p); });
            p = open.erase(p);
        }
    }
    c.result("{\"lines\":[" + lines.lines + "],\"angles\":" + std::to_string(angles) + "}");
    c.leave();
}

static void goer(metasim::client &c)
{
    c.caller("PLAN").join();
    result lines{c, ""};
    auto then = [&](const metasim::bytes *answer, const metasim::error *why) { lines.add(answer, why); };
    try {
        c.go("PLAN", "2", then);
    } catch (const metasim::error &e) {
        lines.add(e.code == METASIM_MISTAKE ? "refused" : e.what());
    }
    c.after(0ms, [&] {
        c.go("PLAN", "2", then, 1s);
        c.go("PLAN", "1", then, 5ms);
        c.go("PLAN", "3", then, 1s);
        c.go("PLAN", "0", then, 1s);
        c.go("PLAN", "3", then, 6ms);
    });
    c.on_leave([&] { return "{\"lines\":[" + lines.lines + "]}"; });
    c.run();
}

struct out_of_fuel : std::runtime_error {
    out_of_fuel() : std::runtime_error("out of fuel") {}
};

// What a service throws, the loop of steps throws again.
static void throws(metasim::client &c)
{
    c.caller("S").answer("S", [](const metasim::request &) { throw out_of_fuel(); }).join();
    c.start("S", "x");
    try {
        for (metasim::time t : c.steps(1ms))
            (void)t;
    } catch (const out_of_fuel &) {
        std::puts("the loop threw it");
        throw;
    }
}

int main(int, char **argv)
{
    const std::string role = argv[1];
    try {
        metasim::client c;
        (role == "planner" ? planner : role == "asker" ? asker : role == "goer" ? goer : throws)(c);
    } catch (const std::exception &e) {
        return std::fprintf(stderr, "services: %s\n", e.what()), 1;
    }
    return 0;
}
