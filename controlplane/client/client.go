// Package client is kubectl as a function.
package client

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

// Run runs kubectl with args. It reads os.Args for its plugins, so that is set as if kubectl had been called.
func Run(args []string) int {
	os.Args = append([]string{"kubectl"}, args...)
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err) // exits with kubectl's own status
	}
	return 0
}
