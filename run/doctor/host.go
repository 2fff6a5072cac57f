package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"metasim/internal/descriptors"
	"metasim/internal/outward"
)

// thisHost examines the host that this program runs on, which is called name.
func thisHost(ctx context.Context, name string) []Check {
	return []Check{
		files(descriptors.Limit()), buffers("/proc/sys/net/core"), clock(readingTime(), clockSource("/sys/devices/system/clocksource/clocksource0/current_clocksource"), synchronised()),
		names(ctx, name, (&net.Resolver{PreferGo: true}).LookupHost), ports(),
	}
}

// files checks how many files a process may have open: each connection of a client is one.
func files(limit int) Check {
	const few = 4096
	c := Check{Name: "descriptors", State: Good, Found: fmt.Sprintf("%d files may be open at once: a connection of a client is one", limit)}
	if limit < few {
		c.State, c.Remedy = Poor, "ulimit -n 65536, or more for good in /etc/security/limits.conf; or let clients share a connection (--pack, client.Host)"
	}
	return c
}

// What the buffers of UDP should be able to hold: QUIC asks for less than 7.5 MB, and a large message of LCM needs 4 MiB.
const wantedBuffer = 7_500_000

// buffers says how much a socket of UDP may hold, by the limits in a directory.
func buffers(dir string) Check {
	c := Check{Name: "udp-buffers", State: Good}
	var small []string
	for _, name := range []string{"rmem_max", "wmem_max"} {
		text, err := os.ReadFile(dir + "/" + name)
		limit, e := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil || e != nil {
			return Check{Name: "udp-buffers", State: Good, Found: "this system does not say how large they may be"}
		}
		c.Found += fmt.Sprintf("%s%s: %d bytes", map[bool]string{true: ", "}[c.Found != ""], name, limit)
		if limit < wantedBuffer {
			small = append(small, fmt.Sprintf("net.core.%s=%d", name, wantedBuffer))
		}
	}
	if len(small) > 0 {
		c.State, c.Remedy = Poor, "for QUIC and LCM over UDP: sudo sysctl -w "+strings.Join(small, " ")
	}
	return c
}

// readingTime returns how long it takes to read the clock: the best of some tries, as others use the processor too.
func readingTime() time.Duration {
	const reads = 1000
	best := time.Hour
	for range 10 {
		began := time.Now()
		last := began
		for range reads {
			last = time.Now()
		}
		best = min(best, last.Sub(began)/reads)
	}
	return best
}

// clockSource is what the system reads its clock from; empty if it does not say.
func clockSource(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// clock says how well the clock is read and set. Nothing of it reaches a result: a slow one makes reports dear, a wrong one certificates invalid.
func clock(read time.Duration, source string, is set) Check {
	const slow = time.Microsecond
	c := Check{Name: "clock", State: Good, Found: fmt.Sprintf("read in %v", read)}
	if source != "" {
		c.Found += " from " + source
	}
	switch is {
	case kept:
		c.Found += ", synchronised"
	case free:
		c.Found += ", not synchronised: enough on one host"
	}
	if read > slow {
		c.State, c.Remedy = Poor, "each report of a client reads it: choose another (cat /sys/devices/system/clocksource/clocksource0/available_clocksource), or run with --no-trace"
	}
	return c
}

// names says how long it takes to look up the name of this host. Where no DNS server answers, each look-up takes as long as this program waits.
func names(ctx context.Context, name string, lookUp func(context.Context, string) ([]string, error)) Check {
	const limit, slow = 3 * time.Second, 200 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	addresses, err := lookUp(ctx, name)
	took := time.Since(began).Round(time.Millisecond)
	c := Check{Name: "names", State: Good, Found: fmt.Sprintf("%s is %s, looked up in %v", name, strings.Join(addresses, " "), took)}
	const remedy = "give metasim addresses and no names, or write the names of the hosts into /etc/hosts"
	switch {
	case ctx.Err() != nil:
		c.State, c.Found, c.Remedy = Poor, fmt.Sprintf("%s is not found within %v: no DNS server answers", name, limit), remedy
	case err != nil:
		c.State, c.Found, c.Remedy = Poor, fmt.Sprintf("%s is not found: %v", name, err), remedy
	case took > slow:
		c.State, c.Remedy = Poor, remedy
	}
	return c
}

// ports says whether programs of this host can talk over TCP and UDP, and at which address others may find it.
func ports() Check {
	c := Check{Name: "ports", State: Good, Found: "tcp and udp work on this host"}
	if err := errors.Join(tcpWorks(), udpWorks()); err != nil {
		c.State, c.Found, c.Remedy = Bad, strings.ReplaceAll(err.Error(), "\n", "; "), "see the firewall of this host (sudo nft list ruleset), and that its loopback interface is up (ip link)"
		return c
	}
	if own := outward.Address(); own != "" {
		c.Found += "; others find it at " + own
	} else {
		c.Found += "; no route leads to others"
	}
	return c
}

// tcpWorks connects to itself.
func tcpWorks() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("tcp: %w", err)
	}
	defer l.Close()
	conn, err := net.DialTimeout("tcp", l.Addr().String(), patience)
	if err != nil {
		return fmt.Errorf("tcp: %w", err)
	}
	return conn.Close()
}

// udpWorks sends itself a datagram.
func udpWorks() error {
	in, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("udp: %w", err)
	}
	defer in.Close()
	if _, err = in.WriteTo([]byte("metasim"), in.LocalAddr()); err != nil {
		return fmt.Errorf("udp: %w", err)
	}
	if err := in.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return fmt.Errorf("udp: %w", err)
	}
	if _, _, err := in.ReadFrom(make([]byte, 16)); err != nil {
		return fmt.Errorf("udp: what is sent does not arrive: %w", err)
	}
	return nil
}
