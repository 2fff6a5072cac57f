// Package transporttest is what every transport has to pass: one suite, run from the tests of each.
//
//	func TestConformance(t *testing.T) {
//		wiretest.Run(t, wiretest.Transport{Listen: ..., Dial: ..., Raw: ...})
//	}
//
// The suite tells no leaked goroutines: give the package a TestMain with goleak for that.
package transporttest
