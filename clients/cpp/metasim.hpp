// metasim.hpp: take part in a run of metasim, from C++17. It wraps metasim.h of clients/c, which says what the calls mean; link its
// library, or compile clients/c/metasim.c into the program.
//
//     metasim::client c;                                   // the environment says where the server is
//     c.publication("ANGLE").subscription("FORCE").join();
//     for (metasim::time t : c.steps(1ms)) {               // at 0, 1 ms, 2 ms, ... as long as the run lasts
//         while (auto m = c.receive())
//             act(m->payload);
//         c.publish("ANGLE", &angle, sizeof angle);
//     }
//     c.leave();
//
// Times are std::chrono::nanoseconds of simulated time since the start of the run. What fails throws metasim::error, with the code and the
// sentence of the library. A client that is destroyed before it has left counts as crashed, as a program that throws should.
#ifndef METASIM_HPP
#define METASIM_HPP

#include <metasim.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace metasim {

using time = std::chrono::nanoseconds;

// A time after all that a run reaches.
inline constexpr time forever{METASIM_FOREVER};

// A call failed: code says in which way, what() is the sentence.
class error : public std::runtime_error {
public:
    error(metasim_code code, const char *what) : std::runtime_error(what), code(code) {}
    const metasim_code code;
};

// Bytes that somebody else owns. Any container of bytes that lie side by side is taken as such: std::vector<unsigned char>, std::array<std::byte, 8>, std::string_view.
class bytes {
public:
    bytes(const void *data, std::size_t size) : data_(static_cast<const std::byte *>(data)), size_(size) {}
    template <class Container, class Element = std::remove_pointer_t<decltype(std::declval<const Container &>().data())>,
              class = std::enable_if_t<sizeof(Element) == 1 && std::is_trivially_copyable_v<Element>>, class = decltype(std::declval<const Container &>().size())>
    bytes(const Container &c) : bytes(c.data(), c.size()) {}
    const std::byte *data() const { return data_; }
    std::size_t size() const { return size_; }
    const std::byte *begin() const { return data_; }
    const std::byte *end() const { return data_ + size_; }

private:
    const std::byte *data_;
    std::size_t size_;
};

// An instant: a time, and a step at that time.
struct instant {
    metasim::time time{};
    std::uint32_t step = 0;
    instant(metasim_instant i) : time(i.time), step(i.step) {}
};

inline bool operator==(const instant &a, const instant &b) { return a.time == b.time && a.step == b.step; }
inline bool operator<(const instant &a, const instant &b) { return a.time != b.time ? a.time < b.time : a.step < b.step; }

// A message that the client was given. It is valid until the next receive, or the end of the handler that got it.
struct message {
    const char *from, *channel;
    std::uint64_t seq;
    instant sent, due;
    bytes payload;
    explicit message(const metasim_message &m) : from(m.from), channel(m.channel), seq(m.seq), sent(m.sent), due(m.due), payload(m.payload, m.size) {}
};

// How a client reaches its server: what is empty comes from the environment.
struct options {
    std::string server{}, name{}, token{};
};

// A random stream of a client, which frees it. It is a generator as <random> knows it. What it draws is the same everywhere; what the distributions of
// <random> make of it is not: they differ from library to library.
class random_stream {
public:
    using result_type = std::uint64_t;
    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return UINT64_MAX; }
    result_type operator()() { return metasim_rand_bits(stream_); }
    double unit() { return metasim_rand_unit(stream_); } // from 0 to below 1
    explicit random_stream(metasim_random *stream) : stream_(stream) {}

private:
    metasim_random *stream_;
};

// A request that the client is to answer: once, now or later. It may be copied. The payload is valid until the handler that got it returns.
class request {
public:
    const char *from;
    instant sent, due;
    bytes payload;
    void reply(const bytes &answer) const { check(metasim_reply(client_, number_, answer.data(), answer.size())); }
    void reply(const std::string &answer) const { reply(bytes(answer.data(), answer.size())); }
    void refuse(const std::string &text) const { check(metasim_refuse(client_, number_, text.c_str())); }
    request(metasim_client *c, metasim_request number, const metasim_message &m)
        : from(m.from), sent(m.sent), due(m.due), payload(m.payload, m.size), client_(c), number_(number)
    {
    }

private:
    metasim_client *client_;
    metasim_request number_;
    void check(metasim_code code) const
    {
        if (code != METASIM_OK)
            throw error(code, metasim_error(client_));
    }
};

// What client::steps returns: the times of a loop of steps.
class step_range {
public:
    class iterator {
    public:
        iterator(metasim_client *c, time period, std::exception_ptr *thrown) : client_(c), period_(period), thrown_(thrown) { ++*this; }
        time operator*() const { return time(metasim_now(client_).time); }
        bool operator!=(std::nullptr_t) const { return client_ != nullptr; }
        iterator &operator++()
        {
            if (metasim_steps(client_, period_.count()))
                return *this;
            if (std::exception_ptr thrown = std::exchange(*thrown_, nullptr))
                std::rethrow_exception(thrown);
            metasim_code code = metasim_code_of(client_);
            if (code != METASIM_END && code != METASIM_LEFT)
                throw error(code, metasim_error(client_));
            client_ = nullptr;
            return *this;
        }

    private:
        metasim_client *client_; // nullptr at the end
        time period_;
        std::exception_ptr *thrown_;
    };
    step_range(metasim_client *c, time period, std::exception_ptr *thrown) : client_(c), period_(period), thrown_(thrown) {}
    iterator begin() const { return {client_, period_, thrown_}; }
    std::nullptr_t end() const { return nullptr; }

private:
    metasim_client *client_;
    time period_;
    std::exception_ptr *thrown_; // by the handler of a service
};

// One simulator's part in a run. One thread uses it at a time. It can be moved, and not be copied.
class client {
public:
    explicit client(const options &o = {})
    {
        metasim_options c{sizeof c, given(o.server), given(o.name), given(o.token)};
        part_->made.reset(metasim_new(&c));
        if (!part_->made)
            throw std::bad_alloc();
    }

    client &publication(const std::string &channel) { return check(metasim_publication(get(), channel.c_str())); }
    client &subscription(const std::string &pattern) { return check(metasim_subscription(get(), pattern.c_str())); }
    client &reaction(time least) { return check(metasim_reaction(get(), least.count())); }
    client &join() { return check(metasim_join(get())); }

    // step and next return false where the run ends before: leave then.
    bool step(time to) { return advanced(metasim_step(get(), to.count())); }
    bool next(time limit = forever) { return advanced(metasim_next(get(), limit.count())); }

    // A loop of steps: its times are the present one, and each period later. It ends where the run does, and where its body leaves.
    step_range steps(time period) { return {get(), period, &part_->thrown}; }

    std::optional<message> receive()
    {
        const metasim_message *m = metasim_receive(get());
        return m == nullptr ? std::nullopt : std::optional<message>(*m);
    }

    void publish(const std::string &channel, const void *payload, std::size_t size) { check(metasim_publish(get(), channel.c_str(), payload, size)); }
    void publish(const std::string &channel, const bytes &payload) { publish(channel, payload.data(), payload.size()); }
    void publish(const std::string &channel, const std::string &payload) { publish(channel, payload.data(), payload.size()); }
    void promise(time nothing_before) { check(metasim_promise(get(), nothing_before.count())); }
    void result(const std::string &json) { check(metasim_result(get(), json.c_str())); }
    void leave() { rethrow(metasim_leave(get())); }

    // The result is asked for when the client leaves, by leave or by run at its end. What the handler throws makes the client fail, and is thrown again.
    void on_leave(std::function<std::string()> result)
    {
        metasim_client *c = get();
        auto tell = [c, r = std::move(result)] {
            metasim_code code = metasim_result(c, r().c_str());
            if (code != METASIM_OK)
                throw error(code, metasim_error(c));
        };
        metasim_on_leave(c, called, keep(std::function<void()>(std::move(tell)), true));
    }

    // The handler is called each time the client has lost its server and begins to wait for metasim resume. What it throws ends the client.
    void on_lost(std::function<void(const std::string &why)> handler)
    {
        metasim_client *c = get();
        metasim_on_lost(c, called, keep(std::function<void()>([c, h = std::move(handler)] { h(metasim_error(c)); }), false));
    }

    void fail(const std::string &reason) { check(metasim_fail(get(), reason.c_str())); }

    // Handlers of run. What one throws ends run, which throws it again; the run fails for that reason.
    void on(const std::string &channel, std::function<void(const message &)> handler) { on_channel(channel.c_str(), std::move(handler)); }
    void on_others(std::function<void(const message &)> handler) { on_channel(nullptr, std::move(handler)); }
    metasim_timer at(time when, std::function<void()> handler) { return metasim_at(get(), when.count(), called, keep(std::move(handler), true)); }
    metasim_timer after(time delay, std::function<void()> handler) { return metasim_after(get(), delay.count(), called, keep(std::move(handler), true)); }
    metasim_timer every(time period, std::function<void()> handler) { return metasim_every(get(), period.count(), called, keep(std::move(handler), false)); }

    void stop(metasim_timer timer)
    {
        if (auto *k = static_cast<kept *>(metasim_stop(get(), timer))) {
            if (k->runs)
                k->once = true; // it is dropped when it returns
            else
                part_->handlers.erase(k->self);
        }
    }

    void run() { rethrow(metasim_run(get())); }

    // Services: requests and answers in simulated time. answer and caller declare, before join, that the client answers a service, and that it asks one. What the
    // handler throws the call throws in which it was called: step, next, wait, call or run.
    client &answer(const std::string &service, std::function<void(const request &)> handler)
    {
        kept *k = keep(std::function<void(const message *)>(), false);
        k->handler = [c = get(), k, h = std::move(handler)](const message *) { h(request(c, k->asked, *k->given)); };
        return check(metasim_answer(get(), service.c_str(), serve, k));
    }
    client &caller(const std::string &service) { return check(metasim_caller(get(), service.c_str())); }

    // call sends a request, and advances until its answer is there; the answer is valid until the next call or wait. A refusal throws an error with
    // METASIM_CALL_REFUSED, a limit that is over one with METASIM_LIMIT, the end of the run one with METASIM_END. What else arrives meanwhile comes with the next step.
    bytes call(const std::string &service, const bytes &request, time limit = forever)
    {
        const metasim_message *answer;
        rethrow(metasim_call(get(), service.c_str(), request.data(), request.size(), limit.count(), &answer));
        return {answer->payload, answer->size};
    }
    bytes call(const std::string &service, const std::string &request, time limit = forever) { return call(service, bytes(request.data(), request.size()), limit); }

    // start sends a request. done says whether wait would not advance: wait is called once, as call. drop gives it up.
    metasim_pending start(const std::string &service, const bytes &request, time limit = forever)
    {
        metasim_pending pending;
        check(metasim_start(get(), service.c_str(), request.data(), request.size(), limit.count(), &pending));
        return pending;
    }
    metasim_pending start(const std::string &service, const std::string &request, time limit = forever) { return start(service, bytes(request.data(), request.size()), limit); }
    bool done(metasim_pending pending) { return metasim_done(get(), pending) != 0; }
    bytes wait(metasim_pending pending)
    {
        const metasim_message *answer;
        rethrow(metasim_wait(get(), pending, &answer));
        return {answer->payload, answer->size};
    }
    void drop(metasim_pending pending) { metasim_drop(get(), pending); }

    // go sends a request in a handler or timer of run. then is called with the answer, or with why there is none; the other one is nullptr.
    void go(const std::string &service, const bytes &request, std::function<void(const bytes *answer, const error *why)> then, time limit = forever)
    {
        kept *k = keep(
            std::function<void(const message *)>([c = get(), t = std::move(then)](const message *m) {
                if (m != nullptr)
                    return t(&m->payload, nullptr);
                const error why(metasim_code_of(c), metasim_error(c));
                t(nullptr, &why);
            }),
            true);
        metasim_code code = metasim_go(get(), service.c_str(), request.data(), request.size(), limit.count(), called, k);
        if (code != METASIM_OK)
            part_->handlers.erase(k->self);
        check(code);
    }
    void go(const std::string &service, const std::string &request, std::function<void(const bytes *answer, const error *why)> then, time limit = forever)
    {
        go(service, bytes(request.data(), request.size()), std::move(then), limit);
    }

    instant now() const { return metasim_now(get()); }
    instant until() const { return metasim_until(get()); }
    std::uint64_t seed() const { return metasim_seed(get()); }
    std::string entry() const { return metasim_entry(get()); }
    std::uint32_t index() const { return metasim_index(get()); }
    std::uint32_t count() const { return metasim_count(get()); }
    std::string with() const { return metasim_with(get()); } // JSON
    std::string directory() const { return metasim_directory(get()); }
    random_stream rand(const std::string &stream)
    {
        metasim_random *r = metasim_rand(get(), stream.c_str());
        if (r == nullptr)
            throw error(metasim_code_of(get()), metasim_error(get()));
        return random_stream(r);
    }
    std::string name() const { return metasim_name(get()); }
    std::string scenario() const { return metasim_scenario(get()); }

    // The client as the library knows it, for calls that are not here.
    metasim_client *get() const { return part_->made.get(); }

private:
    struct part;

    // A handler, and whose it is. One that is called once is dropped then.
    struct kept {
        part *of;
        std::function<void(const message *)> handler;
        bool once, runs;
        std::list<kept>::iterator self;
        metasim_request asked;        // of a service: the request that it handles
        const metasim_message *given; // and its message
    };

    // What does not move when the client is moved: the library has pointers to it.
    struct part {
        struct close {
            void operator()(metasim_client *c) const { metasim_free(c); }
        };
        std::list<kept> handlers;
        std::exception_ptr thrown;
        std::unique_ptr<metasim_client, close> made;
    };

    std::unique_ptr<part> part_ = std::make_unique<part>();

    static const char *given(const std::string &s) { return s.empty() ? nullptr : s.c_str(); }

    client &check(metasim_code code)
    {
        if (code != METASIM_OK)
            throw error(code, metasim_error(get()));
        return *this;
    }

    // A call in which handlers were called: what one of them has thrown comes first.
    void rethrow(metasim_code code)
    {
        if (std::exception_ptr thrown = std::exchange(part_->thrown, nullptr))
            std::rethrow_exception(thrown);
        check(code);
    }

    bool advanced(metasim_code code)
    {
        if (code == METASIM_END)
            return false;
        rethrow(code);
        return true;
    }

    kept *keep(std::function<void(const message *)> handler, bool once)
    {
        auto &all = part_->handlers;
        all.push_back(kept{part_.get(), std::move(handler), once, false, {}, 0, nullptr});
        all.back().self = std::prev(all.end());
        return &all.back();
    }

    kept *keep(std::function<void()> handler, bool once)
    {
        return keep(std::function<void(const message *)>([h = std::move(handler)](const message *) { h(); }), once);
    }

    void on_channel(const char *channel, std::function<void(const message &)> handler)
    {
        check(metasim_on(get(), channel, called, keep(std::function<void(const message *)>([h = std::move(handler)](const message *m) { h(*m); }), false)));
    }

    static metasim_code serve(metasim_client *c, metasim_request asked, const metasim_message *m, void *user)
    {
        kept *k = static_cast<kept *>(user);
        k->asked = asked;
        k->given = m;
        return called(c, m, user);
    }

    // No exception passes through C: it is kept, and run throws it.
    static metasim_code called(metasim_client *, const metasim_message *m, void *user)
    {
        kept *k = static_cast<kept *>(user);
        part *of = k->of;
        metasim_code code = METASIM_OK;
        k->runs = true;
        try {
            if (m != nullptr) {
                message given(*m);
                k->handler(&given);
            } else {
                k->handler(nullptr);
            }
        } catch (const error &e) {
            of->thrown = std::current_exception();
            code = e.code;
        } catch (const std::exception &e) {
            of->thrown = std::current_exception();
            metasim_fail(of->made.get(), e.what());
            code = METASIM_MISTAKE;
        } catch (...) {
            of->thrown = std::current_exception();
            code = METASIM_MISTAKE;
        }
        k->runs = false;
        if (k->once)
            of->handlers.erase(k->self);
        return code;
    }
};

} // namespace metasim

#endif // METASIM_HPP
