// Package mutants plants mistakes in the machine, one at a time, and requires that its tests catch each of them: those
// that a model checker found in the rules of safe time, those met in other systems, some that would only cost speed, and those of the failover of followers.
// It has no code but its test. A mistake that is harmless by design is listed too, and must not be caught.
package mutants
