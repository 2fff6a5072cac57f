// ping OUT IN ROUNDS: publishes a count on OUT, and the next one at each answer on IN, as the built-in model "ping".
#include <metasim.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

namespace {

void publish_count(metasim::client &client, const std::string &channel, std::uint64_t count)
{
    std::array<unsigned char, 8> payload{};
    for (std::size_t i = 0; i < payload.size(); i++)
        payload[i] = static_cast<unsigned char>(count >> (8 * i));
    client.publish(channel, payload);
}

void ping(const std::string &out, const std::string &in, std::uint64_t rounds)
{
    metasim::client client; // metasim says in the environment where the server is
    client.publication(out).subscription(in).join();
    std::uint64_t answers = 0;
    publish_count(client, out, 0);
    while (answers < rounds && client.next()) {
        while (auto m = client.receive()) {
            if (++answers < rounds)
                publish_count(client, out, answers);
        }
    }
    client.result("{\"rounds\":" + std::to_string(answers) + "}");
    client.leave();
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 4)
        return std::fprintf(stderr, "usage: ping OUT IN ROUNDS\n"), 2;
    try {
        ping(argv[1], argv[2], std::strtoull(argv[3], nullptr, 10));
    } catch (const std::exception &e) {
        return std::fprintf(stderr, "ping: %s\n", e.what()), 1;
    }
    return 0;
}
