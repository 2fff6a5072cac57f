/* tank takes part in the run of tank.metasim.yaml, which starts it. Replace model.h by your own simulator. */
#include "metasim.h"
#include "model.h"

#include <stdio.h>

static int simulate(metasim_client *c)
{
    struct tank model = {0, 0};
    char text[64];
    if (metasim_publication(c, "LEVEL") || metasim_subscription(c, "PUMP") || metasim_join(c))
        return 1;
    while (metasim_steps(c, 10000000)) { /* as long as the run lasts */
        int commands = 0, size;
        while (metasim_receive(c) != NULL) /* all that is due now or before, in order */
            commands++;
        tank_step(&model, commands);
        size = snprintf(text, sizeof text, "%lld", (long long)model.level);
        if (metasim_publish(c, "LEVEL", text, (size_t)size))
            return 1;
    }
    snprintf(text, sizeof text, "{\"level\":%lld}", (long long)model.level);
    return metasim_result(c, text) || metasim_leave(c);
}

int main(void)
{
    metasim_client *c = metasim_new(NULL); /* metasim says in the environment where the server is */
    int failed = c == NULL || simulate(c);
    if (failed)
        fprintf(stderr, "tank: %s\n", c == NULL ? "no memory" : metasim_error(c));
    metasim_free(c);
    return failed;
}
