/* safetime.pml: the rules of safe time. No client is given a message in its past or out of order, and no run stands still.
 *
 * It has the rules of metasim/settle.go, metasim/report.go and metasim/safetime for N clients in times 0 .. T-1, with the streams
 * between each client and the server. What is sent, when, to whom, how much later than the least delay it arrives, when clients report,
 * when the server looks: all of it is open. An invalid end state is a run that stands still.
 *
 *   -DCOND    clients with handlers and one timer: messages wake them, and waiting is a conditional promise. Else clients step, and
 *             waiting is an unconditional promise
 *   -DLEAVE   client 0 may leave at any instant
 *   -DLINKS   links with unlike delays, and not between all clients
 *   -DSTEPS   links without delay, in a cycle too: each costs a step
 *   -DREPORTS clients also report while they go on
 *   -DQUIET   only client 0 has a timer at first
 *   -DREACT   clients answer a message one time later at the earliest, and have said so
 *
 * The lines below say how internal/models checks it, and which mistakes must be found.
 *
 * checked: -DN=2 -DT=3
 * checked: -DN=2 -DT=3 -DLEAVE
 * checked: -DN=2 -DT=2 -DCOND -DLEAVE
 * checked: -DN=3 -DT=3 -DCOND -DLINKS -DQUIET
 * checked: -DN=2 -DT=1 -DCOND -DSTEPS
 * checked: -DN=2 -DT=3 -DCOND -DLEAVE -DREACT
 * large: -DN=3 -DT=2 -DLEAVE -DREPORTS
 * large: -DN=2 -DT=3 -DCOND -DLEAVE -DREPORTS
 * large: -DN=2 -DT=2 -DCOND -DSTEPS -DLEAVE
 * large: -DN=3 -DT=2 -DCOND -DLINKS
 * large: -DN=3 -DT=2 -DCOND
 *
 * assertion violated: -DN=3 -DT=2 -DDELIVER_AT_SAFE          what is due at the safe time itself is delivered too
 * assertion violated: -DN=2 -DT=3 -DACT_AT_GRANT             a client acts at its authorization itself
 * assertion violated: -DN=2 -DT=3 -DPAST_GRANT               a client runs one event past its authorization
 * assertion violated: -DN=3 -DT=2 -DTIE_ARRIVAL              messages of one instant in the order of their arrival
 * assertion violated: -DN=2 -DT=3 -DSPLIT_UP                 reports travel on another stream than sends
 * assertion violated: -DN=2 -DT=3 -DSPLIT_DOWN               authorizations travel on another stream than deliveries
 * assertion violated: -DN=2 -DT=3 -DCOND -DCOND_NAIVE        a conditional promise is read as an unconditional one
 * assertion violated: -DN=2 -DT=3 -DCOND -DQUEUE_ONLY        of messages on their way, only those in the server count
 * assertion violated: -DN=2 -DT=3 -DCOND -DGIVEN_ONLY        of messages on their way, only those that were given count
 * assertion violated: -DN=2 -DT=3 -DCOND -DNO_ACK            what was given counts as handled at the next report
 * assertion violated: -DN=2 -DT=3 -DCOND -DNO_ECHO           what a client causes itself is left out
 * assertion violated: -DN=3 -DT=3 -DCOND -DLINKS -DQUIET -DDIRECT   only direct links count
 * invalid end state: -DN=2 -DT=2 -DCOND -DSTEPS -DNO_STEP    a link without delay costs no step
 * assertion violated: -DN=2 -DT=3 -DCOND -DREACT -DREACT_OWN the reaction time is added to timers too
 * invalid end state: -DN=2 -DT=3 -DLEAVE -DSTUCK_LEAVER      who has left still holds others back
 * invalid end state: -DN=2 -DT=3 -DEND_UNTOLD                nobody is told of the end
 */
#ifndef N
#define N 3
#endif
#ifndef T
#define T 3
#endif
#ifndef SENDS
#define SENDS 1   /* of each client */
#endif
#ifdef STEPS
#define K 6       /* steps of one time */
#else
#define K 1
#endif
#define END (T * K)
#define INF 250
#define NONE 99
#define ROOM 6    /* in each stream and queue: at least N * SENDS */

#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define NEXT_TIME(x, d) (((x) / K + (d)) * K)
#ifdef NO_STEP
#define LATER(x, d) ((d) > 0 -> NEXT_TIME(x, d) : (x))
#else
#define LATER(x, d) ((d) > 0 -> NEXT_TIME(x, d) : (x) + 1)
#endif

#ifdef LINKS
#define LINK(i, j) ((j) == ((i) + 1) % N -> ((j) == 0 -> 2 : 1) : NONE)
#else
#ifdef STEPS
#define LINK(i, j) ((i) + (j) == 1 -> 0 : ((j) == ((i) + 1) % N -> 1 : NONE))
#else
#define LINK(i, j) ((i) == (j) -> NONE : 1)
#endif
#endif

#ifdef REACT
#define REACTS(x) ((x) >= INF -> INF : NEXT_TIME(x, 1))
#else
#define REACTS(x) (x)
#endif

mtype = { SEND, ADVANCE, POLL, LEAVE_, DELIVER, AUTHORIZE };

/* What travels: SEND, sent, to; a report, now, promise, next event, number of deliveries handled since the last one. */
chan up[N] = [ROOM] of { mtype, byte, byte, byte, byte };
#ifdef SPLIT_UP
chan reports[N] = [ROOM] of { mtype, byte, byte, byte, byte };
#else
#define reports up
#endif
/* DELIVER and the message; AUTHORIZE, until. */
chan down[N] = [ROOM] of { mtype, byte, byte, byte, byte };
/* Messages, sorted: due, sent, from, number. */
chan queue[N] = [ROOM] of { byte, byte, byte, byte };
chan inbox[N] = [ROOM] of { byte, byte, byte, byte };
chan window[N] = [ROOM] of { byte }; /* dues of what was given and is not acknowledged */

/* What the server knows. */
byte clock[N]; byte floor[N]; byte next[N]; byte granted[N]; byte want[N];
byte E[N];
bool waiting[N]; bool polled[N]; bool gone[N]; bool may[N];

/* Clients. */
byte now[N]; byte limit[N]; byte timer[N]; byte sent[N]; byte handled[N];
byte lastDue[N]; byte lastSent[N]; byte lastFrom[N]; byte lastSeq[N];
bool waits[N]; bool begun[N]; bool left[N];
#ifdef TIE_ARRIVAL
byte arrived;
#endif

byte i, j, k, r, x, y, z, a, b, c, d;
mtype kind;
bool ok;
#ifdef NO_ECHO
byte others[N];
#endif

/* HEAD sets a variable to when the first message of a queue is due. */
#define HEAD(q, to) if :: nempty(q) -> q?<to,_,_,_> :: empty(q) -> to = INF fi
#define FIRST(q, to) if :: nempty(q) -> q?<to> :: empty(q) -> to = INF fi

/* pending sets z to the earliest due of what client k may still answer. */
inline pending() {
#ifdef GIVEN_ONLY
	z = INF;
#else
	HEAD(queue[k], z);
#endif
#ifndef QUEUE_ONLY
	FIRST(window[k], y); z = MIN(z, y);
#endif
	skip
}

/* earliest sets y to the earliest that client k may still send, by what is known of it and its safe time. */
inline earliest() {
	if
	:: gone[k] ->
#ifdef STUCK_LEAVER
		y = floor[k]
#else
		y = INF
#endif
	:: else ->
#ifdef COND
#ifdef COND_NAIVE
		z = INF;
#else
		pending();
#ifndef DIRECT
		z = MIN(z, E[k]);
#endif
#endif
#ifdef REACT_OWN
		y = MIN(next[k], z); y = REACTS(y); y = MAX(floor[k], y)
#else
		z = REACTS(z); y = MIN(next[k], z); y = MAX(floor[k], y)
#endif
#else
		y = MAX(floor[k], next[k])
#endif
	fi
}

inline relax() {
	k = 0;
	do
	:: k < N ->
		earliest(); j = 0;
#ifdef NO_ECHO
		y = (k == d -> INF : y);
#endif
		do
		:: j < N ->
			x = (y >= INF || LINK(k, j) == NONE -> INF : LATER(y, LINK(k, j)));
			E[j] = MIN(E[j], x); j++
		:: else -> break
		od;
		k++
	:: else -> break
	od
}

/* need sets z to what client k waits for, as the server knows it. */
inline need() {
	z = want[k];
#ifdef COND
	HEAD(queue[k], y); z = MIN(z, y);
#endif
	skip
}

#ifdef END_UNTOLD
#define AT_END(c) false
#else
#define AT_END(c) (E[c] == END)
#endif

/* paths computes the greatest solution of the equations: a path may have N links. */
inline paths() {
	k = 0;
	do :: k < N -> E[k] = INF; k++ :: else -> break od;
	r = 0;
	do :: r < N + 1 -> relax(); r++ :: else -> break od
}

/* settle computes the safe times. */
inline settle() {
	d_step {
#ifdef NO_ECHO
		d = 0;
		do :: d < N -> paths(); others[d] = E[d]; d++ :: else -> break od;
		k = 0;
		do :: k < N -> E[k] = others[k]; k++ :: else -> break od;
#else
		paths();
#endif
		k = 0;
		do
		:: k < N ->
			E[k] = MIN(E[k], END);
			if :: !gone[k] -> assert(E[k] >= granted[k]) :: else fi;
			need();
			may[k] = !gone[k] && granted[k] < E[k] && (!waiting[k] || z < E[k] || AT_END(k));
			k++
		:: else -> break
		od;
		k = 0
	}
}

#define STARTED ((polled[0] || gone[0]) && (polled[1] || gone[1]) && (polled[N-1] || gone[N-1]))
#ifdef DELIVER_AT_SAFE
#define DELIVERED(due) ((due) <= x && (due) < END)
#else
#define DELIVERED(due) ((due) < x)
#endif
/* authorize gives client k what is due before its safe time, and authorizes it up to there. */
inline authorize() {
	d_step {
		x = E[k]; HEAD(queue[k], y);
		do
		:: DELIVERED(y) -> queue[k]?a,b,c,d; down[k]!DELIVER,a,b,c,d; window[k]!a; HEAD(queue[k], y)
		:: else -> break
		od;
		granted[k] = x; waiting[k] = false; down[k]!AUTHORIZE,x,0,0,0
	}
}

/* report takes a report of client i: now a, promise b, next event c, d handled. */
inline report() {
#ifdef COND
	FIRST(window[i], y); y = REACTS(y); y = MIN(next[i], y); y = MAX(floor[i], y); /* what it has promised */
	assert(a >= clock[i]); assert(a == 0 || a < granted[i]);
	next[i] = MAX(y, MAX(b, c));
#else
	next[i] = b;
#endif
#ifdef NO_ACK
	do :: nempty(window[i]) -> window[i]?_ :: empty(window[i]) -> break od;
#else
	do :: d > 0 -> window[i]?_; d-- :: else -> break od;
#endif
	clock[i] = a; floor[i] = MAX(a, b)
}

/* hear takes the next of what client i has sent. */
inline hear() {
	if
	:: kind == SEND ->
		x = LATER(a, LINK(i, b));
		if :: true :: x = NEXT_TIME(x, 1) fi; /* the link may take longer */
		d_step {
			assert(a >= clock[i]); assert(a == 0 || a < granted[i]); clock[i] = a; floor[i] = MAX(floor[i], a);
			if
			:: !gone[b] && x < END ->
				assert(x >= granted[b]);
#ifdef TIE_ARRIVAL
				queue[b]!!x,arrived,i,c; arrived++
#else
				queue[b]!!x,a,i,c
#endif
			:: else -> assert(gone[b] || x >= granted[b])
			fi;
			k = 0
		}
	:: kind == ADVANCE -> d_step { report(); waiting[i] = false }
	:: kind == POLL ->
		d_step {
			report(); want[i] = c; polled[i] = true;
#ifndef COND
			floor[i] = MAX(floor[i], c);
#endif
#ifdef NO_CROSSING
			ok = granted[i] == END;
#else
#ifdef COND
			ok = c < granted[i] || nempty(window[i]) || granted[i] == END;
#else
			ok = c < granted[i] || granted[i] == END;
#endif
#endif
			waiting[i] = !ok;
			if :: ok -> down[i]!AUTHORIZE,granted[i],0,0,0 :: else fi;
			k = 0
		}
	:: kind == LEAVE_ ->
		d_step {
			gone[i] = true; waiting[i] = false; granted[i] = 0; clock[i] = 0; want[i] = 0; next[i] = 0;
#ifndef STUCK_LEAVER
			floor[i] = 0;
#endif
			do :: nempty(window[i]) -> window[i]?_ :: empty(window[i]) -> break od;
			do :: nempty(queue[i]) -> queue[i]?_,_,_,_ :: empty(queue[i]) -> break od;
			k = 0
		}
	fi
}

/* take takes what has arrived at client i, up to the next authorization. */
inline take() {
	do
#ifdef SPLIT_DOWN
	:: down[i]??[AUTHORIZE,_,_,_,_] -> down[i]??AUTHORIZE,x,_,_,_; limit[i] = x; break
#endif
	:: down[i]?[DELIVER,_,_,_,_] -> down[i]?DELIVER,a,b,c,d; assert(a >= now[i] && a >= limit[i]); inbox[i]!a,b,c,d
	:: down[i]?[AUTHORIZE,_,_,_,_] -> down[i]?AUTHORIZE,x,_,_,_; limit[i] = x; break
	:: empty(down[i]) -> break
	od
}

/* handle takes the next message of client i: the order is total. */
inline handle() {
	inbox[i]?a,b,c,d; handled[i]++;
#ifdef TIE_ARRIVAL
	ok = a > lastDue[i] || a == lastDue[i] && (c > lastFrom[i] || c == lastFrom[i] && d > lastSeq[i]); /* b is no instant here */
#else
	ok = a > lastDue[i] || a == lastDue[i] && (b > lastSent[i] || b == lastSent[i] && (c > lastFrom[i] || c == lastFrom[i] && d > lastSeq[i]));
#endif
	assert(ok);
	lastDue[i] = a; lastSent[i] = b; lastFrom[i] = c; lastSeq[i] = d
}

/* publish lets client i send at its present instant, or not. */
inline publish() {
	j = 0;
	do
	:: j < N ->
		if
		:: sent[i] < SENDS && LINK(i, j) != NONE -> sent[i]++; up[i]!SEND,now[i],j,sent[i],0
		:: true
		fi;
		j++
	:: else -> break
	od
}

#ifdef COND
#define PROMISED(c) now[c]
#else
#define PROMISED(c) MAX(now[c], timer[c])
#endif

inline tell(what) { reports[i]!what,now[i],(waits[i] -> PROMISED(i) : now[i]),timer[i],handled[i]; handled[i] = 0 }

/* again sets the next timer of client i. */
inline again() {
	if
	:: timer[i] = NEXT_TIME(now[i], 1)
#ifdef COND
	:: timer[i] = INF
#else
	:: timer[i] = NEXT_TIME(now[i], 2)
#endif
	fi
}

/* act lets client i do what is due at x. */
inline act() {
	d_step { if :: x > now[i] -> now[i] = x; lastDue[i] = 0; lastSent[i] = 0; lastFrom[i] = 0; lastSeq[i] = 0 :: else fi; k = 0 };
#ifdef COND
	HEAD(inbox[i], y);
	if
	:: y == x ->
		d_step { handle() };
		if
		:: true
		:: timer[i] = MIN(timer[i], NEXT_TIME(x, 1)) /* it answers later */
		fi;
#ifndef REACT
		publish()
#endif
	:: else -> again(); publish()
	fi;
#else
	d_step {
		HEAD(inbox[i], y);
		do :: y <= x -> handle(); HEAD(inbox[i], y) :: else -> break od;
		k = 0
	};
	again(); publish();
#endif
#ifdef REPORTS
	if :: tell(ADVANCE) :: true fi
#else
	skip
#endif
}

/* wanted sets x to the next instant at which client i has something to do. */
inline wanted() {
	x = timer[i];
#ifdef COND
	HEAD(inbox[i], y); x = MIN(x, y);
#endif
	skip
}

#ifdef ACT_AT_GRANT
#define ALLOWED (x <= limit[i] && limit[i] > 0)
#else
#ifdef PAST_GRANT
#define ALLOWED (now[i] < limit[i])
#else
#define ALLOWED (x < limit[i])
#endif
#endif

/* client lets client i do something, if it can. */
inline client() {
	wanted();
	if
	:: !begun[i] -> /* it initializes: it may send at the start, and then waits */
		begun[i] = true; now[i] = 0;
#ifdef QUIET
		if :: i == 0 -> timer[i] = 0 :: i > 0 -> timer[i] = INF fi;
#else
		if :: timer[i] = 0 :: again() fi;
#endif
		publish(); waits[i] = true; tell(POLL)
	:: else ->
		if
		:: ALLOWED && x < END -> waits[i] = false; act()
		:: (!ALLOWED || x >= END) && limit[i] == END -> left[i] = true; reports[i]!LEAVE_,now[i],0,0,0
		:: !ALLOWED && limit[i] < END && !waits[i] -> waits[i] = true; tell(POLL)
#ifdef LEAVE
		:: i == 0 -> left[i] = true; reports[i]!LEAVE_,now[i],0,0,0
#endif
		fi
	fi
}

/* forget clears what no longer matters of client i. */
inline forget() {
	d_step {
		if
		:: left[i] ->
			do :: nempty(inbox[i]) -> inbox[i]?_,_,_,_ :: empty(inbox[i]) -> break od;
			now[i] = 0; limit[i] = 0; timer[i] = 0; sent[i] = 0; handled[i] = 0; waits[i] = false;
			lastDue[i] = 0; lastSent[i] = 0; lastFrom[i] = 0; lastSeq[i] = 0
		:: else
		fi;
		k = 0
	}
}

/* TIDY clears what was needed for one move. */
#define TIDY d_step { i = 0; j = 0; k = 0; r = 0; x = 0; y = 0; z = 0; a = 0; b = 0; c = 0; d = 0; kind = 0; ok = false }

#ifdef COND
#define WOKEN(c) nempty(inbox[c])
#else
#define WOKEN(c) false
#endif
#define CAN_ACT(c) (!left[c] && empty(up[c]) && \
	(!begun[c] || !waits[c] || !(timer[c] >= limit[c]) || WOKEN(c) || limit[c] == END LEAVES(c)))
#ifdef LEAVE
#define LEAVES(c) || c == 0
#else
#define LEAVES(c)
#endif
#define CAN_GRANT(c) (STARTED && may[c] && empty(down[c]))
#ifdef SPLIT_UP
#define SAID(c) (nempty(up[c]) || nempty(reports[c]))
#else
#define SAID(c) nempty(up[c])
#endif

active proctype world() {
	atomic {
		i = 0; do :: i < N -> timer[i] = INF; i++ :: else -> break od;
		settle(); TIDY
	}
	do
	:: atomic { (gone[0] && gone[1] && gone[N-1]) -> break }
	:: atomic { /* the server hears a client */
		(SAID(0) || SAID(1) || SAID(N-1)) ->
		if :: SAID(0) -> i = 0 :: SAID(1) -> i = 1 :: SAID(N-1) -> i = N-1 fi;
		if
		:: nempty(up[i]) -> up[i]?kind,a,b,c,d
#ifdef SPLIT_UP
		:: nempty(reports[i]) -> reports[i]?kind,a,b,c,d
#endif
		fi;
		hear(); settle(); TIDY
	}
	:: atomic { /* it authorizes one */
		(CAN_GRANT(0) || CAN_GRANT(1) || CAN_GRANT(N-1)) ->
		if :: CAN_GRANT(0) -> k = 0 :: CAN_GRANT(1) -> k = 1 :: CAN_GRANT(N-1) -> k = N-1 fi;
		authorize(); settle(); TIDY
	}
	:: atomic { /* something arrives at a client */
		(nempty(down[0]) || nempty(down[1]) || nempty(down[N-1])) ->
		if :: nempty(down[0]) -> i = 0 :: nempty(down[1]) -> i = 1 :: nempty(down[N-1]) -> i = N-1 fi;
		if
		:: left[i] -> d_step { do :: nempty(down[i]) -> down[i]?_,_,_,_,_ :: empty(down[i]) -> break od; k = 0 }
		:: else -> take()
		fi;
		TIDY
	}
	:: atomic { /* a client acts, waits or leaves */
		(CAN_ACT(0) || CAN_ACT(1) || CAN_ACT(N-1)) ->
		if :: CAN_ACT(0) -> i = 0 :: CAN_ACT(1) -> i = 1 :: CAN_ACT(N-1) -> i = N-1 fi;
		client(); forget(); TIDY
	}
	od
}
