// Package delay says how long a message travels on a link, and whether it arrives: package metasim declares what the
// machine needs of a link, and a [Table] gives it.
//
// # What a link does to a message
//
//  1. The message waits until the line is free of the earlier ones, and is then put on it bit by bit (Spec.Bandwidth).
//  2. It travels for a delay of its own, drawn from a [Distribution] (Spec.Delay), or two copies of it do
//     (Spec.Duplicate). On an ordered link no copy arrives before one that was sent earlier (Spec.Order).
//  3. It is lost (Spec.Loss). A lost message has occupied the line, as its bits were sent; it delays no other message at the
//     other end, as there it was never seen; and it has no second copy.
//
// A total of 0 is one step: the message arrives at the time at which it was sent, one step later. Anything more leads
// to the first step of a later time. Additions saturate at metasim.Forever, which is never reached.
//
// # Draws
//
// Every draw is a pure function of (seed, link, number of the message on the link, purpose), where a link is (from, to,
// channel). It does not depend on what other links carry, on the order in which links are asked, or on the rule that
// decided. So a parameter can be varied alone: with a greater loss the same messages have the same delays, and all that
// were lost are still lost.
//
// Delays are rounded to the nearest nanosecond, none below the least delay, which is known before anything is drawn: it
// is the lookahead of the link, and what the other simulators may run ahead by.
//
// A run is bit-exact on one architecture. Between architectures Go may fuse a multiplication with an addition, and its
// exponential and logarithm may differ in the last bit; formulas of this package forbid the first, those of gonum and
// math/rand do not. What is left is a draw that such a difference carries over half a nanosecond: of 2 million draws
// from each distribution that the golden test pins, none differs between amd64 and arm64. Constant, uniform and
// empirical delays, loss, bandwidth and duplication use nothing of the kind.
//
// # Duties of the caller
//
//  1. A Table may be shared; a link belongs to one goroutine.
//  2. Transit is called once a message, in order of its number from 0, with instants that never go back.
package delay
