/* resume.pml: a server that dies is rebuilt from its journal, and the clients come back to it.
 *
 * Two clients act at each time 0 .. T-1, and may send each other a message there, which takes one time; they are functions of what they
 * are given, as in rejoin.pml. The server may die at any moment. What has not reached its disk is lost, the last record may be torn, and
 * all that was on its way is lost. The dispatcher is rebuilt from what is on the disk. Each client comes back with how many deliveries
 * it has and how far it was authorized; both sides send again what the other has not.
 *
 * With -DDURABLE the journal reaches the disk before effects leave. Without, a client can be ahead of a server that was rebuilt: then it
 * is named, and the run ends. It never goes on with a client that has seen what the server does not know.
 *
 * The lines below say how internal/models checks it, and which mistakes must be found.
 *
 * checked: -DT=2
 * checked: -DT=2 -DDURABLE
 * checked: -DT=3 -DDURABLE
 * large: -DT=3
 * large: -DT=3 -DDEATHS=2
 * large: -DT=3 -DDEATHS=2 -DDURABLE
 *
 * assertion violated: -DT=3 -DDURABLE -DEFFECTS_FIRST  effects leave before the journal has reached the disk
 * assertion violated: -DT=3 -DGUESS                    the run goes on with a client that is ahead
 * assertion violated: -DT=3 -DDURABLE -DALL_UP         a client sends again what the server has
 * invalid end state: -DT=3 -DDURABLE -DNONE_UP         a client does not send again what was lost
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

mtype = { SEND, REPORT, DELIVER, AUTHORIZE };
chan up[N] = [ROOM] of { mtype, byte, byte };      /* SEND, time, payload; REPORT, times that are done */
chan down[N] = [ROOM] of { mtype, byte, byte };    /* DELIVER, due, payload; AUTHORIZE, until */
chan effects[N] = [ROOM] of { mtype, byte, byte }; /* that have not left */

typedef Server {
	byte sends[N]; byte payloads[N]; /* sets: when a client has sent, and what */
	byte packets[N];                 /* that it took from a client */
	byte done[N];                    /* times that are done, as reported */
	byte granted[N];                 /* the client was given all before this, and may act before it */
	byte given[N]                    /* how many messages these were */
};
Server server, disk;
bool alive = true;
bool linked[N];
bool named;      /* a client is ahead: the run is over */
byte deaths;

/* The clients, and what they have said: at each time a send, if there was one, and a report. */
byte now[N]; byte state[N]; byte limit[N]; byte inbox[N]; byte given[N]; byte received[N];
byte sent[N]; byte said[N];

byte i, a, b, k, x;
mtype kind;

#define TIDY i = 0; a = 0; b = 0; k = 0; x = 0; kind = 0
#define LOST(q) do :: nempty(q) -> q?_,_,_ :: empty(q) -> break od

inline copy(to, from) {
	k = 0;
	do
	:: k < N ->
		to.sends[k] = from.sends[k]; to.payloads[k] = from.payloads[k]; to.packets[k] = from.packets[k];
		to.done[k] = from.done[k]; to.granted[k] = from.granted[k]; to.given[k] = from.given[k]; k++
	:: else -> break
	od;
	k = 0
}

#define SAME(i) (server.sends[i] == disk.sends[i] && server.packets[i] == disk.packets[i] && server.done[i] == disk.done[i] && \
	server.granted[i] == disk.granted[i])
#ifdef DURABLE
#ifdef EFFECTS_FIRST
#define MAY_LEAVE true
#else
#define MAY_LEAVE (SAME(0) && SAME(1))
#endif
#define NAMES false /* no client is ever ahead */
#else
#define MAY_LEAVE true
#define NAMES true
#endif

/* hear takes the next of what i says. */
inline hear() {
	server.packets[i]++;
	if
	:: kind == SEND ->
		assert(a >= server.done[i] && !BIT(server.sends[i], a) && a < MAX(1, server.granted[i]) && a + 1 >= server.granted[OTHER(i)]);
		server.sends[i] = server.sends[i] | (1 << a); server.payloads[i] = server.payloads[i] | (b << a)
	:: kind == REPORT -> assert(a == server.done[i] + 1 && a <= server.granted[i]); server.done[i] = a
	fi
}

#define MAY(i) (alive && linked[i] && server.granted[i] < T && server.granted[i] < server.done[OTHER(i)] + 1)

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
	deaths++; alive = false; linked[0] = false; linked[1] = false;
	LOST(effects[0]); LOST(effects[1]); LOST(down[0]); LOST(down[1]);
#ifndef OLD_BYTES
	LOST(up[0]); LOST(up[1]);
#endif
	copy(server, disk)
}

inline rebuild() {
	alive = true;
#ifdef TORN_READ
	server.done[0] = (server.done[0] + 1 < T -> server.done[0] + 1 : T); /* a report whose end is missing says anything */
#endif
	k = 0
}

/* back: client i is back. */
inline back() {
#ifdef GUESS
	if
	:: false
#else
	if
	:: received[i] > server.given[i] || limit[i] > server.granted[i] ->
		assert(NAMES); named = true
#endif
	:: else ->
		linked[i] = true;
		/* the server sends what the client has not */
		k = 0; a = 0;
#ifdef ALL_DOWN
		b = 0;
#else
		b = received[i];
#endif
#ifdef NONE_DOWN
		b = T;
#endif
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
		/* the client sends what the server has not */
		k = 0; a = 0;
#ifdef ALL_UP
		b = 0;
#else
		b = server.packets[i];
#endif
#ifdef NONE_UP
		b = 2 * T;
#endif
		do
		:: k < now[i] ->
			if
			:: BIT(sent[i], k) -> a++; if :: a > b -> up[i]!SEND,k,BIT(said[i], k) :: else fi
			:: else
			fi;
			a++; k++;
			if :: a > b -> up[i]!REPORT,k,0 :: else fi
		:: else -> break
		od
	fi;
	k = 0
}

/* take is what arrives at i. */
inline take() {
	down[i]?kind,a,b;
	if
	:: kind == DELIVER ->
		assert(a >= limit[i] && given[i] < (1 << a)); /* in order, and never below its authorization */
		given[i] = given[i] | (1 << a); inbox[i] = inbox[i] | (b << a); received[i]++
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

#define ACTS(i) (now[i] < limit[i] && now[i] < T)
#define ANY(x) (x(0) || x(1))
#define ONE(x) if :: x(0) -> i = 0 :: x(1) -> i = 1 fi
#define SAID(i) (alive && linked[i] && nempty(up[i]))
#define COMES(i) nempty(down[i])
#define LEAVES(i) (nempty(effects[i]) && MAY_LEAVE)
#define AWAY(i) (alive && !linked[i])
#define OVER (server.done[0] == T && server.done[1] == T)

active proctype world() {
	linked[0] = true; linked[1] = true;
	do
	:: atomic { named || OVER && alive -> break }
	:: atomic { !named && ANY(SAID) -> ONE(SAID); up[i]?kind,a,b; d_step { hear(); TIDY } }
	:: atomic { !named && ANY(MAY) -> ONE(MAY); d_step { authorize(); TIDY } }
	:: atomic { ANY(LEAVES) -> ONE(LEAVES); effects[i]?kind,a,b; down[i]!kind,a,b; d_step { TIDY } }
	:: atomic { ANY(COMES) -> ONE(COMES); d_step { take(); TIDY } }
	:: atomic { ANY(ACTS) -> ONE(ACTS); act(); d_step { TIDY } }
	:: atomic { alive && !(SAME(0) && SAME(1)) -> d_step { copy(disk, server) } }
	:: atomic { alive && !named && deaths < DEATHS && !OVER -> d_step { die() } }
	:: atomic { !alive -> d_step { rebuild() } }
	:: atomic { !named && ANY(AWAY) -> ONE(AWAY); d_step { back(); TIDY } }
	od
}
