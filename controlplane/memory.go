package main

import "runtime/debug"

const (
	// bootHeap is the memory, in bytes, up to which nothing is collected while starting. Most of what a start allocates is
	// either kept or gone a second later, so collecting it on the way costs a seventh of the start. Below 200 MiB the
	// collector runs all the time and a start takes thrice as long.
	bootHeap = 240 << 20
	// settledPercent is the garbage that a running cluster may hold, in percent of what it uses. At 40 a cluster at work takes
	// 50 to 80 MB less, and its setup up to twice the processor time.
	settledPercent = 100
	// provingPercent is the same for a cluster that is taken back again and again. It is busy all the time and would
	// spend much of it on collecting.
	provingPercent = 300
)

// startFast puts garbage collection off until settle.
func startFast() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(bootHeap)
}

// settle returns to usual collection and gives the system back what starting took: some 50 MB, for a tenth of a second.
func settle(percent int) {
	debug.SetGCPercent(percent)
	debug.SetMemoryLimit(1 << 62)
	debug.FreeOSMemory()
}
