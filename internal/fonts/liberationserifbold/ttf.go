package liberationserifbold

import "golang.org/x/image/font/gofont/goregular"

var TTF = goregular.TTF
