//go:build components

package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"

	"devops-bench/controlplane/pins"
)

// With the tag "components" the binary also plays the usual separate programs, so that the benchmark can run another
// launcher with the very same versions and compiler. It takes half as long again to build and is of no other use.
func init() {
	for name, command := range map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": controllermanager.NewControllerManagerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	} {
		commands[name] = func(args []string) int {
			made := command()
			made.SetArgs(args)
			return cli.Run(made)
		}
	}
	commands["etcd"] = func(args []string) int {
		etcdmain.Main(append([]string{"etcd"}, args...))
		return 0
	}
	commands["kwok-controller"] = func(args []string) int {
		if len(args) == 1 && args[0] == "--version" {
			fmt.Println("kwok version", pins.All().Kwok)
			return 0
		}
		if err := runKwokController(args); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
}

func runKwokController(args []string) error {
	os.Args = append([]string{"kwok"}, args...)
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, _ := kwoklog.InitFlags(context.Background(), flags)
	ctx, err := kwokconfig.InitFlags(ctx, flags)
	if err != nil {
		return err
	}
	command := kwok.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	command.Version = "" // its --version clashes with that of the libraries
	command.SetArgs(args)
	return command.ExecuteContext(ctx)
}
