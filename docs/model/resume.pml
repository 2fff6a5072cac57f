/* resume.pml: a server that dies is rebuilt from its journal, and the clients outlive it and come back.
 *
 * Two clients act at each time 0 .. T-1, and may send each other a message there, which takes one time; they are functions of what they
 * are given, as in rejoin.pml. The server may die at any moment. What has not reached its disk is lost, the last record may be torn, and
 * all that was on its way is lost. The dispatcher is rebuilt from what is on the disk. A client goes on for as long as it is authorized, then comes back and catches
 * up (adr 33): it forgets its authorization and what it has not handled; it sends again what the journal lacks, each send when the new server
 * authorizes it, and promises meanwhile to send nothing before the next of them; what it has handled it drops when it is given it again.
 *
 * With -DDURABLE the journal reaches the disk before effects leave: then no client is ahead in what it was given. With -DKEPT=n a client remembers its last n sends;
 * if more are lacking it is named, and the run ends.
 *
 * The lines below say how internal/models checks it, and which mistakes must be found.
 *
 * checked: -DT=2
 * checked: -DT=2 -DDURABLE
 * large: -DT=2 -DKEPT=1
 * large: -DT=2 -DDEATHS=2
 * large: -DT=3 -DDURABLE
 * large: -DT=2 -DDEATHS=2 -DDURABLE
 *
 * assertion violated: -DT=3 -DDURABLE -DEFFECTS_FIRST  effects leave before the journal has reached the disk
 * assertion violated: -DT=2 -DALL_UP                   a client sends again what the server has
 * invalid end state: -DT=2 -DNONE_UP                   a client does not send again what was lost
 * assertion violated: -DT=2 -DAT_ONCE                  a client sends again before it is authorized again
 * invalid end state: -DT=3 -DNO_PROMISE                a client that catches up promises nothing
 * assertion violated: -DT=3 -DPROMISES_ALL             a client that catches up promises what it had promised
 * assertion violated: -DT=3 -DKEEPS_LIMIT              a client goes on with the authorization of the server that died
 * assertion violated: -DT=3 -DKEEPS_GIVEN              a client keeps what it was given and has not handled
 * assertion violated: -DT=3 -DNO_SKIP                  a client handles again what it has handled
 * invalid end state: -DT=3 -DKEPT=1 -DGUESS            the run goes on with a client that remembers too little
 * assertion violated: -DT=3 -DDURABLE -DALL_DOWN       the server sends again what the client has
 * assertion violated: -DT=3 -DDURABLE -DNONE_DOWN      the server does not send again what was lost
 * assertion violated: -DT=3 -DDURABLE -DTORN_READ      a torn record is taken for a whole one
 * assertion violated: -DT=3 -DDURABLE -DOLD_BYTES      the server reads on from connections of its former life
 * invalid end state: -DT=3 -DDURABLE -DNO_GRANT        a client that comes back is not authorized again
 */
#ifndef T
#define T 2
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#define N 2
#define ROOM 12
#define OTHER(i) (1 - (i))
#define BIT(set, t) (((set) >> (t)) & 1)
#define MAX(a, b) ((a) > (b) -> (a) : (b))

mtype = { SEND, REPORT, PROMISE, DELIVER, AUTHORIZE };
chan up[N] = [ROOM] of { mtype, byte, byte };      /* SEND, time, payload; REPORT, times that are done; PROMISE, likewise: nothing is sent before */
chan down[N] = [ROOM] of { mtype, byte, byte };    /* DELIVER, due, payload; AUTHORIZE, until */
#ifdef DURABLE
chan effects[N] = [ROOM] of { mtype, byte, byte }; /* that have not left */
#else
#define effects down
#endif

typedef Server {
	byte sends[N]; byte payloads[N]; /* sets: when a client has sent, and what */
	byte done[N];                    /* times before which a client sends nothing more, as it has said */
	byte granted[N];                 /* the client was given all before this, and may act before it */
	byte given[N]                    /* how many messages these were */
};
Server server, disk;
bool linked[N];
bool named;      /* a client remembers too little: the run is over */
byte deaths;

/* The clients, and what they have said: at each time a send, if there was one, and a report. */
byte now[N]; byte state[N]; byte limit[N]; byte inbox[N]; byte given[N];
byte sent[N]; byte said[N];

/* A client that catches up. */
bool coming[N];
bool waits[N];  /* until it is authorized further, or given something */
byte next[N];   /* it sends again what it has sent from here on */
byte floor[N];  /* what it had promised, as far as the server knows */
byte again[N];   /* how many deliveries that it has handled are to come again */

byte i, a, b, k, x, y;
mtype kind;

#define TIDY i = 0; a = 0; b = 0; k = 0; x = 0; y = 0; kind = 0
#define LOST(q) do :: nempty(q) -> q?_,_,_ :: empty(q) -> break od

inline copy(to, from) {
	k = 0;
	do
	:: k < N ->
		to.sends[k] = from.sends[k]; to.payloads[k] = from.payloads[k];
		to.done[k] = from.done[k]; to.granted[k] = from.granted[k]; to.given[k] = from.given[k]; k++
	:: else -> break
	od;
	k = 0
}

#define SAME(i) (server.sends[i] == disk.sends[i] && server.done[i] == disk.done[i] && \
	server.granted[i] == disk.granted[i])
#ifdef DURABLE
#ifdef EFFECTS_FIRST
#define MAY_LEAVE true
#else
#define MAY_LEAVE (SAME(0) && SAME(1))
#endif
#define NOT_AHEAD (again[i] == 0 && now[i] <= MAX(1, server.granted[i]))
#else
#define MAY_LEAVE true
#define NOT_AHEAD true
#endif

/* hear takes the next of what i says. */
inline hear() {
	if
	:: kind == SEND ->
		assert(a >= server.done[i] && !BIT(server.sends[i], a) && a < MAX(1, server.granted[i]) && a + 1 >= server.granted[OTHER(i)]);
		server.sends[i] = server.sends[i] | (1 << a); server.payloads[i] = server.payloads[i] | (b << a)
	:: kind == REPORT -> assert(a >= server.done[i] && a <= MAX(1, server.granted[i])); server.done[i] = a
	:: kind == PROMISE -> assert(a >= server.done[i]); server.done[i] = a
	fi
}

#define MAY(i) (linked[i] && server.granted[i] < T && server.granted[i] < server.done[OTHER(i)] + 1)

inline authorize() {
	k = server.granted[i];
	server.granted[i] = (server.done[OTHER(i)] + 1 < T -> server.done[OTHER(i)] + 1 : T);
	do
	:: k < server.granted[i] ->
		if
		:: k > 0 && BIT(server.sends[OTHER(i)], k - 1) ->
			effects[i]!DELIVER,k,BIT(server.payloads[OTHER(i)], k - 1); server.given[i]++
		:: else
		fi;
		k++
	:: else -> break
	od;
	effects[i]!AUTHORIZE,server.granted[i],0
}

/* die: of the journal, what has reached the disk is left, and perhaps a part of one more record. */
inline die() {
	deaths++; linked[0] = false; linked[1] = false;
#ifdef DURABLE
	LOST(effects[0]); LOST(effects[1]);
#endif
	LOST(down[0]); LOST(down[1]);
#ifndef OLD_BYTES
	LOST(up[0]); LOST(up[1]);
#endif
	copy(server, disk)
}

/* rebuild: another server goes on from the disk. Until a client comes back it is the same whether the server is there. */
inline rebuild() {
#ifdef TORN_READ
	server.done[0] = (server.done[0] + 1 < T -> server.done[0] + 1 : T); /* a report whose end is missing says anything */
#endif
	k = 0
}

#define BITS(set) (BIT(set, 0) + BIT(set, 1) + BIT(set, 2) + BIT(set, 3))
#define UNTIL(t) ((1 << (t)) - 1)

/* back: client i is back. It says how much it has sent and handled. */
inline back() {
	linked[i] = true; coming[i] = true; waits[i] = false; floor[i] = server.done[i];
	b = BITS(given[i] & UNTIL(now[i])); /* handled */
	again[i] = (b > server.given[i] -> b - server.given[i] : 0);
	assert(NOT_AHEAD && BITS(sent[i]) >= BITS(server.sends[i]));
#ifndef KEEPS_LIMIT
	limit[i] = 0;
#endif
#ifndef KEEPS_GIVEN
	given[i] = given[i] & UNTIL(now[i]); inbox[i] = inbox[i] & UNTIL(now[i]);
#endif
	/* what the client has sent from next on the server lacks */
	x = BITS(server.sends[i]); next[i] = 0;
#ifdef ALL_UP
	x = 0;
#endif
#ifdef NONE_UP
	x = BITS(sent[i]);
#endif
#ifdef KEPT
	y = (BITS(sent[i]) > KEPT -> BITS(sent[i]) - KEPT : 0); /* forgotten */
#ifdef GUESS
	x = MAX(x, y);
#else
	named = x < y;
#endif
#endif
	do
	:: BITS(sent[i] & UNTIL(next[i])) < x -> next[i]++
	:: else -> break
	od;
	/* the server sends what it has decided and the client has not handled */
#ifdef ALL_DOWN
	b = 0;
#endif
#ifdef NONE_DOWN
	b = T;
#endif
	k = 0; a = 0;
	do
	:: k + 1 < server.granted[i] ->
		if
		:: BIT(server.sends[OTHER(i)], k) ->
			a++;
			if :: a > b -> effects[i]!DELIVER,k + 1,BIT(server.payloads[OTHER(i)], k) :: else fi
		:: else
		fi;
		k++
	:: else -> break
	od;
#ifndef NO_GRANT
	if :: server.granted[i] > 0 -> effects[i]!AUTHORIZE,server.granted[i],0 :: else fi;
#endif
	k = 0
}

/* ask waits until i is authorized beyond a, before which it sends nothing. */
inline ask() {
	waits[i] = true;
#ifdef NO_PROMISE
	skip
#else
#ifdef PROMISES_ALL
	up[i]!PROMISE,now[i],0
#else
	up[i]!PROMISE,MAX(floor[i], a),0
#endif
#endif
}

#ifdef AT_ONCE
#define AUTHORIZED(t) true
#else
#define AUTHORIZED(t) (t == 0 || t < limit[i])
#endif

/* catch_up goes as far as i is authorized on the way to where it was. */
inline catch_up() {
	do
	:: next[i] < now[i] && !BIT(sent[i], next[i]) -> next[i]++
	:: next[i] < now[i] && BIT(sent[i], next[i]) && AUTHORIZED(next[i]) -> up[i]!SEND,next[i],BIT(said[i], next[i]); next[i]++
	:: next[i] < now[i] && BIT(sent[i], next[i]) && !AUTHORIZED(next[i]) -> a = next[i]; ask(); break
	:: next[i] >= now[i] ->
		a = MAX(now[i], 1) - 1;
		if
		:: AUTHORIZED(a) ->
			assert(again[i] == 0); /* what it has handled came before this authorization */
			coming[i] = false; next[i] = 0; if :: now[i] > 0 -> up[i]!REPORT,MAX(floor[i], now[i]),0 :: else fi; floor[i] = 0
		:: else -> ask()
		fi;
		break
	od
}

/* take is what arrives at i. */
inline take() {
	down[i]?kind,a,b; waits[i] = false;
	if
	:: kind == DELIVER ->
		assert(a >= limit[i]); /* never below its authorization */
		if
#ifndef NO_SKIP
		:: again[i] > 0 -> assert(BIT(given[i], a) && BIT(inbox[i], a) == b); again[i]--
#endif
		:: else -> assert(given[i] < (1 << a)); given[i] = given[i] | (1 << a); inbox[i] = inbox[i] | (b << a) /* in order */
		fi
	:: kind == AUTHORIZE -> assert(a >= limit[i]); limit[i] = a
	fi
}

/* act lets i do what it does at its next time. */
inline act() {
	a = now[i];
	assert(a == 0 || now[OTHER(i)] >= a); /* nobody may still send what is due now */
	if :: a > 0 -> assert(BIT(given[i], a) == BIT(sent[OTHER(i)], a - 1)) :: else fi;
	if :: BIT(given[i], a) -> state[i] = (state[i] + 1 + BIT(inbox[i], a)) & 1 :: else fi;
	if
	:: sent[i] = sent[i] | (1 << a); said[i] = said[i] | (state[i] << a); if :: linked[i] -> up[i]!SEND,a,state[i] :: else fi
	:: true
	fi;
	now[i]++;
	if :: linked[i] -> up[i]!REPORT,now[i],0 :: else fi
}

#define ACTS(i) (!coming[i] && now[i] < limit[i] && now[i] < T)
#define CATCHES(i) (linked[i] && coming[i] && !waits[i])
#define ANY(x) (x(0) || x(1))
#define ONE(x) if :: x(0) -> i = 0 :: x(1) -> i = 1 fi
#define SAID(i) (linked[i] && nempty(up[i]))
#define COMES(i) nempty(down[i])
#ifdef DURABLE
#define LEAVES(i) (nempty(effects[i]) && MAY_LEAVE)
#endif
#define AWAY(i) (!linked[i])
#define OVER (server.done[0] == T && server.done[1] == T)

active proctype world() {
	linked[0] = true; linked[1] = true;
	do
	:: atomic { named || OVER -> assert(named || server.sends[0] == sent[0] && server.sends[1] == sent[1]); break }
	:: atomic { !named && ANY(SAID) -> ONE(SAID); up[i]?kind,a,b; d_step { hear(); TIDY } }
	:: atomic { !named && ANY(MAY) -> ONE(MAY); d_step { authorize(); TIDY } }
#ifdef DURABLE
	:: atomic { ANY(LEAVES) -> ONE(LEAVES); effects[i]?kind,a,b; down[i]!kind,a,b; d_step { TIDY } }
#endif
	:: atomic { ANY(COMES) -> ONE(COMES); d_step { take(); TIDY } }
	:: atomic { !named && ANY(CATCHES) -> ONE(CATCHES); catch_up(); d_step { TIDY } }
	:: atomic { ANY(ACTS) -> ONE(ACTS); act(); d_step { TIDY } }
	:: atomic { !(SAME(0) && SAME(1)) -> d_step { copy(disk, server) } }
	:: atomic { !named && deaths < DEATHS && !OVER -> d_step { die(); rebuild() } }
	:: atomic { !named && ANY(AWAY) -> ONE(AWAY); d_step { back() }; if :: !named -> catch_up() :: else fi; d_step { TIDY } }
	od
}
