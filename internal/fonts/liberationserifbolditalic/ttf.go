package liberationserifbolditalic

import "golang.org/x/image/font/gofont/goregular"

var TTF = goregular.TTF
