/* roles declares nodes with roles that there are not, says what it is told, and leaves the process with 0 if each was refused. It needs no server. */
#include <metasim_follower.h>

#include <stdio.h>

int main(void)
{
    static const int wrong[] = {3, -1, 1000};
    size_t i;
    for (i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        metasim_options who = {sizeof who, "unix:///nowhere", "node", "t"};
        metasim_client *c = metasim_new(&who);
        rs_options o = {sizeof o, NULL, (rs_role)wrong[i], 0, 0, NULL, NULL};
        if (c == NULL || rs_declare(c, &o) != NULL)
            return 1;
        printf("%s\n", metasim_error(c));
        if (metasim_join(c) != METASIM_MISTAKE)
            return 1;
        printf("%s\n", metasim_error(c));
        metasim_free(c);
    }
    return 0;
}
