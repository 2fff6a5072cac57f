/* phold.h: what the logical processes of one client of the model "phold" do, as federates/phold has it. C and C++ take part with it. */
#ifndef PHOLD_H
#define PHOLD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PHOLD_EVENT = 24 }; /* bytes of a payload */

typedef struct phold phold;

phold *phold_new(uint64_t seed, uint32_t index, uint32_t count, uint32_t lps, uint32_t population, double remote, int64_t mean, int64_t lookahead);

/* The time of the next event. */
int64_t phold_next(const phold *p);

/* Adds an event that came from another client. Returns 0 if it is none. */
int phold_schedule(phold *p, const void *payload, size_t size);

/* Executes the next event. Returns the index of the client whose event it causes, and that event, or -1 where it is this client's. */
int phold_execute(phold *p, uint8_t payload[PHOLD_EVENT]);

/* How many events were executed, and their hash. */
uint64_t phold_events(const phold *p);
uint64_t phold_hash(const phold *p);

void phold_free(phold *p);

#ifdef __cplusplus
}
#endif

#endif
