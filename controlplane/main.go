// Command kube is a whole Kubernetes control plane in one process, and the kubectl that fits it.
//
// The word after the program name, or the name under which the program was called, picks what runs.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"devops-bench/controlplane/client"
	"devops-bench/controlplane/pins"
	_ "devops-bench/controlplane/unmeasured"
	_ "devops-bench/controlplane/untranslated"
)

const usage = `usage: kube COMMAND [ARGS]

  up        run a throw-away control plane until its standard input ends
  kubectl   the kubectl of the same version
  versions  print the pinned component versions as JSON

"kube up --help" lists its flags.
`

func main() {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	args := os.Args[1:]
	if _, known := commands[name]; !known {
		if len(args) == 0 {
			fmt.Fprint(os.Stderr, usage)
			os.Exit(2)
		}
		name, args = args[0], args[1:]
	}
	run, known := commands[name]
	switch {
	case known:
		pins.Stamp()
		os.Exit(run(args))
	case name == "help" || name == "-h" || name == "--help":
		fmt.Print(usage)
	default:
		fmt.Fprintf(os.Stderr, "kube: unknown command %q\n%s", name, usage)
		os.Exit(2)
	}
}

// commands maps a command to a function that takes the arguments after it and returns the exit status.
var commands = map[string]func(args []string) int{
	"up":       up,
	"kubectl":  client.Run,
	"versions": versions,
}
