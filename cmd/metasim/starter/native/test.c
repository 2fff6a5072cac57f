/* The model alone. */
#include "model.h"

#include <stdio.h>

int main(void)
{
    struct tank s = {0, 0};
    tank_step(&s, 1);
    if (!s.pumping || s.level != 19900)
        return fprintf(stderr, "after a step with the pump on: %lld\n", (long long)s.level), 1;
    tank_step(&s, 1);
    if (s.pumping || s.level != 19801)
        return fprintf(stderr, "after a step with the pump off: %lld\n", (long long)s.level), 1;
    return 0;
}
