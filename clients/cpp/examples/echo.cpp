// echo IN OUT: publishes on OUT each message that it hears on IN, as the built-in model "echo", by a handler.
#include <metasim.hpp>

#include <cstdio>
#include <exception>
#include <string>

int main(int argc, char **argv)
{
    if (argc != 3)
        return std::fprintf(stderr, "usage: echo IN OUT\n"), 2;
    try {
        const std::string in = argv[1], out = argv[2];
        metasim::client client; // metasim says in the environment where the server is
        client.publication(out).subscription(in).join();
        unsigned long echoed = 0;
        client.on(in, [&](const metasim::message &m) {
            client.publish(out, m.payload);
            echoed++;
        });
        client.on_leave([&] { return "{\"echoed\":" + std::to_string(echoed) + "}"; });
        client.run();
    } catch (const std::exception &e) {
        return std::fprintf(stderr, "echo: %s\n", e.what()), 1;
    }
    return 0;
}
