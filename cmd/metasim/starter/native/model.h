#include <stdint.h>

/* A tank is filled by a pump and leaks. Levels are whole microlitres: whole numbers are the same on every machine. */
struct tank {
    int64_t level;
    int pumping;
};

/* tank_step simulates 10 ms, at the beginning of which the pump got so many commands: each switches it on or off. */
static void tank_step(struct tank *s, int commands)
{
    if (commands % 2)
        s->pumping = !s->pumping;
    if (s->pumping)
        s->level += 20000;
    s->level -= s->level / 200;
}
