//go:build !linux

package supervisor

import (
	"os"
	"os/exec"
)

// Only Linux has what it takes to find a process that has left its parent. Elsewhere process groups are all that is ended.

func becomeSubreaper() error        { return nil }
func notifyExits() <-chan os.Signal { return nil }
func children() []int               { return nil }
func reapNext() (int, string)       { return 0, "" }
func reap(int) bool                 { return true }
func group(int) int                 { return 0 }
func variable(int, string) string   { return "" }
func command(int) string            { return "" }
func endMarked(string) []Stray      { return nil }

// await tells how a process ends.
func await(cmd *exec.Cmd, over func(how string)) {
	go func() {
		how := ""
		if err := cmd.Wait(); err != nil {
			how = err.Error()
		}
		over(how)
	}()
}
