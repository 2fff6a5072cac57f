// Publishes a payload of each size on CHANNEL: byte i is i*7+3. Waits for a line on stdin before each.
// publish URL CHANNEL SIZE...
#include <lcm/lcm.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    lcm_t *lcm = argc > 3 ? lcm_create(argv[1]) : NULL;
    if (!lcm)
        return 2;
    for (int a = 3; a < argc; a++) {
        unsigned size = atoi(argv[a]);
        unsigned char *data = malloc(size + 1);
        for (unsigned i = 0; i < size; i++)
            data[i] = i * 7 + 3;
        while (getchar() != '\n')
            ;
        if (lcm_publish(lcm, argv[2], data, size) != 0)
            return 1;
        free(data);
    }
    while (getchar() != EOF)
        ;  // tcpq: stay until all is read
    lcm_destroy(lcm);
    return 0;
}
