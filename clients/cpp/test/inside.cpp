// inside: says at each TICK on SAID what it is called, and leaves with the names that it knows and hears, and with what the service PLAN calls it.
#include <metasim.hpp>

#include <cstdio>
#include <exception>
#include <string>

namespace {

void play()
{
    metasim::client c;
    c.publication("SAID").caller("PLAN").subscription("SAID|TICK|HORN").join();
    const metasim::bytes answer = c.call("PLAN", "2");
    const std::string called(static_cast<const char *>(static_cast<const void *>(answer.data())), answer.size());
    std::string names = "[\"" + c.name() + "\",\"" + c.entry() + "\",\"" + called.substr(0, called.find(' ')) + "\"";
    while (c.next()) {
        while (auto m = c.receive()) {
            const std::string from = m->from, channel = m->channel;
            names += ",\"" + from + " " + channel + (from == c.name() ? " True\"" : " False\"");
            if (channel == "TICK")
                c.publish("SAID", c.name());
        }
    }
    c.result(names + "]");
    c.leave();
}

} // namespace

int main()
{
    try {
        play();
    } catch (const std::exception &e) {
        return std::fprintf(stderr, "inside: %s\n", e.what()), 1;
    }
    return 0;
}
