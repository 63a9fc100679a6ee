package main

import (
	"runtime/debug"
	"time"
)

const (
	// bootHeap is the heap, in bytes, up to which nothing is collected while starting. Most of what a start allocates is
	// either kept or gone a second later, so collecting it on the way costs a seventh of the start.
	bootHeap = 280 << 20
	// settledPercent is the garbage that a running cluster may hold, in percent of what it uses. There may be many of
	// them on one host, and they are mostly idle.
	settledPercent = 40
	// settleDelay lets the work that goes on after readiness finish before memory is given back.
	settleDelay = 1500 * time.Millisecond
)

// startFast puts garbage collection off until settle.
func startFast() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(bootHeap)
}

// settle returns to usual collection and gives the system back what starting took.
func settle() {
	debug.SetGCPercent(settledPercent)
	debug.SetMemoryLimit(1 << 62)
	time.AfterFunc(settleDelay, debug.FreeOSMemory)
}
