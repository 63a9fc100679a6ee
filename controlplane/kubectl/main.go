// Command kubectl is the kubectl that fits the control plane, alone: it starts in less than half the time that the program with all
// of Kubernetes takes.
package main

import (
	"os"
	"runtime/debug"

	"devops-bench/controlplane/client"
	"devops-bench/controlplane/pins"
	_ "devops-bench/controlplane/untranslated"
)

// garbage is what may be left uncollected, in percent of what is in use. It is over before much can gather.
const garbage = 400

func main() {
	debug.SetGCPercent(garbage)
	pins.Stamp()
	os.Exit(client.Run(os.Args[1:]))
}
