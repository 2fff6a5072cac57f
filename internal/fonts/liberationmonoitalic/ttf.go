package liberationmonoitalic

import "golang.org/x/image/font/gofont/goregular"

var TTF = goregular.TTF
