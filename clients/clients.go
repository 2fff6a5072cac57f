// Package clients has the client libraries in other languages as files, so that metasim can put them into a new project.
package clients

import "embed"

// Files are the libraries, as they are needed to build a program.
//
//go:embed c/metasim.c c/metasim.h cpp/metasim.hpp python/metasim/*.py python/metasim/py.typed
var Files embed.FS
