package scenarios

import "embed"

// Shipped holds the scenarios that come with metasim, and the files they read: what the demo runs without a checkout.
//
//go:embed *.metasim.yaml data
var Shipped embed.FS
