#!/bin/sh
# Compiles network.cpp where that has not been done since it changed, and becomes it.
set -eu
cd "$(dirname "$0")"
if [ ! -e /usr/include/ns3/core-module.h ]; then
	echo "network.sh: there is no ns-3; install it: apt-get install --no-install-recommends libns3-dev" >&2
	exit 1
fi
program=${NS3_NETWORK:-./network}
if [ ! "$program" -nt network.cpp ]; then
	clients=../../clients
	gcc -std=c99 -O2 -c -o "$program.o" $clients/c/metasim.c
	g++ -std=c++17 -O1 -I $clients/c -I $clients/cpp -o "$program" network.cpp "$program.o" -lns3-core -lns3-network -lns3-internet -lns3-point-to-point
	rm "$program.o"
fi
exec "$program"
