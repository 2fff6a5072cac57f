/* memory.pml: who waits for memory, and that no run stands still because of it (docs/adr/0024-bounded-memory.md).
 *
 * It has the rules of metasim/memory.go and metasim/settle.go for N clients that all may hear one another, in times 0 .. T-1. A time of
 * the model is an instant: each link costs at least one. What clients do is not determined: when they act, whether messages wake them,
 * to whom they send, how long a message travels, when they report. Nor is how far a client is authorized: at least one instant beyond
 * what it waits for, at most its safe time. So any span is covered. The server settles at any moment, or later.
 *
 * An invalid end state is a run that stands still. Time and the number of sends are bounded, and every move uses up some of them,
 * so a run that does not stand still ends. The lines below say how internal/models checks it, and which mistakes must be found.
 *
 * checked: -DN=2 -DT=3 -DSENDS=2
 * large: -DN=3 -DT=2 -DSENDS=1
 *
 * invalid end state: -DN=2 -DT=3 -DSENDS=2 -DSLOWEST_WAITS   the slowest waits for memory too
 * invalid end state: -DN=2 -DT=3 -DSENDS=2 -DALL_WAIT        everybody waits while much is held
 * assertion violated: -DN=2 -DT=3 -DSENDS=2 -DPAST_SAFE      a client is authorized one instant too far
 */
#ifndef N
#define N 3
#endif
#ifndef T
#define T 3
#endif
#ifndef SENDS
#define SENDS 2   /* of each client */
#endif
#ifndef HIGH
#define HIGH 1    /* much is held beyond this many messages, until it is LOW again */
#endif
#ifndef LOW
#define LOW 0
#endif
#ifndef SLOWEST
#define SLOWEST 1 /* the greatest delay */
#endif
#define INF 99

#define AT(i, t) ((i) * T + (t))
#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define MAX(a, b) ((a) > (b) -> (a) : (b))

byte queued[N * T]; /* messages that wait for i and are due at t */
byte given[N * T];  /* that it was given and has not handled */
byte handled[N];    /* that it has handled, and not reported */
byte first[N];      /* when the first of these was due */
byte left[N];       /* how often it may still send */
byte clock[N];      /* of its last report */
byte now[N];        /* of its last act */
byte want[N];       /* its next timer */
byte next[N];       /* the same, as it last reported it */
byte granted[N];    /* it may act before this */
byte woken[N];
bool waiting[N];
bool wakes[N];      /* messages wake it */
bool sends[N];      /* somebody hears it */
bool gone[N];
bool tight;

byte E[N], need[N], held[N], total, stands, many;
byte i, j, k, t, x, y;

/* EARLIEST sets a variable to the earliest due of what is in an array for c. */
#define EARLIEST(array, c, to) \
	to = INF; t = 0; \
	do \
	:: t < T -> if :: array[AT(c, t)] > 0 && to == INF -> to = t :: else fi; t++ \
	:: else -> break \
	od; \
	t = 0

inline count() {
	total = 0; k = 0;
	do
	:: k < N ->
		held[k] = handled[k]; t = 0;
		do
		:: t < T -> held[k] = held[k] + queued[AT(k, t)] + given[AT(k, t)]; t++
		:: else -> break
		od;
		total = total + held[k]; k++
	:: else -> break
	od;
	if
	:: total > HIGH -> tight = true
	:: total <= LOW -> tight = false
	:: else
	fi;
	k = 0; t = 0
}

/* safe sets E, need and stands from what the server knows. */
inline safe() {
	k = 0;
	do
	:: k < N -> E[k] = INF; k++
	:: else -> break
	od;
	j = 0;
	do
	:: j < N -> /* as many rounds as a path may have links */
		k = 0; many = INF; x = INF; /* the least and the second least S, so that nobody hears itself */
		stands = 0;
		do
		:: k < N ->
			if
			:: gone[k] || !sends[k] -> y = INF
			:: else ->
				y = next[k];
				if
				:: wakes[k] ->
					EARLIEST(queued, k, need[k]); y = MIN(y, need[k]);
					EARLIEST(given, k, need[k]); y = MIN(y, need[k]);
					if :: handled[k] > 0 -> y = MIN(y, first[k]) :: else fi;
					y = MIN(y, E[k])
				:: else
				fi;
				y = MAX(y, clock[k])
			fi;
			if
			:: y < many -> x = many; many = y; stands = k
			:: y >= many && y < x -> x = y
			:: else
			fi;
			k++
		:: else -> break
		od;
		k = 0;
		do
		:: k < N -> E[k] = (k == stands -> x : many); E[k] = (E[k] == INF -> T : MIN(T, E[k] + 1)); k++
		:: else -> break
		od;
		j++
	:: else -> break
	od;
	/* what each waits for, and the slowest of those for whom much is held */
	stands = INF; k = 0;
	do
	:: k < N ->
		need[k] = want[k];
		if
		:: wakes[k] -> EARLIEST(queued, k, x); need[k] = MIN(need[k], x); EARLIEST(given, k, x); need[k] = MIN(need[k], x)
		:: else
		fi;
		x = (waiting[k] -> MAX(clock[k], need[k]) : MAX(clock[k], woken[k]));
		if
		:: !gone[k] && held[k] > total / N / 2 && x < stands -> stands = x
		:: else
		fi;
		k++
	:: else -> break
	od;
	many = 0; k = 0; j = 0; x = 0; y = 0; t = 0
}

#ifdef ALL_WAIT
#define LATER(c) true
#else
#ifdef SLOWEST_WAITS
#define LATER(c) (stands <= need[c])
#else
#define LATER(c) (stands < need[c])
#endif
#endif
#ifdef PAST_SAFE
#define BOUND(c) MIN(T, E[c] + 1)
#else
#define BOUND(c) E[c]
#endif
/* A client that waits is authorized where that is safe, unless it has to wait for memory; one that computes, while little is held. */
#define WITHHELD(c) (sends[c] && tight && need[c] < E[c] && LATER(c))
#define MAY(c) (!gone[c] && granted[c] < BOUND(c) && \
	(waiting[c] -> (need[c] < BOUND(c) || E[c] == T) && !WITHHELD(c) : !sends[c] || !tight))

/* authorize lets i go on, at least beyond what it waits for, and gives it what is due until then. */
inline authorize() {
	x = granted[i] + 1;
	if :: waiting[i] -> x = MIN(BOUND(i), MAX(x, need[i] + 1)) :: else fi;
	do
	:: x < BOUND(i) -> x++
	:: break
	od;
	skip;
	d_step {
		granted[i] = x; t = 0;
		do
		:: t < T && t < x -> given[AT(i, t)] = given[AT(i, t)] + queued[AT(i, t)]; queued[AT(i, t)] = 0; t++
		:: else -> break
		od;
		if :: waiting[i] -> woken[i] = MIN(need[i], x); waiting[i] = false :: else fi;
		x = 0; t = 0
	}
}

/* act lets i do what is due at x. It may send once to each of the others, as often as it may at all. */
inline act() {
	now[i] = x; t = 0;
	do
	:: t <= x && t < T ->
		if :: given[AT(i, t)] > 0 && handled[i] == 0 -> first[i] = t :: else fi;
		handled[i] = handled[i] + given[AT(i, t)]; given[AT(i, t)] = 0; t++
	:: else -> break
	od;
	t = 0; j = 0;
	do
	:: j < N ->
		if
		:: sends[i] && j != i && left[i] > 0 && !gone[j] ->
			left[i]--; y = x + 1;
			do
			:: y < x + SLOWEST -> y++
			:: break
			od;
			if :: y < T -> assert(y >= granted[j]); queued[AT(j, y)]++ :: else fi /* what is due later is never delivered */
		:: true
		fi;
		j++
	:: else -> break
	od;
	j = 0; y = 0;
	if /* the next timer */
	:: want[i] <= x -> want[i] = INF
	:: want[i] <= x && x + 1 < T -> want[i] = x + 1
	:: want[i] > x -> skip
	fi;
	x = 0
}

/* report says where i is: it frees what was handled. */
inline report() {
	d_step { clock[i] = now[i]; next[i] = want[i]; handled[i] = 0; first[i] = 0 }
}

inline leave() {
	d_step {
		gone[i] = true; waiting[i] = false; handled[i] = 0; first[i] = 0; t = 0;
		do
		:: t < T -> queued[AT(i, t)] = 0; given[AT(i, t)] = 0; t++
		:: else -> break
		od;
		clock[i] = 0; now[i] = 0; want[i] = 0; next[i] = 0; woken[i] = 0; granted[i] = T; left[i] = 0; t = 0
	}
}

inline settle() { d_step { count(); safe() } }

#define ACTS(c) (!gone[c] && !waiting[c])

active proctype world() {
	atomic {
		i = 0;
		do
		:: i < N ->
			waiting[i] = true; left[i] = SENDS;
			if :: want[i] = 0 :: want[i] = INF fi;
			if :: wakes[i] = true :: want[i] < INF -> wakes[i] = false fi;
			if :: sends[i] = true :: i == N-1 -> sends[i] = false fi; /* somebody is to be heard */
			next[i] = want[i]; i++
		:: else -> break
		od;
		settle(); i = 0
	}
	do
	:: atomic { (gone[0] && gone[1] && gone[N-1]) -> break }
	/* the server authorizes one */
	:: atomic {
		(MAY(0) || MAY(1) || MAY(N-1)) ->
		if :: MAY(0) -> i = 0 :: MAY(1) -> i = 1 :: MAY(N-1) -> i = N-1 fi;
		authorize(); settle(); i = 0
	}
	/* a client acts, reports, waits or leaves */
	:: atomic {
		(ACTS(0) || ACTS(1) || ACTS(N-1)) ->
		if :: ACTS(0) -> i = 0 :: ACTS(1) -> i = 1 :: ACTS(N-1) -> i = N-1 fi;
		x = want[i];
		if :: wakes[i] -> EARLIEST(given, i, y); x = MIN(x, y); y = 0 :: else fi;
		if
		:: x < granted[i] -> act(); if :: report() :: true fi
		:: x >= granted[i] && granted[i] == T -> leave()
		:: x >= granted[i] && granted[i] < T -> report(); waiting[i] = true
		fi;
		x = 0; settle(); i = 0
	}
	od
}
