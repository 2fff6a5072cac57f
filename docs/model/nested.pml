/* nested.pml: one run is nested in another, with a dispatcher each and a gateway between (adr 38). No client is given a message in its past
 * or out of order, no proxy breaks a rule, and no run stands still.
 *
 * It has the rules of metasim/group.go, metasim/foresight.go and federates/gateway for one client outside, and one or two inside. Each hears
 * the other across the border, and may answer at the very instant. What is sent, when, when clients report, when each dispatcher looks, what is on
 * its way between gateway and outer run: all of it is open. So is how far the outer run authorizes the proxy beyond what it waits for, which is what its memory decides:
 * the client inside goes no further. (What the gateway takes from outside while much is held inside is not in it: the tests of the gateway have that.) An invalid end state is a run that stands still.
 *
 *	outer run                            nested run
 *	client B  ---------> ear EAR ......> proxy PB ------> client A (with -DCHAIN: ---> client C)
 *	    ^--------------- proxy P <...... the client that sends to B: A, or C
 *
 *   -DIN=d     how long a message takes to A, 0: a step; -DOUT=d likewise to B
 *   -DCHAIN    A sends to C alone, and C to B
 *   -DLONGER   links may take a time longer
 *   -DSTEPPER  B acts at instants of its own choice, and messages do not wake it: its promise is unconditional. Else clients have handlers and one timer
 *   -DREACT    A answers a message one time later at the earliest, and has said so
 *   -DLEAVE    A, or with -DLEAVE=B client B, may leave at any instant
 *   -DQUIET=B  only B has a timer at first; likewise A
 *
 * The lines below say how internal/models checks it, and which mistakes must be found.
 *
 * checked: -DT=1 -DK=3 -DQUIET=B
 * checked: -DT=1 -DK=3 -DQUIET=B -DLEAVE=A
 * checked: -DT=1 -DK=3 -DQUIET=B -DLEAVE=B
 * checked: -DT=3 -DK=1 -DQUIET=A
 * checked: -DT=1 -DK=3 -DSTEPPER
 * checked: -DT=2 -DK=2 -DIN=1 -DOUT=1 -DQUIET=B -DLONGER
 * large: -DT=1 -DK=4
 * large: -DT=2 -DK=4
 * large: -DT=2 -DIN=1 -DOUT=1
 * large: -DT=2 -DK=2 -DIN=1 -DREACT
 * large: -DT=1 -DK=3 -DQUIET=B -DCHAIN
 *
 * assertion violated: -DT=1 -DK=3 -DQUIET=B -DACK_FIRST              the gateway acknowledges before it has promised
 * assertion violated: -DT=1 -DK=3 -DQUIET=B -DACKS_AT_ONCE           the gateway acknowledges before the nested dispatcher has settled
 * assertion violated: -DT=1 -DK=3 -DQUIET=B -DUNCONDITIONAL          the gateway promises, whatever comes, what holds if nothing comes from outside
 * assertion violated: -DT=1 -DK=3 -DQUIET=B -DNO_CREDIT              a client inside goes further than its proxy is authorized
 * assertion violated: -DT=1 -DK=3 -DQUIET=B -DSPLIT                  acknowledgements travel on another stream than promises
 * assertion violated: -DT=1 -DK=3 -DQUIET=B -DFORGETS_PENDING        what is on its way inside is left out of what is foreseen
 * assertion violated: -DT=1 -DK=3 -DQUIET=B -DOWN_PENDING            what the group was given only its ear answers
 * assertion violated: -DT=1 -DK=3 -DQUIET=B -DOWN_ARRIVALS           what may still reach the group only its ear answers
 * assertion violated: -DT=2 -DK=2 -DIN=1 -DQUIET=B -DDELAYED_TWICE   a message is delayed on its way to the gateway too
 * assertion violated: -DT=2 -DK=2 -DIN=1 -DQUIET=B -DTOO_LONG        a client inside reacts to the outside sooner than its proxy says
 * assertion violated: -DT=3 -DK=1 -DQUIET=A -DNOT_A_STEP_LESS        the gateway promises all that the outer run has authorized, not a step less
 * assertion violated: -DT=3 -DK=1 -DQUIET=A -DOVERTAKES              authorizations of the outer run overtake what it delivers
 * invalid end state: -DT=4 -DK=1 -DQUIET=A -DASKS_NOTHING            the gateway asks the outer run for nothing
 * invalid end state: -DT=1 -DK=3 -DQUIET=B -DPROXY_STAYS             who has left the nested run stays in the outer one
 * invalid end state: -DT=1 -DK=3 -DQUIET=B -DOUTSIDE_STAYS           who has left the outer run stays in the nested one
 * invalid end state: -DT=1 -DK=3 -DQUIET=B -DEAR_STAYS               the ear stays when the nested run is over
 * invalid end state: -DT=1 -DK=3 -DQUIET=B -DNEVER_ASKS              a client inside without credit does not ask for more
 */
#ifndef IN
#define IN 0
#endif
#ifndef OUT
#define OUT 0
#endif
#ifndef T
#define T 2
#endif
#ifndef K
#define K 4 /* steps of one time */
#endif
#ifndef SENDS
#define SENDS 1 /* of each client */
#endif
#define END (T * K)
#define INF 250
#define NONE 99
#define ROOM 6  /* in each stream and queue */

#define B 0
#define EAR 1
#define P 2
#define A 3
#define PB 4
#define C 5
#ifdef CHAIN
#define N 6
#define SENDER C
#else
#define N 5
#define SENDER A
#endif
#define REAL(c) ((c) != EAR && (c) != P && (c) != PB)

#define MIN(x, y) ((x) < (y) -> (x) : (y))
#define MAX(x, y) ((x) > (y) -> (x) : (y))
#define NEXT_TIME(x, d) (((x) / K + (d)) * K)
#define LATER(x, d) ((d) > 0 -> NEXT_TIME(x, d) : (x) + 1)

/* Each dispatcher owns the links into its own clients. A message reaches the ear as it was sent, one step later. */
#ifdef DELAYED_TWICE
#define TO_EAR (IN)
#else
#define TO_EAR 0
#endif
#define LINK(i, j) ((i) == B && (j) == EAR -> TO_EAR : ((i) == P && (j) == B -> OUT : ((i) == PB && (j) == A -> IN : ((i) == A && (j) == C -> 0 : NONE))))

/* Whom messages wake. */
#ifdef STEPPER
#define HEARS(c) ((c) != B)
#else
#define HEARS(c) true
#endif

/* Reaction times: of A, and of P, whose delays inside count too. */
#ifdef REACT
#define REACTION(c) ((c) == A -> 1 : ((c) == P -> IN + 1 + LONG_REACTION : 0))
#else
#define REACTION(c) ((c) == P -> IN + LONG_REACTION : 0)
#endif
#ifdef TOO_LONG
#define LONG_REACTION 1
#else
#define LONG_REACTION 0
#endif
#define REACTS(c, x) ((x) >= INF -> INF : (REACTION(c) == 0 -> (x) : NEXT_TIME(x, REACTION(c))))

mtype = { SEND, POLL, ADVANCE, LEAVE_, DELIVER, AUTHORIZE };

/* Between real clients and their dispatchers. SEND, sent, number; a report: now, promise, next event, deliveries handled since the last one. */
chan up[N] = [ROOM] of { mtype, byte, byte, byte, byte };
/* DELIVER, due, sent, number; AUTHORIZE, until. */
chan down[N] = [ROOM] of { mtype, byte, byte, byte };
/* Between the gateway and the outer dispatcher: likewise, for which client first. */
chan out = [8] of { mtype, byte, byte, byte, byte, byte };
chan into = [8] of { mtype, byte, byte, byte, byte };
#ifdef SPLIT
chan outEar = [8] of { mtype, byte, byte, byte, byte, byte };
#else
#define outEar out
#endif
/* Messages in order: due, sent, number. */
chan queue[N] = [ROOM] of { byte, byte, byte };
chan inbox[N] = [ROOM] of { byte, byte, byte };
chan window[N] = [ROOM] of { byte }; /* dues of what was given and is not acknowledged */

/* What dispatchers know: the outer one of B, EAR and P, the nested one of A, PB and C. */
byte clock[N]; byte floor[N]; byte next[N]; byte granted[N]; byte want[N];
byte E[N]; byte quietE[N];
bool waiting[N]; bool polled[N]; bool gone[N]; bool may[N];
bool dirty;    /* the nested dispatcher has heard something since it has settled */

/* Clients. */
byte now[N]; byte limit[N]; byte timer[N]; byte sent[N]; byte handled[N];
byte lastDue[N]; byte lastSent[N]; byte lastSeq[N];
bool waits[N]; bool begun[N]; bool left[N];

/* The gateway: its ear, and the client whose sends matter outside. */
byte earGranted; byte earWant; byte earDue; byte unacked;
bool earWaits; bool earPolled; bool earLeft;
byte mGranted; byte mClock; byte mFloor; byte mNext; byte whatever; byte alone;
bool mPolled; bool mLeft; bool mAsks; byte mWant;
byte lastOutside; /* when PB has sent last */

byte i, j, k, r, x, y, z, a, b, c, d, lo, hi;
mtype kind;
bool ok, quiet;

#define HEAD(q, to) if :: nempty(q) -> q?<to,_,_> :: empty(q) -> to = INF fi
#define FIRST(q, to) if :: nempty(q) -> q?<to> :: empty(q) -> to = INF fi

/* Who shares what is pending, and what may arrive: P with the ear. */
#ifdef OWN_PENDING
#define GROUP(c) (c)
#else
#define GROUP(c) ((c) == P -> EAR : (c))
#endif
#ifdef OWN_ARRIVALS
#define ARRIVES(c) E[c]
#else
#define ARRIVES(c) E[((c) == P -> EAR : (c))]
#endif

/* earliest sets y to the earliest that client k may still send, by what its dispatcher knows. */
inline earliest() {
	if
	:: gone[k] || (quiet && k == PB) -> y = INF
	:: else ->
		HEAD(queue[GROUP(k)], z); FIRST(window[GROUP(k)], y); z = MIN(z, y);
#ifdef FORGETS_PENDING
		z = (quiet -> INF : z);
#endif
		z = MIN(z, ARRIVES(k)); z = REACTS(k, z);
		y = MIN(next[k], z); y = MAX(floor[k], y)
	fi
}

inline relax() {
	k = lo;
	do
	:: k < hi ->
		earliest(); j = lo;
		do
		:: j < hi ->
			x = (y >= INF || LINK(k, j) == NONE -> INF : LATER(y, LINK(k, j)));
			E[j] = MIN(E[j], x); j++
		:: else -> break
		od;
		k++
	:: else -> break
	od
}

/* paths computes the greatest solution of the equations for the clients lo .. hi-1. */
inline paths() {
	k = lo;
	do :: k < hi -> E[k] = INF; k++ :: else -> break od;
	r = 0;
	do :: r < 5 -> relax(); r++ :: else -> break od
}

/* need sets z to what client k waits for, as its dispatcher knows it. */
inline need() {
	z = want[k];
	if :: HEARS(k) -> HEAD(queue[k], y); z = MIN(z, y) :: else fi
}

#define STARTED_OUT ((polled[B] || gone[B]) && (polled[EAR] || gone[EAR]) && (polled[P] || gone[P]))
#ifdef CHAIN
#define STARTED_IN ((polled[A] || gone[A]) && (polled[C] || gone[C]))
#else
#define STARTED_IN (polled[A] || gone[A])
#endif
#define STARTED(c) ((c) < A -> STARTED_OUT : STARTED_IN)

/* decide computes the safe times of the clients lo .. hi-1, and who may go on. That of a group does not limit its proxies. */
inline decide() {
	paths();
	k = lo;
	do
	:: k < hi ->
		E[k] = MIN(E[k], END);
		if :: k == P || k == PB -> E[k] = END :: else fi;
		if :: !gone[k] -> assert(E[k] >= granted[k]) :: else fi;
		need();
		may[k] = !gone[k] && k != PB && granted[k] < E[k] && (!waiting[k] || z < E[k] || E[k] == END);
		if
		:: k == P -> may[k] = may[k] && waiting[k] && z < END /* it is authorized as far as it asks, or further */
#ifndef NO_CREDIT
		:: k == SENDER -> may[k] = may[k] && (waiting[k] -> z >= END || z < mGranted : granted[k] < mGranted) /* with credit */
#endif
		:: else
		fi;
		k++
	:: else -> break
	od
}

/* settleOut is a Settle of the outer dispatcher. */
inline settleOut() { d_step { lo = 0; hi = A; decide(); k = 0 } }

/* departs has the client inside leave the outer run. */
inline departs() {
#ifdef PROXY_STAYS
	skip
#else
	if :: !mLeft -> mLeft = true; out!LEAVE_,P,mClock,0,0,0 :: else fi
#endif
}

/* promises has it promise in the outer run what the nested dispatcher has said. */
inline promises() {
	if
	:: mLeft
	:: else ->
		x = whatever; y = alone;
#ifdef UNCONDITIONAL
		x = alone;
#endif
		c = x; d = y; k = SENDER; need(); x = c; y = d;
		c = MIN(z, y); /* what it asks for: no more than it promises */
		ok = waiting[SENDER] && !gone[SENDER] && z < END && c >= mGranted;
#ifdef NEVER_ASKS
		ok = false;
#endif
		if :: !mPolled && !ok -> c = y; ok = true :: else fi;
		if
		:: mPolled && y == mNext && (!ok || mAsks && c == mWant) && x <= REACTS(P, earGranted) /* the outer dispatcher knows as much */
		:: else ->
			mFloor = MAX(mFloor, x); mNext = y; mPolled = true; mAsks = ok; mWant = (ok -> c : 0);
			out!POLL,P,mClock,mFloor,mNext,(ok -> c + 1 : 0)
		fi;
		ok = false; c = 0; d = 0
	fi
}

/* listen has it acknowledge what came from outside, and ask for more, up to a. */
inline listen() {
	a = MAX(a, earGranted);
#ifdef ASKS_NOTHING
	a = INF;
#endif
	if
	:: earLeft
	:: !earLeft && earPolled && earGranted == END ->
		if :: unacked > 0 -> outEar!ADVANCE,EAR,earDue,0,INF,unacked :: else fi
	:: !earLeft && !(earPolled && earGranted == END) ->
		if
		:: unacked > 0 || !earWaits || a < earWant -> earPolled = true; earWaits = true; earWant = a; outEar!POLL,EAR,earDue,a,INF,unacked
		:: else
		fi
	fi;
	unacked = 0
}

/* outsideNeed sets a to what the clients inside wait for that may go on only if nobody outside sends before. */
inline outsideNeed() {
	a = INF; y = (gone[PB] -> INF : floor[PB]);
	if :: y < INF && y % K == K - 1 -> y = y + 1 :: else fi;
	b = y; k = A;
	do
	:: k < N ->
		need();
		if
		:: gone[k] || k == PB || !waiting[k] || z >= END || z < E[k] || z >= quietE[k]
		:: else ->
			x = E[k] / K; y = b / K;
			x = (x > y -> x - y : 0); /* what is promised later reaches it that much later, at most */
			y = z / K;
			y = (y > x -> y - x : 0);
			a = MIN(a, y * K)
		fi;
		k++
	:: else -> break
	od
}

/* settleIn is a Settle of the nested dispatcher, after which the gateway promises anew, and then acknowledges. */
inline settleIn() {
	d_step {
		dirty = false;
		if
		:: STARTED_IN ->
			lo = A; hi = N;
			quiet = true; paths(); quiet = false;
			k = SENDER; quiet = true; earliest(); quiet = false; alone = y;
			k = A;
			do :: k < N -> quietE[k] = MIN(E[k], END); k++ :: else -> break od;
			paths(); k = SENDER; earliest(); whatever = y;
			decide();
			outsideNeed();
#ifdef ACK_FIRST
			listen(); promises();
#else
			promises(); listen();
#endif
			k = A;
			do :: k < N -> quietE[k] = 0; k++ :: else -> break od
		:: else
		fi;
		whatever = (mLeft -> 0 : whatever); alone = (mLeft -> 0 : alone); k = 0
	}
}

/* rules checks what client i says: at a. */
inline rules() { assert(!gone[i]); assert(a >= clock[i]); assert(a == 0 || a < granted[i]) }

/* promised sets y to what client i has promised. */
inline promised() { FIRST(window[GROUP(i)], y); y = REACTS(i, y); y = MIN(next[i], y); y = MAX(floor[i], y) }

/* sends takes a send of client i, at a, with number b, in its dispatcher. */
inline sends() {
	ok = false;
#ifdef LONGER
	if :: true :: i != B -> ok = true fi; /* the link may take longer */
#endif
	d_step {
		rules(); promised(); assert(a >= y);
		clock[i] = a; floor[i] = MAX(floor[i], a); j = 0;
		do
		:: j < N ->
			if
			:: LINK(i, j) != NONE && !gone[j] ->
				x = LATER(a, LINK(i, j)); x = (ok -> NEXT_TIME(x, 1) : x);
				assert(x >= granted[j]);
				if :: x < END -> queue[j]!!x,a,b :: else fi
			:: else
			fi;
			j++
		:: else -> break
		od;
		ok = false
	}
}

/* report takes a report of client i: now a, promise b, next event c, d handled. */
inline report() {
	rules(); assert(b >= floor[i]);
	promised(); next[i] = MAX(y, MAX(b, c));
	do :: d > 0 -> window[i]?_; d-- :: else -> break od;
	clock[i] = a; floor[i] = MAX(b, a)
}

/* polls says that client i waits for x. An answer that it has already makes it go on. */
inline polls() {
	want[i] = x; polled[i] = true;
	waiting[i] = !(x < granted[i] || (HEARS(i) && len(window[i]) > 0) || granted[i] == END)
}

inline leaves() {
	gone[i] = true; waiting[i] = false; granted[i] = 0; clock[i] = 0; want[i] = 0; next[i] = 0; floor[i] = 0; may[i] = false;
	do :: nempty(window[i]) -> window[i]?_ :: empty(window[i]) -> break od;
	do :: nempty(queue[i]) -> queue[i]?_,_,_ :: empty(queue[i]) -> break od
}

/* finished has the gateway leave the outer run when all have left the nested one. */
#ifdef CHAIN
#define ALL_LEFT (gone[A] && gone[PB] && gone[C])
#else
#define ALL_LEFT (gone[A] && gone[PB])
#endif
inline finished() {
	if
	:: ALL_LEFT && !earLeft ->
		departs(); earLeft = true; earWant = 0; earWaits = false;
#ifndef EAR_STAYS
		outEar!LEAVE_,EAR,earDue,0,0,0
#endif
	:: else
	fi
}

/* hear takes the next of what client i has sent to its dispatcher. */
inline hear() {
	up[i]?kind,a,b,c,d;
	if
	:: kind == SEND ->
		sends();
		d_step {
			if :: i == SENDER -> mClock = a; mFloor = MAX(mFloor, a); out!SEND,P,a,b,0,0 :: else fi;
			k = 0
		}
	:: kind == ADVANCE -> d_step { report(); waiting[i] = false }
	:: kind == POLL ->
		d_step {
			report(); x = c; polls();
			if :: !waiting[i] -> down[i]!AUTHORIZE,granted[i],0,0 :: else fi;
			k = 0
		}
	:: kind == LEAVE_ ->
		d_step {
			rules(); leaves();
			if :: i == SENDER -> departs(); whatever = INF; alone = INF :: else fi;
			if :: i >= A -> finished() :: else fi;
			k = 0
		}
	fi;
	if :: i >= A -> dirty = true :: else -> settleOut() fi
}

/* hearGateway takes the next of what the gateway has sent to the outer dispatcher. */
inline hearGateway() {
	if
	:: nempty(out) -> out?kind,i,a,b,c,d
#ifdef SPLIT
	:: nempty(outEar) -> outEar?kind,i,a,b,c,d
#endif
	fi;
	if
	:: kind == SEND -> sends()
	:: kind == POLL && i == P ->
		d_step {
			x = d; d = 0; report(); polled[P] = true;
			if
			:: x > 0 ->
				x = x - 1; next[P] = MAX(next[P], x); polls();
				if :: !waiting[P] -> into!AUTHORIZE,P,granted[P],0,0 :: else fi
			:: else -> waiting[P] = false; want[P] = 0
			fi;
			k = 0
		}
	:: kind == POLL && i == EAR ->
		d_step {
			x = b; b = a; report(); polls();
			if :: !waiting[i] -> into!AUTHORIZE,EAR,granted[EAR],0,0 :: else fi;
			k = 0
		}
	:: kind == ADVANCE -> d_step { b = a; report() }
	:: kind == LEAVE_ -> d_step { rules(); leaves(); k = 0 }
	fi;
	settleOut()
}

/* hearOutside takes the next of what the outer dispatcher has sent to the gateway. */
inline hearOutside() {
#ifdef OVERTAKES
	if
	:: into??[AUTHORIZE,_,_,_,_] -> into??AUTHORIZE,i,a,b,c; kind = AUTHORIZE
	:: !into??[AUTHORIZE,_,_,_,_] -> into?kind,i,a,b,c
	fi;
#else
	into?kind,i,a,b,c;
#endif
	if
	:: kind == DELIVER ->
		earDue = a; unacked++; a = b; b = c; i = PB;
#ifdef ACKS_AT_ONCE
		outEar!ADVANCE,EAR,earDue,0,INF,unacked; unacked = 0;
#endif
		if :: !gone[PB] -> lastOutside = a; sends(); dirty = true :: else fi
	:: kind == AUTHORIZE && i == P -> d_step { mAsks = false; mWant = 0; mGranted = a; if :: STARTED_IN -> promises() :: else fi; dirty = true; k = 0 }
	:: kind == AUTHORIZE && i == EAR ->
		d_step {
			earWaits = false;
			if
			:: earGranted < a ->
				earGranted = a; i = PB;
				if
				:: gone[PB]
#ifndef OUTSIDE_STAYS
				:: !gone[PB] && a == END -> a = lastOutside; rules(); leaves(); lastOutside = 0; finished()
#endif
				:: else ->
#ifndef NOT_A_STEP_LESS
					a = a - 1;
#endif
					assert(a >= floor[PB]); floor[PB] = a
				fi;
				dirty = true
			:: else
			fi;
			k = 0
		}
	fi
}

/* authorize gives client k what is due before its safe time, or before x if that is less, and authorizes it up to there. */
inline authorize() {
	d_step {
		x = MIN(x, E[k]); HEAD(queue[k], y);
		do
		:: y < x ->
			queue[k]?a,b,c; window[k]!a; HEAD(queue[k], y);
			if :: k == EAR -> into!DELIVER,EAR,a,b,c :: else -> down[k]!DELIVER,a,b,c fi
		:: else -> break
		od;
		granted[k] = x; waiting[k] = false; may[k] = false;
		if :: k == EAR || k == P -> into!AUTHORIZE,k,x,0,0 :: else -> down[k]!AUTHORIZE,x,0,0 fi
	}
}

/* take takes what has arrived at client i, up to the next authorization. */
inline take() {
	do
	:: down[i]?[DELIVER,_,_,_] -> down[i]?DELIVER,a,b,c; assert(a >= now[i] && a >= limit[i]); inbox[i]!a,b,c
	:: down[i]?[AUTHORIZE,_,_,_] -> down[i]?AUTHORIZE,x,_,_; limit[i] = x; break
	:: empty(down[i]) -> break
	od
}

/* handle takes the next message of client i: the order is total. */
inline handle() {
	inbox[i]?a,b,c; handled[i]++;
	ok = a > lastDue[i] || a == lastDue[i] && (b > lastSent[i] || b == lastSent[i] && c > lastSeq[i]);
	assert(ok);
	lastDue[i] = a; lastSent[i] = b; lastSeq[i] = c
}

/* publish lets client i send at its present instant, or not. */
inline publish() {
	if
	:: sent[i] < SENDS -> sent[i]++; up[i]!SEND,now[i],sent[i],0,0
	:: true
	fi
}

inline tell(what) {
	up[i]!what,now[i],(!HEARS(i) && waits[i] -> MAX(now[i], timer[i]) : now[i]),timer[i],handled[i]; handled[i] = 0
}

/* again sets the next timer of client i. */
inline again() {
	if
	:: timer[i] = NEXT_TIME(now[i], 1)
	:: HEARS(i) -> timer[i] = INF
	:: !HEARS(i) -> timer[i] = NEXT_TIME(now[i], 2)
	fi
}

/* act lets client i do what is due at x. */
inline act() {
	d_step { if :: x > now[i] -> now[i] = x; lastDue[i] = 0; lastSent[i] = 0; lastSeq[i] = 0 :: else fi; k = 0 };
	HEAD(inbox[i], y);
	if
	:: HEARS(i) && y == x ->
		d_step { handle() };
		if
		:: true
		:: timer[i] = MIN(timer[i], NEXT_TIME(x, 1)) /* it answers later */
		fi;
		if :: REACTION(i) == 0 -> publish() :: else fi
	:: else ->
		d_step {
			do :: y <= x -> handle(); HEAD(inbox[i], y) :: else -> break od;
			k = 0
		};
		again(); publish()
	fi
}

/* wanted sets x to the next instant at which client i has something to do. */
inline wanted() {
	x = timer[i];
	if :: HEARS(i) -> HEAD(inbox[i], y); x = MIN(x, y) :: else fi
}

#ifdef LEAVE
#define LEAVES(c) (c) == LEAVE
#else
#define LEAVES(c) false
#endif

/* client lets client i do something, if it can. */
inline client() {
	wanted();
	if
	:: !begun[i] -> /* it initializes: it may send at the start, and then waits */
		begun[i] = true; now[i] = 0;
#ifdef QUIET
		if :: i == QUIET -> timer[i] = 0 :: i == QUIET -> timer[i] = NEXT_TIME(0, 1) :: i != QUIET -> timer[i] = INF fi;
#else
		if :: timer[i] = 0 :: again() fi;
#endif
		publish(); waits[i] = true; tell(POLL)
	:: else ->
		if
		:: x < limit[i] && x < END -> waits[i] = false; act()
		:: (x >= limit[i] || x >= END) && limit[i] == END -> left[i] = true; up[i]!LEAVE_,now[i],0,0,0
		:: x >= limit[i] && limit[i] < END && !waits[i] -> waits[i] = true; tell(POLL)
		:: LEAVES(i) -> left[i] = true; up[i]!LEAVE_,now[i],0,0,0
		fi
	fi
}

/* forget clears what no longer matters of client i. */
inline forget() {
	d_step {
		if
		:: left[i] ->
			do :: nempty(inbox[i]) -> inbox[i]?_,_,_ :: empty(inbox[i]) -> break od;
			now[i] = 0; limit[i] = 0; timer[i] = 0; sent[i] = 0; handled[i] = 0; waits[i] = false;
			lastDue[i] = 0; lastSent[i] = 0; lastSeq[i] = 0
		:: else
		fi;
		k = 0
	}
}

/* TIDY clears what was needed for one move. */
#define TIDY d_step { i = 0; j = 0; k = 0; r = 0; x = 0; y = 0; z = 0; a = 0; b = 0; c = 0; d = 0; lo = 0; hi = 0; kind = 0; ok = false }

#define CAN_ACT(c) (!left[c] && empty(up[c]) && \
	(!begun[c] || !waits[c] || timer[c] < limit[c] || (HEARS(c) && nempty(inbox[c])) || limit[c] == END || LEAVES(c)))
#define CAN_HEAR(c) nempty(up[c])
#define CAN_GRANT(c) (may[c] && STARTED(c) && empty(down[c]) && !((c) >= A && dirty))
#ifdef CHAIN
#define ANY(can) (can(B) || can(A) || can(C))
#define PICK(can, v) if :: can(B) -> v = B :: can(A) -> v = A :: can(C) -> v = C fi
#else
#define ANY(can) (can(B) || can(A))
#define PICK(can, v) if :: can(B) -> v = B :: can(A) -> v = A fi
#endif
#define GIVEN(c) nempty(down[c])
#define FEW (len(out) < 5 && len(outEar) < 5) /* more is not on its way at once */

active proctype world() {
	atomic {
		d_step {
			i = 0;
			do :: i < N -> timer[i] = INF; i++ :: else -> break od;
			alone = 0; granted[PB] = END; polled[PB] = true; waiting[PB] = true;
		}
		settleOut(); TIDY
	}
	do
	:: atomic { gone[B] && gone[EAR] && gone[P] && gone[A] && gone[PB] -> break }
	:: atomic { ANY(CAN_HEAR) -> PICK(CAN_HEAR, i); hear(); TIDY }
	:: atomic { nempty(out) || nempty(outEar) -> hearGateway(); TIDY }
	:: atomic { nempty(into) && FEW -> hearOutside(); TIDY }
	:: atomic { dirty && FEW -> settleIn(); TIDY }
	:: atomic {
		ANY(CAN_GRANT) -> PICK(CAN_GRANT, k);
#ifdef NO_CREDIT
		x = END;
#else
		d_step { need(); x = (k == SENDER && !(waiting[k] && z >= END) -> mGranted : END) };
#endif
		authorize(); TIDY
	}
	:: atomic { may[EAR] && STARTED_OUT && len(into) < 4 -> k = EAR; x = END; authorize(); TIDY }
	:: atomic {
		may[P] && STARTED_OUT && len(into) < 4 -> k = P;
		if :: x = want[P] + 1 :: x = NEXT_TIME(want[P], 1) :: x = END fi;
		authorize(); TIDY
	}
	:: atomic { /* something arrives at a client */
		ANY(GIVEN) -> PICK(GIVEN, i);
		if
		:: left[i] -> d_step { do :: nempty(down[i]) -> down[i]?_,_,_,_ :: empty(down[i]) -> break od; k = 0 }
		:: else -> take()
		fi;
		TIDY
	}
	:: atomic { ANY(CAN_ACT) -> PICK(CAN_ACT, i); client(); forget(); TIDY }
	od
}
