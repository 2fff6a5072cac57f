package bus

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/internal/netns"
	"metasim/lcm/names"
)

// vector reads a datagram that liblcm sent.
func vector(t testing.TB, n int) []byte {
	b, err := os.ReadFile(fmt.Sprintf("testdata/udp_%02d.bin", n))
	require.NoError(t, err)
	return b
}

// cut makes the datagrams of a message, at most room with each call.
func cut(m Message, seq uint32, room int) (ds [][]byte) {
	for next := 0; ; {
		var part []datagram
		part, _, next = appendDatagrams(nil, make([]byte, 0, room*maxHead), &m, seq, next, room)
		for _, d := range part {
			ds = append(ds, append(bytes.Clone(d.head), d.body...))
		}
		if next == 0 {
			return ds
		}
	}
}

func TestDatagramsAreThoseOfLiblcm(t *testing.T) {
	example := vector(t, 1)
	for _, c := range []struct {
		m     Message
		seq   uint32
		files []int
	}{
		{Message{Channel: "LCM_SELF_TEST", Payload: []byte("lcm self test")}, 0, []int{0}},
		{Message{Channel: "EXAMPLE", Payload: example[len(example)-126:]}, 0, []int{1}},
		{Message{Channel: "HELLO", Payload: payload(10)}, 0, []int{2}},
		{Message{Channel: "HELLO", Payload: payload(10)}, 1, []int{3}},
		{Message{Channel: "E"}, 0, []int{4}},
		{Message{Channel: "C", Payload: payload(65497)}, 0, []int{5}},
		{Message{Channel: "C", Payload: payload(65498)}, 0, []int{6, 7}},
		{Message{Channel: "BIG", Payload: payload(200_000)}, 0, []int{8, 9, 10, 11}},
		{Message{Channel: strings.Repeat("N", 63), Payload: payload(4)}, 0, []int{12}},
	} {
		for _, room := range []int{1, 3, 256} {
			ds := cut(c.m, c.seq, room)
			require.Len(t, ds, len(c.files))
			for i, file := range c.files {
				assert.True(t, bytes.Equal(vector(t, file), ds[i]), "datagram %d is not as liblcm sends it", file)
			}
		}
		in := listening(".*")
		for _, file := range c.files {
			in.datagram(netip.AddrPort{}, vector(t, file))
		}
		if c.m.Channel == selfTest {
			assert.Zero(t, in.count.Stats(), "liblcm talks to itself")
			continue
		}
		got := hear(t, in.subs.all[0], 1)[0]
		assert.Equal(t, c.m.Channel, got.Channel)
		assert.True(t, bytes.Equal(c.m.Payload, got.Payload))
		assert.Equal(t, Stats{Received: 1}, in.count.Stats())
	}
}

// listening returns a receiver without a socket.
func listening(pattern string) *receiver {
	in := newReceiver(&counters{}, &subscriptions{})
	if _, err := in.subs.add([]string{pattern}, defaultQueue); err != nil {
		panic(err)
	}
	return in
}

// Fragments of several senders come in any order, some of them twice: each message arrives once, whole.
func TestFragmentsMayComeInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type parcel struct {
			from netip.AddrPort
			b    []byte
		}
		var parcels []parcel
		sent := map[string]int{}
		for i := range rapid.IntRange(1, 5).Draw(t, "messages") {
			from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(rapid.IntRange(1, 2).Draw(t, "port")))
			m := Message{Channel: fmt.Sprint("C", i), Payload: payload(rapid.IntRange(65_500, 300_000).Draw(t, "size"))}
			sent[fmt.Sprint(m.Channel, len(m.Payload))]++
			for _, d := range cut(m, uint32(i), 256) {
				parcels = append(parcels, parcel{from, d})
			}
		}
		seed := rapid.Uint64().Draw(t, "order")
		r := rand.New(rand.NewPCG(seed, 0))
		r.Shuffle(len(parcels), func(i, j int) { parcels[i], parcels[j] = parcels[j], parcels[i] })
		in := listening(".*")
		got := map[string]int{}
		for _, p := range parcels {
			in.datagram(p.from, p.b)
			batch, _ := in.subs.all[0].queue.take(nil, 1)
			for _, m := range batch {
				require.True(t, bytes.Equal(payload(len(m.Payload)), m.Payload))
				got[fmt.Sprint(m.Channel, len(m.Payload))]++
			}
		}
		require.Equal(t, sent, got)
		require.Zero(t, in.fragments.bytes)
		require.Empty(t, in.fragments.waiting)
	})
}

func TestWhatOfMessagesWaitsIsBounded(t *testing.T) {
	in := listening(".*")
	big := Message{Channel: "BIG", Payload: payload(200_000)}
	for seq := range uint32(2000) { // the first of four fragments each: 16 MiB are 256 of them
		in.datagram(netip.AddrPort{}, cut(big, seq, 256)[0])
		require.LessOrEqual(t, in.fragments.bytes, maxWaitingBytes)
	}
	for seq := range uint32(200) { // the last 200 still wait
		for _, d := range cut(big, 1800+seq, 256)[1:] {
			in.datagram(netip.AddrPort{}, d)
		}
	}
	assert.EqualValues(t, 200, in.count.Stats().Received)
	small := func(seq uint32) []byte { return cut(Message{Channel: "C", Payload: payload(65_498)}, seq, 2)[1] }
	in = listening(".*")
	for seq := range uint32(3000) {
		in.datagram(netip.AddrPort{}, small(seq))
		require.LessOrEqual(t, len(in.fragments.waiting), maxWaiting)
	}
	assert.EqualValues(t, 2000, in.count.Stats().Lost)
}

// Fragments that together have more bytes than they announce are no message, and are dropped.
func TestFragmentsThatContradictTheirMessageAreRefused(t *testing.T) {
	whole := cut(Message{Channel: "C", Payload: payload(100_000)}, 0, 2)
	for name, damage := range map[string]func(ds [][]byte){
		"too much": func(ds [][]byte) { copy(ds[1][12:], "\x00\x00\x00\x00"); ds[1] = append(ds[1], ds[1][20:]...) },
		"a gap":    func(ds [][]byte) { copy(ds[1][12:], "\x00\x00\x00\x00") },
		"too few":  func(ds [][]byte) { ds[1] = ds[1][:len(ds[1])-1] },
	} {
		in := listening(".*")
		ds := [][]byte{bytes.Clone(whole[0]), bytes.Clone(whole[1])}
		damage(ds)
		for _, d := range ds {
			in.datagram(netip.AddrPort{}, d)
		}
		assert.Equal(t, Stats{Refused: 1, Lost: 1}, in.count.Stats(), name)
		assert.Zero(t, in.fragments.bytes, name)
	}
}

// They are refused as soon as that is known: otherwise a sender could make a message that grows without a bound.
func TestFragmentsBeyondTheirMessageDoNotGather(t *testing.T) {
	in := listening(".*")
	for n := range byte(9) { // of ten, of 100 bytes together, each has 100
		d := append([]byte("LC03\x00\x00\x00\x07\x00\x00\x00\x64\x00\x00\x00\x00\x00"), n+1, 0, 10)
		in.datagram(netip.AddrPort{}, append(d, payload(100)...))
		require.Less(t, in.fragments.bytes, 2*(100+fragmentCost))
	}
	assert.EqualValues(t, 4, in.count.Stats().Refused)
}

// The message that has waited longest for a fragment is given up first, not the one that was begun first.
func TestAMessageThatGrowsIsKept(t *testing.T) {
	in := listening(".*")
	long := cut(Message{Channel: "LONG", Payload: payload(3 << 20)}, 0, 256)
	other := cut(Message{Channel: "C", Payload: payload(200_000)}, 0, 4)[0]
	for i, d := range long {
		in.datagram(netip.AddrPort{}, d)
		for n := range uint32(100) { // in all far more than is kept
			binary.BigEndian.PutUint32(other[4:], uint32(1+i)*100+n)
			in.datagram(netip.AddrPort{}, other)
		}
	}
	assert.Equal(t, "LONG", hear(t, in.subs.all[0], 1)[0].Channel)
}

// One message may be larger than the bound, as with liblcm, if it is the only one.
func TestALargeMessageIsPutTogether(t *testing.T) {
	in := listening(".*")
	m := Message{Channel: "HUGE", Payload: payload(20 << 20)}
	for _, d := range cut(m, 0, 256) {
		in.datagram(netip.AddrPort{}, d)
	}
	assert.True(t, bytes.Equal(m.Payload, hear(t, in.subs.all[0], 1)[0].Payload))
}

func TestGapsAreCounted(t *testing.T) {
	in := listening("NOBODY")
	a, b := netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("127.0.0.1:2")
	say := func(from netip.AddrPort, seq uint32) { in.datagram(from, cut(Message{Channel: "C"}, seq, 1)[0]) }
	for _, step := range []struct {
		from netip.AddrPort
		seq  uint32
		lost uint64
	}{
		{a, 7, 0}, {a, 8, 0}, {b, 100, 0}, {a, 11, 2}, {b, 101, 2}, {a, 10, 1}, {a, 12, 1}, {a, 1 << 31, 1}, {a, 0xffffffff, 1}, {a, 1, 2},
		{b, 1 << 20, 2}, {b, 1<<20 + 1, 2},
	} {
		say(step.from, step.seq)
		assert.Equal(t, step.lost, in.count.Stats().Lost, "number %d of %v", step.seq, step.from)
	}
}

func TestWhatIsNoLCMIsRefused(t *testing.T) {
	long := strings.Repeat("N", 64)
	for name, b := range map[string]string{
		"empty":                     "",
		"short":                     "LC02\x00\x00\x00",
		"another magic":             "LC01\x00\x00\x00\x00C\x00",
		"no zero":                   "LC02\x00\x00\x00\x00CHANNEL",
		"no name":                   "LC02\x00\x00\x00\x00\x00payload",
		"a long name":               "LC02\x00\x00\x00\x00" + long + "\x00",
		"a torn fragment":           "LC03\x00\x00\x00\x00\x00\x00\x00\x05",
		"a number beyond the count": "LC03\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x02\x00\x02xx",
		"no count":                  "LC03\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00C\x00xx",
		"beyond the size":           "LC03\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x04\x00\x01\x00\x02xx",
		"a fragment without a name": "LC03\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x02CHAN",
		"a size beyond LCM's":       "LC03\x00\x00\x00\x00\x7f\xff\xff\xff\x00\x00\x00\x00\x00\x01\x00\x02xx",
	} {
		in := listening(".*")
		in.datagram(netip.AddrPort{}, []byte(b))
		assert.Equal(t, Stats{Refused: 1}, in.count.Stats(), name)
	}
}

// Without a route for multicast the bus opens all the same: there is one warning, and failures are counted.
func TestWithoutARouteFailuresAreCounted(t *testing.T) {
	if !netns.Given() {
		t.Skip("SKIPPED LOUDLY: the host's routes are not the test's to take away")
	}
	require.NoError(t, exec.Command("ip", "route", "del", "224.0.0.0/4").Run())
	var log bytes.Buffer
	b, err := Open("udpm://", Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	defer shut(t, b)
	for range 3 {
		require.NoError(t, b.Publish(Message{Channel: "A", Payload: payload(100)}, Message{Channel: "A", Payload: payload(100)},
			Message{Channel: "B", Payload: payload(100_000)}))
	}
	assert.Equal(t, Stats{Failed: 9}, b.Stats())
	assert.Equal(t, 1, strings.Count(log.String(), "network is unreachable"), log.String())
	assert.Contains(t, log.String(), routeRemedy)
	_, err = b.Subscribe(".*")
	require.ErrorContains(t, err, routeRemedy)
	for _, command := range strings.Split(routeRemedy[strings.Index(routeRemedy, ": ")+2:], "&&") {
		argv := strings.Fields(strings.Replace(command, "sudo ", "", 1))
		require.NoError(t, exec.Command(argv[0], argv[1:]...).Run())
	}
	require.NoError(t, b.Publish(Message{Channel: "A"}))
	assert.Equal(t, Stats{Failed: 9, Sent: 1}, b.Stats(), "the remedy is one")
}

// FuzzDatagrams: for any datagrams in any order, memory is bounded, and each delivered message has a name that LCM allows.
func FuzzDatagrams(f *testing.F) {
	f.Add(uint8(20), bytes.Join([][]byte{vector(f, 0), vector(f, 4)[:10], vector(f, 7)}, nil))
	f.Add(uint8(33), append(bytes.Clone(vector(f, 7)), vector(f, 7)...))
	f.Fuzz(func(t *testing.T, size uint8, stream []byte) {
		in := listening(".*")
		for n := int(size) + 1; len(stream) > 0; stream = stream[min(n, len(stream)):] {
			in.datagram(netip.AddrPort{}, stream[:min(n, len(stream))])
			require.LessOrEqual(t, in.fragments.bytes, maxWaitingBytes)
			require.Equal(t, len(in.fragments.waiting), in.fragments.order.Len())
		}
		batch, _ := in.subs.all[0].queue.take(nil, defaultQueue)
		for _, m := range batch {
			require.NoError(t, names.CheckChannel(m.Channel))
		}
	})
}

// Messages are sent group by group, and those of a group in their order.
func TestMessagesOfAChannelKeepTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Message {
			return Message{
				Channel: rapid.SampledFrom([]string{"A", "B", "C"}).Draw(t, "channel"), Unordered: rapid.Bool().Draw(t, "unordered"),
				Payload: payload(rapid.IntRange(0, 3).Draw(t, "size")),
			}
		}), 1, atOnce).Draw(t, "messages")
		groups, last := map[group]int{}, group{}
		seen := map[int]bool{}
		for _, i := range new(orderer).order(ms) {
			l := group{channel: ms[i].Channel}
			if ms[i].Unordered {
				l.size = 1 + len(ms[i].Payload)
			}
			before, met := groups[l]
			require.True(t, !met || l == last && before < i, "group %v", l)
			require.False(t, seen[i])
			groups[l], last, seen[i] = i, l, true
		}
		require.Len(t, seen, len(ms))
	})
}
