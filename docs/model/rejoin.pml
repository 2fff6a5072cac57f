/* rejoin.pml: a client that dies is started again, and the others notice nothing but time.
 *
 * Two clients act at each time 0 .. T-1, and may send each other a message there, which takes one time. A client is a function of what
 * it is given: what it sends is open the first time, and the same whenever it is in the same state again. Each may die at any moment: what
 * it had not written is lost, of what was on its way the server may still read a part. The server starts it again and feeds it what the
 * first one was given; what it says again is compared and goes no further. To the dispatcher it is a client that computes for long.
 *
 * With -DCHECKPOINTS a client may make a checkpoint after each act: its time and its state, in the stream between its sends and its report. It is started
 * again there, and fed what follows.
 *
 * Each act asserts that everything sent before was handled, nothing twice, and that whoever acts at a time again is in the same state.
 * An invalid end state is a run that stands still. The lines below say how internal/models checks it, and which mistakes must be found.
 *
 * checked: -DT=3
 * checked: -DT=3 -DDEATHS=2
 * checked: -DT=2 -DCHECKPOINTS
 * large: -DT=4 -DDEATHS=2
 * large: -DT=3 -DCHECKPOINTS
 *
 * assertion violated: -DT=3 -DDEATH_IS_LEAVE   a client that died is taken to have left
 * assertion violated: -DT=3 -DSAID_AGAIN       what it says again is taken as new
 * assertion violated: -DT=3 -DOLD_REPORTS      its reports from the past are believed
 * assertion violated: -DT=3 -DONLY_NEW         it is fed only what the first one had not acknowledged
 * assertion violated: -DT=3 -DONLY_OLD         it is fed only what the first one had acknowledged
 * assertion violated: -DT=3 -DAHEAD_OF_FEED    what is new overtakes what it is fed
 * assertion violated: -DT=3 -DGRANT_FIRST      it is authorized before it was fed
 * invalid end state: -DT=3 -DNO_GRANT          it is fed, and not authorized again
 * assertion violated: -DT=3 -DCHECKPOINTS -DSAVED_FIRST   a checkpoint overtakes what was sent before it
 * assertion violated: -DT=3 -DCHECKPOINTS -DALL_COMPARED  what was sent before a checkpoint is compared with what follows it
 * assertion violated: -DT=3 -DCHECKPOINTS -DFED_LATE      what is due at the checkpoint itself is not fed again
 * assertion violated: -DT=3 -DCHECKPOINTS -DSTATE_BEFORE  a checkpoint has the state before its client's last act
 * assertion violated: -DT=3 -DCHECKPOINTS -DAT_START      who begins at a checkpoint is at the start
 */
#ifndef T
#define T 3
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#define N 2
#define ROOM 12
#define OTHER(i) (1 - (i))
#define BIT(set, t) (((set) >> (t)) & 1)
#define MAX(a, b) ((a) > (b) -> (a) : (b))

mtype = { SEND, REPORT, CHECKPOINT, DELIVER, AUTHORIZE };
chan up[N] = [ROOM] of { mtype, byte, byte };   /* SEND, time, payload; REPORT, times that are done; CHECKPOINT, time, state */
chan down[N] = [ROOM] of { mtype, byte, byte }; /* DELIVER, due, payload; AUTHORIZE, until */

/* What the server has recorded. Sets have a bit for each time. */
byte sends[N]; byte payloads[N]; /* when a client has sent, and what */
byte count[N];                   /* of its sends */
byte heard[N];                   /* of the sends of who runs now */
byte done[N];                    /* times that are done, as reported */
byte granted[N];
byte fed[N];                     /* it was fed what is due before this */
bool feeding[N];
byte deaths;
byte saved[N]; byte kept[N]; byte before[N]; /* the last checkpoint: its time and state; how much was sent before it */

/* The clients. */
byte now[N]; byte state[N]; byte limit[N]; byte inbox[N]; byte given[N];
bool dead[N];

/* What each was the first time. */
byte acted[N]; byte sent[N]; byte states[N];

byte i, a, b, k, x, y;
mtype kind;

#define TIDY i = 0; a = 0; b = 0; k = 0; x = 0; y = 0; kind = 0

/* nth sets x to the time of the k-th send of i that was recorded. */
inline nth() {
	x = 0; y = BIT(sends[i], 0);
	do
	:: y < k -> x++; y = y + BIT(sends[i], x)
	:: else -> break
	od
}

#ifdef SAID_AGAIN
#define NEW(i) true
#else
#define NEW(i) (heard[i] > count[i])
#endif

/* hear takes the next of what i says: a, and the payload b. */
inline hear() {
	if
	:: kind == SEND ->
		heard[i]++;
		if
		:: NEW(i) ->
			assert(a >= done[i] && a + 1 >= granted[OTHER(i)]); /* not in its past, nor in that of the other */
			count[i]++; sends[i] = sends[i] | (1 << a); payloads[i] = payloads[i] | (b << a)
		:: else -> k = heard[i]; nth(); assert(x == a && BIT(payloads[i], a) == b) /* it repeats itself */
		fi
	:: kind == CHECKPOINT -> saved[i] = a; kept[i] = b; before[i] = heard[i]
	:: kind == REPORT ->
#ifdef OLD_REPORTS
		assert(a >= done[i]); done[i] = a
#else
		done[i] = MAX(done[i], a)
#endif
	fi
}

/* give gives i what is due in [k, x). */
#define GIVE(x) \
	do \
	:: k < x -> \
		if :: k > 0 && BIT(sends[OTHER(i)], k - 1) -> down[i]!DELIVER,k,BIT(payloads[OTHER(i)], k - 1) :: else fi; \
		k++ \
	:: else -> break \
	od

#ifdef AHEAD_OF_FEED
#define MAY(i) (!dead[i] && granted[i] < T && granted[i] < done[OTHER(i)] + 1)
#else
#define MAY(i) (!dead[i] && !feeding[i] && granted[i] < T && granted[i] < done[OTHER(i)] + 1)
#endif

inline authorize() {
	k = granted[i];
	granted[i] = (done[OTHER(i)] + 1 < T -> done[OTHER(i)] + 1 : T);
	GIVE(granted[i]);
	down[i]!AUTHORIZE,granted[i],0
}

/* again starts i again: nothing of what was on its way arrives any more. */
inline again() {
	do :: nempty(up[i]) -> up[i]?_,_,_ :: empty(up[i]) -> break od;
	do :: nempty(down[i]) -> down[i]?_,_,_ :: empty(down[i]) -> break od;
	heard[i] = before[i]; fed[i] = saved[i]; feeding[i] = true; dead[i] = false;
	now[i] = saved[i]; state[i] = kept[i];
	if :: now[i] > 0 -> up[i]!REPORT,now[i],0 :: else fi; /* it says that it waits there */
#ifdef AT_START
	now[i] = 0;
#endif
#ifdef ALL_COMPARED
	heard[i] = 0;
#endif
#ifdef FED_LATE
	if :: saved[i] > 0 -> fed[i]++ :: else fi;
#endif
#ifdef DEATH_IS_LEAVE
	done[i] = T;
#endif
#ifdef ONLY_NEW
	fed[i] = done[i];
#endif
#ifdef GRANT_FIRST
	down[i]!AUTHORIZE,granted[i],0;
#endif
	k = 0
}

#ifdef ONLY_OLD
#define FED(i) (fed[i] >= granted[i] || fed[i] >= done[i])
#else
#define FED(i) (fed[i] >= granted[i])
#endif

/* feed feeds i the next thing, or ends that. */
inline feed() {
	if
	:: FED(i) ->
		feeding[i] = false; fed[i] = 0;
#ifndef NO_GRANT
		if :: granted[i] > 0 -> down[i]!AUTHORIZE,granted[i],0 :: else fi
#endif
	:: else -> k = fed[i]; fed[i]++; GIVE(fed[i])
	fi;
	k = 0
}

/* take is what arrives at i. */
inline take() {
	down[i]?kind,a,b;
	if
	:: kind == DELIVER ->
		assert(a >= limit[i]); assert(given[i] < (1 << a)); /* in order, and never below its authorization */
		given[i] = given[i] | (1 << a); inbox[i] = inbox[i] | (b << a)
	:: kind == AUTHORIZE -> assert(a >= limit[i]); limit[i] = a
	fi
}

#ifdef STATE_BEFORE
#define STATE k
#else
#define STATE state[i]
#endif
#define SAVE if :: up[i]!CHECKPOINT,now[i],STATE :: true fi

/* act lets i do what it does at its next time. */
inline act() {
	a = now[i];
	assert(a == 0 || acted[OTHER(i)] >= a); /* nobody may still send what is due now */
	if :: a > 0 -> assert(BIT(given[i], a) == BIT(sent[OTHER(i)], a - 1)) :: else fi;
#ifdef STATE_BEFORE
	k = state[i];
#endif
	if :: BIT(given[i], a) -> state[i] = (state[i] + 1 + BIT(inbox[i], a)) & 1 :: else fi;
	if
	:: a < acted[i] -> assert(BIT(states[i], a) == state[i]) /* it has been here */
	:: a >= acted[i] ->
		acted[i]++; states[i] = states[i] | (state[i] << a);
		if :: sent[i] = sent[i] | (1 << a) :: true fi
	fi;
#ifdef SAVED_FIRST
	now[i]++; SAVE; now[i]--;
#endif
	if :: BIT(sent[i], a) -> up[i]!SEND,a,state[i] :: else fi;
	now[i]++;
#if defined(CHECKPOINTS) && !defined(SAVED_FIRST)
	SAVE;
#endif
	up[i]!REPORT,now[i],0
}

inline die() {
	d_step { dead[i] = true; deaths++; now[i] = 0; state[i] = 0; limit[i] = 0; inbox[i] = 0; given[i] = 0; k = 0 }
}

#define ACTS(i) (!dead[i] && now[i] < limit[i] && now[i] < T && len(up[i]) < 4)
#define ANY(x) (x(0) || x(1))
#define ONE(x) if :: x(0) -> i = 0 :: x(1) -> i = 1 fi
#define SAID(i) nempty(up[i])
#define COMES(i) (!dead[i] && nempty(down[i]))
#define FEEDS(i) (!dead[i] && feeding[i] && len(down[i]) < 4)
#define LIVES(i) (!dead[i] && deaths < DEATHS && done[i] < T)

active proctype world() {
	do
	:: atomic { done[0] >= T && done[1] >= T && !dead[0] && !dead[1] && now[0] == T && now[1] == T -> break }
	:: atomic { ANY(SAID) -> ONE(SAID); up[i]?kind,a,b; d_step { hear(); TIDY } }
	:: atomic { ANY(MAY) -> ONE(MAY); d_step { authorize(); TIDY } }
	:: atomic { ANY(COMES) -> ONE(COMES); d_step { take(); TIDY } }
	:: atomic { ANY(ACTS) -> ONE(ACTS); act(); d_step { TIDY } }
	:: atomic { ANY(LIVES) -> ONE(LIVES); die(); TIDY }
	:: atomic { (dead[0] || dead[1]) -> if :: dead[0] -> i = 0 :: dead[1] -> i = 1 fi; d_step { again(); TIDY } }
	:: atomic { ANY(FEEDS) -> ONE(FEEDS); d_step { feed(); TIDY } }
	od
}
